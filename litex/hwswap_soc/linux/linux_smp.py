# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux-smp`: Linux on several harts of the simulated SoC: what an allocation costs while others allocate.

A check of what bare metal measured on 1, 2 and 4 harts (`make bench-harts`): the kernel's own bench makes the same
calls on as many CPUs at once, back to back, in modes of the driver. Results are linux-smp.json and linux-smp.md.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.project import markdown
from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console
from rich.table import Table

from hwswap_soc.linux import linux
from hwswap_soc.linux.linux_result import Collected, failures
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
    bench = ",".join(f"{order}:{calls}" for order, calls in BENCH.items())
    # A grace period of RCU takes ticks of all CPUs, a million cycles each, unless it is expedited; a boot has many.
    words = ["rcupdate.rcu_expedited=1", f"maxcpus={max(harts)}", f"hwswap_modes={','.join(modes)}"]
    words += [
        f"hwswap_bench={bench}",
        f"hwswap_cpus={','.join(map(str, harts))}",
        f"hwswap_pages={PAGES}",
        f"hwswap_folios={FOLIOS}",
        f"hwswap_full={FULL}",
        "hwswap_gap_ns=0",
    ]
    return " ".join([*words, "hwswap_shell=none"])


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


def table(collected: Collected, harts: tuple[int, ...], modes: tuple[str, ...]) -> Table:
    """Returns the means of an allocation and its free on each number of harts, medians in brackets, and the growth."""
    view = Table(title="CPU cycles of an allocation and its free, waiting included: mean (by the medians)")
    view.add_column("device, load")
    for mode in modes:
        for number in harts:
            view.add_column(f"{mode}, {number}", justify="right")
        view.add_column("growth", justify="right")
    for case in CASES:
        cells = []
        for mode in modes:
            means = [case.cycles(collected, mode, number) for number in harts]
            medians = [case.cycles(collected, mode, number, "p50") for number in harts]
            cells += [
                "-" if mean is None else f"{mean:,} ({median:,})" for mean, median in zip(means, medians, strict=True)
            ]
            cells.append(f"{means[-1] / means[0]:.2f}" if means[0] and means[-1] else "-")
        view.add_row(case.name, *cells)
    return view


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
    view = table(collected, options.harts, MODES)
    if not failed:
        schema.save(
            "soc-linux-smp",
            [
                schema.Figure(
                    f"an allocation and its free, {row['case']}, {row['harts']} harts",
                    row["mode"],
                    row["cycles"],
                    "CPU cycles",
                    {},
                    0.05,
                )
                for row in content["measured"]
            ],
            title="Linux on several harts of the SoC",
            command="make soc-linux-smp",
            platform=f"simulated SoC, four Rocket harts, DRAM latency {options.dram_latency}; calls back to back",
            leaves_out="other load, a second level of caches",
            kernel=True,
            engine=str(made_of["engine"]["build_hash"]),
        )
    commits = made_of["commits"]
    build_hash = made_of["engine"]["build_hash"]
    notes = [
        f"simulated SoC with four harts, DRAM latency {options.dram_latency} cycles, engine build {build_hash}",
        f"hwswap {commits['hwswap']}, patches {commits['patches']}, {result.cycles / 1e6:.0f} Mcycles",
        "calls that were made while all harts were making theirs; cycles are each hart's own counter",
    ]
    (output / "linux-smp.md").write_text(markdown.page([view], notes))
    Console(width=None if sys.stdout.isatty() else 150).print(view)
    for note in notes:
        print(note)
    print(f"soc-linux-smp: linux-smp.json, linux-smp.md and console.log are in {output}", file=sys.stderr)
    if failed:
        print(f"soc-linux-smp: failed: {' '.join(failed[:4])} See {output / 'console.log'}", file=sys.stderr)
    return 1 if failed else 0
