# SPDX-License-Identifier: Apache-2.0
"""Reads the output of the firmware `harts`, and makes its figures.

A run prints a JSON object for the platform, and for each scheme, state of the device, load and number of harts: a
*cell* for each operation, and the harts' waiting for each kind of lock (docs/soc.md).
"""

from dataclasses import dataclass, field
from typing import Any

from hwswap.results.schema import Figure

from hwswap_soc.bench.bench_result import OPS, Cell, objects

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

CELL = ("n", "failures", "sum", "max")
"""Numbers of a cell."""

Key = tuple[str, str, str, int]
"""Scheme, state, load, number of harts."""


@dataclass
class Measured:
    """The output of runs.

    Attributes:
        platforms: of the runs.
        cells: by key and operation, on all harts together, waiting included; without percentiles.
        locks: by key: cycles waited by kind of lock.
    """

    platforms: list[dict[str, Any]] = field(default_factory=list)
    cells: dict[tuple[Key, str], Cell] = field(default_factory=dict)
    locks: dict[Key, dict[str, int]] = field(default_factory=dict)

    def cycles(self, key: Key) -> float | None:
        """Mean cycles of an allocation and a free together; None: not measured."""
        found = [self.cells.get((key, op)) for op in OPS]
        if not all(cell and cell.n for cell in found):
            return None
        return sum(cell.mean for cell in found if cell)

    def waited(self, key: Key) -> float:
        """Return the cycles that an allocation and a free waited for locks, together."""
        calls = sum(self.cells[key, op].n for op in OPS)
        return 2 * sum(self.locks[key].values()) / calls


def case(state: str, load: str) -> str:
    """A device's state and a load, for people."""
    return f"{STATE_TITLES[state]}, {LOAD_TITLES[load]}"


def parse(lines: list[str], into: Measured) -> None:
    """Read the console of a run."""
    for values in objects(lines):
        if values["kind"] == "platform":
            into.platforms.append(values)
            continue
        key = (values["scheme"], values["state"], values["load"], values["harts"])
        if values["kind"] == "cell":
            into.cells[key, values["op"]] = Cell(**{name: values[name] for name in CELL})
        else:
            into.locks[key] = {name: values[name] for name in LOCKS}


def figures(measured: Measured) -> list[Figure]:
    """Return the cycles of an allocation and its free together, waiting included."""
    return [
        Figure(
            f"an allocation and its free, {case(state, load)}, {harts} harts",
            scheme,
            round(cycles, 1),
            "CPU cycles",
            {},
            0,
        )
        for scheme, state, load, harts in measured.locks
        if (cycles := measured.cycles((scheme, state, load, harts))) is not None
    ]


def waits(measured: Measured) -> list[Figure]:
    """Return the cycles spent waiting for locks, and the share of allocations without room, on the most harts."""
    said = []
    for scheme, state, load, harts in measured.locks:
        key, cell = (scheme, state, load, harts), measured.cells[(scheme, state, load, harts), "alloc"]
        if harts == HARTS[-1]:
            said.append(
                Figure(f"waiting for locks, {case(state, load)}", scheme, round(measured.waited(key), 1), "cycles")
            )
            said.append(Figure(f"no room, {case(state, load)}", scheme, round(100 * cell.failures / cell.n, 1), "%"))
    return said
