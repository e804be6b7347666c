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

GAP: Mapping[tuple[int, str], float] = {(0, "empty"): 0.50, (0, "90"): 0.40, (2, "90"): 0.40, (4, "90"): 0.40}
"""Order, state -> share of what the oracle saves of tuned's average allocation that grants save, at least."""

LATE: Mapping[tuple[int, str], float] = {(0, "90"): 0.65, (2, "90"): 0.62, (4, "90"): 0.70}
"""Order, state -> share of tuned's p99 that an allocation by grants may take."""
LATE_BY_STATE = {"empty": 1.05, FAIL: 0.50}
"""The same of all orders."""

FALLBACKS = {92: 0.30, 96: 0.50}
"""Per cent in use of two devices -> share of the fall-backs of `linux` that `indexed` may leave."""
RIVALS = {"indexed": "devices", "open": "wide"}
"""Placement by grants -> the search in software by the same rule, which may split no fewer."""

WIDE = 0.001
"""Share of large folios that may be split where the search is wide; it may take no more time than `linux`."""


def _share(name: str, before: float, after: float, share: float) -> Target:
    """Return the target that a figure is at most such a share of the one before."""
    ratio = after / before
    return Target(name, f"{before:,.0f} -> {after:,.0f} ({ratio:.2f})", f"at most {share:.2f}", ratio <= share)


def _gap(name: str, before: float, after: float, least: float, share: float) -> Target:
    """Return the target that a figure goes at least such a share of the way from the one before to the least."""
    ratio = (before - after) / (before - least)
    text = f"{before:,.0f} -> {after:,.0f} of {least:,.0f} ({ratio:.2f})"
    return Target(name, text, f"at least {share:.2f}", ratio >= share)


def _grants(figures: Figures, order: int, state: str) -> list[Target]:
    """Return the targets for grants beside tuned software, of an order and state."""

    def cost(column: str, figure: str, *ops: str) -> float:
        return sum(figures[column, op, order, state][figure] for op in ops)

    def share(what: str, figure: str, most: float, *ops: str) -> Target:
        return _share(f"grants, {what}", cost("tuned", figure, *ops), cost("grants", figure, *ops), most)

    row = f"order {order}, {STATES.get(state, 'no room')}"
    found = [share(f"allocate {row}, average", "avg", 1.0, "alloc")]
    late = LATE_BY_STATE.get(state, LATE.get((order, state)))
    if late is not None:
        found.append(share(f"allocate {row}, p99", "p99", late, "alloc"))
    if (order, state) in GAP and ("oracle", "alloc", order, state) in figures:
        costs = (cost(column, "avg", "alloc") for column in ("tuned", "grants", "oracle"))
        found.append(_gap(f"grants, allocate {row}, of what the oracle saves", *costs, GAP[order, state]))
    if ("grants", "free", order, state) in figures:
        found.append(share(f"free {row}, average", "avg", 1.03, "free"))
        found.append(share(f"allocate and free {row}, average", "avg", 1.0, "alloc", "free"))
        found.append(share(f"allocate and free {row}, all work", "all", 1.0, "alloc", "free"))
    return found


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

    for column, op, order, state in figures:
        if (column, op) == ("grants", "alloc"):
            found += _grants(figures, order, state)
    return found


def fallbacks(rates: Rates) -> list[Target]:
    """Return the targets for fall-backs."""
    found = []
    for percent, share in FALLBACKS.items():
        before, ticks = rates[2, percent, "linux"]
        after = rates[2, percent, "indexed"][0]
        # If nothing falls back without grants, the run shows nothing.
        met = before > 0 and after <= before * share
        name = f"fall-backs, {percent} % full, indexed"
        found.append(Target(name, f"{before:.2%} -> {after:.2%}", f"at most {share:.0%} of that", met))
        for placement, rival in RIVALS.items():
            theirs, after = rates[2, percent, rival][0], rates[2, percent, placement][0]
            name = f"fall-backs, {percent} % full, {placement} beside {rival}"
            found.append(Target(name, f"{theirs:.3%} -> {after:.3%}", "no more", after <= theirs))
        after, spent = rates[2, percent, "wide"]
        met = before > 0 and after <= WIDE
        found.append(Target(f"fall-backs, {percent} % full, wide", f"{after:.3%}", f"at most {WIDE:.1%}", met))
        found.append(_share(f"system time, {percent} % full, wide", ticks, spent, 1.0))
    return found
