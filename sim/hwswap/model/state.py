# SPDX-License-Identifier: Apache-2.0
"""The golden model's state: devices, their lists, each CPU's place; and all operations but the search."""

import bisect
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from hwswap_map import Flag, Status

from hwswap.model.clusters import (
    BLKDEV,
    DEFAULT_PRIORITY,
    SOLIDSTATE,
    Cluster,
    Device,
    NextOffset,
)
from hwswap.model.host_memory import ClusterState
from hwswap.model.policy import DeviceOrder, Hint, Policy, Trunks
from hwswap.model.rows import ORDERS, SLOTS, run


@dataclass
class Counts:
    """Counts of events, named as the engine's statistics registers."""

    by_path: Counter[str] = field(default_factory=Counter)
    scans: int = 0
    list_moves: int = 0
    frees: int = 0
    discards: int = 0


class State:
    """All swap devices of a machine, and the operations on them besides an allocation.

    Operations answer with the status the engine's command gives.
    """

    def __init__(self, devices: int = 8, cpus: int = 4, clusters: int = 1024) -> None:
        """Start empty, with the limits of an engine built for so many devices, CPUs and clusters."""
        self.limit_devices = devices
        self.limit_cpus = cpus
        self.limit_clusters = clusters
        self.devices: dict[int, Device] = {}
        self.available: list[Device] = []
        self.next_offsets = [[NextOffset() for _ in range(ORDERS)] for _ in range(cpus)]
        self.nodes = [0] * cpus
        self.policy = Policy()
        self.trunks = Trunks()
        self.swapons = 0
        self.counts = Counts()

    def set_policy(self, policy: Policy) -> None:
        """Write the register POLICY: follow other rules from the next operation on."""
        self.policy = policy
        self.trunks = Trunks(policy.seed)

    # Devices come and go

    def prepare(
        self,
        type_: int,
        pages: int,
        base: int,
        flags: int = BLKDEV | SOLIDSTATE,
        priority: int = DEFAULT_PRIORITY,
        node: int = 0,
    ) -> Status:
        """SWAPON_PREPARE: claim clusters for a device (`setup_swap_clusters_info`, first half)."""
        if type_ >= self.limit_devices or type_ in self.devices:
            return Status.BAD_DEVICE
        end = base + -(-pages // SLOTS)
        if pages < 1 or end > self.limit_clusters:
            return Status.BAD_RANGE
        for other in self.devices.values():
            if base < other.base + len(other.clusters) and other.base < end:
                return Status.BAD_RANGE
        device = Device(type_, pages, base, flags, priority)
        device.node = node
        self.devices[type_] = device
        return Status.OK

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

        After SWAPOFF_BEGIN it is `reinsert_swap_info`: the lists stay as they are, and a device that is full comes to
        the available list all the same, as the kernel asks for that with a count that still has a flag in it.
        """
        device = self.devices.get(type_)
        if device is None or device.writeok:
            return Status.BAD_DEVICE
        if not device.listed:
            for cluster in device.clusters:
                cluster.flag = Flag.NONFULL if cluster.count else Flag.FREE
                device.list_of(cluster.flag, 0)[cluster.index] = cluster
            device.listed = True
            self.swapons += 1
            device.number = self.swapons
        device.writeok = True
        device.came_full = device.used == device.total
        self.make_available(device)
        return Status.OK

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
        """Have a device that has write permission on the available list (`add_to_avail_list`)."""
        self.join(device)

    def join(self, device: Device) -> None:
        """Insert a device after its equals, unless it is on the list (`plist_add`)."""
        if device not in self.available:
            bisect.insort(self.available, device, key=lambda other: -other.priority)

    def requeue(self, device: Device) -> None:
        """Move a device after its equals (`plist_requeue`)."""
        self.available.remove(device)
        self.join(device)

    def offered(self, cpu: int) -> list[Device]:
        """Return the available devices in the order in which a CPU tries them (policy DEVICE)."""
        choice = self.policy.device
        if choice == DeviceOrder.ROUND_ROBIN:
            return self.available
        node = self.nodes[cpu] if choice == DeviceOrder.NODE_FIRST else None

        def place(device: Device) -> tuple[int, bool, int]:
            far = node is not None and device.node != node
            return -device.priority, far, device.number if device.priority == DEFAULT_PRIORITY else 0

        return sorted(self.available, key=place)  # stable: other classes stay as the list has them

    def add_usage(self, device: Device, nr: int) -> None:
        """Count slots as used; a device that gets full leaves the list (`swap_range_alloc`, `swap_usage_add`)."""
        device.used += nr
        if device.used == device.total and device in self.available:
            self.available.remove(device)

    def drop_usage(self, device: Device, nr: int) -> None:
        """Count slots as free; a device that was full comes back (`swap_range_free`, `swap_usage_sub`)."""
        device.used -= nr
        device.came_full = False
        if device.writeok:
            self.make_available(device)

    @property
    def half_used(self) -> bool:
        """Tell whether more than half of all swap is in use (`vm_swap_full`).

        The size counts devices with write permission, the use counts all: as `swapoff` takes a device's size off
        both of the kernel's numbers before it empties it. Bad slots are in neither.
        """
        total = sum(device.total - device.bad for device in self.devices.values() if device.writeok)
        used = sum(device.used - device.bad for device in self.devices.values())
        return (total - used) * 2 < total

    # Clusters and their lists

    def move(self, device: Device, cluster: Cluster, flag: Flag) -> None:
        """Take a cluster from its list, if any, to the tail of the one `flag` names (`move_cluster`)."""
        device.unlist(cluster)
        cluster.flag = flag
        if flag == Flag.FREE:
            cluster.order = 0  # __free_cluster: the only place that resets it
        device.list_of(flag, cluster.order)[cluster.index] = cluster
        self.counts.list_moves += 1

    def free_cluster(self, device: Device, cluster: Cluster) -> None:
        """Put an empty cluster on FREE, or on DISCARD if it shall be discarded first (`free_cluster`).

        Without write permission it goes to FREE at once: swapoff does not wait for discards. On DISCARD it keeps
        table and order.
        """
        self.move(device, cluster, Flag.DISCARD if device.writeok and device.discarding else Flag.FREE)

    def relocate(self, device: Device, cluster: Cluster) -> None:
        """Put a cluster where its count says after a scan; it stays if it is there (`relocate_cluster`)."""
        if cluster.flag == Flag.DISCARD:
            return
        if not cluster.count:
            if cluster.flag != Flag.FREE:
                self.free_cluster(device, cluster)
            return
        flag = Flag.FRAG if cluster.count != SLOTS else Flag.FULL
        if cluster.flag != flag:
            self.move(device, cluster, flag)

    @staticmethod
    def usable(cluster: Cluster, order: int) -> bool:
        """Tell whether a CPU that points into the cluster may scan it for `order` (`cluster_is_usable`).

        A cluster on FREE has no table, nor has one that is just coming from there, so it is not.
        """
        if cluster.flag not in (Flag.NONE, Flag.NONFULL, Flag.FRAG) or cluster.bare:
            return False
        return order == 0 or cluster.count == 0 or cluster.order == order

    def take(self, cluster: Cluster, mask: int) -> None:
        """Mark slots used; a subclass may take note."""
        cluster.used |= mask

    def hint_of(self, cpu: int, order: int) -> NextOffset:
        """Return where a CPU goes on with an order (policy HINT: SHARED is CPU 0's)."""
        return self.next_offsets[0 if self.policy.hint == Hint.SHARED else cpu][order]

    def remember(self, device: Device, cpu: int, order: int, offset: int) -> None:
        """Write where to go on, the device's one if it is rotating, else the CPU's (`alloc_swap_scan_cluster`)."""
        if device.rotating:
            device.next_offset[order] = offset
            return
        if not offset and self.policy.hint == Hint.RANDOM_TRUNK:
            offset = self.trunks.draw(len(device.clusters)) * SLOTS
        hint = self.hint_of(cpu, order)
        hint.device = device
        hint.offset = offset

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
        if cluster.used & mask != mask or cluster.bad & mask:
            return Status.BAD_RANGE
        cluster.used &= ~mask
        cluster.count -= nr
        self.counts.frees += 1
        self.drop_usage(device, nr)
        if not cluster.count:
            self.free_cluster(device, cluster)
        elif cluster.flag != Flag.NONFULL:
            self.move(device, cluster, Flag.NONFULL)  # partial_free_cluster
        return Status.OK

    @staticmethod
    def inside(device: Device, offset: int, nr: int) -> bool:
        """Tell whether a range lies in one cluster of the device, without the header slot, and is not empty."""
        return bool(offset) and 1 <= nr <= SLOTS - offset % SLOTS and offset + nr <= device.pages

    # Discarding

    def discard_take(self, type_: int) -> tuple[Status, int]:
        """DISCARD_TAKE: take the first cluster off DISCARD for the host to discard (`swap_do_scheduled_discard`).

        Returns the offset of its first slot. It keeps its flag, so that no CPU that points to it scans it.
        """
        device = self.devices.get(type_)
        if device is None or not device.listed:
            return Status.BAD_DEVICE, 0
        if not device.discard:
            return Status.NO_SPACE, 0
        _, cluster = device.discard.popitem(last=False)
        cluster.taken = True
        return Status.OK, cluster.index * SLOTS

    def discard_done(self, type_: int, offset: int) -> Status:
        """DISCARD_DONE: the taken cluster that holds slot `offset` goes to the tail of FREE (`__free_cluster`)."""
        device = self.devices.get(type_)
        if device is None or not device.listed:
            return Status.BAD_DEVICE
        if not 0 <= offset < device.total:
            return Status.BAD_RANGE
        cluster = device.clusters[offset // SLOTS]
        if not cluster.taken:
            return Status.BAD_RANGE
        self.move(device, cluster, Flag.FREE)
        self.counts.discards += 1
        return Status.OK

    # Self-test

    def dump(self, type_: int) -> list[ClusterState]:
        """DUMP: return an engine's records of a device's clusters, in their order."""
        device = self.devices[type_]
        before: dict[int, int] = {}
        behind: dict[int, int] = {}
        for _, _, members in device.lists():
            for first, second in pairwise(device.base + index for index in members):
                behind[first], before[second] = second, first
        numbers = range(device.base, device.base + len(device.clusters))
        return [
            ClusterState(c.used, c.order, c.flag, before.get(number), behind.get(number))
            for number, c in zip(numbers, device.clusters, strict=True)
        ]

    def faults(self) -> list[str]:
        """Return the errors in counts, lists and available list, one sentence each; empty when all is well."""
        found = []
        for device in self.devices.values():
            found += device.faults()
            found += device.availability(device in self.available)
        priorities = [device.priority for device in self.available]
        if priorities != sorted(priorities, reverse=True):
            found.append(f"the available list is not in order of priority: {priorities}")
        return found
