# SPDX-License-Identifier: Apache-2.0
"""Two runs beside each other: every figure that both have, the greatest changes first."""

from collections.abc import Mapping
from html import escape

from hwswap.report import charts, tables
from hwswap.report.figures import Check, Dataset, Figures, ReportError
from hwswap.report.gather import NEAR
from hwswap.report.page import Section
from hwswap.report.sections import ABOUT

SHOWN = 24
"""So many rows a figure are drawn: those that differ most. All are in the numbers."""

Pair = tuple[str, float, float]


def pairs(a: Dataset, b: Dataset) -> list[Pair]:
    """Return what both have, the greatest change first: name, and the numbers of A and B."""
    known = {(row, column): value for row, column, value in a.values()}
    found = [
        (", ".join(filter(None, (column, *row))), known[row, column], value)
        for row, column, value in b.values()
        if (row, column) in known
    ]

    def change(pair: Pair) -> float:
        _, ours, theirs = pair
        if ours > 0 and theirs > 0:
            return max(theirs / ours, ours / theirs)
        return 1.0 if ours == theirs else float("inf")

    return sorted(found, key=change, reverse=True)


def counted(found: list[Pair]) -> tuple[int, int, int]:
    """Return how many figures are less in B, near, and more."""
    less = sum(b < a - NEAR * abs(a) for _, a, b in found)
    more = sum(b > a + NEAR * abs(a) for _, a, b in found)
    return less, len(found) - less - more, more


def part(name: str, a: Dataset, b: Dataset) -> Section:
    """Return the part of the page for a dataset of both."""
    found = pairs(a, b)
    unit = getattr(b, "unit", "")
    less, near, more = counted(found)
    lede = (
        f"{len(found)} figures: {less} less in B by more than {100 * NEAR:.0f} %, {more} more, {near} in between. "
        "Each side is one run, so a change of some per cent may be chance."
    )
    drawn = [pair for pair in found if pair[1] > 0 and pair[2] > 0][:SHOWN]
    if len(drawn) < len(found):
        lede += f" Drawn are the {len(drawn)} that differ most."
    rows = [
        [escape(what), tables.number(ours), tables.number(theirs), f"{theirs / ours:.3f}" if ours else "-"]
        for what, ours, theirs in found
    ]
    facts = {
        "A": f"{a.source.place}, {tables.source_words(a.source)}",
        "B": f"{b.source.place}, {tables.source_words(b.source)}",
    }
    chart = charts.ratios(drawn, unit) if drawn else None
    title = ABOUT[name].title if name in ABOUT else name
    numbers = tables.table(["figure", "A", "B", "B : A"], rows, 1)
    return Section(name, title, lede, None, chart, "", numbers, facts, 2)


def summary(both: Mapping[str, tuple[Dataset, Dataset]], a: Figures, b: Figures) -> Section:
    """Return the first part: how much is less and how much more, and what only one of them has."""
    rows = []
    for name, (ours, theirs) in both.items():
        found = pairs(ours, theirs)
        less, near, more = counted(found)
        title = ABOUT[name].title if name in ABOUT else name
        link = f'<a href="#{name}">{escape(title)}</a>'
        greatest = next((f"{y / x:.2f} {escape(what)}" for what, x, y in found if x and y), "-")
        rows.append(
            [link, greatest, tables.badge(ours.source), tables.badge(theirs.source), str(less), str(near), str(more)]
        )
    head = ["figure", "greatest change, B : A", "A", "B", "less in B", "near", "more in B"]
    html = tables.table(head, rows, 4)
    for side, other, name in ((a, b, "A"), (b, a, "B")):
        alone = [ABOUT[d].title if d in ABOUT else d for d in side.datasets if d not in other.datasets]
        alone += [check.name for n, check in side.checks.items() if n not in other.checks]
        if alone:
            html += f"<p>Only in {name}: {escape('; '.join(alone))}.</p>"
    less, near, more = (sum(counted(pairs(*two))[i] for two in both.values()) for i in range(3))
    answer = (
        f'<div class="answer"><p>Of {less + near + more:,} figures that both have, B is '
        f"<strong>less in {less:,}</strong>, <strong>more in {more:,}</strong>, "
        f"and within {100 * NEAR:.0f} % in {near:,}.</p></div>"
    )
    lede = "For costs less is better. What differs by more than chance is for the reader to judge: no spread is known."
    return Section("summary", "What changed", lede, None, None, html, first=answer)


def checks(a: Mapping[str, Check], b: Mapping[str, Check]) -> Section:
    """Return what the checks came to."""

    def cell(check: Check | None) -> str:
        return f"{escape(check.figure)} {tables.badge(check.source)}" if check else "-"

    rows = [
        [escape((a.get(name) or b[name]).name), cell(a.get(name)), cell(b.get(name))]
        for name in dict.fromkeys((*a, *b))
    ]
    return Section("checks", "Checks", "", None, None, tables.table(["check", "A", "B"], rows, 3))


def compare(a: Figures, b: Figures, names: tuple[str, str]) -> list[Section]:
    """Return the parts of the page for two runs.

    Args:
        a: the first one.
        b: the second one.
        names: of their folders.
    """
    both = {name: (a.datasets[name], b.datasets[name]) for name in a.datasets if name in b.datasets}
    both = {name: two for name, two in both.items() if pairs(*two)}
    if not both:
        raise ReportError(f"{names[0]} and {names[1]} have no figure in common: give two folders of results, as build")
    parts = [summary(both, a, b)]
    parts += [part(name, *two) for name, two in both.items()]
    if a.checks or b.checks:
        parts.append(checks(a.checks, b.checks))
    return parts
