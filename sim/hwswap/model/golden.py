# SPDX-License-Identifier: Apache-2.0
"""The swap-slot allocator of Linux 7.3 as a plain Python model: the authority the RTL is compared with.

Written from reading mm/swapfile.c; each rule names the kernel function it comes from. The commands are those of the
engine's core, one finished before the next begins. Here is the search of an allocation: the fast path, the devices in
turn, the lists of a device, the scan of a cluster. What it searches is in clusters.py, what the other commands change
in state.py, which rules can be changed in policy.py.

Each search is a generator of the steps (steps.py) at which another CPU may come between or the host is asked.
"""

from collections.abc import Generator, Iterator
from typing import Any

from hwswap_map import Flag

from hwswap.model.clusters import BLKDEV, Cluster, Device, Slots
from hwswap.model.policy import Hint, Placement, Scan
from hwswap.model.rows import BLOCK, ORDERS, SLOTS, first_fit
from hwswap.model.state import State
from hwswap.model.steps import (
    Attempt,
    HalfUsed,
    Isolate,
    Operation,
    Populate,
    ReclaimFull,
    Resume,
    Scanned,
    Step,
    Turn,
    Visit,
)

TOP_ORDER = ORDERS - 1
"""PMD_ORDER: this order is only ever served from clusters that are free."""

VISITS = 64
"""Visits of devices an allocation makes at most: two for each of 32 devices.

The kernel has no such limit: two equal devices that are available and fail order 0, as all their free slots are on
DISCARD or they were full when they were taken back, are visited in turn until a discard is done, or for ever.
"""

Search_ = Generator[Step, Any, Slots | None]
"""A search: yields steps, is sent their answers, returns the slots found."""


class Allocator(State):
    """All swap devices of a machine and the decisions about them, as the engine's core has them.

    Operations answer with the status the engine's command gives; `alloc` with the slots, or None for NO_SPACE.
    """

    hosted = False
    """True if a host answers Populate, Attempt and HalfUsed; if not, tables always exist and nothing is reclaimed."""

    def alloc(self, cpu: int, order: int) -> Slots | None:
        """ALLOC: 2^order slots for a CPU, first where it left off, then anywhere (`folio_alloc_swap`)."""
        return self.finish(self.allocation(Operation(cpu, order)))

    def finish(self, search: Search_) -> Slots | None:
        """Do a search to its end."""
        answer: Any = None
        while True:
            try:
                answer = self.perform(search.send(answer))
            except StopIteration as end:
                return end.value

    def perform(self, step: Step) -> Any:
        """Answer a step as if nobody else were there and the host had nothing to add."""
        if isinstance(step, Isolate):
            return self.isolate(step.device, step.flag, step.order)
        if isinstance(step, Visit):
            return self.visit(step.device, 0)
        if isinstance(step, Populate):
            return True
        if isinstance(step, HalfUsed):
            return self.half_used
        return None

    def allocation(self, op: Operation) -> Search_:
        """Search for 2^order slots (`folio_alloc_swap`)."""
        hint = self.hint_of(op.cpu, op.order)
        if hint.device is not None and hint.offset:  # swap_alloc_fast: against all priorities
            if self.hosted:
                yield Resume(hint.device, hint.offset)
            found = yield from self.resume(op, hint.device, hint.offset)
            if found is not None:
                self.counts.by_path["fast"] += 1
                return found
        found = yield from self.alloc_slow(op)
        if found is None:
            self.counts.by_path["fail"] += 1
        return found

    def resume(self, op: Operation, device: Device, offset: int) -> Search_:
        """Go on at a remembered place, a CPU's or a rotating device's; a place that cannot be used stays as it is.

        (`swap_alloc_fast`, `cluster_alloc_swap_entry`.)
        """
        cluster = device.clusters[offset // SLOTS]
        start = offset % SLOTS if cluster.count else 0
        random = self.policy.hint == Hint.RANDOM_TRUNK and not device.rotating and device.writeok
        if cluster.flag == Flag.FREE and random:
            del device.free[cluster.index]
            cluster.flag = Flag.NONE
            if not (yield from self.populate(device, cluster)):
                return None
        elif not self.usable(cluster, op.order):
            return None
        elif self.policy.placement == Placement.INDEXED and first_fit(cluster.used, op.order, start) < 0:
            start = 0
            if first_fit(cluster.used, op.order, 0) < 0:
                return None
        return (yield from self.scan(op, device, cluster, start))

    # Devices

    def alloc_slow(self, op: Operation) -> Search_:
        """Try the available devices in turn, each moved after its equals first (`swap_alloc_slow`).

        The successor is looked up before the requeue, as plist_for_each_entry_safe does, so of two equals that both
        fail the loop sees each again and again; it ends after VISITS. If the successor is no longer available the
        walk starts over. A large order tries one device only.
        """
        device = None
        for _ in range(VISITS):
            if self.hosted:
                device, successor = yield Visit(device)
            else:
                device, successor = self.visit(device, op.cpu)
            if device is None:
                return None
            found = yield from self.alloc_on(op, device)
            if found is not None or op.order or successor is None:
                return found
            device = successor
        return None

    def visit(self, device: Device | None, cpu: int) -> tuple[Device | None, Device | None]:
        """Move a device after its equals, the first one if `device` is None or has left the list since.

        Returns it and its successor, both None if no device is available.
        """
        order = self.offered(cpu)
        if device is None or device not in order:
            if not order:
                return None, None
            device = order[0]
        at = order.index(device)
        successor = order[at + 1] if at + 1 < len(order) else None
        self.requeue(device)
        return device, successor

    # Lists

    def alloc_on(self, op: Operation, device: Device) -> Search_:
        """Try one device, list by list (`cluster_alloc_swap_entry`).

        A rotating device first goes on where any CPU left off on it with this order.
        """
        if op.order and not device.flags & BLKDEV:
            return None
        if device.rotating and self.hosted:
            yield Turn(device)
        if device.rotating and device.next_offset[op.order]:
            if self.hosted:
                yield Resume(device, device.next_offset[op.order])
            found = yield from self.resume(op, device, device.next_offset[op.order])
            if found is not None:
                self.counts.by_path["fast"] += 1
                return found
        if self.policy.placement == Placement.INDEXED:
            return (yield from self.alloc_indexed(op, device))
        frag = len(device.frag[op.order])
        for path, flag, order, limit in self.search_order(device, op.order, frag):
            if flag == Flag.FULL:
                if self.hosted and (yield HalfUsed()):
                    yield from self.reclaim_full(device)
                continue
            found = yield from self.scan_list(op, device, flag, order, limit)
            if found is not None:
                self.counts.by_path[path] += 1
                return found
        return None

    def search_order(self, device: Device, order: int, frag: int) -> Iterator[tuple[str, Flag, int, int]]:
        """Yield the lists to look at: path, flag, order, and how many clusters, 0 for all (`cluster_alloc_swap_entry`).

        FULL stands for the reclaim of one full cluster. `frag` is the length of FRAG[order] at the start.
        """
        before = self.policy.scan == Scan.FREE_FIRST
        free, full = ("free", Flag.FREE, 0, 1), ("", Flag.FULL, 0, 1)
        nonfull = [("nonfull", Flag.NONFULL, order, 0)] if order < TOP_ORDER else []
        if before:
            yield from (free, full, *nonfull)
        elif device.discarding:
            yield from (free, *nonfull, full)
        else:
            yield from (*nonfull, free, full)
        if order < TOP_ORDER and (frag or not before):
            yield "frag", Flag.FRAG, order, frag if before else 1
        if order == 0:
            for other in range(1, ORDERS):
                yield "steal", Flag.FRAG, other, 0
                yield "steal", Flag.NONFULL, other, 0

    def scan_list(self, op: Operation, device: Device, flag: Flag, order: int, limit: int) -> Search_:
        """Isolate and scan clusters of a list from its head (`alloc_swap_scan_list`)."""
        tried = 0
        while not limit or tried < limit:
            cluster = (yield Isolate(device, flag, order)) if self.hosted else self.isolate(device, flag, order)
            if cluster is None:
                return None
            if flag == Flag.FREE and not (yield from self.populate(device, cluster)):
                return None
            found = yield from self.scan(op, device, cluster, 0)
            if found is not None:
                return found
            tried += 1
        return None

    @staticmethod
    def isolate(device: Device, flag: Flag, order: int) -> Cluster | None:
        """Take the first cluster off a list (`isolate_lock_cluster`)."""
        clusters = device.list_of(flag, order)
        if not clusters:
            return None
        _, cluster = clusters.popitem(last=False)
        cluster.flag = Flag.NONE
        return cluster

    def populate(self, device: Device, cluster: Cluster) -> Generator[Step, Any, bool]:
        """Give a cluster that was on FREE its table, or put it back if there is none (`swap_cluster_populate`)."""
        if self.hosted:
            cluster.bare = True
            there = yield Populate(device, cluster)
            cluster.bare = False
            if not there:
                self.move(device, cluster, Flag.FREE)
                return False
        return True

    def reclaim_full(self, device: Device) -> Generator[Step, Any, None]:
        """Reclaim the cached slots of one full cluster (`swap_reclaim_full_clusters` without force)."""
        cluster = yield Isolate(device, Flag.FULL, 0)
        if cluster is None:
            return
        yield ReclaimFull(device, cluster)
        if cluster.flag == Flag.NONE:
            self.relocate(device, cluster)

    def alloc_indexed(self, op: Operation, device: Device) -> Search_:
        """Choose a cluster by the index: no scan fails (policy PLACEMENT: INDEXED).

        A cluster of order k is a *candidate* for k if it is on NONFULL or FRAG, its order is k, and it has an aligned
        free run of 2^k slots. On a device an allocation of order k takes
        1. for k < 9 the candidate with the lowest number;
        2. the head of FREE;
        3. for k = 0 the lowest numbered cluster of any order on NONFULL or FRAG (all of those have a free slot).
        On a discarding device 2 comes before 1. In the cluster it takes the lowest free run. The cluster stays on its
        list during the scan, unless that is FREE, and goes on from there by the rules of every scan: NONFULL moves to
        the tail of FRAG, FRAG keeps its place, a full one goes to FULL. The place to go on is written as ever.

        The CPU's place comes first, as ever, and a rotating device's own: if its cluster is usable but has no free run
        from the place upwards, its lowest free run is taken; if it has none at all the place stays and counts as
        unusable. Devices are chosen as policy DEVICE says, and a large order tries one only.
        """
        own = device.nonfull[op.order], device.frag[op.order]
        choices = ["own", "free", "steal"]
        if device.discarding:
            choices = ["free", "own", "steal"]
        for choice in choices:
            if choice == "free":
                found = yield from self.scan_list(op, device, Flag.FREE, 0, 1)
                if found is not None:
                    self.counts.by_path["free"] += 1
                    return found
                continue
            if choice == "own":
                lists = own if op.order < TOP_ORDER else ()
            else:
                lists = (*device.nonfull, *device.frag) if op.order == 0 else ()
            candidates = [c for clusters in lists for c in clusters.values() if first_fit(c.used, op.order, 0) >= 0]
            if candidates:
                cluster = min(candidates, key=lambda candidate: candidate.index)
                path = "steal" if choice == "steal" else "nonfull" if cluster.flag == Flag.NONFULL else "frag"
                found = yield from self.scan(op, device, cluster, 0)
                if found is not None:
                    self.counts.by_path[path] += 1
                return found
        return None

    # Clusters

    def scan(self, op: Operation, device: Device, cluster: Cluster, start: int) -> Search_:
        """Look for a run from slot `start` to the cluster's end and take it (`alloc_swap_scan_cluster`).

        Ends with the cluster on the list its count says, and with the place to go on written: the slot after the found
        run, or none.
        """
        self.counts.scans += 1
        nr = 1 << op.order
        offset = offset_next = 0
        if cluster.count + nr <= SLOTS:
            slot = yield from self.fit(op, device, cluster, start)
            if slot >= 0 and device.writeok:  # __swap_cluster_alloc_entries refuses without SWP_WRITEOK
                if not cluster.count:
                    cluster.order = op.order
                self.take(cluster, BLOCK[op.order] << slot)
                cluster.count += nr
                self.add_usage(device, nr)
                offset = cluster.index * SLOTS + slot
                if cluster.count < SLOTS and slot + 2 * nr <= SLOTS:
                    offset_next = offset + nr
        if self.hosted:
            yield Scanned(device, cluster, start, offset)
        self.relocate(device, cluster)
        self.remember(device, op.cpu, op.order, offset_next)
        return Slots(device.type, offset) if offset else None

    def fit(self, op: Operation, device: Device, cluster: Cluster, start: int) -> Generator[Step, Any, int]:
        """Return the first fit from `start` upwards, -1 if there is none; reclaim on the way if the host does.

        (The loop of `alloc_swap_scan_cluster`, `cluster_reclaim_range`.)
        """
        while True:
            slot = first_fit(cluster.used, op.order, start)
            reclaimed = (yield Attempt(device, cluster, start, slot)) if self.hosted else None
            if reclaimed is None:
                return slot
            # The cluster's lock was dropped: it may be gone, or another order's.
            if not self.usable(cluster, op.order):
                return -1
            if not cluster.count:
                return 0
            if not cluster.used >> reclaimed & BLOCK[op.order]:
                return reclaimed
            start = reclaimed + (1 << op.order)
