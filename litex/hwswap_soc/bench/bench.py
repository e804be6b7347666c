# SPDX-License-Identifier: Apache-2.0
"""Compares swap allocation by software and by the engine, in CPU cycles of the simulated SoC.

hwswap soc bench --cpu vexriscv|rocket|rocket4 [--dram-latency N] [--engine-ratio R]

With rocket4, which has four harts, other things are measured (`harts`).
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from hwswap.results import schema, tables
from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.bench import harts, runs
from hwswap_soc.bench.bench_result import SCHEMES, Report, parse
from hwswap_soc.simulation.run import LATENCY, latency, ratio

JOBS = max(1, min(4, os.cpu_count() or 1))
"""Simulations at a time, unless another number is asked for."""


@dataclass(frozen=True)
class Form:
    """The sizes of a run, which the firmware is built with (litex/firmware/bench/bench.h).

    Attributes:
        clusters: of the swap device.
        rounds: number of times that all is allocated and freed.
        count: slots in a round; for a large order at least `least` allocations, as far as there are clusters.
        orders: those measured.
        schemes: those measured.
    """

    clusters: int
    rounds: int
    count: int
    least: int
    orders: tuple[int, ...] = (0, 2, 4, 7, 9)
    schemes: tuple[str, ...] = SCHEMES

    def defines(self) -> str:
        """Return the compiler's options."""
        values = {
            "CLUSTERS": self.clusters,
            "ROUNDS": self.rounds,
            "COUNT": self.count,
            "LEAST": self.least,
            "ORDERS": sum(1 << order for order in self.orders),
            "SCHEMES": sum(1 << SCHEMES.index(scheme) for scheme in self.schemes),
        }
        return " ".join(f"-DBENCH_{name}={value}" for name, value in values.items())

    def __str__(self) -> str:
        """Name it."""
        return "each call"


FULL = Form(clusters=16, rounds=2, count=512, least=32)
SHORT = Form(clusters=4, rounds=1, count=64, least=8, orders=(0, 4, 9), schemes=SCHEMES[:-1])
"""For tests: everything is done, little of it."""

VARIANTS = {"vexriscv": "standard", "rocket": "linux"}
"""The variant that a CPU usually is, as on boards."""


def full_name(cpu: str, model: Path) -> str:
    """Name the CPU in a model, with its variant where that is not the usual one.

    Args:
        cpu: name of the CPU.
        model: the simulated SoC.
    """
    variant = json.loads((model / "model.json").read_text())["variant"]
    return cpu if variant == VARIANTS[cpu] else f"{cpu}-{variant}"


def figures(report: Report) -> list[schema.Figure]:
    """Return the cycles of each call, by operation, order, state and scheme."""
    return [
        schema.Figure(
            f"{'allocate' if op == 'alloc' else op} order {order}, {state}",
            scheme,
            round(cell.mean, 1),
            "CPU cycles",
            {"p50": cell.p50, "p99": cell.p99},
            0,
        )
        for (scheme, state, order, op), cell in report.cells.items()
        if cell.n and cell.sum
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--cpu", choices=("vexriscv", "rocket", harts.CPU), default="vexriscv")
    parser.add_argument("--dram-latency", type=latency, default=LATENCY, metavar="CYCLES")
    parser.add_argument("--engine-ratio", type=ratio, metavar="RATIO", help="engine clock to CPU clock (default: one)")


def run(options: argparse.Namespace) -> int:
    """Measure, show and write it; return the exit status."""
    # The simulations are programs of their own: told to end, it ends them as when it is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.cpu == harts.CPU:
        if options.engine_ratio:
            raise InputError(f"harts and engine of {harts.CPU} have one clock: leave --engine-ratio out")
        harts.run(options.dram_latency, options.jobs)
        return 0
    ratio, latency = options.engine_ratio, f"DRAM latency {options.dram_latency}"
    model = runs.model_folder(options.cpu, bool(ratio))
    name = full_name(options.cpu, model)
    clocks = f"engine clock {ratio:g} of the CPU's" if ratio else "CPU and engine in one clock"
    machine = runs.Machine(model, options.cpu, "bench", options.dram_latency, ratio or 1.0)
    [lines] = runs.together([FULL], machine, options.jobs)
    report = parse(lines)
    measured = figures(report)
    schema.save(
        f"soc-{name}",
        measured,
        title=f"Bare metal, {name}",
        command=f"make bench-soc CPU={options.cpu}",
        platform=f"simulated SoC, {clocks}; {name}, {latency}; no kernel",
        leaves_out="a kernel, locks, folios, other load; all software allocators are ours",
        engine=report.platform["build"],
    )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(f"{name}, {clocks}, {latency}; engine build {report.platform['build']}")
    console.print(f"reading the cycle counter costs {report.platform['timer_overhead']} cycles, which are subtracted")
    if not report.platform["layout_fits"]:
        console.print("this compiler's code does not fit the layout that keeps it apart in the caches (docs/soc.md)")
    console.print(tables.view("CPU cycles a call: mean over hits, misses and failures (ratio to stock)", measured))
    return 0
