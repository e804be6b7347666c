# SPDX-License-Identifier: Apache-2.0
"""`make mutate-dram`: the same as `make mutate` of the engine that has its clusters in DRAM.

Faults are in what that engine has of its own: caches, their masters and tags, the gate of the core's clock, the
directory of swap tables. Its caches are small, so that short tests fetch each line and write it back many times.
"""

import argparse
from dataclasses import replace

from hwswap.project import paths
from hwswap.stimulus.registry import DRAM_SCRIPTS
from hwswap.traces import stream
from hwswap.verify import mutate
from hwswap.verify.mutate import PLAY, REPLAY, SLOW, MutationTest, Seeded

CHECK_CYCLES = 400_000
"""CHECK reads every cluster, each behind a miss: with slow memory it takes longer than anything else."""

_TESTS = (
    MutationTest("stream by ring", REPLAY, "ring.hwst"),
    MutationTest("random operations", PLAY, "operations.txt"),
    MutationTest("swap tables", PLAY, "tables.txt"),
    MutationTest("errors and resets", PLAY, "store.txt"),
    MutationTest("stream by pages, slow bus", REPLAY, "pages.hwst", ("--registers", "--stall", "40")),
    MutationTest("stream by ring, slow memory, out of order", REPLAY, "ring-2.hwst", ("--latency", "100", "--reorder")),
    MutationTest("swap tables, another seed, slow bus", PLAY, "tables-2.txt", SLOW),
    MutationTest("STEP commands and questions", PLAY, "steps.txt"),
    MutationTest("lists put anew", PLAY, "lists.txt"),
    MutationTest("registers and refusals", PLAY, "registers.txt"),
    MutationTest("corners, slow memory", PLAY, "corners.txt", ("--stall", "20", "--latency", "30")),
    MutationTest("stops and a bus that hangs, out of order", PLAY, "stops.txt", ("--reorder",)),
    MutationTest("errors and resets, another seed, slow bus, out of order", PLAY, "store-2.txt", (*SLOW, "--reorder")),
)

TESTS = tuple(replace(test, patience=CHECK_CYCLES) for test in _TESTS)

PLAYED: dict[str, tuple[str, int | None, int | None]] = {
    "operations": ("operations", 1, 600),
    "tables": ("tables", 4, 40),
    "tables-2": ("tables", 11, 60),
    "store": ("store", 1, 6),
    "store-2": ("store", 2, 10),
    "steps": ("steps", 5, 120),
    "lists": ("lists", 9, 40),
    "registers": ("registers", 6, None),
    "corners": ("corners", 31, None),
    "stops": ("stops", 62, None),
}
"""The tests' scripts: which, and with what seed and rounds. The score on record is of these."""

ELSEWHERE = ("errors", "single", "runs", "windows")
"""Scripts about what that engine has in common with others: `make mutate` looks there."""

REPLAYED = {"ring": (3, 3000, 0), "ring-2": (13, 1500, 40), "pages": (4, 700, 24)}
"""The tests' streams: seed, operations, and span; 0 is half of the engine's clusters."""

IN_DRAM = Seeded(
    "mutants-dram", paths.BUILD / "mutate-dram", TESTS, DRAM_SCRIPTS, PLAYED, REPLAYED, features=stream.IN_DRAM
)


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    return mutate.run(options, IN_DRAM)
