# SPDX-License-Identifier: Apache-2.0
"""CPUs that wait for what they share: a closed queueing network, by exact mean value analysis.

Each CPU is a customer that works by itself for a while (the think time) and then visits stations: a lock, the engine, a
link. With one station it is the machine repairman's model. Service times are taken to be exponential; locks are held
for nearly constant times, so real waits are shorter, and the bounds hold for both.

M. Reiser and S. S. Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks, Journal of the ACM 27(2),
1980. Bounds: P. J. Denning and J. P. Buzen, The Operational Analysis of Queueing Network Models, ACM Computing Surveys
10(3), 1978.

Beside it stand points of the simulated SoC with 1, 2 and 4 harts, by two calculations. *Queueing alone* is what the
tables of costs over CPUs are made of: CPUs meet at the lock of the device. *With lines that move* adds that data which
all CPUs write was last written by another one with a chance of (n - 1) / n, as far as calls are spread evenly; what
that costs is fitted to two harts, four are predicted. Linux on several harts is predicted from bare metal's lines.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hwswap.breakeven.figures import Figures, Harts


@dataclass(frozen=True)
class Network:
    """What CPUs reach together.

    Attributes:
        throughput: visits of all CPUs together, in a cycle.
        response: cycles of a visit, waiting included, think time not.
        waiting: of them, those of waiting.
        utilisation: of each station.
    """

    throughput: float
    response: float
    waiting: float
    utilisation: Mapping[str, float]


def analyse(cpus: int, think: float, demands: Mapping[str, float]) -> Network:
    """Return what so many CPUs reach.

    Args:
        cpus: how many.
        think: cycles that a CPU works by itself, between two visits and within one, without anybody else.
        demands: cycles that a visit keeps each station busy.
    """
    if cpus < 1:
        raise ValueError(f"{cpus} CPUs: choose 1 or more")
    if think < 0 or any(demand < 0 for demand in demands.values()) or think + sum(demands.values()) <= 0:
        raise ValueError("times have to be 0 or more, and not all of them 0")
    queue = dict.fromkeys(demands, 0.0)
    residence: dict[str, float] = {}
    throughput = 0.0
    for customers in range(1, cpus + 1):
        # Who arrives finds the queues that one customer less would have.
        residence = {name: demand * (1 + queue[name]) for name, demand in demands.items()}
        throughput = customers / (think + sum(residence.values()))
        queue = {name: throughput * time for name, time in residence.items()}
    response = sum(residence.values())
    return Network(
        throughput,
        response,
        max(0.0, response - sum(demands.values())),
        {name: throughput * demand for name, demand in demands.items()},
    )


def bound(cpus: int, think: float, demands: Mapping[str, float]) -> float:
    """Return what throughput cannot exceed: that of CPUs which never wait, and that of the busiest station."""
    alone = cpus / (think + sum(demands.values()))
    most = max(demands.values(), default=0.0)
    return alone if most == 0 else min(alone, 1 / most)


def knee(think: float, demands: Mapping[str, float]) -> float:
    """Return the number of CPUs from which on the busiest station is the limit."""
    most = max(demands.values(), default=0.0)
    return float("inf") if most == 0 else (think + sum(demands.values())) / most


@dataclass(frozen=True)
class Point:
    """An allocation and its free on so many harts.

    Attributes:
        scheme: who allocates.
        state: of the device.
        load: what harts do.
        harts: how many.
        measured: cycles, waiting included.
        queueing: the same by the first calculation; lines: by the second one.
        moved: cycles that all lines which others wrote take, in the second one.
    """

    scheme: str
    state: str
    load: str
    harts: int
    measured: float
    queueing: float
    lines: float
    moved: float


def call(its: Harts, harts: int, moved: float) -> float:
    """Return the cycles of an allocation and its free.

    Args:
        its: what was measured.
        harts: how many.
        moved: cycles of lines, if others had written all of them last.
    """
    think = its.cycles[0] - its.held + moved * (harts - 1) / harts
    if not its.held:
        return think
    return think + analyse(harts, think, {"device": its.held}).response


def moved_lines(its: Harts) -> float:
    """Return the cycles of lines that explain what two harts take."""
    second = its.counts.index(2)
    return max(0.0, 2 * (its.cycles[second] - call(its, 2, 0)))


def points(figures: Figures) -> list[Point]:
    """Return all points of more than one hart."""
    found = []
    for (scheme, state, load), its in figures.harts.items():
        moved = moved_lines(its)
        for harts, measured in zip(its.counts, its.cycles, strict=True):
            if harts > 1:
                alone, with_lines = call(its, harts, 0), call(its, harts, moved)
                found.append(Point(scheme, state, load, harts, measured, alone, with_lines, moved))
    return found


@dataclass(frozen=True)
class LinuxPoint:
    """An allocation and its free in Linux on so many harts, beside what bare metal lets expect.

    Attributes:
        scheme: who allocates.
        state: of the device.
        order: of the folios.
        harts: how many.
        measured: cycles.
        growth: of them, from one hart on.
        bare_growth: that of bare metal.
        queueing: cycles by what one hart takes, and the lock; lines: the same, with what lines cost on bare metal.
    """

    scheme: str
    state: str
    order: int
    harts: int
    measured: float
    growth: float
    bare_growth: float
    queueing: float
    lines: float


def linux_points(figures: Figures) -> list[LinuxPoint]:
    """Return Linux on more than one hart, where bare metal was measured on as many; its lock and lines are taken."""
    found = []
    for (scheme, state, order), cycles in figures.linux_harts.items():
        bare = figures.harts.get((scheme, state, f"order{order}"))
        if bare is None:
            continue
        its = Harts(tuple(cycles), tuple(cycles.values()), bare.held)
        for harts, measured in cycles.items():
            if harts == 1:
                continue
            bare_growth = bare.cycles[bare.counts.index(harts)] / bare.cycles[0]
            alone, lines = call(its, harts, 0), call(its, harts, moved_lines(bare))
            found.append(
                LinuxPoint(scheme, state, order, harts, measured, measured / cycles[1], bare_growth, alone, lines)
            )
    return found
