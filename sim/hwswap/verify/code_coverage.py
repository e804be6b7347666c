# SPDX-License-Identifier: Apache-2.0
r"""Line and toggle coverage of the engine's Verilog, as Verilator counts it.

A coverage file has one line a point: `C 'fields' count`, where a field is \x01 name \x02 value. Points of all files
are added up. A point belongs to the module in whose text it stands, whatever the number of its instances.

What cannot be covered is named, with the reason, in a file of waivers. A waiver that no uncovered point needs is an
error, so that the list does not outlive its reasons; and so is one that speaks of a point which was reached, since its
reason is wrong.
"""

import re
import tomllib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MODULE = re.compile(r"^module (\w+)")
KINDS = {"v_line": "line", "v_branch": "line", "v_expr": "expression", "v_toggle": "toggle", "v_user": "user"}


class Point(NamedTuple):
    """Something that can be covered: its kind, module, line of the Verilog, and what it is there."""

    kind: str
    module: str
    line: int
    what: str


class CoverageError(ValueError):
    """A file that is no coverage file, or waivers that say nothing; the message is one sentence for the user."""


@dataclass(frozen=True)
class Waiver:
    """Points that need not be covered: a module and what there is, as regular expressions, and why."""

    kind: str
    module: re.Pattern[str]
    what: re.Pattern[str]
    reason: str

    def covers(self, point: Point) -> bool:
        """Tell whether it speaks of this point."""
        return bool(
            self.kind in ("", point.kind) and self.module.fullmatch(point.module) and self.what.fullmatch(point.what)
        )


@dataclass
class Tally:
    """How many points there are, and how many of them were reached."""

    points: int = 0
    reached: int = 0

    def add(self, reached: bool) -> None:
        """Count one more."""
        self.points += 1
        self.reached += reached

    @property
    def share(self) -> float:
        """Share that was reached, 0 to 1; of no points, all."""
        return self.reached / self.points if self.points else 1.0


@dataclass
class Summary:
    """What was reached, by (module, kind), what was not, and what each waiver explains.

    `waived` counts points by the reason they were left out for, `refuted` has those that were reached in spite of it.
    """

    tallies: dict[tuple[str, str], Tally] = field(default_factory=lambda: defaultdict(Tally))
    missed: list[Point] = field(default_factory=list)
    waived: Counter[str] = field(default_factory=Counter)
    refuted: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    idle_waivers: list[Waiver] = field(default_factory=list)

    def total(self, kind: str) -> Tally:
        """Return all modules' points of one kind together."""
        of_kind = [tally for (_, name), tally in self.tallies.items() if name == kind]
        return Tally(sum(tally.points for tally in of_kind), sum(tally.reached for tally in of_kind))


class Modules:
    """Which module each line of a Verilog file belongs to."""

    def __init__(self, source: Path) -> None:
        """Read the file."""
        starts = [
            (number, found[1])
            for number, text in enumerate(source.read_text().splitlines(), 1)
            if (found := MODULE.match(text))
        ]
        self.lines = [number for number, _ in starts]
        self.names = [name for _, name in starts]

    def at(self, line: int) -> str:
        """Return the module that a line is in."""
        place = bisect_right(self.lines, line)
        return self.names[place - 1] if place else ""


class Reader:
    """Reads coverage files of one Verilog file: most have the same points, each of which is made out once."""

    def __init__(self, modules: Modules) -> None:
        """Know the Verilog's modules."""
        self.modules = modules
        self.points: dict[str, Point] = {}

    def add(self, path: Path, counts: Counter[Point]) -> None:
        """Add what one file counts."""
        with path.open(errors="replace") as file:
            if not file.readline().startswith("# SystemC::Coverage"):
                raise CoverageError(f"{path} is no coverage file: write it anew with a program built with COVERAGE=1")
            for text in file:
                if not (text.startswith("C '") and text.endswith("\n")):
                    continue
                fields, _, count = text[3:].rpartition("' ")
                point = self.points.get(fields)
                if point is None:
                    point = self.points[fields] = self.point(path, fields)
                counts[point] += int(count)

    def point(self, path: Path, text: str) -> Point:
        """Make out which point it is."""
        fields = dict(item.split("\x02", 1) for item in text.split("\x01") if "\x02" in item)
        kind = KINDS.get(fields.get("page", "").split("/")[0])
        if kind is None:
            raise CoverageError(f"{path} has a point of a kind that is not known: {fields.get('page')}")
        line = int(fields.get("l", 0))
        what = fields.get("o", "") + (f" at column {fields['n']}" if kind == "line" else "")
        return Point(kind, self.modules.at(line), line, what)


def read_waivers(path: Path) -> list[Waiver]:
    """Read the waivers."""
    entries = tomllib.loads(path.read_text()).get("waiver", [])
    for entry in entries:
        if not entry.get("reason") or not entry.get("module"):
            raise CoverageError(f"{path}: each waiver needs a module and a reason: {entry}")
    return [
        Waiver(entry.get("kind", ""), re.compile(entry["module"]), re.compile(entry.get("what", ".*")), entry["reason"])
        for entry in entries
    ]


def summarise(counts: Counter[Point], waivers: Iterable[Waiver]) -> Summary:
    """Add up what was reached; unreached points that a waiver explains count in neither number."""
    summary = Summary()
    used: set[int] = set()
    waivers = list(waivers)
    for point, count in sorted(counts.items()):
        by = next((i for i, waiver in enumerate(waivers) if waiver.covers(point)), None)
        if count and by is not None:
            summary.refuted[waivers[by].reason].append(point)
        elif by is not None:
            used.add(by)
            summary.waived[waivers[by].reason] += 1
            continue
        elif not count:
            summary.missed.append(point)
        summary.tallies[point.module, point.kind].add(count > 0)
    summary.idle_waivers = [waiver for i, waiver in enumerate(waivers) if i not in used]
    return summary
