# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux-smp`: Linux on several harts of the simulated SoC: what an allocation costs while others allocate.

A check of what bare metal measured on 1, 2 and 4 harts (`make bench-harts`): the kernel's own bench makes the same
calls on as many CPUs at once, back to back, in modes of the driver. Results are in linux-smp.json.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.linux import linux, linux_plan
from hwswap_soc.linux.linux_result import Collected, failures
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY

OUTPUT = BUILD / "soc-linux-smp"
"""Where results go."""

MODEL = BUILD / "soc-model-rocket4"
"""The Verilated SoC with four harts (`sim/setup/build soc-model-rocket4`)."""

MADE = linux.Made(
    engine=BUILD / "rtl-soc4/engine.json",
    kernel=BUILD / "kernel-riscv-smp/Image",
    initramfs=BUILD / "initramfs-riscv-smp/initramfs.cpio",
    cure="run 'make soc-linux-smp'",
)

HARTS = (1, 2, 4)
MODES = ("off", "hint")
MAX_MCYCLES = 600

BENCH = {0: 192, 4: 24}
"""Order -> calls of each CPU."""

FULL = 96
"""Calls of each CPU, of order 0, on an area that is 90 % full; four times as many slots are free there."""

PAGES, FOLIOS = 16, 1
"""That are swapped out, in and verified in each mode: single pages, and folios of 64 kB."""


@dataclass(frozen=True)
class Case:
    """What is measured on each number of harts.

    Attributes:
        name: of it.
        order: of the folios.
        full: on an area that is 90 % full, or on an empty one.
    """

    name: str
    order: int
    full: bool

    def line(self, collected: Collected, mode: str, op: str, harts: int) -> dict[str, Any] | None:
        """Returns a line of the kernel's bench, `alloc` or `free`."""
        if mode not in collected.modes:
            return None
        lines = collected.modes[mode].full if self.full else collected.modes[mode].benches
        found = (line for line in lines if (line["op"], line["order"], line.get("cpus")) == (op, self.order, harts))
        return next(found, None)

    def cycles(self, collected: Collected, mode: str, harts: int, what: str = "avg") -> int | None:
        """Returns what an allocation and a free take together; None if either was not measured."""
        lines = [self.line(collected, mode, op, harts) for op in ("alloc", "free")]
        return sum(line[what] for line in lines if line) if all(lines) else None


CASES = (Case("empty, order 0", 0, False), Case("empty, order 4", 4, False), Case("90 % full, order 0", 0, True))


def bootargs(harts: tuple[int, ...], modes: tuple[str, ...]) -> str:
    """Returns what is appended to the kernel's command line."""
    plan = linux_plan.bootargs(modes, BENCH, pages=PAGES, folios=FOLIOS, full=FULL, gap_ns=0, harts=harts)
    # A grace period of RCU takes ticks of all CPUs, a million cycles each, unless it is expedited; a boot has many.
    return f"rcupdate.rcu_expedited=1 maxcpus={max(harts)} {plan}"


def missing(collected: Collected, harts: tuple[int, ...], modes: tuple[str, ...]) -> list[str]:
    """Returns what was not measured, a sentence each."""
    return [
        f"{mode}: {case.name} on {number} harts was not measured."
        for mode in modes
        for case in CASES
        for number in harts
        if case.cycles(collected, mode, number) is None
    ]


def rows(collected: Collected, harts: tuple[int, ...], modes: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns what was measured: cycles of both calls on a number of harts, their means and their medians added."""
    return [
        {
            "mode": mode,
            "case": case.name,
            "order": case.order,
            "full": case.full,
            "harts": number,
            "cycles": case.cycles(collected, mode, number),
            "median": case.cycles(collected, mode, number, "p50"),
        }
        for mode in modes
        for case in CASES
        for number in harts
    ]


def figures(rows: list[dict[str, Any]]) -> list[schema.Figure]:
    """Returns the means of what was measured as figures."""
    return [
        schema.Figure(
            f"an allocation and its free, {row['case']}, {row['harts']} harts",
            row["mode"],
            row["cycles"],
            "CPU cycles",
            {},
            0.05,
        )
        for row in rows
        if row["cycles"] is not None
    ]


def hart_numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers of harts that are named, with commas between; the first is 1."""
    words = text.split(",")
    if not all(word in ("1", "2", "3", "4") for word in words) or words[0] != "1" or sorted(set(words)) != words:
        raise argparse.ArgumentTypeError(f"'{text}': give rising numbers of harts up to 4, 1 first, as in 1,2")
    return tuple(map(int, words))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="Verilated SoC with four harts")
    parser.add_argument("--harts", type=hart_numbers, default=HARTS, help="numbers of harts (default: 1,2,4)")
    parser.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument(
        "--max-mcycles",
        type=int,
        default=MAX_MCYCLES,
        help=f"give up after so many million cycles (default {MAX_MCYCLES})",
    )


def run(options: argparse.Namespace) -> int:
    """Boots Linux, and shows and writes what came of it; returns the exit status."""
    console = Console(stderr=True, highlight=False)
    output: Path = options.output
    try:
        output.mkdir(parents=True, exist_ok=True)
        image = linux.prepare(options.model, output, bootargs(options.harts, MODES), MADE)
        # Before the run: somebody may build something else meanwhile.
        made_of = linux.facts(options.model, options.dram_latency, MADE.engine)
        watch, result = linux.boot(options, image, console, "soc-linux-smp")
    except (InputError, OSError, subprocess.SubprocessError) as error:
        print(f"soc-linux-smp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("soc-linux-smp: interrupted", file=sys.stderr)
        return 130
    collected = watch.collected
    failed = linux.unfinished(result, watch, options.max_mcycles)
    failed += failures(collected, MODES) + missing(collected, options.harts, MODES)
    content = linux.report(collected, result, failed) | made_of
    content["measured"] = rows(collected, options.harts, MODES)
    (output / "linux-smp.json").write_text(json.dumps(content, indent=1) + "\n")
    measured = figures(content["measured"])
    if not failed:
        schema.save(
            "soc-linux-smp",
            measured,
            title="Linux on several harts of the SoC",
            command="make soc-linux-smp",
            platform=f"simulated SoC, four Rocket harts, DRAM latency {options.dram_latency}; calls back to back",
            leaves_out="other load, a second level of caches",
            kernel=True,
            engine=str(made_of["engine"]["build_hash"]),
        )
    view = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    view.print(shown.table("CPU cycles, waiting included: mean (ratio to the first mode)", measured))
    commits, build_hash = made_of["commits"], made_of["engine"]["build_hash"]
    notes = [
        f"hwswap {commits['hwswap']}, patches {commits['patches']}, engine build {build_hash}",
        f"{result.cycles / 1e6:.0f} Mcycles; cycles of calls are each hart's own counter",
        "calls that were made while all harts were making theirs",
    ]
    for note in notes:
        view.print(f"- {note}", soft_wrap=True)
    print(f"soc-linux-smp: linux-smp.json and console.log are in {output}", file=sys.stderr)
    if failed:
        print(f"soc-linux-smp: failed: {' '.join(failed[:4])} See {output / 'console.log'}", file=sys.stderr)
    return 1 if failed else 0
