# SPDX-License-Identifier: Apache-2.0
"""What a call takes on the simulated SoC, as a function of order and DRAM latency, and how far that is off.

    cycles = a + b * slots + (c + d * slots) * latency

for each scheme, state and operation, with no coefficient below 0, so that more latency is never cheaper. Errors are
weighed by the measured cycles, as order 9 takes fifty times what order 0 does. Half of the latencies and some of the
orders are left out of the fit: there it predicts.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hwswap.breakeven.figures import FLOOR, Figures, Soc

FITTED_ORDERS = (0, 4, 9)
"""The others are predicted."""

LATENCY = 16
"""DRAM latency, in cycles, of `make bench-soc` and `make soc-linux` unless told otherwise."""


@dataclass(frozen=True)
class Fit:
    """Cycles of a call.

    Attributes:
        cpu: name of the CPU.
        scheme: who allocates.
        state: of the device.
        op: operation.
        base: cycles of any call; per_slot: of each slot; accesses: memory accesses of any call, whose latency it waits
            for; accesses_per_slot: of each slot.
        rest: by order that was measured, what it took beyond that, at the latency of LATENCY or the first.
    """

    cpu: str
    scheme: str
    state: str
    op: str
    base: float
    per_slot: float
    accesses: float
    accesses_per_slot: float
    rest: Mapping[int, float]

    def cycles(self, order: int, latency: float) -> float:
        """Return what it says of an order and a DRAM latency."""
        slots = 2**order
        return self.base + self.per_slot * slots + (self.accesses + self.accesses_per_slot * slots) * latency

    def through_measured(self, order: int, latency: float) -> float:
        """Return the same, moved so that it goes through what was measured of the order."""
        return self.cycles(order, latency) + self.rest.get(order, 0.0)


@dataclass(frozen=True)
class Point:
    """A measured mean beside what the calculation says.

    Attributes:
        check: `fit`: orders and latencies by the fit; `clock`: the engine's clock; `MMIO`: what MMIO takes beyond the
            table's entries is that of order 0 at every order; `Linux` and `Linux, median`: a guest's instructions by
            cycles an instruction.
        cpu: name of the CPU.
        scheme: who allocates.
        state: of the device.
        op: operation.
        order: of the folio.
        latency: DRAM latency in cycles.
        ratio: engine clock to CPU clock; None: one clock.
        measured: cycles; predicted: cycles.
        fitted: whether it is among those the fit was made from.
    """

    check: str
    cpu: str
    scheme: str
    state: str
    op: str
    order: int
    latency: int
    ratio: float | None
    measured: float
    predicted: float
    fitted: bool

    @property
    def error(self) -> float:
        """How far it is off, in parts of what was measured."""
        return self.predicted / self.measured - 1


def fitted_latencies(latencies: Sequence[int]) -> tuple[int, ...]:
    """Return those that are fitted: every second one, so that those left out lie between and, if even, beyond."""
    return tuple(sorted(latencies)[::2])


def least_squares(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return coefficients of 0 or more with the least sum of squares.

    At the optimum those that are not 0 solve the ordinary problem, so with four of them all subsets can be tried.
    """
    best, least = np.zeros(matrix.shape[1]), float(wanted @ wanted)
    for size in range(1, matrix.shape[1] + 1):
        for subset in itertools.combinations(range(matrix.shape[1]), size):
            part = matrix[:, subset]
            found, *_ = np.linalg.lstsq(part, wanted, rcond=None)
            # Next to no number at all in a column leaves a coefficient that no float holds.
            if not np.isfinite(found).all() or (found < 0).any():
                continue
            rest = wanted - part @ found
            if float(rest @ rest) < least - 1e-12:
                best, least = np.zeros(matrix.shape[1]), float(rest @ rest)
                best[list(subset)] = found
    return best


def fit(soc: Soc, scheme: str, state: str, op: str) -> Fit | None:
    """Return the fit of a scheme's call; None: it was not measured there at two orders."""
    latencies = fitted_latencies(soc.latencies)
    samples = [
        (2.0**order, float(latency), mean)
        for (its_scheme, its_state, its_op, order), means in soc.cycles.items()
        if (its_scheme, its_state, its_op) == (scheme, state, op) and order in FITTED_ORDERS
        for latency, mean in zip(soc.latencies, means, strict=True)
        if latency in latencies
    ]
    if len({slots for slots, _, _ in samples}) < 2:
        return None
    rows = np.array([[1, slots, latency, slots * latency] for slots, latency, _ in samples])
    means = np.array([mean for _, _, mean in samples])
    if len(latencies) == 1:
        rows[:, 2:] = 0  # what latency costs cannot be told
    found = least_squares(rows / means[:, None], np.ones(len(means)))
    made = Fit(soc.cpu, scheme, state, op, *(float(value) for value in found), {})
    at = soc.latencies.index(LATENCY) if LATENCY in soc.latencies else 0
    rest = {
        order: means[at] - made.cycles(order, soc.latencies[at])
        for (*its, order), means in soc.cycles.items()
        if tuple(its) == (scheme, state, op)
    }
    return replace(made, rest=rest)


def fits(soc: Soc) -> dict[tuple[str, str, str], Fit]:
    """Return all fits of a CPU, by scheme, state and operation."""
    found = {}
    for key in dict.fromkeys((scheme, state, op) for scheme, state, op, _ in soc.cycles if scheme != FLOOR):
        made = fit(soc, *key)
        if made is not None:
            found[key] = made
    return found


def latency_points(soc: Soc) -> list[Point]:
    """Return all points of the sweep of latencies."""
    made = fits(soc)
    inside = fitted_latencies(soc.latencies)
    points = []
    for (scheme, state, op, order), means in soc.cycles.items():
        its = made.get((scheme, state, op))
        if its is None:
            continue
        for latency, mean in zip(soc.latencies, means, strict=True):
            fitted = order in FITTED_ORDERS and latency in inside
            predicted = its.cycles(order, latency)
            points.append(Point("fit", soc.cpu, scheme, state, op, order, latency, None, mean, predicted, fitted))
    return points


def ratio_points(soc: Soc) -> list[Point]:
    """Return all points of the sweep of clocks: cycles = a + b / ratio, from the slowest and the fastest engine."""
    points = []
    for (scheme, state, op, order), means in soc.by_ratio.items():
        slow, fast = min(soc.ratios), max(soc.ratios)
        at = {slow: means[soc.ratios.index(slow)], fast: means[soc.ratios.index(fast)]}
        waiting = max(0.0, (at[slow] - at[fast]) / (1 / slow - 1 / fast))
        for ratio, mean in zip(soc.ratios, means, strict=True):
            # Where a slower engine is not slower, the mean of both.
            base = at[fast] - waiting / fast if waiting else (at[slow] + at[fast]) / 2
            predicted = base + waiting / ratio
            points.append(
                Point(
                    "clock", soc.cpu, scheme, state, op, order, soc.ratio_latency, ratio, mean, predicted, ratio in at
                )
            )
    return points


def register_points(soc: Soc) -> list[Point]:
    """Return MMIO's points: table entries, which were measured alone, and what MMIO takes beyond them at order 0.

    That is what costs over a link are made of: so many accesses to registers a call, whatever its order.
    """
    points = []
    for (scheme, state, op, order), means in soc.cycles.items():
        floor = {its: soc.cycles.get((FLOOR, state, op, its)) for its in (0, order)}
        least = soc.cycles.get(("register", state, op, 0))
        if scheme != "register" or least is None or floor[0] is None or floor[order] is None:
            continue
        for latency, mean, one, entries, base in zip(
            soc.latencies, means, least, floor[order] or (), floor[0] or (), strict=True
        ):
            points.append(
                Point("MMIO", soc.cpu, scheme, state, op, order, latency, None, mean, entries + one - base, order == 0)
            )
    return points


def linux_points(figures: Figures, latency: int) -> list[Point]:
    """Return calls in Linux on the SoC beside a guest's instructions, by the cycles an instruction of one of them.

    The unpatched allocation of order 0 says how many cycles an instruction takes; all others are predicted. With means,
    and with medians.
    """
    points = []
    for check, first in (("Linux", 0), ("Linux, median", 2)):
        rate = figures.linux["unpatched", 0][first] / figures.kernel["unpatched", "empty", 0][0]
        for (mode, order), its in figures.linux.items():
            instructions = figures.kernel.get((mode, "empty", order))
            if instructions is None:
                continue
            for at, op in enumerate(("alloc", "free")):
                fitted = (mode, order, op) == ("unpatched", 0, "alloc")
                predicted = instructions[at] * rate
                measured = its[first + at]
                points.append(
                    Point(check, "rocket", mode, "empty", op, order, latency, None, measured, predicted, fitted)
                )
    return points


def points(figures: Figures, latency: int) -> list[Point]:
    """Return all points of all CPUs; `latency` is the DRAM's of Linux on the SoC."""
    found = [
        point
        for soc in figures.socs.values()
        for point in latency_points(soc) + ratio_points(soc) + register_points(soc)
    ]
    return found + linux_points(figures, latency)


@dataclass(frozen=True)
class Summary:
    """How far points are off, in parts of what was measured: the mean and the greatest of the absolute errors."""

    number: int
    mean: float
    worst: float


def summary(of: Sequence[Point]) -> Summary | None:
    """Return how far they are off; None: there is none."""
    errors = [abs(point.error) for point in of]
    return Summary(len(errors), sum(errors) / len(errors), max(errors)) if errors else None
