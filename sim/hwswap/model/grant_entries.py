# SPDX-License-Identifier: Apache-2.0
"""Formats of the grant interface between kernel and engine: ring entries, CPU lines, the device table.

Source: docs/grants.md.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from hwswap.model.rows import ORDERS

TOP_ORDER: Final = ORDERS - 1
"""Order 9, a whole cluster: from FREE only."""

RING_LOG2: Final = 2
"""Entries of a ring, as a power of two, unless the host says otherwise."""

ENTRY: Final = 8
"""Bytes of a ring's entry."""

WRAP: Final = 1 << 32
"""HEAD and the engine's own count of entries run freely, and wrap here."""


class Placement(Enum):
    """Which clusters may serve an order beside those on FREE, and order 0, which takes any that it finds.

    INDEXED: those of the order, as the kernel has it. OPEN: all, the nearest order first, if the kernel permits it.
    """

    INDEXED = "indexed"
    OPEN = "open"


@dataclass(frozen=True)
class Grant:
    """An entry of a ring: the free places of 2^order slots in a `cluster` of the device `type`."""

    cluster: int
    type: int
    order: int
    epoch: int
    valid: bool = True

    def pack(self, index: int, log2: int = RING_LOG2) -> int:
        """Return the word of 64 bits, for the entry with this number (free running)."""
        phase = ~index >> log2 & 1
        place = self.cluster | self.type << 32 | self.order << 37 | self.epoch << 41
        return place | self.valid << 62 | phase << 63

    @classmethod
    def unpack(cls, word: int, index: int, log2: int = RING_LOG2) -> "Grant | None":
        """Read an entry; None if it is not the one with this number, as its phase is that of the lap before."""
        if word >> 63 == index >> log2 & 1:
            return None
        return cls(
            cluster=word & 0xFFFF_FFFF,
            type=word >> 32 & 31,
            order=word >> 37 & 15,
            epoch=word >> 41 & 255,
            valid=bool(word >> 62 & 1),
        )


def ring_place(cpu: int, order: int, index: int, log2: int = RING_LOG2) -> int:
    """Return where an entry is, in bytes from GRANT_BASE."""
    return (cpu * ORDERS + order << log2 + 3) + (index & (1 << log2) - 1) * ENTRY


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

    def entry(self, cpu: int, order: int, index: int) -> Grant | None:
        """Return an entry as it is now, None if none with this number is there."""
        return Grant.unpack(self.words.get(ring_place(cpu, order, index, self.log2), 0), index, self.log2)

    def store(self, cpu: int, order: int, index: int, word: int) -> None:
        """Store an entry."""
        self.words[ring_place(cpu, order, index, self.log2)] = word


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
