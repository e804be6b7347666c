# SPDX-License-Identifier: Apache-2.0
"""The figures of a page: those of a run where it has them, and where it has none those on record."""

from dataclasses import dataclass, field
from pathlib import Path

from hwswap.report import record, results
from hwswap.report.figures import Check, Dataset, Figures

NEAR = 0.02
"""A figure of a run is near the one on record when it differs by no more than this share."""

RECORD = "record"
"""In the place of a folder: what README and docs have."""


@dataclass
class Gathered:
    """What a page shows."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    checks: list[tuple[Check | None, Check | None]] = field(default_factory=list)
    """Of the run, and on record."""
    beside: dict[str, str] = field(default_factory=dict)
    """Of datasets of the run: a sentence on what is on record."""
    unread: list[str] = field(default_factory=list)

    @property
    def counted(self) -> dict[str, int]:
        """How many datasets are of the run, and how many on record."""
        kinds = [dataset.source.kind for dataset in self.datasets.values()]
        return {kind: kinds.count(kind) for kind in ("run", "record")}


def near(run: Dataset, recorded: Dataset) -> str:
    """Say how many figures of a run are near those on record."""
    if "short form" in run.source.note:
        return f"{recorded.source} ({recorded.source.place}), which this run, a short form, is not compared with."
    known = {(row, column): value for row, column, value in recorded.values()}
    pairs = [(value, known[row, column]) for row, column, value in run.values() if (row, column) in known]
    if not pairs:
        return f"{recorded.source} ({recorded.source.place}): no row of it is in this run."
    close = sum(abs(ours - theirs) <= NEAR * abs(theirs) for ours, theirs in pairs)
    return (
        f"{recorded.source} ({recorded.source.place}): {close} of the {len(pairs)} figures that both have differ by no "
        f"more than {100 * NEAR:.0f} %."
    )


def read(folder: str | Path) -> Figures:
    """Read a folder of results, or what is on record."""
    return record.read() if str(folder) == RECORD else results.read(Path(folder))


def gather(folder: Path) -> Gathered:
    """Take a folder's figures, and what is on record for all it has none of."""
    recorded, run = record.read(), results.read(folder)
    found = Gathered(unread=run.unread)
    for name in dict.fromkeys((*recorded.datasets, *run.datasets)):
        if name in run.datasets:
            found.datasets[name] = run.datasets[name]
            if name in recorded.datasets:
                said = near(run.datasets[name], recorded.datasets[name])
                found.beside[name] = said[0].upper() + said[1:]
        else:
            found.datasets[name] = recorded.datasets[name]
    for name in dict.fromkeys((*recorded.checks, *run.checks)):
        found.checks.append((run.checks.get(name), recorded.checks.get(name)))
    return found
