# SPDX-License-Identifier: Apache-2.0
"""Tables: on the terminal, and the same in Markdown for the documentation."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]] = (), left: Sequence[int] = (0,)) -> Table:
    """Return a table with its rows; the columns of the numbers `left` are text, the others are aligned as numbers."""
    made = Table(title=title)
    for at, head in enumerate(heads):
        made.add_column(head, justify="left" if at in left else "right")
    for row in rows:
        made.add_row(*map(str, row))
    return made


def _plain(cell: object) -> str:
    """Return a cell without its markup; a bar would end it."""
    return Text.from_markup(str(cell)).plain.replace("|", "\\|")


def markdown(table: Table) -> str:
    """Return a table with its title as a paragraph; columns that are right-justified there are so here."""
    head = [_plain(column.header) for column in table.columns]
    rule = ["---:" if column.justify == "right" else "---" for column in table.columns]
    rows = zip(*([_plain(cell) for cell in column.cells] for column in table.columns), strict=True)
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]
    return f"{_plain(table.title or '')}\n\n" + "\n".join(lines) + "\n"


def page(tables: Iterable[Table], notes: Iterable[str]) -> str:
    """Return tables, and notes on them as a list."""
    return "\n".join([*(markdown(table) for table in tables), *(f"- {note}" for note in notes)]) + "\n"
