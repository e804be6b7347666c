# SPDX-License-Identifier: Apache-2.0
"""What a figure of the report is: numbers by row and column, and where they are from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal


class ReportError(RuntimeError):
    """The report cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class Source:
    """Where figures are from: a result file of a run, or a page of the repository that has them on record."""

    kind: Literal["run", "record"]
    place: str
    """The file, in the folder of results, or the page."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """Of the sources and of the kernel patches, as the file or the page names them."""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    """What else has to be known, as that it was a short form."""

    def __str__(self) -> str:
        """Say it beside the figures."""
        said = "this run" if self.kind == "run" else "on record"
        commit, patches = self.commits.get("hwswap"), self.commits.get("patches")
        if commit:
            return f"{said}, commit {commit}"
        return f"{said}, patch series {patches}" if patches else said


@dataclass(frozen=True)
class Stat:
    """What a kind of call costs: the mean over all of them, and percentiles where they are known."""

    mean: float
    p50: float | None = None
    p99: float | None = None
    failed: bool = False
    """All of the calls find no room."""


Call = tuple[str, int, str]
"""Operation (`alloc` or `free`), order, state of swap."""

VERBS = {"alloc": "allocate", "free": "free"}


def words(call: Call) -> str:
    """Name a kind of call."""
    op, order, state = call
    return f"{VERBS[op]} order {order}" + (f", {state}" if state else "")


@dataclass
class Calls:
    """What calls of the allocator cost, by column."""

    name: str
    unit: str
    rows: dict[Call, dict[str, Stat]]
    source: Source

    @property
    def columns(self) -> list[str]:
        """All columns, in their order."""
        return list(dict.fromkeys(column for row in self.rows.values() for column in row))

    def values(self) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Yield row, column and number of all that can be compared."""
        for call, row in self.rows.items():
            for column, stat in row.items():
                for name in ("mean", "p50", "p99"):
                    if (value := getattr(stat, name)) is not None:
                        yield (words(call), name), column, value


@dataclass
class Matrix:
    """Numbers of other kinds: rows that are named by some words, and columns."""

    name: str
    axes: tuple[str, ...]
    rows: dict[tuple[str, ...], dict[str, float | None]]
    source: Source

    @property
    def columns(self) -> list[str]:
        """All columns, in their order."""
        return list(dict.fromkeys(column for row in self.rows.values() for column in row))

    def values(self) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Yield row, column and number of all that can be compared."""
        for row, cells in self.rows.items():
            for column, value in cells.items():
                if value is not None:
                    yield row, column, value


@dataclass
class Check:
    """A check: what it is about, and what it came to in words."""

    name: str
    figure: str
    command: str
    source: Source


Dataset = Calls | Matrix


@dataclass
class Figures:
    """All that is known of a run, or on record: datasets and checks by name."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Result files that no figure of the page is taken from."""

    def add(self, dataset: Dataset | None) -> None:
        """Add a dataset, unless it is empty."""
        if dataset is not None and dataset.rows:
            self.datasets[dataset.name] = dataset
