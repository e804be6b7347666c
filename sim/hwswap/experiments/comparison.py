# SPDX-License-Identifier: Apache-2.0
"""What an experiment returns: published figures beside ours, tables of ours alone, and what to think of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hwswap.experiments.published import Source


@dataclass(frozen=True)
class Row:
    """A figure: what was published, if anything was, and ours."""

    figure: str
    ours: float
    published: float | None = None
    source: Source | None = None
    digits: int = 2

    @property
    def ratio(self) -> float | None:
        """Ours by the published one."""
        return None if not self.published else self.ours / self.published


@dataclass(frozen=True)
class Grid:
    """A table of text: title, heads of columns, rows. The first column is text, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Result:
    """What came of an experiment."""

    name: str
    title: str
    rows: list[Row]
    grids: list[Grid]
    differs: Sequence[str]
    """Why ours and the published figures differ, a sentence each."""

    incomparable: Sequence[str]
    """What cannot be compared, a sentence each."""

    points: Sequence[Mapping[str, Any]] = ()
    """All that was counted, for JSON and the picture."""

    def json(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "title": self.title,
            "rows": [
                {
                    "figure": row.figure,
                    "published": row.published,
                    "source": asdict(row.source) if row.source else None,
                    "ours": round(row.ours, 4),
                    "ratio": None if row.ratio is None else round(row.ratio, 4),
                }
                for row in self.rows
            ],
            "differs": list(self.differs),
            "incomparable": list(self.incomparable),
            "points": [dict(point) for point in self.points],
        }
