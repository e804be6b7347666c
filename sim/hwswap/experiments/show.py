# SPDX-License-Identifier: Apache-2.0
"""A result on a terminal."""

from rich.console import Console
from rich.table import Table

from hwswap.experiments.comparison import Grid, Result

UNPUBLISHED = "no figure was published"


def comparison(result: Result) -> Table:
    """Return the table of published figures beside ours; sources are numbered as `sources` lists them."""
    table = Table(title=result.title)
    table.add_column("figure")
    for name in ("published", "ours", "ours : published"):
        table.add_column(name, justify="right")
    numbers = sources(result)
    for row in result.rows:
        if row.published is None:
            said, ratio = UNPUBLISHED, "-"
        else:
            said = f"{row.published:,.{row.digits}f} [{numbers.index(str(row.source)) + 1}]"
            ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(row.figure, said.replace("[", r"\["), f"{row.ours:,.{row.digits}f}", ratio)
    return table


def sources(result: Result) -> list[str]:
    """Return the sources of a result, each once, in the order of its rows."""
    return list(dict.fromkeys(str(row.source) for row in result.rows if row.source))


def of_ours(grid: Grid) -> Table:
    """Return a table of our figures alone."""
    table = Table(title=grid.title)
    for at, column in enumerate(grid.columns):
        table.add_column(column, justify="right" if at else "left")
    for row in grid.rows:
        table.add_row(*row)
    return table


def show(result: Result, console: Console) -> None:
    """Print a result: its tables, its sources, why figures differ, and what cannot be compared."""
    console.print(comparison(result))
    for number, source in enumerate(sources(result), 1):
        console.print(f"[{number}] {source}.", markup=False)
    for grid in result.grids:
        console.print(of_ours(grid))
    for head, sentences in (("Why they differ", result.differs), ("Not comparable", result.incomparable)):
        for sentence in sentences:
            console.print(f"{head}: {sentence}", markup=False)
