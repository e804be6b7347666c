# SPDX-License-Identifier: Apache-2.0
"""What several CPUs take by the calculation, beside the simulated SoC with 1, 2 and 4 harts.

Two calculations. *Queueing alone* is what the tables of costs over CPUs are made of: CPUs meet at the lock of the
device. *With lines that move* adds that data which all CPUs write was last written by another one with a chance of
(n - 1) / n, as far as calls are spread evenly; what that costs is fitted to two harts, four are predicted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hwswap.breakeven import queueing
from hwswap.breakeven.figures import Figures, Harts


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
    return think + queueing.analyse(harts, think, {"device": its.held}).response


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


def errors(of: Sequence[Point], calculation: str) -> list[float]:
    """Return how far a calculation, `queueing` or `lines`, is off, in parts of what was measured."""
    return [getattr(point, calculation) / point.measured - 1 for point in of]
