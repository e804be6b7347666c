# SPDX-License-Identifier: Apache-2.0
"""Formats of the grant interface between kernel and engine: ring entries, CPU lines, the device table.

Source: docs/grants.md.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from hwswap.model.cluster_map import WORD_SLOTS
from hwswap.model.rows import ORDERS, SLOTS, free_runs

TOP_ORDER: Final = ORDERS - 1
"""Order 9, a whole cluster: from FREE only."""

RING_LOG2: Final = 2
"""Entries of a ring, as a power of two, unless the host says otherwise."""

ENTRY: Final = 16
"""Bytes of a ring's entry."""

WRAP: Final = 1 << 32
"""HEAD and the engine's own count of entries run freely, and wrap here."""


class Placement(Enum):
    """Which clusters may serve an order beside those on FREE, and order 0, which takes any that it finds.

    INDEXED: those of the order, as the kernel has it. OPEN: all, the nearest order first, if the kernel permits it.
    """

    INDEXED = "indexed"
    OPEN = "open"


def span(order: int) -> int:
    """Return how many slots an entry speaks of: 64 units, a cluster at most."""
    return min(SLOTS, WORD_SLOTS << order)


def units(order: int) -> int:
    """Return how many units an entry speaks of."""
    return span(order) >> order


def free_units(used: int, order: int, first: int) -> int:
    """Return the MASK of an entry: bit i for 2^order free slots from `first` + i * 2^order on.

    Args:
        used: a cluster's bitmap.
        order: of the units.
        first: slot in the cluster, a multiple of `span(order)`.
    """
    runs = free_runs(used, order) >> first
    return sum((runs >> (i << order) & 1) << i for i in range(units(order)))


@dataclass(frozen=True)
class Grant:
    """An entry of a ring: `mask` of free units of 2^order slots, unit 0 at `slot` of the device `type`."""

    mask: int
    slot: int
    type: int
    order: int
    epoch: int
    valid: bool = True

    def pack(self, index: int, log2: int = RING_LOG2) -> tuple[int, int]:
        """Return both words of 64 bits, for the entry with this number (free running)."""
        phase = ~index >> log2 & 1
        place = self.slot | self.type << 32 | self.order << 37 | self.epoch << 41
        return self.mask, place | self.valid << 62 | phase << 63

    @classmethod
    def unpack(cls, word0: int, word1: int, index: int, log2: int = RING_LOG2) -> "Grant | None":
        """Read an entry; None if it is not the one with this number, as its phase is that of the lap before."""
        if word1 >> 63 == index >> log2 & 1:
            return None
        return cls(
            mask=word0,
            slot=word1 & 0xFFFF_FFFF,
            type=word1 >> 32 & 31,
            order=word1 >> 37 & 15,
            epoch=word1 >> 41 & 255,
            valid=bool(word1 >> 62 & 1),
        )


def ring_place(cpu: int, order: int, index: int, log2: int = RING_LOG2) -> int:
    """Return where an entry is, in bytes from GRANT_BASE."""
    return (cpu * ORDERS + order << log2 + 4) + (index & (1 << log2) - 1) * ENTRY


class Lines:
    """Host memory that kernel and engine share for grants: the CPU lines, the engine line, the rings."""

    def __init__(self, cpus: int, log2: int = RING_LOG2) -> None:
        """Make all zero: no ring is wanted, none holds a grant."""
        self.cpus = cpus
        self.log2 = log2
        self.want = [0] * cpus
        self.head = [[0] * ORDERS for _ in range(cpus)]
        self.no_run = 0
        self.words: dict[int, int] = {}

    def word(self, cpu: int, order: int, index: int, which: int) -> int:
        """Load word 0 or 1 of an entry."""
        return self.words.get(ring_place(cpu, order, index, self.log2) + 8 * which, 0)

    def entry(self, cpu: int, order: int, index: int) -> Grant | None:
        """Return an entry as it is now, None if none with this number is there."""
        return Grant.unpack(self.word(cpu, order, index, 0), self.word(cpu, order, index, 1), index, self.log2)

    def store(self, cpu: int, order: int, index: int, which: int, value: int) -> None:
        """Store word 0 or 1 of an entry."""
        self.words[ring_place(cpu, order, index, self.log2) + 8 * which] = value


@dataclass(frozen=True)
class DeviceEntry:
    """The engine's table of devices, one entry: where its clusters begin (global), how many, and what it is like."""

    type: int
    base: int
    clusters: int
    priority: int
    epoch: int
    live: bool = True
    file: bool = False
    rotating: bool = False

    def serves(self, order: int) -> bool:
        """Tell whether grants of an order may be of this device."""
        return self.live and not self.rotating and not (self.file and order)

    def holds(self, cluster: int) -> bool:
        """Tell whether a global cluster is this device's."""
        return self.base <= cluster < self.base + self.clusters
