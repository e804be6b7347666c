# SPDX-License-Identifier: Apache-2.0
"""Grants: the engine proposes clusters that have room for an order, in a ring for each CPU and order.

A grant steers; the kernel looks for the places in the cluster itself. So nothing here has to be right for the kernel's
sake, only for speed: bitmaps may be torn, summaries old. The engine does promise, and the tests check: a cluster could
serve the order when it was read last; it is granted to one ring alone; a device that is gone is offered no more.

Each access to host memory is a step of its own (`Grants.steps`), as in hwswap.model.cluster_map. Slots are of 4 KiB.
Source: docs/grants.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from hwswap_map import Flag

from hwswap.model.cluster_map import LISTED, Arrays, Reader
from hwswap.model.grant_entries import TOP_ORDER, WRAP, DeviceEntry, Grant, Lines, Placement
from hwswap.model.rows import ORDERS

SPARED: Final = 8
"""One of so many clusters of a device is not granted off FREE with placement INDEXED."""

Owner = tuple[int, int]
"""CPU and order that a cluster is granted to."""


@dataclass
class Ring:
    """What the engine knows of a ring.

    Attributes:
        tail: entries written, free running.
        out: of each entry that the host is not done with, the cluster; None if it was taken back.
    """

    tail: int = 0
    out: dict[int, int | None] = field(default_factory=dict)


class Grants:
    """The builder of grants: placement, the rings, and the table of what is granted."""

    def __init__(self, arrays: Arrays, lines: Lines, placement: Placement = Placement.INDEXED) -> None:
        """Begin with no device and all rings empty; `placement`: which clusters may serve an order.

        With INDEXED, FREE clusters are kept for who has nothing else: see `may_open` and `rank`.
        """
        self.arrays = arrays
        self.lines = lines
        self.placement = placement
        self.spared = SPARED
        self.reader = Reader(arrays)
        self.summaries = self.reader.summaries
        self.devices: dict[int, DeviceEntry] = {}
        self.turn: list[int] = []
        self.granted: dict[int, Owner] = {}
        self.rings = {(cpu, order): Ring() for cpu in range(lines.cpus) for order in range(ORDERS)}
        self.recalling: set[int] = set()
        self.settled = 0

    # Registers

    def set_device(self, entry: DeviceEntry) -> None:
        """Take over an entry of the table of devices: swapon, swapoff, another priority.

        What is granted of the device is forgotten, and what is in the rings will be taken back (`recalling`).
        """
        self.devices[entry.type] = entry
        self.turn = [type_ for type_ in self.turn if type_ != entry.type] + [entry.type]
        self.recalling.add(entry.type)
        for cluster in [c for c in self.granted if self.type_of(c) in (entry.type, None)]:
            del self.granted[cluster]
        # The round under way may have passed the device's clusters already.
        self.settled = self.reader.rounds + 2

    def type_of(self, cluster: int) -> int | None:
        """Return which device a global cluster is of."""
        return next((entry.type for entry in self.devices.values() if entry.holds(cluster)), None)

    # Placement

    def usable(self, device: DeviceEntry, cluster: int, order: int) -> bool:
        """Tell whether a cluster may serve an order, by what is known of it; who it is granted to does not matter."""
        found = self.summaries[cluster]
        if found.word.epoch != device.epoch or found.run < order:
            return False
        if found.word.list == Flag.FREE:
            return True
        if found.word.list not in LISTED or order == TOP_ORDER:
            return False
        return self.placement is Placement.OPEN or order in (0, found.word.order)

    def has(self, device: DeviceEntry, order: int) -> bool:
        """Tell whether any cluster of a device may serve an order, whoever it is granted to."""
        return any(self.usable(device, cluster, order) for cluster in range(device.base, device.base + device.clusters))

    def rank(self, cluster: int, order: int) -> tuple[int, int, int]:
        """Return what the choice goes by, lowest first: kind of cluster, its order, its number.

        FREE is last. With placement OPEN, whose clusters lose nothing when another order comes in, the others go by how
        near their order is; of two as near the lower one, whose cluster has less to spoil. With INDEXED only order 0
        gets to those of other orders: where the cluster's own order finds no run any more, so that nobody loses by it,
        then where the order is the highest, so that one run lost serves the most single slots.
        """
        word = self.summaries[cluster].word
        if word.list == Flag.FREE:
            return TOP_ORDER + 1, 0, cluster
        if self.placement is Placement.OPEN:
            return abs(word.order - order), word.order, cluster
        if word.order == order:
            return 0, 0, cluster
        if self.summaries[cluster].run >= word.order:
            return 2, TOP_ORDER - word.order, cluster
        return 1, 0, cluster

    def may_open(self, device: DeviceEntry, order: int, alone: bool) -> bool:
        """Tell whether a cluster of a device may be granted off FREE.

        From then on it is this order's until all of it is free again, which hardly happens while swap is nearly full.
        So with placement INDEXED it is only done if nothing else is on offer in the ring (`alone`), and the last eighth
        is left to the kernel's own search, which opens a cluster when it is needed. Order 9 finds room nowhere else,
        and for order 0 FREE is the last choice anyway.
        """
        if self.placement is Placement.OPEN:
            return True
        if not alone or order in (0, TOP_ORDER):
            return alone
        left = sum(
            self.summaries[cluster].word.list == Flag.FREE and self.summaries[cluster].word.epoch == device.epoch
            for cluster in range(device.base, device.base + device.clusters)
            if cluster not in self.granted
        )
        return left >= device.clusters // self.spared

    def best(self, device: DeviceEntry, order: int, alone: bool = True) -> int | None:
        """Return the cluster of a device that comes first for an order, None if none is left that is not granted."""
        clusters = range(device.base, device.base + device.clusters)
        found = [c for c in clusters if c not in self.granted and self.usable(device, c, order)]
        if not self.may_open(device, order, alone):
            found = [c for c in found if self.summaries[c].word.list != Flag.FREE]
        return min(found, key=lambda cluster: self.rank(cluster, order), default=None)

    def choose(self, order: int, alone: bool = True) -> int | None:
        """Return the next cluster for a ring: of the best priority that has a slot left, devices of equal one in turn.

        The kernel puts a large folio there or nowhere (swap_alloc_slow()), and refuses what is granted of a lower one.

        Args:
            order: the ring's.
            alone: nothing is on offer in the ring.
        """
        devices = [self.devices[type_] for type_ in self.turn]
        least = max((device.priority for device in devices if device.live and self.has(device, 0)), default=None)
        for device in devices:
            if device.priority == least and device.serves(order):
                cluster = self.best(device, order, alone)
                if cluster is not None:
                    self.turn.remove(device.type)
                    self.turn.append(device.type)
                    return cluster
        return None

    def no_run(self) -> int:
        """Return NO_RUN: bit k is set if no cluster that may be granted has a run of order k.

        No bit is set before the clusters of a new device were all looked at.
        """
        if self.reader.rounds < self.settled:
            return 0
        found = 0
        for order in range(ORDERS):
            if not any(device.serves(order) and self.has(device, order) for device in self.devices.values()):
                found |= 1 << order
        return found

    # Rings

    def steps(self) -> Iterator[str]:
        """Serve the rings for ever; each step is one access to memory and its answer.

        Yields:
            After each access, its name; `pass` when all rings were looked at.
        """
        while True:
            for cpu in range(self.lines.cpus):
                yield from self.take_back()
                want, heads = self.lines.want[cpu], list(self.lines.head[cpu])
                yield "CPU line read"
                for order in range(ORDERS):
                    if want >> order & 1:
                        yield from self.serve(cpu, order, heads[order])
                    elif self.rings[cpu, order].out:
                        yield from self.forget(cpu, order)
            no_run = self.no_run()
            if self.lines.no_run != no_run:
                self.lines.no_run = no_run
                yield "NO_RUN written"
            yield "pass"

    def take_back(self) -> Iterator[str]:
        """Overwrite the entries of devices that have changed; the host may have popped one in the meantime."""
        while self.recalling:
            type_ = min(self.recalling)
            for (cpu, order), ring in self.rings.items():
                for index, cluster in list(ring.out.items()):
                    if cluster is not None and self.type_of(cluster) in (type_, None):
                        yield from self.void(cpu, order, index)
            self.recalling.discard(type_)

    def forget(self, cpu: int, order: int) -> Iterator[str]:
        """Take back all of a ring that is no longer wanted. Its entries keep their places: the host skips them."""
        ring = self.rings[cpu, order]
        for index, cluster in list(ring.out.items()):
            if cluster is not None:
                yield from self.void(cpu, order, index)
        ring.out.clear()
        self.release(cpu, order)

    def void(self, cpu: int, order: int, index: int) -> Iterator[str]:
        """Overwrite an entry with one that the host skips."""
        ring = self.rings[cpu, order]
        ring.out[index] = None
        if (ring.tail - index) % WRAP > 1 << self.lines.log2:
            return  # the host has popped it, and a later one is in its place
        self.lines.store(cpu, order, index, Grant(0, 0, order, 0, valid=False).pack(index, self.lines.log2))
        yield "entry taken back"

    def release(self, cpu: int, order: int) -> None:
        """Let clusters out of the table of what is granted that no entry of the ring is of any more."""
        kept = set(self.rings[cpu, order].out.values())
        for cluster in [c for c, owner in self.granted.items() if owner == (cpu, order) and c not in kept]:
            del self.granted[cluster]

    def serve(self, cpu: int, order: int, head: int) -> Iterator[str]:
        """Look after a ring: let go what the host is done with, then fill it."""
        ring = self.rings[cpu, order]
        room = 1 << self.lines.log2
        if (ring.tail - head) % WRAP > room:
            # The host has counted past what was written: it begins anew.
            ring.tail = head
            ring.out.clear()
            self.release(cpu, order)
        # HEAD counts what was popped: the entry before it is the one in use, those before that are done with.
        done = [index for index in ring.out if room < (index - head) % WRAP < WRAP - 1]
        for index in done:
            cluster = ring.out[index]
            if cluster is not None:
                yield from self.reader.again(cluster)
            del ring.out[index]
            self.release(cpu, order)
        # What is still in the rings of a device that is taken back would be granted twice.
        while (ring.tail - head) % WRAP < room and not self.recalling:
            cluster = self.choose(order, ring.tail == head)
            if cluster is None:
                return
            self.granted[cluster] = cpu, order
            entry = next(entry for entry in self.devices.values() if entry.holds(cluster))
            grant = Grant(cluster - entry.base, entry.type, order, entry.epoch)
            ring.out[ring.tail] = cluster
            self.lines.store(cpu, order, ring.tail, grant.pack(ring.tail, self.lines.log2))
            ring.tail = (ring.tail + 1) % WRAP
            yield "entry written"
