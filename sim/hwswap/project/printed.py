# SPDX-License-Identifier: Apache-2.0
"""Tables and progress on the terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]] = (), left: Sequence[int] = (0,)) -> Table:
    """Return a table with its rows; the columns of the numbers `left` are text, the others are aligned as numbers."""
    made = Table(title=title)
    for at, head in enumerate(heads):
        made.add_column(head, justify="left" if at in left else "right")
    for row in rows:
        made.add_row(*map(str, row))
    return made


def progress_bar(console: Console) -> Progress:
    """Return a display of the present step, and of the time that all have run."""
    return Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console)
