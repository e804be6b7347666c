# SPDX-License-Identifier: Apache-2.0
"""The bench's results as tables."""

from collections.abc import Sequence

from rich.table import Table

from hwswap_soc.bench.bench_result import COMPARED, OPS, STATES, TITLES, Cell, Report

_NAMES = {"alloc": "allocate", "free": "free"}


def _text(cell: Cell | None, stock: Cell | None) -> str:
    if cell is None:
        return "-"
    text = f"{cell.mean:,.0f}"
    if stock is not None and cell is not stock:
        text += f" ({cell.mean / stock.mean:.2f})"
    return text + (f" {cell.failures}/{cell.n} fail" if cell.failures else "")


def _by_call(title: str, schemes: Sequence[str]) -> Table:
    """A table of calls, in which each scheme has a column; without rows."""
    table = Table(title=title)
    for name in ("device", "operation", "order"):
        table.add_column(name)
    for scheme in schemes:
        table.add_column(TITLES[scheme], justify="right")
    return table


def main_table(report: Report) -> Table:
    """Mean cycles a call, by state, operation and order: all schemes side by side."""
    schemes = report.schemes
    table = _by_call("CPU cycles a call: mean over hits, misses, fall-backs and failures (ratio to stock)", schemes)
    for state in STATES:
        for op in OPS:
            for order in report.orders:
                cells = [report.cell(scheme, state, order, op) for scheme in schemes]
                if any(cells):
                    stock = report.cell("stock", state, order, op)
                    table.add_row(state, _NAMES[op], str(order), *(_text(cell, stock) for cell in cells))
            table.add_section()
    return table


def spread_table(report: Report) -> Table:
    """Median, 99th percentile and maximum."""
    table = _by_call("CPU cycles a call: p50 / p99 / max", COMPARED)
    for state in STATES:
        for op in OPS:
            for order in report.orders:
                cells = [report.cell(scheme, state, order, op) for scheme in COMPARED]
                if any(cells):
                    texts = (f"{c.p50:,} / {c.p99:,} / {c.max:,}" if c else "-" for c in cells)
                    table.add_row(state, _NAMES[op], str(order), *texts)
            table.add_section()
    return table


def grant_table(report: Report) -> Table:
    """What became of grants, and how many marks were set; at last those of frees, and the cycles of letting go."""
    columns = {"hits": "hits", "strays": "strays", "ring empty": "misses", "failed at once": "no_run"}
    columns |= {"popped": "popped", "refused": "refused", "marks": "marks"}
    table = Table(title="Grants: what happened")
    for name in ("device", "order", "allocations", "failures", *columns, "marks of frees", "letting go"):
        table.add_column(name, justify="left" if name == "device" else "right")
    for state in STATES:
        for order in report.orders:
            alloc, free = (report.cell("grants", state, order, op) for op in OPS)
            if alloc is None:
                continue
            numbers = [alloc.n, alloc.failures, *(alloc.counts[name] for name in columns.values())]
            ending = [free.counts["marks"], free.extra] if free else []
            table.add_row(state, str(order), *(f"{n:,}" for n in numbers), *([f"{n:,}" for n in ending] or ["-", "-"]))
    return table


def sweep_table(title: str, column: str, reports: list[tuple[str, Report]]) -> Table:
    """Cycles of an allocation and its free, by a parameter.

    Args:
        title: what was swept.
        column: name of the parameter.
        reports: its values, as text, and what was measured there.
    """
    table = Table(title=f"{title}: mean CPU cycles of an allocation and its free (ratio to stock there)")
    for name in ("device", "order", column):
        table.add_column(name)
    for scheme in COMPARED:
        table.add_column(TITLES[scheme], justify="right")
    for state in STATES:
        for order in reports[0][1].orders:
            for value, report in reports:
                costs = [report.pair(scheme, state, order) for scheme in COMPARED]
                if None in costs:
                    continue
                texts = [f"{costs[0]:,.0f}", *(f"{cost:,.0f} ({cost / costs[0]:.2f})" for cost in costs[1:])]
                table.add_row(state, str(order), value, *texts)
        table.add_section()
    return table
