# SPDX-License-Identifier: Apache-2.0
"""Where offload is cheaper and where it is dearer than software: counted over all kinds of calls, not chosen."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hwswap.report.figures import Call, Calls, Dataset, Source, Stat, words

SAME = 0.005
"""Costs that differ by less than this share are equal."""


@dataclass(frozen=True)
class Way:
    """A way to use the engine: a column of a dataset, and those of software that it is put beside."""

    dataset: str
    column: str
    title: str
    kernel: str | None
    """The column of the kernel's own rules in software, without offload."""
    tuned: str | None
    """The column of tuned software, if that was measured."""


WAYS = (
    Way("offload", "engine", "Grants, the engine's RTL, guest", "unpatched", "tuned"),
    Way("offload", "grants", "Grants, an engine in software, guest", "unpatched", "tuned"),
    Way("offload", "tuned + grants", "Grants on a tuned kernel, guest", None, "tuned"),
    Way("demo", "hint", "Grants, after loads, guest", "unpatched", None),
    Way("soc-linux", "hint", "Mode hint, Linux on the SoC", "off", "tuned"),
    Way("soc-vexriscv", "MMIO", "MMIO, bare metal, VexRiscv", "stock", "tuned"),
    Way("soc-rocket", "MMIO", "MMIO, bare metal, Rocket", "stock", "tuned"),
    Way("soc-vexriscv", "grants", "Grants, bare metal, VexRiscv", "stock", "tuned"),
    Way("soc-rocket", "grants", "Grants, bare metal, Rocket", "stock", "tuned"),
    Way("words", "trusted", "Engine writes entries, guest", "unpatched", "tuned"),
    Way("soc-linux", "trusted", "Engine writes entries, Linux on the SoC", "off", "tuned"),
)
"""In the order of the page."""


@dataclass(frozen=True)
class Point:
    """A kind of call: what software takes, and what it takes with the engine."""

    call: Call
    software: Stat
    engine: Stat

    @property
    def ratio(self) -> float:
        """Cost with the engine in parts of software's."""
        return self.engine.mean / self.software.mean

    def __str__(self) -> str:
        """Name it with its figures."""
        return f"{words(self.call)}, {self.software.mean:,.0f} : {self.engine.mean:,.0f}"


@dataclass
class Judged:
    """A way beside software, over all kinds of calls that both have."""

    way: Way
    unit: str
    source: Source
    points: list[Point] = field(default_factory=list)

    @property
    def cheaper(self) -> list[Point]:
        """Calls that take less with the engine, the greatest saving first."""
        return sorted((p for p in self.points if p.ratio < 1 - SAME), key=lambda p: p.ratio)

    @property
    def dearer(self) -> list[Point]:
        """Calls that take more with the engine, the greatest loss first."""
        return sorted((p for p in self.points if p.ratio > 1 + SAME), key=lambda p: -p.ratio)

    @property
    def median(self) -> float:
        """The ratio in the middle of all."""
        return statistics.median(point.ratio for point in self.points)

    @property
    def equal(self) -> int:
        """How many take the same."""
        return len(self.points) - len(self.cheaper) - len(self.dearer)


def judge(datasets: Mapping[str, Dataset], against: str, ways: Iterable[Way] = WAYS) -> list[Judged]:
    """Return all ways that were measured, beside software of one kind: `kernel` or `tuned`."""
    found = []
    for way in ways:
        dataset, software = datasets.get(way.dataset), getattr(way, against)
        if not isinstance(dataset, Calls) or software is None:
            continue
        points = [
            Point(call, row[software], row[way.column])
            for call, row in dataset.rows.items()
            if software in row and way.column in row and row[software].mean
        ]
        if points:
            found.append(Judged(way, dataset.unit, dataset.source, points))
    return found
