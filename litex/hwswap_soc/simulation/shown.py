# SPDX-License-Identifier: Apache-2.0
"""The displays of commands: progress of a run, and figures as a table."""

import time
from collections.abc import Iterable
from typing import Self

from hwswap.results.schema import Figure
from hwswap.results.tables import cell
from rich.console import Console
from rich.table import Table


class Live:
    """Progress of a simulation, on standard error: a live line on a terminal, else a line every half minute."""

    def __init__(self, name: str, alone: bool = True) -> None:
        """Make the display of a command.

        Args:
            name: begins its lines.
            alone: no other is shown at the same time; else there are lines on a terminal, too.
        """
        self.name = name
        self.console = Console(stderr=True, highlight=False)
        live = alone and self.console.is_terminal
        self._status = self.console.status("starting the simulated SoC") if live else None
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        """Start the display."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_) -> None:
        """End it."""
        if self._status:
            self._status.stop()

    def progress(self, cycles: int, seconds: float, phase: str = "") -> None:
        """Show `cycles` simulated in `seconds`, and in which part of the run."""
        text = f"{phase}{cycles / 1e6:.1f} Mcycles, {cycles / 1e3 / max(seconds, 1e-3):.0f} kcycles/s, {seconds:.0f} s"
        if self._status:
            self._status.update(text)
        elif time.monotonic() - self._told > 30:
            self._told = time.monotonic()
            self.console.print(f"{self.name}: {text}")


def table(title: str, figures: Iterable[Figure]) -> Table:
    """Return a table with a row for each thing that was measured; in brackets the ratio to the first column.

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
