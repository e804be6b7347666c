# SPDX-License-Identifier: Apache-2.0
"""The result of a measuring command: figures with units, and their sources, as one JSON file.

build/results has those of this machine, results/ in the repository those on record.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from hwswap.project import paths, provenance

RECORD = paths.ROOT / "results"
"""The figures on record."""

RUNS = paths.BUILD / "results"
"""The folder for the results of commands."""

BETTER = ("less", "more", "")


class ResultError(ValueError):
    """A file is no result; the message is one sentence that names it."""


@dataclass(frozen=True)
class Figure:
    """A measured number."""

    what: str
    """The quantity: a row of the result's table."""
    of: str
    """Its owner: a column."""
    value: float
    unit: str
    spread: Mapping[str, float] = field(default_factory=dict)
    """Further facts of its distribution: p50, p99, least, greatest, seeds."""
    tolerance: float | None = None
    """The most that another run may be off, as a share of this one; None: any amount."""
    better: str = ""
    """The direction in which a run may be off by any amount: less, more, or none."""

    def holds(self, other: float) -> bool:
        """Return whether another run's number is close enough to this one."""
        if self.tolerance is None:
            return True
        if (self.better == "less" and other <= self.value) or (self.better == "more" and other >= self.value):
            return True
        # Results of a division are not the same to the last bit.
        return abs(other - self.value) <= self.tolerance * abs(self.value) + 1e-9


def exact(what: str, value: float, unit: str, better: str = "") -> Figure:
    """Return a figure of one column that another run has to have too, or to be better in the direction `better`."""
    return Figure(what, "", value, unit, {}, 0, better)


@dataclass(frozen=True)
class Result:
    """The measurements of one command."""

    name: str
    title: str
    command: str
    """The command line, at the repository's top."""
    platform: str
    """The machine it was measured on, with its clock."""
    leaves_out: str
    """The costs that are in no figure."""
    figures: tuple[Figure, ...]
    commit: str
    patches: str = ""
    """Hash of the patch series, of figures of a kernel."""
    engine: str = ""
    """Build hash of the engine, where one was run."""
    seed: int | None = None
    short: bool = False
    """The short form: less of everything."""

    def key(self, figure: Figure) -> tuple[str, str, str]:
        """Return the key of a figure in all files."""
        return self.name, figure.what, figure.of


def save(
    name: str, figures: Iterable[Figure], *, kernel: bool = False, folder: Path | None = None, **facts: Any
) -> Result:
    """Write a result, with the commit it is of; the file is there whole, or as it was.

    Args:
        name: of the file.
        figures: the measurements.
        kernel: whether the patch series had part in it.
        folder: folder for the file; RUNS if none is named.
        facts: the other fields of Result.
    """
    patches = provenance.patches() if kernel else ""
    result = Result(name, figures=tuple(figures), commit=provenance.commit(), patches=patches, **facts)
    _check(result, name)
    folder = folder or RUNS
    folder.mkdir(parents=True, exist_ok=True)
    paths.write(folder / f"{name}.json", f"{json.dumps(asdict(result), indent=1)}\n".encode())
    return result


def _check(result: Result, where: object) -> None:
    """Raise ResultError where a result says something that no reader could use."""
    keys = [result.key(figure) for figure in result.figures]
    if not keys:
        raise ResultError(f"{where}: there is no figure in it")
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ResultError(f"{where}: two figures are called '{', '.join(min(twice)[1:])}'")
    for figure in result.figures:
        if figure.better not in BETTER:
            raise ResultError(f"{where}: '{figure.what}' has better = '{figure.better}': choose less, more, or nothing")
        if not all(isinstance(number, (int, float)) for number in (figure.value, *figure.spread.values())):
            raise ResultError(f"{where}: '{figure.what}' has a value that is no number")


def _made(kind: type, found: Any, where: object) -> Any:
    """Return an object of the fields of a file."""
    known = {each.name for each in fields(kind)}
    if not isinstance(found, dict) or not set(found) <= known:
        raise ResultError(f"{where}: it is no result, or that of another version: run its command again")
    try:
        return kind(**found)
    except TypeError as error:
        raise ResultError(f"{where}: {str(error).partition(' ')[2]}: run its command again") from error


def read(path: Path) -> Result:
    """Return the result that a file has; ResultError says that it has none."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultError(f"{path}: it is damaged ({error}): run its command again") from error
    if isinstance(found, dict) and isinstance(found.get("figures"), list):
        found["figures"] = tuple(_made(Figure, figure, path) for figure in found["figures"])
    result = _made(Result, found, path)
    _check(result, path)
    return result


def folder(path: Path) -> dict[str, Result]:
    """Return the results of a folder, by name; ResultError says that there is none, or that a file is none."""
    if not path.is_dir():
        raise ResultError(f"{path} is no folder of results")
    found = {result.name: result for result in map(read, sorted(path.glob("*.json")))}
    if not found:
        raise ResultError(f"there is no result in {path}: commands that measure leave theirs in {RUNS}")
    return found
