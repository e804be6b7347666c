# SPDX-License-Identifier: Apache-2.0
"""Compares swap allocation by software and by the engine on 1, 2 and 4 harts, in CPU cycles of the simulated SoC.

What `hwswap soc bench --cpu rocket4` does. Each scheme is two runs of their own.
"""

import sys
from dataclasses import dataclass

from hwswap.results import schema, tables
from rich.console import Console

from hwswap_soc.bench import harts_result, runs
from hwswap_soc.bench.bench_result import SCHEMES
from hwswap_soc.bench.harts_result import LOADS, STATES, Measured

CPU = "rocket4"
HARTS = 4


@dataclass(frozen=True)
class Form:
    """The sizes of a run, which the firmware is built with (litex/firmware/harts/harts.h).

    Attributes:
        scheme: the allocator.
        clusters: of the swap device.
        states: of the device.
        loads: the harts' work.
        steps: timed operations of a hart.
        warm: operations before.
        held: allocations that a hart holds at most.
    """

    scheme: str
    clusters: int
    states: tuple[str, ...]
    loads: tuple[str, ...]
    steps: int = 160
    warm: int = 32
    held: int = 64

    def defines(self) -> str:
        """Return the compiler's options."""
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
        return " ".join(f"-D{name}={value}" for name, value in values.items())

    def __str__(self) -> str:
        """Name it."""
        return f"{self.scheme}, {' and '.join(self.states)}"


def plan() -> list[Form]:
    """All that is measured: an empty device, and a small one in use, as it takes long to fill."""
    forms = []
    for scheme in harts_result.SCHEMES:
        forms.append(Form(scheme, 48, ("empty",), LOADS))
        forms.append(Form(scheme, 8, ("fragmented", "full"), ("order0", "mixed"), held=32))
    return forms


def short() -> list[Form]:
    """For tests: everything is done, little of it."""
    sizes = {"steps": 24, "warm": 8, "held": 16}
    return [Form(scheme, 2, ("full",), ("order0",), **sizes) for scheme in harts_result.SCHEMES]


def run(latency: int, jobs: int) -> None:
    """Measure, show and write it.

    Args:
        latency: DRAM latency, cycles.
        jobs: simulations at a time.
    """
    measured = Measured()
    for lines in runs.together(plan(), runs.Machine(runs.model_folder(CPU), "rocket", "harts", latency), jobs):
        harts_result.parse(lines, measured)
    build_hash = measured.platforms[0]["build"]
    platform = f"simulated SoC, four Rocket harts, DRAM latency {latency} cycles"
    figures = harts_result.figures(measured)
    schema.save(
        "soc-harts",
        figures,
        title="Bare metal, several harts at once",
        command="make bench-harts",
        platform=f"{platform}, no kernel",
        leaves_out="a kernel, folios, other load, a second level of caches; all software allocators are ours",
        engine=build_hash,
    )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)
    console.print(tables.view("CPU cycles, waiting included (ratio to stock)", figures))
    console.print(tables.view(f"Of them, on {HARTS} harts (ratio to stock)", harts_result.waits(measured)))
    console.print(f"{platform}, engine build {build_hash}", soft_wrap=True)
    console.print("one clock for harts and engine; each hart has caches of 4 KiB each way", soft_wrap=True)
