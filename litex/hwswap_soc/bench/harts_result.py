# SPDX-License-Identifier: Apache-2.0
"""What the firmware `harts` says, read; and its tables.

A run prints a JSON object for the platform, and for each scheme, state of the device, load and number of harts: a
*cell* for each operation, and what harts waited for each kind of lock (docs/bench-harts.md).
"""

from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from hwswap_soc.bench.bench_result import OPS, TITLES, objects

SCHEMES = ("stock", "tuned", "register", "grants")
STATES = ("empty", "fragmented", "full")
STATE_TITLES = {"empty": "empty", "fragmented": "fragmented", "full": "nearly full"}
LOADS = ("order0", "passed", "order4", "mixed")
LOAD_TITLES = {
    "order0": "order 0",
    "passed": "order 0, freed by the next hart",
    "order4": "order 4",
    "mixed": "orders 0 to 9",
}
LOCKS = ("cluster", "device", "list", "memory")
HARTS = (1, 2, 4)

Key = tuple[str, str, str, int]
"""Scheme, state, load, number of harts."""


@dataclass(frozen=True)
class Cell:
    """Cycles of one operation on all harts together, waiting included.

    Attributes:
        n: operations, failed ones included.
        failures: of them, those that gave no slots.
        sum: CPU cycles.
        max: the longest.
    """

    n: int
    failures: int
    sum: int
    max: int

    @property
    def mean(self) -> float:
        """Cycles an operation."""
        return self.sum / self.n if self.n else 0.0


@dataclass
class Measured:
    """What runs have printed.

    Attributes:
        platforms: of the runs.
        cells: by key and operation.
        locks: by key: cycles waited by kind of lock, `waited`; with a profile also `taken` and `held`.
    """

    platforms: list[dict[str, Any]] = field(default_factory=list)
    cells: dict[tuple[Key, str], Cell] = field(default_factory=dict)
    locks: dict[Key, dict[str, dict[str, int]]] = field(default_factory=dict)

    def cycles(self, key: Key) -> float | None:
        """Mean cycles of an allocation and a free together; None: not measured."""
        found = [self.cells.get((key, op)) for op in OPS]
        if not all(cell and cell.n for cell in found):
            return None
        return sum(cell.mean for cell in found if cell)

    def waited(self, key: Key) -> float:
        """Cycles an allocation and a free waited for locks, together."""
        calls = sum(self.cells[key, op].n for op in OPS)
        return 2 * sum(kind["waited"] for kind in self.locks[key].values()) / calls

    def keys(self) -> list[Key]:
        """What was measured, without the number of harts: that is 1."""
        return [(scheme, state, load, 1) for scheme, state, load, harts in self.locks if harts == 1]


def case(state: str, load: str) -> str:
    """A device's state and a load, for people."""
    return f"{STATE_TITLES[state]}, {LOAD_TITLES[load]}"


def parse(lines: list[str], into: Measured) -> None:
    """Reads the console of a run."""
    for values in objects(lines):
        if values["kind"] == "platform":
            into.platforms.append(values)
            continue
        key = (values["scheme"], values["state"], values["load"], values["harts"])
        if values["kind"] == "cell":
            into.cells[key, values["op"]] = Cell(*(values[name] for name in ("n", "failures", "sum", "max")))
        else:
            kinds: dict[str, dict[str, int]] = {name: {} for name in LOCKS}
            for name, value in values.items():
                lock, _, what = name.partition("_")
                if lock in kinds:
                    kinds[lock][what] = value
            into.locks[key] = kinds


def _growth(measured: Measured, scheme: str, state: str, load: str) -> list[str]:
    """Cycles by number of harts, and their growth."""
    values = [measured.cycles((scheme, state, load, harts)) for harts in HARTS]
    if values[0] is None or values[-1] is None:
        return ["-", "-"]
    return [" / ".join(f"{value:,.0f}" if value else "-" for value in values), f"{values[-1] / values[0]:.2f}"]


def main_table(measured: Measured) -> Table:
    """Cycles of an allocation and a free, on 1, 2 and 4 harts, and how they grow."""
    table = Table(
        title="CPU cycles of an allocation and a free on 1 / 2 / 4 harts, waiting included; growth from 1 to 4"
    )
    table.add_column("device, load")
    for scheme in SCHEMES:
        table.add_column(TITLES[scheme], justify="right")
        table.add_column("growth", justify="right")
    for state in STATES:
        for load in LOADS:
            cells = [cell for scheme in SCHEMES for cell in _growth(measured, scheme, state, load)]
            if any(cell != "-" for cell in cells):
                table.add_row(case(state, load), *cells)
    return table


def failure_table(measured: Measured) -> Table:
    """Allocations that found no room, in per cent, on 4 harts."""
    table = Table(title="% of the allocations that found no room, on 4 harts")
    table.add_column("device, load")
    for scheme in SCHEMES:
        table.add_column(TITLES[scheme], justify="right")
    for state in STATES:
        for load in LOADS:
            found = [measured.cells.get(((scheme, state, load, HARTS[-1]), "alloc")) for scheme in SCHEMES]
            if any(cell and cell.failures for cell in found):
                texts = [f"{100 * cell.failures / cell.n:.1f}" if cell and cell.n else "-" for cell in found]
                table.add_row(case(state, load), *texts)
    return table


def lock_table(measured: Measured) -> Table:
    """Cycles waited for locks in an allocation and a free, on 4 harts, by kind."""
    table = Table(title="of them, waiting for locks on 4 harts: cluster / device / list of devices")
    table.add_column("device, load")
    schemes = [scheme for scheme in SCHEMES if scheme != "register"]
    for scheme in schemes:
        table.add_column(TITLES[scheme], justify="right")
    for state in STATES:
        for load in LOADS:
            texts = []
            for scheme in schemes:
                key = (scheme, state, load, HARTS[-1])
                kinds = measured.locks.get(key)
                if not kinds:
                    texts.append("-")
                    continue
                calls = sum(measured.cells[key, op].n for op in OPS)
                texts.append(" / ".join(f"{2 * kinds[lock]['waited'] / calls:,.0f}" for lock in LOCKS[:3]))
            if any(text != "-" for text in texts):
                table.add_row(case(state, load), *texts)
    return table
