# SPDX-License-Identifier: Apache-2.0
"""The targets of `make bench-offload`, beside its measurements."""

from collections.abc import Mapping
from typing import Any

from hwswap.bench import lines
from hwswap.bench.targets import Target

STATES = {"empty": "empty", "50": "half full", "90": "90 % full"}
FAIL = "fail"
"""State in which a large folio finds no room."""

Figures = Mapping[tuple[str, str, int, str], Mapping[str, Any]]
"""Column, operation, order, state -> a line of the bench."""

Rates = Mapping[tuple[int, int, str], tuple[float, float]]
"""Devices, per cent in use, placement -> share of large folios split, system time."""

TUNED: Mapping[tuple[str, int, str], float] = {
    ("alloc", 0, "empty"): 0.85,
    ("alloc", 0, "90"): 0.70,
    ("free", 0, "empty"): 0.93,
    ("alloc", 9, "empty"): 0.40,
}
"""Operation, order, state -> share of the unpatched kernel's average that tuned may take; 1 for all others."""

NEAR_FULL: tuple[tuple[int, str, float], ...] = (
    (0, "p50", -20),
    (0, "avg", -25),
    (0, "p99", -55),
    (2, "avg", -15),
    (2, "p99", -50),
    (4, "avg", -7),
    (4, "p99", -35),
)
"""Order, figure, percent: to allocate at 90 % full, grants against unpatched."""

FALLBACKS = {92: {"indexed": 0.40, "open": 0.02}, 96: {"indexed": 0.60}}
"""Per cent in use of two devices -> placement -> share of the fall-backs of `linux` that may be left."""

WIDE = 0.001
"""Share of large folios that may be split where the search is wide; it may take no more time than `linux`."""


def _share(name: str, before: float, after: float, share: float) -> Target:
    """Return the target that a figure is at most such a share of the one before."""
    ratio = after / before
    return Target(name, f"{before:,.0f} -> {after:,.0f} ({ratio:.2f})", f"at most {share:.2f}", ratio <= share)


def _more(name: str, before: float, after: float, most: int) -> Target:
    """Return the target that a cost is at most so many instructions higher."""
    change = after - before
    return Target(name, f"{before:,.0f} -> {after:,.0f} ({change:+,.0f})", f"at most {most:+}", change <= most)


def _percent(name: str, before: float, after: float, percent: float) -> Target:
    """A figure that has to change by so many percent, or by more downwards."""
    change = 100 * (after - before) / before if before else 0.0
    return Target(name, f"{before:,.0f} -> {after:,.0f} ({change:+.1f} %)", f"at most {percent:+} %", change <= percent)


def calls(figures: Figures) -> list[Target]:
    """Return the targets for the cost of calls, as far as there are figures for them."""
    found = []
    for (column, op, order, state), e in figures.items():
        if column != "tuned":
            continue
        # All work of order 9 is counted: most of it may be a worker's.
        figure, said = ("all", "all work") if (op, order) == ("alloc", 9) else ("avg", "average")
        before = figures["unpatched", op, order, state][figure]
        name = f"tuned, {lines.call({'op': op, 'order': order})}, {STATES.get(state, 'no room')}, {said}"
        found.append(_share(name, before, e[figure], TUNED.get((op, order, state), 1.0)))

    def pair(op: str, order: int, state: str, figure: str = "avg") -> tuple[float, float]:
        return figures["unpatched", op, order, state][figure], figures["grants", op, order, state][figure]

    found.append(_more("grants, allocate order 0, empty, average", *pair("alloc", 0, "empty"), 25))
    found.append(_more("grants, free order 0, empty, average", *pair("free", 0, "empty"), 30))
    found.append(_more("grants, allocate order 0, half full, average", *pair("alloc", 0, "50"), 5))
    for order, figure, percent in NEAR_FULL:
        if ("grants", "alloc", order, "90") in figures:
            name = f"grants, allocate order {order}, 90 % full, {figure}"
            found.append(_percent(name, *pair("alloc", order, "90", figure), percent))
    for column, op, order, state in figures:
        if column == "grants" and state == FAIL:
            before, after = pair(op, order, state)
            name = f"grants, order {order} without room, average"
            found.append(Target(name, f"{before:,.0f} -> {after:,.0f}", f"below {before:,.0f}", after < before))
    if ("grants", "alloc", 4, "empty") in figures:
        p99 = figures["grants", "alloc", 4, "empty"]["p99"]
        found.append(Target("grants, allocate order 4, empty, p99", f"{p99:,.0f}", "at most 2,000", p99 <= 2000))
    return found


def fallbacks(rates: Rates) -> list[Target]:
    """Return the targets for fall-backs."""
    found = []
    for percent, shares in FALLBACKS.items():
        before, ticks = rates[2, percent, "linux"]
        for placement, share in shares.items():
            after = rates[2, percent, placement][0]
            name = f"fall-backs, {percent} % full, {placement}"
            # If nothing falls back without grants, the run shows nothing.
            met = before > 0 and after <= before * share
            found.append(Target(name, f"{before:.2%} -> {after:.2%}", f"at most {share:.0%} of that", met))
        after, spent = rates[2, percent, "wide"]
        met = before > 0 and after <= WIDE
        found.append(Target(f"fall-backs, {percent} % full, wide", f"{after:.3%}", f"at most {WIDE:.1%}", met))
        found.append(_share(f"system time, {percent} % full, wide", ticks, spent, 1.0))
    return found
