# SPDX-License-Identifier: Apache-2.0
"""`make coverage-dram`: what the simulations reach of the engine that has its clusters in DRAM.

Counted are the modules that the engine with its clusters on chip does not have: caches, directory, and what is around
them; `make coverage` counts the others. Runs random streams, loads that spread over more clusters than the caches hold,
commands on swap tables, and scripts with errors of the bus, stops and resets while lines move. Results:
build/coverage-dram/coverage.json and missed.txt.

The short form, a phase of `make test`, has less of each, and goals of its own.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.stimulus import scale_load, table_load
from hwswap.stimulus.registry import DRAM_SCRIPTS, SCALE
from hwswap.stimulus.scale_load import Load
from hwswap.traces import stream, trace
from hwswap.traces.stream import Shape
from hwswap.verify.code_coverage import CoverageError, Modules, summarise
from hwswap.verify.rtl_coverage import ERR, ON_CHIP, OUT, Engine, Job, of_stream, report_code, shares, simulate

IN_DRAM = Engine(
    paths.BUILD / "rtl-scale" / "HwSwap.sv", paths.BUILD / "model-scale-coverage", paths.BUILD / "coverage-dram"
)

GOALS = {"line": 0.85, "toggle": 0.66}
"""Shares that are reached at least, a little less than what they were when this was written."""

SHORT_GOALS = {"line": 0.85, "toggle": 0.81}
"""The same of the short form, under two points less than it reaches; without its script `store` they are missed."""

STREAMS = (
    (Shape(200, 8_000, 2, 4, 4_096, 8, stream.IN_DRAM), ()),
    (Shape(201, 8_000, 2, 4, 4_096, 24, stream.IN_DRAM), ("--stall", "60", "--reorder")),
    (Shape(202, 8_000, 2, 4, 65_536, 2_000, stream.IN_DRAM), ("--latency", "60")),
    (Shape(203, 6_000, 2, 4, 65_536, 32_768, stream.IN_DRAM), ("--registers",)),
    (Shape(204, 8_000, 2, 4, 65_536, 300), ("--stall", "20", "--latency", "30")),
)
"""Streams, and the pace of the buses."""

SHORT_STREAMS = (
    (Shape(200, 4_000, 2, 4, 4_096, 8, stream.IN_DRAM), ()),
    (Shape(202, 4_000, 2, 4, 65_536, 2_000, stream.IN_DRAM), ("--latency", "60", "--reorder")),
)

LOADS = (
    (Load(4_096, 400, (20,), fresh=800, churn=3_000, scan=20, shuffled=8_192), ("--stall", "20")),
    (Load(65_536, 401, (20,), fresh=800, churn=3_000, scan=20, shuffled=8_192), ("--latency", "20")),
)
"""Devices of 8 and of 128 GiB, used all over. The short form has none: they take longer than all else together."""

TABLES = ((300, ()), (301, ("--latency", "60")))
"""Seeds of commands on swap tables."""

PLAYED = {"store": (302, 4, ("--stall", "20", "--reorder")), "tables": (303, 30, ()), "stops": (304, None, ())}
"""Scripts: seed, rounds, and the pace of the buses."""

SHORT_PLAYED = {"store": (302, 1, ("--stall", "20", "--reorder")), "tables": (303, 12, ())}
"""Without `stops`, in which the engine waits for its time-out of a million cycles."""


def jobs(short: bool) -> Iterator[Job]:
    """Yield all runs."""
    loads, streams, tables, played = (
        ((), SHORT_STREAMS, TABLES[:1], SHORT_PLAYED) if short else (LOADS, STREAMS, TABLES, PLAYED)
    )

    def of_load(load: Load) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            trace.write(path, scale_load.header(load), scale_load.make(load).records)

        return make

    def of_tables(seed: int) -> Callable[[Path], None]:
        return lambda path: path.write_text(table_load.Load(seed, SCALE.store).text())

    def of_script(name: str, seed: int, rounds: int | None) -> Callable[[Path], None]:
        return lambda path: path.write_text(DRAM_SCRIPTS[name].text(seed, rounds))

    # The loads take longest, and scripts longer than streams.
    for load, pace in loads:
        yield Job(f"load-{load.seed}", "hwswap-replay", of_load(load), (*pace, "--seed", str(load.seed)))
    for name, (seed, rounds, pace) in played.items():
        yield Job(name, "hwswap-play", of_script(name, seed, rounds), pace)
    for shape, pace in streams:
        yield Job(f"stream-{shape.seed}", "hwswap-replay", of_stream(shape), (*pace, "--seed", str(shape.seed)))
    for seed, pace in tables:
        yield Job(f"commands-{seed}", "hwswap-play", of_tables(seed), pace)


def run(options: argparse.Namespace) -> int:
    """Run everything and report; return the exit status."""
    try:
        simulate(IN_DRAM, list(jobs(options.short)))
        elsewhere = set(Modules(paths.need(ON_CHIP.verilog)).names)
        counts = Counter({point: count for point, count in IN_DRAM.counts().items() if point.module not in elsewhere})
        status, document = report_code(summarise(counts, ()), SHORT_GOALS if options.short else GOALS, IN_DRAM.folder)
    except (CoverageError, replay.ReplayError) as error:
        ERR.print(f"hwswap: {error}", soft_wrap=True, highlight=False)
        return 1
    document["short"] = options.short
    IN_DRAM.folder.joinpath("coverage.json").write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    OUT.print(f"clusters in DRAM: {shares(document)}", highlight=False)
    return status
