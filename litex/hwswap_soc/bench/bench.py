# SPDX-License-Identifier: Apache-2.0
"""Compares swap allocation by software and by the engine, in CPU cycles of the simulated SoC.

hwswap soc bench --cpu vexriscv|rocket|rocket4 [--dram-latency N...] [--engine-ratio R...]

One full measurement makes the table; shorter ones sweep the memory's latency, the ratio of the engine's clock to the
CPU's, and the pace of the operations. A parameter given with one value is not swept: everything is measured with it.
Results are files in build/bench-soc. With rocket4, which has four harts, other things are measured (`harts`).
"""

import argparse
import dataclasses
import json
import os
import platform
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hwswap.project import provenance
from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.bench import harts, runs
from hwswap_soc.bench.bench_result import COMPARED, SCHEMES, STATES, Report, parse
from hwswap_soc.bench.runs import Show, engine_of, model_folder, together
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY

LATENCIES = (8, 30, 100)
"""DRAM latencies of the sweep, in cycles."""

RATIOS = (0.5, 1.0, 2.0)
"""Engine clock to CPU clock in the sweep; 1.0 with two clocks has the synchronisers that 1.0 with one clock lacks."""

SWEEPS = ("latency", "ratio", "gap")
"""What can be swept: the memory's latency, the ratio of the clocks, the pace of the operations."""

OUTPUT = BUILD / "bench-soc"
"""Where results go."""

JOBS = max(1, min(4, os.cpu_count() or 1))
"""Simulations at a time, unless another number is asked for."""


@dataclass(frozen=True)
class Form:
    """How much is measured: sizes the firmware is built with (litex/firmware/bench/bench.h).

    Attributes:
        clusters: of the swap device.
        rounds: how often all is allocated and freed.
        count: slots in a round; for a large order at least `least` allocations, as far as there are clusters.
        orders: those measured.
        schemes: those measured.
        gap: CPU cycles of waiting before each operation.
    """

    clusters: int
    rounds: int
    count: int
    least: int
    orders: tuple[int, ...] = (0, 2, 4, 7, 9)
    schemes: tuple[str, ...] = SCHEMES
    gap: int = 0

    def defines(self) -> str:
        """Options for the compiler."""
        values = {
            "CLUSTERS": self.clusters,
            "ROUNDS": self.rounds,
            "COUNT": self.count,
            "LEAST": self.least,
            "ORDERS": sum(1 << order for order in self.orders),
            "SCHEMES": sum(1 << SCHEMES.index(scheme) for scheme in self.schemes),
            "GAP": self.gap,
        }
        return " ".join(f"-DBENCH_{name}={value}" for name, value in values.items())


FULL = Form(clusters=16, rounds=2, count=512, least=32)
SWEEP = Form(clusters=6, rounds=1, count=192, least=24, schemes=COMPARED)
GAPS = (0, 1000, 10000)
"""Cycles between operations in the sweep: swapping a page takes some ten thousand, of which allocation is a part."""

SHORT = Form(clusters=4, rounds=1, count=64, least=8, orders=(0, 4, 9), schemes=(*COMPARED, "trusted"))
"""For tests: everything is done, little of it."""


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        form: how much is measured.
        latency: DRAM latency, cycles.
        ratio: engine clock to CPU clock; None: they are the same clock.
        sweeps: the parameter it is a point of the sweep of; None: it is the full measurement.
    """

    form: Form
    latency: int
    ratio: float | None
    sweeps: str | None = None

    def __str__(self) -> str:
        """Names it."""
        clock = "one clock" if self.ratio is None else f"engine clock {self.ratio:g}"
        gap = f", {self.form.gap} cycles apart" if self.sweeps == "gap" else ""
        return f"{'sweep' if self.sweeps else 'full'}, DRAM latency {self.latency}, {clock}{gap}"

    @property
    def value(self) -> float:
        """The value of what is swept."""
        return {"latency": self.latency, "ratio": self.ratio, "gap": self.form.gap}[self.sweeps]


def plan(cpu: str, latencies: list[int], ratios: list[float], kinds: Sequence[str] = SWEEPS) -> list[Point]:
    """Which runs to make, the full one first.

    Args:
        cpu: name of the CPU; clocks are not swept unasked with a Rocket, whose second model takes long to build.
        latencies: DRAM latencies; none: the usual ones.
        ratios: ratios of the clocks; none: the usual ones.
        kinds: what is swept: of `SWEEPS`.
    """
    usual_ratios = RATIOS if cpu == "vexriscv" else ()
    latency = latencies[0] if len(latencies) == 1 else LATENCY
    ratio = ratios[0] if len(ratios) == 1 else None
    points = [Point(FULL, latency, ratio)]
    if "latency" in kinds and len(latencies) != 1:
        points += [Point(SWEEP, value, ratio, "latency") for value in latencies or LATENCIES]
    if "ratio" in kinds and len(ratios) != 1:
        points += [Point(SWEEP, latency, value, "ratio") for value in ratios or usual_ratios]
    if "gap" in kinds:
        points += [Point(dataclasses.replace(SWEEP, gap=gap), latency, ratio, "gap") for gap in GAPS]
    return points


def model_name(cpu: str, own_clock: bool) -> str:
    """What sim/setup/build calls a simulated SoC."""
    return f"soc-model-{cpu}{'-own' if own_clock else ''}"


VARIANTS = {"vexriscv": "standard", "rocket": "linux"}
"""The variant that a CPU usually is, as on boards."""


def models_for(points: list[Point], cpu: str) -> dict[bool, Path]:
    """The models that the points need, by whether the engine has a clock of its own; all of the same engine."""
    models = {own: model_folder(model_name(cpu, own)) for own in sorted({point.ratio is not None for point in points})}
    builds = {engine_of(model)["build_hash"] for model in models.values()}
    if len(builds) > 1:
        names = " ".join(model_name(cpu, own) for own in models)
        raise InputError(f"the models have different engines: run 'sim/setup/build rtl-soc {names}'")
    return models


def measure(
    point: Point, cpu: str, model: Path, output: Path, stop: threading.Event | None = None, progress=None
) -> dict:
    """Makes one run, unless it was made before; returns what it was and what it printed.

    Args:
        point: what to run.
        cpu: name of the CPU.
        model: the simulated SoC.
        output: folder for the firmware, and for runs that were made.
        stop: ends the run when set.
        progress: called with cycles and seconds so far.
    """
    ratio = 1.0 if point.ratio is None else point.ratio
    run = runs.measure(point.form, model, cpu, "bench", output, point.latency, ratio, stop, progress)
    return {"point": point, "report": parse(run["lines"]), "cycles": run["cycles"], "seconds": run["seconds"]}


def full_name(cpu: str, model: Path) -> str:
    """Names the CPU in a model, with its variant where that is not the usual one.

    Args:
        cpu: name of the CPU.
        model: the simulated SoC.
    """
    variant = json.loads((model / "model.json").read_text())["variant"]
    return cpu if variant == VARIANTS[cpu] else f"{cpu}-{variant}"


def as_json(cpu: str, engine: dict, runs: list[dict]) -> dict:
    """The results, with what they were measured with: the CPU, as `full_name` has it, and the engine."""
    facts = {"commit": provenance.commit(), "cpu": cpu, "host": platform.platform(), "unit": "CPU cycles"}
    facts["engine"] = engine
    facts["runs"] = []
    for entry in runs:
        report: Report = entry["report"]
        cells = []
        for (scheme, state, order, op), cell in report.cells.items():
            key = {"scheme": scheme, "state": state, "order": order, "op": op}
            mean = {"mean": round(cell.mean, 2)} if cell.n else {}
            cells.append(key | dataclasses.asdict(cell) | mean)
        facts["runs"].append(
            dataclasses.asdict(entry["point"])
            | {"cycles": entry["cycles"], "seconds": entry["seconds"], "platform": report.platform, "cells": cells}
        )
    return facts


def swept(runs: list[dict], parameter: str) -> list[tuple[float, Report]]:
    """The points of one sweep: value and measurement."""
    return [(entry["point"].value, entry["report"]) for entry in runs if entry["point"].sweeps == parameter]


def figures(report: Report) -> list[schema.Figure]:
    """Cycles of each call, by what is allocated or freed, and by whom."""
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


def pairs(values: list[tuple[float, Report]], column: str) -> list[schema.Figure]:
    """Cycles of an allocation and its free together, by a parameter.

    Args:
        values: of the parameter, and what was measured with it.
        column: what it is.
    """
    return [
        schema.Figure(f"order {order}, {state}, {value:g} {column}", scheme, round(cost, 1), "CPU cycles")
        for state in STATES
        for order in values[0][1].orders
        for value, report in values
        for scheme in COMPARED
        if (cost := report.pair(scheme, state, order)) is not None
    ]


def show(runs: list[dict], cpu: str, console: Console) -> None:
    """Prints tables and verdicts."""
    base = runs[0]
    report: Report = base["report"]
    console.print(f"{cpu}, {base['point']}; engine build {report.platform['build']}")
    console.print(
        f"reading the cycle counter costs {report.platform['timer_overhead']} cycles, which are subtracted; "
        f"{base['cycles'] / 1e6:.1f} Mcycles in {base['seconds']:.0f} s"
    )
    if not report.platform["layout_fits"]:
        console.print("this compiler's code does not fit the layout that keeps it apart in the caches (docs/soc.md)")
    console.print(
        shown.table("CPU cycles a call: mean over hits, misses and failures (ratio to stock)", figures(report))
    )
    for parameter, title, column in (
        ("latency", "DRAM latency", "cycles"),
        ("ratio", "Clocks", "engine : CPU"),
        ("gap", "Pace", "cycles apart"),
    ):
        if values := swept(runs, parameter):
            console.print(shown.table(f"{title}: cycles of an allocation and its free", pairs(values, column)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--cpu", choices=("vexriscv", "rocket", harts.CPU), default="vexriscv")
    parser.add_argument("--dram-latency", type=int, nargs="+", default=[], metavar="CYCLES")
    parser.add_argument("--engine-ratio", type=float, nargs="+", default=[], metavar="RATIO")
    parser.add_argument("--no-sweep", action="store_true", help="the full measurement alone")
    parser.add_argument("--sweep", choices=SWEEPS, nargs="+", help="what is swept (default: all)")


def run(options: argparse.Namespace) -> int:
    """Measures, shows and writes it; returns the exit status."""
    # The simulations are programs of their own: told to end, it ends them as when it is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.cpu == harts.CPU:
        harts.run(options)
        return 0
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    wanted = () if options.no_sweep else options.sweep or SWEEPS
    points = plan(options.cpu, options.dram_latency, options.engine_ratio, wanted)
    models = models_for(points, options.cpu)
    model = next(iter(models.values()))
    engine, name = engine_of(model), full_name(options.cpu, model)
    output = options.output.resolve()
    target = options.output / f"{name}.json"
    made: list[dict] = []

    def one(point: Point, stop: threading.Event, show: Show) -> dict:
        return measure(point, options.cpu, models[point.ratio is not None], output, stop, show)

    for entry in together(points, one, options.jobs, Console(stderr=True, highlight=False)):
        # What is measured is kept, whatever becomes of the rest.
        made.append(entry)
        target.write_text(json.dumps(as_json(name, engine, made), indent=1) + "\n")
    schema.save(
        f"soc-{name}",
        figures(made[0]["report"]),
        title=f"Bare metal, {name}",
        command=f"make bench-soc CPU={options.cpu} NO_SWEEP=1",
        platform=f"simulated SoC, CPU and engine in one clock; {name}, {points[0]}; no kernel",
        leaves_out="a kernel, locks, folios, other load; all software allocators are ours",
        engine=made[0]["report"].platform["build"],
    )
    show(made, name, console)
    console.print(f"bench-soc: {target}", soft_wrap=True)
    return 0
