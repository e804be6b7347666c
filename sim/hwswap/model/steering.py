# SPDX-License-Identifier: Apache-2.0
"""A small allocator that uses grants as the kernel does, and stores the changes of its clusters.

It is no copy of Linux' allocator: hwswap.model.golden is. Of that it has the parts that grants touch: clusters under a
lock each, lists as flags, the place where a CPU goes on, the scan from there, and some way to find slots without a
grant. Its own bitmaps are the truth; it checks everything that the engine tells it.

Each store, each load of a ring, and each wait for a lock is a step of its own. Slots are of 4 KiB.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hwswap_map import Flag

from hwswap.model.cluster_map import LISTED, Arrays, Word, change
from hwswap.model.clusters import Slots
from hwswap.model.grant_entries import TOP_ORDER, WRAP, DeviceEntry, Grant, Lines, Placement
from hwswap.model.rows import ALL, BLOCK, SLOTS, first_fit, run

Steps = Generator[str, Any, Slots | None]
"""An operation: a step at a time; returns the slots allocated."""


@dataclass
class HostCluster:
    """A cluster as the kernel has it: slots in use (bad ones among them), order, list, whether its lock is held."""

    used: int = 0
    order: int = 0
    list: Flag = Flag.FREE
    locked: bool = False


class HostDevice:
    """A swap device. `bad` slots, the header and slots past the end are in use for ever."""

    def __init__(self, entry: DeviceEntry, pages: int, bad: Iterable[int]) -> None:
        """Make a device of so many slots; clusters with a bad slot begin on NONFULL, the others on FREE."""
        self.entry = entry
        self.pages = pages
        self.clusters = [HostCluster() for _ in range(entry.clusters)]
        self.clusters[0].used = 1
        self.clusters[-1].used |= ALL & ~((1 << pages - (entry.clusters - 1) * SLOTS) - 1)
        for slot in bad:
            self.clusters[slot // SLOTS].used |= 1 << slot % SLOTS
        for cluster in self.clusters:
            if cluster.used:
                cluster.list = Flag.FULL if cluster.used == ALL else Flag.NONFULL
        self.bad = [cluster.used for cluster in self.clusters]

    @property
    def full(self) -> bool:
        """Tell whether no slot is free: such a device is not on the list of those that are available."""
        return all(cluster.used == ALL for cluster in self.clusters)


@dataclass
class Held:
    """A CPU's grant: the device's number, the cluster in it, and the slot that the CPU goes on at."""

    type: int
    cluster: int
    at: int = 0


class Host:
    """The kernel's side."""

    def __init__(self, arrays: Arrays, lines: Lines, placement: Placement = Placement.INDEXED, stash: int = 1) -> None:
        """Begin without devices.

        Args:
            arrays: in host memory.
            lines: in host memory.
            placement: OPEN lifts the order that a cluster is exclusive to.
            stash: tables made ready for clusters on FREE; without one a grant of such a cluster is refused.
        """
        self.arrays = arrays
        self.lines = lines
        self.placement = placement
        self.stash = stash
        self.devices: dict[int, HostDevice] = {}
        self.held: list[dict[int, Held]] = [{} for _ in range(lines.cpus)]  # by CPU, then by order
        self.counts: Counter[str] = Counter()

    # Devices. The engine's table of devices is the caller's to set: before swapon, after swapoff.

    def swapon(self, entry: DeviceEntry, pages: int, bad: Iterable[int] = ()) -> Iterator[str]:
        """Begin to use a device, with bad slots: tell of all its clusters."""
        device = self.devices[entry.type] = HostDevice(entry, pages, bad)
        for number in range(entry.clusters):
            yield from self.tell(device, number)

    def swapoff(self, type_: int) -> None:
        """Stop to use a device: no grant of it is held. Those in rings are void by their epoch."""
        del self.devices[type_]
        self.drop(lambda _, held: held.type == type_)

    def drop(self, which: Callable[[int, Held], bool]) -> None:
        """Drop held grants; `which` says of a CPU's whether it is to be dropped."""
        for number, grants in enumerate(self.held):
            for order in [order for order, held in grants.items() if which(number, held)]:
                self.done_with(number, order)

    def cpu_gone(self, cpu: int) -> None:
        """Take a CPU offline: its grants are dropped, its rings no longer wanted."""
        self.drop(lambda number, _: number == cpu)
        self.lines.want[cpu] = 0

    def tell(self, device: HostDevice, number: int) -> Iterator[str]:
        """Store a cluster's bitmap and word where they changed."""
        cluster = device.clusters[number]
        word = Word(cluster.order, cluster.list, device.entry.epoch)
        yield from change(self.arrays, device.entry.base + number, cluster.used, word)

    def done_with(self, cpu: int, order: int) -> None:
        """Let go of a grant: slots taken out of its cluster were stored before."""
        del self.held[cpu][order]

    # Allocate and free

    def alloc(self, cpu: int, order: int) -> Steps:
        """Allocate 2^order slots for a CPU: steered by a grant if there is one, else by a search.

        Yields:
            After each store, load of a ring, or look at a lock.

        Returns:
            The first slot, None if nothing was found.
        """
        place = yield from self.steer(cpu, order)
        if place is not None:
            found = yield from self.scan(place, order, granted=True)
            if found is not None:
                return found
            # The grant was of no use: the rest of it is no better.
            if order in self.held[cpu]:
                self.done_with(cpu, order)
        elif order and self.lines.no_run >> order & 1:
            self.counts["no run"] += 1
            return None
        return (yield from self.search(order))

    def free(self, type_: int, offset: int, order: int) -> Iterator[str]:
        """Give back slots of one cluster. They are free when the device is gone, too: nobody is told then."""
        device = self.devices.get(type_)
        if device is None:
            return
        number = offset // SLOTS
        cluster = device.clusters[number]
        yield from lock(cluster)
        cluster.used &= ~(BLOCK[order] << offset % SLOTS)
        if cluster.used:
            cluster.list = Flag.NONFULL
        else:
            cluster.order, cluster.list = 0, Flag.FREE
        yield from self.tell(device, number)
        cluster.locked = False

    # Grants

    def steer(self, cpu: int, order: int) -> Generator[str, Any, Slots | None]:
        """Find the next place in the CPU's granted cluster, or that of the next grant; None where there is none.

        The cluster's lock is not held: the place may be taken when it is.
        """
        held = self.held[cpu].get(order)
        while True:
            if held is not None:
                slot = fit(self.devices[held.type].clusters[held.cluster].used, order, held.at)
                if slot >= 0:
                    held.at = slot + (1 << order)
                    return Slots(held.type, held.cluster * SLOTS + slot)
                self.done_with(cpu, order)
            held = yield from self.pop(cpu, order)
            if held is None:
                return None
            self.held[cpu][order] = held

    def pop(self, cpu: int, order: int) -> Generator[str, Any, Held | None]:
        """Take the next grant that is worth something out of the ring.

        HEAD is published at each pop, after the bits of what was taken out of the grant before. A ring holds no more
        than its size, so that a lying engine does not keep a CPU here.
        """
        for _ in range(1 << self.lines.log2):
            head = self.lines.head[cpu][order]
            grant = self.lines.entry(cpu, order, head)
            yield "entry read"
            if grant is None:
                break
            self.lines.head[cpu][order] = (head + 1) % WRAP
            yield "HEAD"
            why = self.refusal(grant, order)
            self.counts[why or "popped"] += 1
            if why is None:
                return Held(grant.type, grant.cluster)
        self.lines.want[cpu] |= 1 << order
        yield "WANT"
        return None

    def refusal(self, grant: Grant, order: int) -> str | None:
        """Return why a grant is refused, None if it is not. Everything it says may be wrong."""
        if not grant.valid:
            return "taken back"
        device = self.devices.get(grant.type)
        if device is None:
            return "device gone"
        if grant.epoch != device.entry.epoch:
            return "epoch"
        if not device.entry.serves(order):
            return "flags"
        if any(d.entry.priority > device.entry.priority and not d.full for d in self.devices.values()):
            return "priority"
        if grant.order != order:
            return "order"
        if grant.cluster >= len(device.clusters):
            return "place"
        if fit(device.clusters[grant.cluster].used, order, 0) < 0:
            return "empty"
        return None

    # Clusters

    def fits(self, cluster: HostCluster, order: int) -> bool:
        """Tell whether the kernel's rules let an order into a cluster."""
        if cluster.list == Flag.FREE:
            return True
        if cluster.list not in LISTED or order == TOP_ORDER:
            return False
        return self.placement is Placement.OPEN or order in (0, cluster.order)

    def scan(self, place: Slots, order: int, granted: bool) -> Steps:
        """Look for a run from a place to its cluster's end, and take the first: the kernel's fast path.

        With a grant that is good, the run is at the place itself.
        """
        device = self.devices.get(place.type)
        if device is None:
            return None
        number, start = divmod(place.offset, SLOTS)
        cluster = device.clusters[number]
        yield from lock(cluster)
        found = None
        if self.devices.get(place.type) is not device or not self.fits(cluster, order):
            self.counts["unusable"] += granted
        elif granted and cluster.list == Flag.FREE and not self.stash:
            self.counts["no table"] += 1
        else:
            # An empty cluster's scan begins at the place, too, not at its first slot.
            slot = fit(cluster.used, order, start)
            if slot >= 0:
                if granted and cluster.list == Flag.FREE:
                    self.stash -= 1
                    self.counts["claimed"] += 1
                found = Slots(place.type, number * SLOTS + slot)
                yield from self.commit(device, number, slot, order)
            if granted:
                self.counts["hit" if slot == start else "stray" if slot >= 0 else "stale"] += 1
        cluster.locked = False
        return found

    def commit(self, device: HostDevice, number: int, slot: int, order: int) -> Iterator[str]:
        """Take slots of a cluster whose lock is held."""
        cluster = device.clusters[number]
        mask = run(slot, 1 << order)
        assert not cluster.used & mask
        if cluster.list == Flag.FREE:
            cluster.order = order
        cluster.used |= mask
        cluster.list = Flag.FULL if cluster.used == ALL else Flag.FRAG
        yield from self.tell(device, number)

    def search(self, order: int) -> Steps:
        """Find slots without a grant: by priority, own order first, then FREE, then any for order 0."""
        self.counts["searched"] += 1
        for device in sorted(self.devices.values(), key=lambda device: -device.entry.priority):
            entry, clusters = device.entry, device.clusters
            if order and entry.file:
                continue
            numbers = sorted(
                range(len(clusters)),
                key=lambda n: (clusters[n].list == Flag.FREE, clusters[n].order != order),
            )
            for number in numbers:
                cluster = clusters[number]
                if self.fits(cluster, order) and first_fit(cluster.used, order, 0) >= 0:
                    found = yield from self.scan(Slots(entry.type, number * SLOTS), order, granted=False)
                    if found is not None:
                        return found
        return None


def fit(used: int, order: int, start: int) -> int:
    """Return the first free run of 2^order slots from a slot on, in steps of 2^order, -1 if there is none.

    As the kernel's loop it trusts `start`: from one that is not aligned it would find what is not aligned.
    """
    size = 1 << order
    return next((slot for slot in range(start, SLOTS - size + 1, size) if not used & run(slot, size)), -1)


def lock(cluster: HostCluster) -> Iterator[str]:
    """Take a cluster's lock, waiting for whoever holds it."""
    while cluster.locked:
        yield "lock"
    cluster.locked = True
    yield "locked"
