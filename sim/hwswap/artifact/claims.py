# SPDX-License-Identifier: Apache-2.0
"""Reads the list of figures on record and their commands."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIST = Path(__file__).parent / "claims.toml"
"""The list that comes with the project."""

FORMS = ("short", "full")
"""What `--short` runs, and what only `--full` runs besides."""

HOWS = ("one", "sum", "count", "least")
"""How a figure is made of what its path leads to (`selection.number`)."""


class ClaimError(ValueError):
    """The list is not as it has to be; the message says where."""


@dataclass(frozen=True)
class Figure:
    """A number on record."""

    name: str
    unit: str
    file: str
    """Result it is in, below the repository's top."""
    at: str
    """Where it is in that result (`selection.records`)."""
    value: float
    """What is on record."""
    commit: str
    """Of the run on record."""
    how: str = "one"
    per: str | None = None
    within: float | None = None
    """How far a run may be off, as a share of `value`: 0.02 is 2 %."""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def tolerance(self) -> str:
        """What a run has to be, in words."""
        if self.within is not None:
            return f"within {100 * self.within:g} %" if self.within else "the same"
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:,g} to {self.at_most:,g}"
        return f"at least {self.at_least:,g}" if self.at_least is not None else f"at most {self.at_most:,g}"

    def holds(self, measured: float) -> bool:
        """Whether a run is close enough."""
        if self.within is not None:
            # What is computed by a division is not the same to the last bit.
            return abs(measured - self.value) <= self.within * abs(self.value) + 1e-9
        low = self.at_least is None or measured >= self.at_least
        return low and (self.at_most is None or measured <= self.at_most)


@dataclass(frozen=True)
class Command:
    """A command and the figures it leaves."""

    name: str
    run: str
    """What is typed at the repository's top."""
    form: str
    minutes: float
    """How long it takes on two cores when what it needs is built, by a run of it."""
    cores: int
    """How many it keeps busy."""
    figures: tuple[Figure, ...]
    misses: bool = False
    """It fails where a target is missed, as some were on record, too: its status says nothing of the figures then."""


def _make(kind: type, values: dict[str, Any], where: str) -> Any:
    """Return an entry as its class has it.

    Raises:
        ClaimError: a field is missing, or there is one that nobody knows.
    """
    try:
        return kind(**values)
    except TypeError as error:
        # "Figure.__init__() got an unexpected keyword argument 'x'"
        raise ClaimError(f"{where}: {str(error).partition(' ')[2]}") from error


def _figure(values: dict[str, Any], where: str) -> Figure:
    """Return a figure, looked at."""
    figure = _make(Figure, values, f"{where}, figure '{values.get('name', '')}'")
    where = f"{where}, figure '{figure.name}'"
    bounds = figure.at_least is not None or figure.at_most is not None
    if (figure.within is not None) == bounds:
        raise ClaimError(f"{where}: say either 'within' or a bound, 'at_least' or 'at_most'")
    if figure.how not in HOWS:
        raise ClaimError(f"{where}: 'how' is '{figure.how}': choose one of {', '.join(HOWS)}")
    if not figure.holds(figure.value):
        raise ClaimError(f"{where}: what is on record, {figure.value:,g}, is itself not {figure.tolerance}")
    return figure


def load(path: Path = LIST) -> tuple[Command, ...]:
    """Return the commands of a list, in its order.

    Raises:
        ClaimError: the list is not as it has to be.
    """
    try:
        entries = tomllib.loads(path.read_text())["command"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise ClaimError(f"{path.name} is no list of [[command]]: {error}") from error
    commands = []
    for entry in entries:
        where = f"{path.name}, command '{entry.get('name', '')}'"
        figures = tuple(_figure(values, where) for values in entry.pop("figure", []))
        command = _make(Command, entry | {"figures": figures}, where)
        if command.form not in FORMS:
            raise ClaimError(f"{where}: 'form' is '{command.form}': choose one of {', '.join(FORMS)}")
        if not figures:
            raise ClaimError(f"{where} has no figure: nothing would be looked at")
        commands.append(command)
    names = [command.name for command in commands]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ClaimError(f"{path.name}: two commands are called {', '.join(sorted(twice))}")
    return tuple(commands)


def chosen(commands: Iterable[Command], *, full: bool, only: Iterable[str] = ()) -> tuple[Command, ...]:
    """Return the commands of a form, or those that are named.

    Args:
        commands: all there are.
        full: those of both forms; otherwise those of the short one.
        only: names; where there are any, the form does not matter.

    Raises:
        ClaimError: there is no command of that name.
    """
    by_name = {command.name: command for command in commands}
    if unknown := [name for name in only if name not in by_name]:
        raise ClaimError(f"there is no command '{unknown[0]}': choose from {', '.join(by_name)}")
    if only := tuple(only):
        return tuple(command for command in by_name.values() if command.name in only)
    return tuple(command for command in by_name.values() if full or command.form == "short")
