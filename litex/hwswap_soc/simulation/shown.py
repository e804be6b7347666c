# SPDX-License-Identifier: Apache-2.0
"""Figures of a command, as the table that it prints."""

from collections.abc import Iterable

from hwswap.results.schema import Figure
from hwswap.results.tables import cell
from rich.table import Table


def table(title: str, figures: Iterable[Figure]) -> Table:
    """Returns a table with a row for each thing that was measured; in brackets the ratio to the first column.

    Args:
        title: of the table.
        figures: of which each goes into the column that it is of.
    """
    rows: dict[str, dict[str, Figure]] = {}
    columns: dict[str, None] = {}
    for figure in figures:
        rows.setdefault(figure.what, {})[figure.of] = figure
        columns[figure.of] = None
    view = Table(title=title)
    view.add_column("")
    for column in columns:
        view.add_column(column, justify="right")
    first = next(iter(columns), "")
    for what, found in rows.items():
        base = found.get(first)
        texts = [cell(found.get(column)) for column in columns]
        for number, column in enumerate(columns):
            if number and column in found and base and base.value:
                texts[number] += f" ({found[column].value / base.value:.2f})"
        view.add_row(what, *texts)
    return view
