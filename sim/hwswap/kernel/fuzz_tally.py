# SPDX-License-Identifier: Apache-2.0
"""Counts of a run of random operations, and the least that a run needs of each."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.table import Table

from hwswap.model.rows import ORDERS
from hwswap.project import printed

# Each minimum is half of the count in a million operations (seed 2512); a run has to be longer for chance to have no
# say.
LEAST_ORDERS = (0.26, 0.0127, 0.0163, 0.011, 0.0247, 0.0061, 0.0053, 0.0062, 0.0054, 0.0084)
"""Share of a run's operations that has to be allocations of each order, by the kernel's decisions."""

LEAST_TAKEN = {"free": 0.0126, "nonfull": 0.0019, "frag": 0.0025}
"""Clusters that a kernel took off such a list, as a share of the operations on kernels with tracepoints."""

LEAST_EVENTS = {
    "allocations that failed": 0.065,
    "allocations in empty clusters": 0.0118,
    "allocations in clusters of a larger order": 0.0058,
    "allocations on devices with bad slots": 0.125,
    "allocations on devices with a part of a cluster": 0.08,
    "allocations on large devices, nearly full": 0.0034,
    "allocations with more than 8 devices": 0.011,
    "allocations on CPUs 4 to 7": 0.0072,
    "frees on other CPUs than the first": 0.0455,
    "swapons": 2.9e-4,
    "swapoffs": 1.3e-4,
    "swapoffs interrupted": 3.5e-5,
    "files": 4.2e-5,
    "rotating": 4e-5,
    "discarding": 4.1e-5,
    "allocations on files": 0.043,
    "allocations on rotating devices": 0.0277,
    "allocations on discarding devices": 0.077,
    "clusters discarded when asked": 3.8e-4,
    "allocations that discarded": 1.3e-4,
}
"""Share that has to be such events, by the kernel's decisions."""

FAILED_ALLOCATIONS = "allocations that failed"

COUNTED = ("freed", "changes of CPU", *(name for name in LEAST_EVENTS if name != FAILED_ALLOCATIONS))


@dataclass
class Tally:
    """Operations that were done, and found equal."""

    operations: int = 0
    paths: Counter[str] = field(default_factory=Counter)
    """Allocations by their path, as the golden model decides it."""
    taken: Counter[str] = field(default_factory=Counter)
    """Clusters that were taken off lists, as the kernels' tracepoints counted them."""
    traced: int = 0
    """Operations on kernels that have these."""
    allocated: Counter[int] = field(default_factory=Counter)
    """Allocations by order, as the kernel carried them out."""
    failed: Counter[int] = field(default_factory=Counter)
    """Allocations that found no slots; not in `allocated`."""
    events: Counter[str] = field(default_factory=Counter)
    """Other events."""
    engines: Counter[str] = field(default_factory=Counter)
    """Operations by the build of the engine."""
    kernels: Counter[str] = field(default_factory=Counter)
    """Operations by kernel."""

    def add(self, other: "Tally") -> None:
        """Add the counts of another batch."""
        for name, own in vars(self).items():
            setattr(self, name, own + getattr(other, name))


def requirements(tally: Tally) -> Iterator[tuple[str, int, int]]:
    """Yield the requirements of a run: name, number found, and least number."""
    for order in range(ORDERS):
        made = tally.allocated[order] + tally.failed[order]
        name = f"allocations of order {order}, {tally.failed[order]:,} of them failed"
        yield name, made, int(LEAST_ORDERS[order] * tally.operations)
    for name, share in LEAST_TAKEN.items():
        yield f"clusters taken off lists {name.upper()}", tally.taken[name], int(share * tally.traced)
    for name, share in LEAST_EVENTS.items():
        yield name, tally.events[name], int(share * tally.operations)


def missing(tally: Tally) -> list[str]:
    """Return the requirements that a run missed."""
    return [f"{number:,} {name}, of {least:,}" for name, number, least in requirements(tally) if number < least]


def unlike(tally: Tally) -> list[str]:
    """Return which counts of the kernels are not the golden model's: both count each in their own way."""
    return [
        f"{ended:,} allocations ended at {path} by the golden model, and {tally.events[name]:,} {name} by the kernels"
        for name, path in (("allocations in empty clusters", "free"), (FAILED_ALLOCATIONS, "fail"))
        if tally.events[name] != (ended := tally.paths[path])
    ]


def table(tally: Tally) -> Table:
    """Return orders, paths and events, each with its minimum."""
    rows = ((name, f"{number:,}", f"{least:,}") for name, number, least in requirements(tally))
    return printed.table("what the operations were", ("", "number", "at least"), rows)
