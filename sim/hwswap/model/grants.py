# SPDX-License-Identifier: Apache-2.0
"""Grants: the engine proposes up to 64 free units of an order at once, in a ring for each CPU and order.

A grant steers; the kernel allocates, and checks what it uses. So nothing here has to be right for the kernel's sake,
only for speed: bitmaps may be torn, summaries old. The engine does promise, and the tests check: a grant was
legal when its bitmap was read; no unit is on offer twice; a device that is gone is offered no more.

Each access to host memory is a step of its own (`Grants.steps`), as in hwswap.model.cluster_map. Slots are of 4 KiB.
Source: docs/grants.md.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hwswap_map import Flag

from hwswap.model.cluster_map import LISTED, Arrays, Reader, largest_run, read_bitmap
from hwswap.model.grant_entries import (
    TOP_ORDER,
    WRAP,
    DeviceEntry,
    Grant,
    Lines,
    Placement,
    free_units,
    span,
)
from hwswap.model.rows import ORDERS, SLOTS

SPARED: Final = 8
"""One of so many clusters of a device is not granted off FREE with placement INDEXED."""

Owner = tuple[int, int]
"""CPU and order that a cluster is granted to."""


@dataclass
class Ring:
    """What the engine knows of a ring.

    Attributes:
        tail: entries written, free running.
        own: cluster that the next entry is of, and the slot it begins at; None: the next one is chosen.
        out: of each entry that the host is not done with, the cluster; None if it was taken back.
    """

    tail: int = 0
    own: tuple[int, int] | None = None
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
        for ring in self.rings.values():
            if ring.own is not None and self.type_of(ring.own[0]) in (entry.type, None):
                ring.own = None
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
        # What is still in the rings of a device that is taken back would be granted twice.
        devices = [self.devices[type_] for type_ in self.turn if type_ not in self.recalling]
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
                    elif self.rings[cpu, order].out or self.rings[cpu, order].own:
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
        ring.own = None
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
        word0, word1 = Grant(0, 0, 0, order, 0, valid=False).pack(index, self.lines.log2)
        self.lines.store(cpu, order, index, 0, word0)
        yield "entry taken back, word 0"
        self.lines.store(cpu, order, index, 1, word1)
        yield "entry taken back, word 1"

    def release(self, cpu: int, order: int) -> None:
        """Let clusters out of the table of what is granted that no entry of the ring is of any more."""
        ring = self.rings[cpu, order]
        kept = {cluster for cluster in ring.out.values() if cluster is not None}
        if ring.own is not None:
            kept.add(ring.own[0])
        for cluster in [c for c, owner in self.granted.items() if owner == (cpu, order) and c not in kept]:
            del self.granted[cluster]

    def serve(self, cpu: int, order: int, head: int) -> Iterator[str]:
        """Look after a ring: let go what the host is done with, then fill it."""
        ring = self.rings[cpu, order]
        room = 1 << self.lines.log2
        if (ring.tail - head) % WRAP > room:
            # The host has counted past what was written: it begins anew.
            ring.tail, ring.own = head, None
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
        while (ring.tail - head) % WRAP < room:
            grant = yield from self.build(cpu, order, ring.tail == head)
            if grant is None:
                return
            index, cluster = ring.tail, self.devices[grant.type].base + grant.slot // SLOTS
            word0, word1 = grant.pack(index, self.lines.log2)
            ring.out[index] = cluster
            ring.tail = (index + 1) % WRAP
            self.lines.store(cpu, order, index, 0, word0)
            yield "entry written, word 0"
            self.lines.store(cpu, order, index, 1, word1)
            yield "entry written, word 1"
            if self.recalling:
                return

    def read(self, cluster: int) -> Generator[str, Any, int]:
        """Read a bitmap and bring the summary up to date; returns the bitmap."""
        used = yield from read_bitmap(self.arrays, cluster)
        self.summaries[cluster] = replace(self.summaries[cluster], run=largest_run(used))
        return used

    def build(self, cpu: int, order: int, alone: bool = True) -> Generator[str, Any, Grant | None]:
        """Make the next entry of a ring: from its own cluster as long as that has any, then from the next one.

        `alone`: nothing is on offer in the ring.

        A cluster whose summary was too hopeful is left; that is seen when its bitmap is read, and the summary is right
        then. Unless the reader brings what it had read before: there are so many tries, so that the search ends.
        """
        ring = self.rings[cpu, order]
        for _ in range(1 + len(self.summaries)):
            if ring.own is None:
                chosen = self.choose(order, alone)
                if chosen is None:
                    return None
                self.granted[chosen] = cpu, order
                ring.own = chosen, 0
            cluster, first = ring.own
            entry = next(entry for entry in self.devices.values() if entry.holds(cluster))
            used = yield from self.read(cluster)
            if ring.own is None or self.devices[entry.type] != entry:
                continue  # the device changed meanwhile
            # The list may have changed too, in what the reader has read.
            if self.usable(entry, cluster, order):
                for slot in range(first, SLOTS, span(order)):
                    mask = free_units(used, order, slot)
                    if mask:
                        after = slot + span(order)
                        ring.own = (cluster, after) if after < SLOTS else None
                        return Grant(mask, (cluster - entry.base) * SLOTS + slot, entry.type, order, entry.epoch)
            ring.own = None
            self.release(cpu, order)
        return None
