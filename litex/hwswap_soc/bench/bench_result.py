# SPDX-License-Identifier: Apache-2.0
"""Reads and judges the output of the bench firmware.

A run prints a JSON object for the platform and one for each *cell*: a scheme, a state of the swap device, an order, and
an operation (docs/soc.md).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from hwswap_litex import InputError

PREFIX = "HWSWAP-JSON "
DONE = "HWSWAP-DONE"

SCHEMES = ("stock", "tuned", "register", "ring", "grants", "trusted", "words")
"""All there are, in the order of the firmware's bits."""

STATES = ("empty", "fragmented")
OPS = ("alloc", "free")


@dataclass(frozen=True)
class Cell:
    """Cycles of one operation.

    Attributes:
        n: operations, failed ones included.
        failures: operations that gave no slots.
        sum: CPU cycles of all operations, and of the work done for all together (`extra`).
        extra: cycles of letting grants go.
        p50: median; p99: 99th percentile; max: the longest.
        counts: of grants: allocations in a granted cluster (hits), all others (misses), those of them that failed at
            once (no_run); grants popped, refused.
    """

    n: int
    failures: int
    sum: int = 0
    extra: int = 0
    p50: int = 0
    p99: int = 0
    max: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Return the cycles per operation, over all operations."""
        return self.sum / self.n


Key = tuple[str, str, int, str]
"""Scheme, state, order, operation."""


@dataclass
class Report:
    """The output of a run."""

    platform: dict
    cells: dict[Key, Cell]


_FIELDS = ("n", "failures", "sum", "extra", "p50", "p99", "max")
_NAMES = ("kind", "scheme", "state", "order", "op")


def objects(lines: list[str]) -> Iterator[dict]:
    """The JSON objects of a run that ended well; anything else is an InputError that tells the program's own words."""
    done = [line.split()[1:] for line in lines if line.startswith(DONE)]
    if done != [["0"]]:
        said = "; ".join(lines[-3:]) or "nothing"
        raise InputError(f"the bench did not end well, it said last: {said}")
    for line in lines:
        if line.startswith(PREFIX):
            try:
                yield json.loads(line.removeprefix(PREFIX))
            except ValueError as error:
                raise InputError(f"a line of the bench is not JSON ({error}): {line}") from error


def parse(lines: list[str]) -> Report:
    """Read the console of a run."""
    platform: dict = {}
    cells: dict[Key, Cell] = {}
    for values in objects(lines):
        if values["kind"] == "platform":
            platform = values
            continue
        counts = {name: value for name, value in values.items() if name not in _FIELDS + _NAMES}
        key = (values["scheme"], values["state"], values["order"], values["op"])
        if key in cells:
            raise InputError(f"the bench measured {' '.join(map(str, key))} twice")
        cells[key] = Cell(**{name: values[name] for name in _FIELDS if name in values}, counts=counts)
    if not platform or not cells:
        raise InputError("the bench ended without a measurement")
    return Report(platform, cells)
