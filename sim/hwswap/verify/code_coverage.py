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
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hwswap.verify.netlist import modules_of

KINDS = {"v_line": "line", "v_branch": "line", "v_expr": "expression", "v_toggle": "toggle", "v_user": "user"}


class Point(NamedTuple):
    """Something that can be covered: its kind, module, line of the Verilog, and its name there."""

    kind: str
    module: str
    line: int
    what: str


class CoverageError(ValueError):
    """A file that is no coverage file, or waivers that say nothing; the message is one sentence for the user."""


@dataclass(frozen=True)
class Waiver:
    """Points that need not be covered: their kind, regular expressions for module and name, and the reason."""

    kind: str
    module: str
    what: str
    reason: str

    def covers(self, point: Point) -> bool:
        """Tell whether it speaks of this point."""
        return (
            self.kind == point.kind
            and re.fullmatch(self.module, point.module) is not None
            and re.fullmatch(self.what, point.what) is not None
        )


@dataclass
class Summary:
    """The numbers of points, and of those reached, by (module, kind); those missed, and those that waivers explain.

    `waived` counts points by the reason they were left out for, `refuted` has those that were reached in spite of it.
    """

    points: Counter[tuple[str, str]] = field(default_factory=Counter)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[Point] = field(default_factory=list)
    waived: Counter[str] = field(default_factory=Counter)
    refuted: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    idle_waivers: list[Waiver] = field(default_factory=list)

    def total(self, kind: str) -> tuple[int, int]:
        """Return how many points of one kind were reached in all modules, and how many there are."""
        reached, points = (
            sum(number for (_, of), number in counts.items() if of == kind) for counts in (self.reached, self.points)
        )
        return reached, points

    def percent(self, kind: str) -> float:
        """Return how much of one kind was reached; of no points, all."""
        reached, points = self.total(kind)
        return 100 * reached / points if points else 100.0


def read_counts(verilog: Sequence[str], files: Iterable[Path]) -> Counter[Point]:
    """Add up the counts of coverage files for the lines of a Verilog file."""
    modules = modules_of(verilog)
    made_out: dict[str, Point] = {}
    """Most files have the same points, each of which is made out once."""
    counts: Counter[Point] = Counter()
    for path in files:
        with path.open(errors="replace") as file:
            if not file.readline().startswith("# SystemC::Coverage"):
                raise CoverageError(f"{path} is no coverage file: write it anew with a program built with COVERAGE=1")
            for text in file:
                if not (text.startswith("C '") and text.endswith("\n")):
                    continue
                fields, _, count = text[3:].rpartition("' ")
                if fields not in made_out:
                    made_out[fields] = point_of(path, fields, modules)
                counts[made_out[fields]] += int(count)
    return counts


def point_of(path: Path, text: str, modules: Sequence[str]) -> Point:
    """Make out which point the fields of a line name."""
    fields = dict(item.split("\x02", 1) for item in text.split("\x01") if "\x02" in item)
    kind = KINDS.get(fields.get("page", "").split("/")[0])
    if kind is None:
        raise CoverageError(f"{path} has a point of a kind that is not known: {fields.get('page')}")
    line = int(fields.get("l", 0))
    what = fields.get("o", "") + (f" at column {fields['n']}" if kind == "line" else "")
    return Point(kind, modules[line - 1] if line else "", line, what)


def read_waivers(path: Path) -> list[Waiver]:
    """Read the waivers."""
    entries = tomllib.loads(path.read_text())["waiver"]
    for entry in entries:
        if entry.keys() != {"kind", "module", "what", "reason"} or not all(entry.values()):
            raise CoverageError(f"{path}: each waiver needs a kind, a module, what is waived and a reason: {entry}")
    return [Waiver(**entry) for entry in entries]


def summarise(counts: Counter[Point], waivers: Sequence[Waiver]) -> Summary:
    """Add up the points reached; unreached points that a waiver explains count in neither number."""
    summary = Summary(idle_waivers=list(waivers))
    for point, count in sorted(counts.items()):
        waiver = next((waiver for waiver in waivers if waiver.covers(point)), None)
        if waiver and not count:
            summary.waived[waiver.reason] += 1
            if waiver in summary.idle_waivers:
                summary.idle_waivers.remove(waiver)
            continue
        summary.points[point.module, point.kind] += 1
        summary.reached[point.module, point.kind] += count > 0
        if waiver:
            summary.refuted[waiver.reason].append(point)
        elif not count:
            summary.missed.append(point)
    return summary
