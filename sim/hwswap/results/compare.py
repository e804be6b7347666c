# SPDX-License-Identifier: Apache-2.0
"""Compares two folders of results: the figures of the second that are as in the first."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from hwswap.project import printed
from hwswap.results.schema import Figure, Result


@dataclass(frozen=True)
class Pair:
    """A figure in both folders."""

    name: str
    before: Figure
    after: Figure

    @property
    def holds(self) -> bool:
        """Whether the second is close enough, by the tolerance of the first."""
        return self.before.holds(self.after.value)

    @property
    def change(self) -> float | None:
        """The change as a share of the first; None where that is 0."""
        return self.after.value / self.before.value - 1 if self.before.value else None


def pairs(before: Mapping[str, Result], after: Mapping[str, Result]) -> list[Pair]:
    """Return the figures that both have, in the order of the first; ValueError names one that has another unit.

    Those of a short form and a full one do not meet.
    """
    found = []
    for name, first in before.items():
        second = after.get(name)
        if second is None or first.short != second.short:
            continue
        figures = {(figure.what, figure.of): figure for figure in second.figures}
        for figure in first.figures:
            other = figures.get((figure.what, figure.of))
            if other is None:
                continue
            if other.unit != figure.unit:
                raise ValueError(f"{name}: '{figure.what}' is in {figure.unit} here, and in {other.unit} there")
            found.append(Pair(name, figure, other))
    return found


def lost(before: Mapping[str, Result], after: Mapping[str, Result]) -> list[str]:
    """Return the figures that a result of the first has, and the same result of the second has not."""
    gone = []
    for name in before.keys() & after.keys():
        if before[name].short == after[name].short:
            there = {(figure.what, figure.of) for figure in after[name].figures}
            keys = [(figure.what, figure.of) for figure in before[name].figures]
            gone += [f"{name}: {what} ({of})" for what, of in keys if (what, of) not in there]
    return sorted(gone)


def table(found: list[Pair]) -> Table:
    """Return one row per figure."""
    heads = ("result", "figure", "of", "unit", "before", "after", "change", "")
    rows = []
    for pair in found:
        before, after = pair.before, pair.after
        change = "-" if pair.change is None else f"{100 * pair.change:+.1f} %"
        values = f"{before.value:,.6g}", f"{after.value:,.6g}", change
        rows.append((pair.name, before.what, before.of, before.unit, *values, "" if pair.holds else "DIFFERS"))
    return printed.table("figures, before and after", heads, rows, left=(0, 1, 2, 3, 7))
