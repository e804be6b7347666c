# SPDX-License-Identifier: Apache-2.0
"""The result of an experiment: published figures beside ours, tables of ours alone, and figures without a match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from hwswap.experiments.published import Source
from hwswap.project import printed
from hwswap.results.schema import Figure

TOLERANCE = 0.03
"""Of ours, in another run."""


@dataclass(frozen=True)
class Row:
    """A figure: ours, and the published one, if there is one."""

    figure: str
    ours: float
    published: float | None = None
    source: Source | None = None
    digits: int = 2

    @property
    def ratio(self) -> float | None:
        """Return our figure divided by the published one."""
        return None if not self.published else self.ours / self.published


@dataclass
class Result:
    """The result of an experiment."""

    title: str
    rows: list[Row]
    tables: list[Table]
    """Of ours alone."""

    incomparable: Sequence[str]
    """Published results that cannot be compared, a sentence each."""

    def figures(self) -> Iterator[Figure]:
        """Yield the rows for the file of results."""
        for row in self.rows:
            unit = "%" if row.figure.startswith("%") else "number"
            if row.published is not None:
                yield Figure(row.figure, "published", round(row.published, 4), unit, {}, 0)
            yield Figure(row.figure, "ours", round(row.ours, 4), unit, {}, TOLERANCE)

    def sources(self) -> list[str]:
        """Return the sources, each once, in the order of the rows."""
        return list(dict.fromkeys(str(row.source) for row in self.rows if row.source))

    def table(self) -> Table:
        """Return the published figures beside ours; sources are numbered as `sources` lists them."""
        numbers, rows = self.sources(), []
        for row in self.rows:
            said = "no figure was published"
            if row.published is not None:
                said = rf"{row.published:,.{row.digits}f} \[{numbers.index(str(row.source)) + 1}]"
            ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
            rows.append((row.figure, said, f"{row.ours:,.{row.digits}f}", ratio))
        return printed.table(self.title, ("figure", "published", "ours", "ours : published"), rows)

    def show(self, console: Console) -> None:
        """Print the tables, the sources, and the results that cannot be compared."""
        console.print(self.table())
        for number, source in enumerate(self.sources(), 1):
            console.print(f"[{number}] {source}.", markup=False)
        for table in self.tables:
            console.print(table)
        for sentence in self.incomparable:
            console.print(f"Not comparable: {sentence}", markup=False)
