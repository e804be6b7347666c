# SPDX-License-Identifier: Apache-2.0
"""The swap-slot allocator of Linux 7.3 as a plain Python model: the authority the RTL is compared with.

Written from reading mm/swapfile.c; each rule names the kernel function it comes from. The model is sequential, as
a trace is: one operation is finished before the next begins. Left out, because recipes and streams keep away from
them: reclaim of cached slots when more than half of all swap is used, rotating and discarding devices.

Offsets and sizes are in slots of 4 KiB; `offset` counts from a device's start, `slot` from a cluster's.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hwswap.hwswap_map import (
    MEM_DEVICE_FLAGS_FLAGS_BLKDEV,
    MEM_DEVICE_FLAGS_FLAGS_DISCARD,
    MEM_DEVICE_FLAGS_FLAGS_SOLIDSTATE,
    Flag,
    Status,
)
from hwswap.rows import BLOCK, ORDERS, SLOTS, first_fit, run

BLKDEV = MEM_DEVICE_FLAGS_FLAGS_BLKDEV.put(1)
SOLIDSTATE = MEM_DEVICE_FLAGS_FLAGS_SOLIDSTATE.put(1)
DISCARD = MEM_DEVICE_FLAGS_FLAGS_DISCARD.put(1)

TOP_ORDER = ORDERS - 1
"""PMD_ORDER: this order is only ever served from clusters that are free."""


class Slots(NamedTuple):
    """Where an allocation went: device number and offset of its first slot."""

    type: int
    offset: int


class Cluster:
    """512 slots: `used` as a bitmap, how many (`count`), `order` it is exclusive to, and the list it is on (`flag`).

    Stands for `struct swap_cluster_info`.
    """

    __slots__ = ("bad", "count", "flag", "index", "order", "used")

    def __init__(self, index: int) -> None:
        """Make cluster number `index` of a device, empty and off-list."""
        self.index = index
        self.used = 0
        self.bad = 0
        self.count = 0
        self.order = 0
        self.flag = Flag.NONE


ClusterList = OrderedDict[int, Cluster]
"""A first-in first-out list of clusters, by their number."""


class Device:
    """A swap device: clusters, their lists, and its place among the devices. Stands for `struct swap_info_struct`."""

    def __init__(self, type_: int, pages: int, base: int, flags: int, priority: int, epoch: int) -> None:
        """Claim the clusters for `pages` slots; the header slot and the slots behind the last one are bad.

        As `setup_swap_clusters_info` does before any list exists.
        """
        self.type = type_
        self.pages = pages
        self.base = base
        self.flags = flags
        self.priority = priority
        self.epoch = epoch
        self.writeok = False
        self.listed = False  # SWAPON came at least once: the clusters are on lists
        self.clusters = [Cluster(i) for i in range(-(-pages // SLOTS))]
        self.free: ClusterList = OrderedDict()
        self.full: ClusterList = OrderedDict()
        self.discard: ClusterList = OrderedDict()
        self.nonfull: list[ClusterList] = [OrderedDict() for _ in range(ORDERS)]
        self.frag: list[ClusterList] = [OrderedDict() for _ in range(ORDERS)]
        self.used = 0
        self.set_bad(0, 1)
        tail = len(self.clusters) * SLOTS - pages
        if tail:
            self.set_bad(pages, tail)

    @property
    def total(self) -> int:
        """Slots of all clusters, bad ones included; the device is full when `used` equals this."""
        return len(self.clusters) * SLOTS

    def set_bad(self, offset: int, nr: int) -> None:
        """Count a range inside one cluster as used for good (`swap_cluster_setup_bad_slot`)."""
        cluster = self.clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        cluster.used |= mask
        cluster.bad |= mask
        cluster.count += nr
        self.used += nr

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


@dataclass(slots=True)
class NextOffset:
    """Where a CPU goes on with one order (`percpu_swap_cluster`); offset 0 means nowhere."""

    device: Device | None = None
    offset: int = 0


@dataclass
class Counts:
    """How often each thing happened, named as the engine's statistics registers."""

    by_path: Counter[str] = field(default_factory=Counter)
    scans: int = 0
    list_moves: int = 0
    frees: int = 0


class Allocator:
    """All swap devices of a machine and the decisions about them, as the engine's authoritative mode has them.

    Operations answer with the status the engine's command gives; `alloc` with the slots, or None for NO_SPACE.
    """

    def __init__(self, devices: int = 8, cpus: int = 4, clusters: int = 1024) -> None:
        """Start empty, with the limits of an engine built for so many devices, CPUs and clusters."""
        self.limit_devices = devices
        self.limit_cpus = cpus
        self.limit_clusters = clusters
        self.devices: dict[int, Device] = {}
        self.available: list[Device] = []
        self.next_offsets = [[NextOffset() for _ in range(ORDERS)] for _ in range(cpus)]
        self.counts = Counts()

    # Devices come and go

    def prepare(
        self, type_: int, pages: int, base: int, flags: int = BLKDEV | SOLIDSTATE, priority: int = -1, epoch: int = 0
    ) -> Status:
        """SWAPON_PREPARE: claim clusters for a device (`setup_swap_clusters_info`, first half)."""
        if type_ >= self.limit_devices or type_ in self.devices:
            return Status.BAD_DEVICE
        if not self.supported(flags):
            return Status.UNSUPPORTED
        end = base + -(-pages // SLOTS)
        if pages < 1 or end > self.limit_clusters:
            return Status.BAD_RANGE
        for other in self.devices.values():
            if base < other.base + len(other.clusters) and other.base < end:
                return Status.BAD_RANGE
        self.devices[type_] = self.new_device(type_, pages, base, flags, priority, epoch)
        return Status.OK

    def supported(self, flags: int) -> bool:
        """Tell whether a device of these flags can be modelled: neither rotating nor discarding."""
        return bool(flags & SOLIDSTATE) and not flags & DISCARD

    def new_device(self, type_: int, pages: int, base: int, flags: int, priority: int, epoch: int) -> Device:
        """Make the device; a place for subclasses to make their own kind."""
        return Device(type_, pages, base, flags, priority, epoch)

    def mark_bad(self, type_: int, offset: int, nr: int) -> Status:
        """MARK_BAD: count slots of a prepared device as bad (`swap_cluster_setup_bad_slot`)."""
        device = self.devices.get(type_)
        if device is None or device.listed:
            return Status.BAD_DEVICE
        if not self.inside(device, offset, nr):
            return Status.BAD_RANGE
        if device.clusters[offset // SLOTS].used & run(offset % SLOTS, nr):
            return Status.BAD_RANGE  # the kernel refuses a slot that is named twice
        device.set_bad(offset, nr)
        return Status.OK

    def swapon(self, type_: int) -> Status:
        """SWAPON: list the clusters (`setup_swap_clusters_info`, last loop) and offer the device (`enable_swap_info`).

        After SWAPOFF_BEGIN it is `reinsert_swap_info`: the lists stay as they are.
        """
        device = self.devices.get(type_)
        if device is None or device.writeok:
            return Status.BAD_DEVICE
        if not device.listed:
            for cluster in device.clusters:
                self.list_first(device, cluster)
            device.listed = True
        device.writeok = True
        self.make_available(device)
        return Status.OK

    @staticmethod
    def list_first(device: Device, cluster: Cluster) -> None:
        """Put a cluster of a new device on its first list."""
        cluster.flag = Flag.NONFULL if cluster.count else Flag.FREE
        device.list_of(cluster.flag, 0)[cluster.index] = cluster

    def swapoff_begin(self, type_: int) -> Status:
        """SWAPOFF_BEGIN: no slot is given any more (`del_from_avail_list` with swapoff set); frees go on."""
        device = self.devices.get(type_)
        if device is None:
            return Status.BAD_DEVICE
        device.writeok = False
        if device in self.available:
            self.available.remove(device)
        return Status.OK

    def swapoff(self, type_: int) -> Status:
        """SWAPOFF: forget the device (`flush_percpu_swap_cluster`, `free_swap_cluster_info`)."""
        device = self.devices.pop(type_, None)
        if device is None:
            return Status.BAD_DEVICE
        if device in self.available:
            self.available.remove(device)
        for orders in self.next_offsets:
            for hint in orders:
                if hint.device is device:
                    hint.device = None
        return Status.OK

    # The list of available devices: highest priority first, equals in turn

    def make_available(self, device: Device) -> None:
        """Put a device that is not full behind its equals (`add_to_avail_list`, `plist_add`)."""
        if device in self.available or device.used == device.total:
            return
        at = 0
        while at < len(self.available) and self.available[at].priority >= device.priority:
            at += 1
        self.available.insert(at, device)

    def requeue(self, device: Device) -> None:
        """Move a device behind its equals (`plist_requeue`)."""
        self.available.remove(device)
        self.make_available(device)

    def add_usage(self, device: Device, nr: int) -> None:
        """Count slots as used; a device that gets full leaves the list (`swap_range_alloc`, `swap_usage_add`)."""
        device.used += nr
        if device.used == device.total and device in self.available:
            self.available.remove(device)

    def drop_usage(self, device: Device, nr: int) -> None:
        """Count slots as free; a device that was full comes back (`swap_range_free`, `swap_usage_sub`)."""
        device.used -= nr
        if device.writeok:
            self.make_available(device)

    # Clusters and their lists

    def move(self, device: Device, cluster: Cluster, flag: Flag) -> None:
        """Take a cluster from its list, if any, to the tail of the one `flag` names (`move_cluster`)."""
        if cluster.flag != Flag.NONE:
            del device.list_of(cluster.flag, cluster.order)[cluster.index]
        cluster.flag = flag
        if flag == Flag.FREE:
            cluster.order = 0  # __free_cluster: the only place that resets it
        device.list_of(flag, cluster.order)[cluster.index] = cluster
        self.counts.list_moves += 1

    def relocate(self, device: Device, cluster: Cluster) -> None:
        """Put a cluster where its count says after a scan; it stays if it is there (`relocate_cluster`)."""
        if cluster.flag == Flag.DISCARD:
            return
        if not cluster.count:
            flag = Flag.FREE
        elif cluster.count != SLOTS:
            flag = Flag.FRAG
        else:
            flag = Flag.FULL
        if cluster.flag != flag:
            self.move(device, cluster, flag)

    @staticmethod
    def usable(cluster: Cluster, order: int) -> bool:
        """Tell whether a CPU that points into the cluster may scan it for `order` (`cluster_is_usable`).

        A cluster on FREE has no table, so it is not: it is only had by isolating it from that list.
        """
        if cluster.flag not in (Flag.NONE, Flag.NONFULL, Flag.FRAG):
            return False
        return order == 0 or cluster.count == 0 or cluster.order == order

    # Allocation

    def alloc(self, cpu: int, order: int) -> Slots | None:
        """ALLOC: 2^order slots for a CPU, first where it left off, then anywhere (`folio_alloc_swap`)."""
        found = self.alloc_fast(cpu, order) or self.alloc_slow(cpu, order)
        if found is None:
            self.counts.by_path["fail"] += 1
        return found

    def alloc_fast(self, cpu: int, order: int) -> Slots | None:
        """Go on where this CPU left off, whatever the priorities say (`swap_alloc_fast`).

        A place that cannot be used stays remembered as it is.
        """
        hint = self.next_offsets[cpu][order]
        device = hint.device
        if device is None or not hint.offset:
            return None
        cluster = device.clusters[hint.offset // SLOTS]
        if not self.usable(cluster, order):
            return None
        start = hint.offset % SLOTS if cluster.count else 0
        found = self.scan(device, cluster, cpu, order, start)
        if found is not None:
            self.counts.by_path["fast"] += 1
        return found

    def alloc_slow(self, cpu: int, order: int) -> Slots | None:
        """Try the available devices in turn, each moved behind its equals first (`swap_alloc_slow`).

        The successor is looked up before the requeue, as plist_for_each_entry_safe does, so of two equals that both
        fail the kernel's loop may see each again and again; like the engine this stops after 2 visits for each
        device that there could be. A large order tries one device only.
        """
        device = self.next_available(0)
        for _ in range(2 * self.limit_devices):
            if device is None:
                return None
            successor = self.next_available(self.available.index(device) + 1)
            self.requeue(device)
            found = self.alloc_on(device, cpu, order)
            if found is not None or order:
                return found
            if successor is not None and successor not in self.available:
                successor = self.next_available(0)
            device = successor
        return None

    def next_available(self, start: int) -> Device | None:
        """Return the first device of the available list from position `start` on; the end is None."""
        return self.available[start] if start < len(self.available) else None

    def alloc_on(self, device: Device, cpu: int, order: int) -> Slots | None:
        """Try one device, list by list (`cluster_alloc_swap_entry`, solid-state and without discard)."""
        if order and not device.flags & BLKDEV:
            return None
        for path, clusters, scan_all in self.search_order(device, order):
            found = self.scan_list(device, clusters, cpu, order, scan_all)
            if found is not None:
                self.counts.by_path[path] += 1
                return found
        return None

    @staticmethod
    def search_order(device: Device, order: int) -> Iterator[tuple[str, ClusterList, bool]]:
        """Yield the lists to look at, and whether all of each or one cluster (`cluster_alloc_swap_entry`)."""
        if order < TOP_ORDER:
            yield "nonfull", device.nonfull[order], True
        yield "free", device.free, False
        if order < TOP_ORDER:
            yield "frag", device.frag[order], False
        if order == 0:
            for other in range(1, ORDERS):
                yield "steal", device.frag[other], True
                yield "steal", device.nonfull[other], True

    def scan_list(self, device: Device, clusters: ClusterList, cpu: int, order: int, scan_all: bool) -> Slots | None:
        """Isolate and scan clusters of a list from its head (`alloc_swap_scan_list`, `isolate_lock_cluster`)."""
        while clusters:
            _, cluster = clusters.popitem(last=False)
            cluster.flag = Flag.NONE
            found = self.scan(device, cluster, cpu, order, 0)
            if found is not None or not scan_all:
                return found
        return None

    def scan(self, device: Device, cluster: Cluster, cpu: int, order: int, start: int) -> Slots | None:
        """Look for a run from slot `start` to the cluster's end and take it (`alloc_swap_scan_cluster`).

        Ends with the cluster on the list its count says, and with the CPU's place written: the slot behind the found
        run, or none.
        """
        self.counts.scans += 1
        nr = 1 << order
        found = None
        offset_next = 0
        if cluster.count + nr <= SLOTS:
            slot = first_fit(cluster.used, order, start)
            if slot >= 0 and device.writeok:  # __swap_cluster_alloc_entries refuses without SWP_WRITEOK
                if not cluster.count:
                    cluster.order = order
                self.take(cluster, BLOCK[order] << slot)
                cluster.count += nr
                self.add_usage(device, nr)
                offset = cluster.index * SLOTS + slot
                found = Slots(device.type, offset)
                if cluster.count < SLOTS and slot + 2 * nr <= SLOTS:
                    offset_next = offset + nr
        self.relocate(device, cluster)
        hint = self.next_offsets[cpu][order]
        hint.device = device
        hint.offset = offset_next
        return found

    def take(self, cluster: Cluster, mask: int) -> None:
        """Mark slots used; a place for subclasses to note for whom."""
        cluster.used |= mask

    # Freeing

    def free(self, type_: int, offset: int, nr: int) -> Status:
        """FREE: give back slots of one cluster, all of them in use (`__swap_cluster_free_entries`)."""
        device = self.devices.get(type_)
        if device is None or not device.listed:
            return Status.BAD_DEVICE
        if not self.inside(device, offset, nr):
            return Status.BAD_RANGE
        cluster = device.clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        if cluster.used & mask != mask:
            return Status.BAD_RANGE
        cluster.used &= ~mask
        cluster.count -= nr
        self.counts.frees += 1
        self.drop_usage(device, nr)
        if not cluster.count:
            self.move(device, cluster, Flag.FREE)  # free_cluster
        elif cluster.flag != Flag.NONFULL:
            self.move(device, cluster, Flag.NONFULL)  # partial_free_cluster
        return Status.OK

    @staticmethod
    def inside(device: Device, offset: int, nr: int) -> bool:
        """Tell whether a range lies in one cluster of the device, without the header slot, and is not empty."""
        return bool(offset) and 1 <= nr <= SLOTS - offset % SLOTS and offset + nr <= device.pages

    # Self-test

    def faults(self) -> list[str]:
        """Return what is wrong with counts, lists and available list, one sentence each; empty when all is well."""
        found = []
        for device in self.devices.values():
            found += self.device_faults(device)
        priorities = [device.priority for device in self.available]
        if priorities != sorted(priorities, reverse=True):
            found.append(f"the available list is not in order of priority: {priorities}")
        return found

    def device_faults(self, device: Device) -> list[str]:
        """Return what is wrong with one device."""
        found = []
        name = f"device {device.type}"
        if device.used != sum(cluster.used.bit_count() for cluster in device.clusters):
            found.append(f"{name}: used is {device.used}, the bitmaps say otherwise")
        should = device.writeok and device.used < device.total
        if (device in self.available) != should:
            found.append(f"{name}: available is {not should}, should be {should}")
        seen: Counter[int] = Counter()
        for flag, order, clusters in device.lists():
            for index, cluster in clusters.items():
                seen[index] += 1
                if cluster.flag != flag or (flag in (Flag.NONFULL, Flag.FRAG) and cluster.order != order):
                    found.append(
                        f"{name}, cluster {index}: on list {flag.name}[{order}], but is "
                        f"{cluster.flag.name}[{cluster.order}]"
                    )
        for cluster in device.clusters:
            found += self.cluster_faults(f"{name}, cluster {cluster.index}", cluster, seen[cluster.index])
        return found

    @staticmethod
    def cluster_faults(name: str, cluster: Cluster, listed: int) -> list[str]:
        """Return what is wrong with one cluster that was found on `listed` lists."""
        found = []
        if cluster.count != cluster.used.bit_count():
            found.append(f"{name}: count is {cluster.count}, the bitmap says {cluster.used.bit_count()}")
        if listed != (cluster.flag != Flag.NONE):
            found.append(f"{name}: on {listed} lists with flag {cluster.flag.name}")
        if (cluster.flag == Flag.FREE) != (cluster.count == 0) and cluster.flag not in (Flag.NONE, Flag.DISCARD):
            found.append(f"{name}: flag {cluster.flag.name} with {cluster.count} slots used")
        if cluster.flag == Flag.FULL and cluster.count != SLOTS:
            found.append(f"{name}: FULL with {cluster.count} slots used")
        if cluster.flag == Flag.FREE and cluster.order:
            found.append(f"{name}: FREE with order {cluster.order}")
        return found
