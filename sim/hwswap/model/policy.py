# SPDX-License-Identifier: Apache-2.0
"""The policies an allocator can follow instead of Linux 7.3's, and the generator of the random trunks.

The register POLICY holds them all; they can be switched at any time and take effect with the next operation.

- Field SCAN.
    `LINUX`: NONFULL[k] all, FREE one, FRAG[k] one, then stealing (`cluster_alloc_swap_entry`).
    `FREE_FIRST`: FREE one, NONFULL[k] all, FRAG[k] as many clusters as were on it before the NONFULL walk, then
    stealing: the kernel before the cluster scan series of August 2025. The reclaim of a FULL cluster comes after FREE.
- Field DEVICE.
    The available list always holds the devices as `ROUND_ROBIN` has them: by priority, and a device moves after its
    equals at each visit (`plist_requeue`) and when it comes back. The policy says in which order the list is read.
    `ROUND_ROBIN`: as it is.
    `SEQUENTIAL`: within the class of default priority (-1) by the sequence of swapons: what falling priorities for
    devices without an explicit one gave. A device keeps its place in that sequence until it is gone (SWAPOFF).
    `NODE_FIRST`: within each priority class the devices of the CPU's node first; else as SEQUENTIAL.
- Field HINT.
    `PER_CPU`: `percpu_swap_cluster`. `SHARED`: every CPU reads and writes CPU 0's.
    `RANDOM_TRUNK`: as PER_CPU, but a scan on a solid-state device that leaves no next offset draws a trunk of 64 MiB
    (32 clusters) of that device and writes the trunk's first offset; trunk 0 begins with the header, so it means none.
    Such a place may be a cluster on FREE: while the device has write permission, the fast path then takes it off that
    list, as a slow path would.
- Field PLACEMENT.
    `LINUX`, and `INDEXED`, see `Allocator.alloc_indexed`.
- Field SEED.
    Each write of the register sets the generator of the trunks to SEED, or to 1 if that is 0.
"""

from dataclasses import dataclass
from enum import IntEnum

TRUNK = 32
"""Clusters of a trunk: 64 MiB (SWAP_ADDRESS_SPACE_PAGES in slots)."""


class Scan(IntEnum):
    """In which order a device's lists are looked at."""

    LINUX = 0
    FREE_FIRST = 1


class DeviceOrder(IntEnum):
    """In which order the available devices are tried."""

    ROUND_ROBIN = 0
    SEQUENTIAL = 1
    NODE_FIRST = 2


class Hint(IntEnum):
    """The owner of the next offset that an allocation begins with."""

    PER_CPU = 0
    SHARED = 1
    RANDOM_TRUNK = 2


class Placement(IntEnum):
    """The choice of a cluster."""

    LINUX = 0
    INDEXED = 1


@dataclass(frozen=True)
class Policy:
    """One choice of each kind; `seed` has 32 bits."""

    scan: Scan = Scan.LINUX
    device: DeviceOrder = DeviceOrder.ROUND_ROBIN
    hint: Hint = Hint.PER_CPU
    placement: Placement = Placement.LINUX
    seed: int = 0

    def pack(self) -> int:
        """Return the 64 bits of the register POLICY."""
        return self.scan | self.device << 4 | self.hint << 8 | self.placement << 12 | self.seed << 32

    @classmethod
    def unpack(cls, value: int) -> "Policy":
        """Read the 64 bits of the register POLICY; a ValueError tells of a choice that there is not."""
        if value & 0xFFFF_CCCC or not 0 <= value < 1 << 64:
            raise ValueError(f"a policy of {value:#x} sets bits that mean nothing")
        return cls(
            Scan(value & 3), DeviceOrder(value >> 4 & 3), Hint(value >> 8 & 3), Placement(value >> 12 & 3), value >> 32
        )


class Trunks:
    """The generator of random trunks: Marsaglia's xorshift with 32 bits, shifts 13, 17, 5."""

    def __init__(self, seed: int = 0) -> None:
        """Start from a seed; 0 counts as 1, as the generator would never leave 0."""
        self.state = seed or 1

    def draw(self, clusters: int) -> int:
        """Return the first cluster of a random trunk of a device with so many clusters.

        The lowest bits that can hold the highest trunk's number are taken; what is too high loses the number of
        trunks, so the first trunks are drawn more often where that number is no power of two.
        """
        state = self.state
        state ^= state << 13 & 0xFFFF_FFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFF_FFFF
        self.state = state
        trunks = -(-clusters // TRUNK)
        trunk = state & (1 << (trunks - 1).bit_length()) - 1
        return (trunk - trunks if trunk >= trunks else trunk) * TRUNK
