# SPDX-License-Identifier: Apache-2.0
"""Compares swap allocation by software and by the engine on 1, 2 and 4 harts, in CPU cycles of the simulated SoC.

What `hwswap soc bench --cpu rocket4` does. Each scheme is a run of its own; what was measured with the same program on
the same simulated SoC is not run again. Results are files in build/bench-soc: rocket4.json.
"""

import argparse
import json
import platform
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.bench import harts_result, runs
from hwswap_soc.bench.bench_result import OPS, SCHEMES
from hwswap_soc.bench.harts_result import LOADS, STATES, Measured
from hwswap_soc.bench.runs import Show, engine_of, model_folder, together
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY

CPU = "rocket4"
HARTS = 4


@dataclass(frozen=True)
class Form:
    """How much is measured: sizes the firmware is built with (litex/firmware/harts/harts.h).

    Attributes:
        scheme: who allocates.
        clusters: of the swap device.
        states: of the device.
        loads: what harts do.
        steps: timed operations of a hart.
        warm: operations before.
        held: allocations that a hart holds at most.
        profile: how often locks are taken and how long they are held is counted, which takes cycles; on one hart.
    """

    scheme: str
    clusters: int
    states: tuple[str, ...]
    loads: tuple[str, ...]
    steps: int = 160
    warm: int = 32
    held: int = 64
    profile: bool = False

    def defines(self) -> str:
        """Options for the compiler."""
        values = {
            "SWAP_HARTS": HARTS,
            "BENCH_CLUSTERS": self.clusters,
            "BENCH_SCHEMES": 1 << SCHEMES.index(self.scheme),
            "HARTS_STATES": sum(1 << STATES.index(state) for state in self.states),
            "HARTS_LOADS": sum(1 << LOADS.index(load) for load in self.loads),
            "HARTS_STEPS": self.steps,
            "HARTS_WARM": self.warm,
            "HARTS_HELD": self.held,
        }
        if self.profile:
            values |= {"HARTS_MOST": 1, "SWAP_LOCK_PROFILE": 1}
        return " ".join(f"-D{name}={value}" for name, value in values.items())

    def __str__(self) -> str:
        """Names it."""
        return f"{self.scheme}, {' and '.join(self.states)}{', locks counted' if self.profile else ''}"


def plan() -> list[Form]:
    """All that is measured: an empty device, and a small one in use, as it takes long to fill."""
    forms = []
    for scheme in harts_result.SCHEMES:
        forms.append(Form(scheme, 48, ("empty",), LOADS))
        forms.append(Form(scheme, 8, ("fragmented", "full"), ("order0", "mixed"), held=32))
    for scheme in harts_result.SCHEMES:
        if scheme != "register":
            forms.append(Form(scheme, 48, ("empty",), LOADS, profile=True))
    return forms


def short() -> list[Form]:
    """For tests: everything is done, little of it."""
    sizes = {"steps": 24, "warm": 8, "held": 16}
    return [Form(scheme, 2, ("full",), ("order0",), **sizes) for scheme in harts_result.SCHEMES]


def measure(
    form: Form, model: Path, output: Path, latency: int, stop: threading.Event | None = None, show: Show | None = None
) -> dict[str, Any]:
    """Makes one run, unless it was made before; returns what it printed, with its form, cycles and seconds."""
    return runs.measure(form, model, "rocket", "harts", output, latency, stop=stop, show=show) | {"form": form}


def model() -> Path:
    """Where the simulated SoC is."""
    return model_folder(f"soc-model-{CPU}", "rtl-soc4")


def collect(runs: list[dict[str, Any]], *, profile: bool) -> Measured:
    """What runs measured: those in which locks were counted, or the others."""
    measured = Measured()
    for run in runs:
        if run["form"].profile == profile:
            harts_result.parse(run["lines"], measured)
    return measured


def as_json(runs: list[dict[str, Any]], engine: dict[str, Any]) -> dict[str, Any]:
    """The results, with what they were measured with."""
    facts: dict[str, Any] = {"cpu": CPU, "host": platform.platform(), "unit": "CPU cycles", "engine": engine}
    kept = ("commit", "latency", "cycles", "seconds")
    facts["runs"] = [{"form": asdict(run["form"])} | {name: run[name] for name in kept} for run in runs]
    for name, profile in (("measured", False), ("locks counted", True)):
        measured = collect(runs, profile=profile)
        rows = []
        for key, kinds in measured.locks.items():
            row: dict[str, Any] = dict(zip(("scheme", "state", "load", "harts"), key, strict=True))
            for op in OPS:
                row[op] = {name: getattr(measured.cells[key, op], name) for name in harts_result.CELL}
            row["locks"] = kinds
            row["case"], row["cycles"] = harts_result.case(*key[1:3]), measured.cycles(key)
            row["layout_fits"] = all(platform["layout_fits"] for platform in measured.platforms)
            rows.append(row)
        facts[name] = rows
    return facts


def run(options: argparse.Namespace) -> None:
    """Measures, shows and writes it; takes the options of `hwswap soc bench`."""
    if options.engine_ratio or options.sweep or len(options.dram_latency) > 1:
        raise InputError(
            f"with --cpu {CPU} nothing is swept: leave --engine-ratio and --sweep out, give one --dram-latency at most"
        )
    latency = options.dram_latency[0] if options.dram_latency else LATENCY
    output = options.output.resolve()
    soc = model()

    def one(form: Form, stop: threading.Event, show: Show) -> dict[str, Any]:
        return measure(form, soc, output, latency, stop, show)

    made = list(together(plan(), one, options.jobs, Console(stderr=True, highlight=False)))
    measured = collect(made, profile=False)
    (output / f"{CPU}.json").write_text(json.dumps(as_json(made, engine_of(soc)), indent=1) + "\n")
    commits = sorted({run["commit"] for run in made})
    build_hash, cycles = measured.platforms[0]["build"], sum(run["cycles"] for run in made) / 1e6
    platform_of = f"simulated SoC, four Rocket harts, DRAM latency {latency} cycles, engine build {build_hash}"
    notes = [
        f"{platform_of}, commit {', '.join(commits)}, {cycles:.0f} Mcycles",
        "one clock for harts and engine; each hart has caches of 4 KiB each way",
    ]
    schema.save(
        "soc-harts",
        harts_result.figures(measured),
        title="Bare metal, several harts at once",
        command="make bench-harts",
        platform=f"{platform_of}, no kernel",
        leaves_out="a kernel, folios, other load, a second level of caches; all software allocators are ours",
        engine=str(build_hash),
    )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)
    console.print(shown.table("CPU cycles, waiting included (ratio to stock)", harts_result.figures(measured)))
    console.print(shown.table(f"Of them, on {HARTS} harts (ratio to stock)", harts_result.waits(measured)))
    for note in notes:
        console.print(note, soft_wrap=True)
    console.print(f"bench-soc: {output / CPU}.json", soft_wrap=True)
