# SPDX-License-Identifier: Apache-2.0
"""Clusters, their lists, and swap devices: the state of the golden model's decisions.

Offsets and sizes are in slots of 4 KiB; `offset` counts from a device's start, `slot` from a cluster's.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hwswap_map import (
    MEM_DEVICE_FLAGS_FLAGS_BLKDEV,
    MEM_DEVICE_FLAGS_FLAGS_DISCARD,
    MEM_DEVICE_FLAGS_FLAGS_SOLIDSTATE,
    Flag,
)

from hwswap.model.rows import ALL, ORDERS, SLOTS, run

BLKDEV = MEM_DEVICE_FLAGS_FLAGS_BLKDEV.put(1)
SOLIDSTATE = MEM_DEVICE_FLAGS_FLAGS_SOLIDSTATE.put(1)
DISCARD = MEM_DEVICE_FLAGS_FLAGS_DISCARD.put(1)

DEFAULT_PRIORITY = -1
"""Priority of every device whose swapon names none (DEF_SWAP_PRIO)."""


class Slots(NamedTuple):
    """The place of an allocation: device number and offset of its first slot."""

    type: int
    offset: int


@dataclass(slots=True, eq=False)
class Cluster:
    """512 slots: `used` as a bitmap, how many (`count`), `order` it is exclusive to, and the list it is on (`flag`).

    Stands for `struct swap_cluster_info`. `index` is its number in the device. `taken` is a cluster of flag DISCARD
    that is on no list because the host is discarding it; `bare` one that was just taken off FREE and waits for its
    table.
    """

    index: int
    used: int = 0
    bad: int = 0
    count: int = 0
    order: int = 0
    flag: Flag = Flag.NONE
    taken: bool = False
    bare: bool = False


ClusterList = OrderedDict[int, Cluster]
"""A first-in first-out list of clusters, by their number."""


class Device:
    """A swap device: clusters, their lists, and its place among the devices. Stands for `struct swap_info_struct`."""

    def __init__(self, type_: int, pages: int, base: int, flags: int, priority: int) -> None:
        """Claim the clusters for `pages` slots; the header slot and the slots after the last one are bad.

        As `setup_swap_clusters_info` does before any list exists.
        """
        self.type = type_
        self.pages = pages
        self.base = base
        self.flags = flags
        self.priority = priority
        self.node = 0
        self.number = 0  # place in the sequence of swapons
        self.writeok = False
        self.came_full = False
        """It had no free slot when it got write permission, and none was freed since."""
        self.listed = False  # SWAPON came at least once: the clusters are on lists
        self.clusters = [Cluster(i) for i in range(-(-pages // SLOTS))]
        self.free: ClusterList = OrderedDict()
        self.full: ClusterList = OrderedDict()
        self.discard: ClusterList = OrderedDict()
        self.nonfull: list[ClusterList] = [OrderedDict() for _ in range(ORDERS)]
        self.frag: list[ClusterList] = [OrderedDict() for _ in range(ORDERS)]
        self.next_offset = [0] * ORDERS  # rotating devices only (struct swap_sequential_cluster)
        self.used = 0
        self.bad = 0
        self.set_bad(0, 1)
        tail = len(self.clusters) * SLOTS - pages
        if tail:
            self.set_bad(pages, tail)

    @property
    def total(self) -> int:
        """Return the slots of all clusters, bad ones included; the device is full when `used` equals this."""
        return len(self.clusters) * SLOTS

    @property
    def rotating(self) -> bool:
        """Tell whether all CPUs share one next offset an order (no SWP_SOLIDSTATE)."""
        return not self.flags & SOLIDSTATE

    @property
    def discarding(self) -> bool:
        """Tell whether emptied clusters are discarded before they are used again (SWP_PAGE_DISCARD)."""
        return bool(self.flags & DISCARD)

    def set_bad(self, offset: int, nr: int) -> None:
        """Count a range inside one cluster as used for good (`swap_cluster_setup_bad_slot`)."""
        cluster = self.clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        cluster.used |= mask
        cluster.bad |= mask
        cluster.count += nr
        self.used += nr
        self.bad += nr

    def list_of(self, flag: Flag, order: int) -> ClusterList:
        """Return the list that `flag` names; NONFULL and FRAG have one for each order."""
        if flag == Flag.NONFULL:
            return self.nonfull[order]
        if flag == Flag.FRAG:
            return self.frag[order]
        if flag == Flag.FREE:
            return self.free
        if flag == Flag.FULL:
            return self.full
        return self.discard

    def lists(self) -> Iterator[tuple[Flag, int, ClusterList]]:
        """Yield every list with its flag and order."""
        yield Flag.FREE, 0, self.free
        yield Flag.FULL, 0, self.full
        yield Flag.DISCARD, 0, self.discard
        for order in range(ORDERS):
            yield Flag.NONFULL, order, self.nonfull[order]
            yield Flag.FRAG, order, self.frag[order]

    def unlist(self, cluster: Cluster) -> None:
        """Take a cluster off the list it is on, if any; its flag stays."""
        if cluster.flag != Flag.NONE and not cluster.taken:
            del self.list_of(cluster.flag, cluster.order)[cluster.index]
        cluster.taken = False

    def availability(self, there: bool) -> list[str]:
        """Return the error if the device is, or is not, on the available list: a sentence, or none.

        It is there with write permission and a free slot, or if it was full when it got the permission.
        """
        if there != (self.writeok and (self.used < self.total or self.came_full)):
            return [f"device {self.type}: {'' if there else 'not '}available with {self.used} of {self.total} in use"]
        return []

    def faults(self) -> list[str]:
        """Return the errors in counts and lists, one sentence each; empty when all is well."""
        found = []
        name = f"device {self.type}"
        if self.used != sum(cluster.used.bit_count() for cluster in self.clusters):
            found.append(f"{name}: used is {self.used}, the bitmaps say otherwise")
        seen = [0] * len(self.clusters)
        for flag, order, clusters in self.lists():
            for index, cluster in clusters.items():
                seen[index] += 1
                if cluster.flag != flag or (flag in (Flag.NONFULL, Flag.FRAG) and cluster.order != order):
                    found.append(
                        f"{name}, cluster {index}: on list {flag.name}[{order}], but is "
                        f"{cluster.flag.name}[{cluster.order}]"
                    )
        for cluster in self.clusters:
            found += cluster_faults(f"{name}, cluster {cluster.index}", cluster, seen[cluster.index])
        return found


@dataclass(slots=True)
class NextOffset:
    """The place where a CPU goes on with one order (`percpu_swap_cluster`); offset 0 means nowhere."""

    device: Device | None = None
    offset: int = 0


def cluster_faults(name: str, cluster: Cluster, listed: int) -> list[str]:
    """Return the errors in one cluster that was found on `listed` lists."""
    found = []
    if cluster.count != cluster.used.bit_count() or cluster.used & ~ALL:
        found.append(f"{name}: count is {cluster.count}, the bitmap says {cluster.used.bit_count()}")
    if listed != (cluster.flag != Flag.NONE and not cluster.taken):
        found.append(f"{name}: on {listed} lists with flag {cluster.flag.name}")
    if cluster.taken and cluster.flag != Flag.DISCARD:
        found.append(f"{name}: taken for a discard with flag {cluster.flag.name}")
    if cluster.count and cluster.flag in (Flag.FREE, Flag.DISCARD):
        found.append(f"{name}: flag {cluster.flag.name} with {cluster.count} slots used")
    if not cluster.count and cluster.flag in (Flag.NONFULL, Flag.FRAG, Flag.FULL):
        found.append(f"{name}: flag {cluster.flag.name} with 0 slots used")
    if cluster.flag == Flag.FULL and cluster.count != SLOTS:
        found.append(f"{name}: FULL with {cluster.count} slots used")
    if cluster.flag == Flag.FREE and cluster.order:
        found.append(f"{name}: FREE with order {cluster.order}")
    if cluster.used & cluster.bad != cluster.bad:
        found.append(f"{name}: a bad slot counts as free")
    return found
