# SPDX-License-Identifier: Apache-2.0
"""The golden model with the engine's STEP commands and its questions: what a host does piece by piece, and is asked.

The steps are those of the register map (STEP_...), with its checks. `ask` runs an allocation as ALLOC with RECLAIM
does: a generator of what the engine would ask the host.
"""

from collections.abc import Generator
from typing import NamedTuple

from hwswap_map import Flag, Status

from hwswap.model.clusters import Cluster, Device, NextOffset, Slots
from hwswap.model.golden import Allocator
from hwswap.model.policy import Scan
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.model.steps import Attempt, HalfUsed, Isolate, Operation, Populate, ReclaimFull, Visit

OPEN = (Flag.NONE, Flag.NONFULL, Flag.FRAG)
"""Slots of clusters with these flags may be given or freed by steps; on a list none gets empty."""


class Question(NamedTuple):
    """What NEED_RECLAIM asks about: the first of `nr` slots of a device, and whether the cluster came from FULL."""

    type: int
    offset: int
    nr: int
    full: bool


class Stepper(Allocator):
    """An allocator that does single steps, too. Statuses and results are those of the engine's commands."""

    # Whom the steps concern

    def listed(self, type_: int) -> Device | None:
        """Return a device that has had its SWAPON."""
        device = self.devices.get(type_)
        return device if device is not None and device.listed else None

    def beyond(self, type_: int, order: int, cpu: int | None = None) -> Status | None:
        """Return why a step names what no engine of these limits has, None if it has."""
        if type_ >= self.limit_devices:
            return Status.BAD_DEVICE
        if order >= ORDERS or (cpu is not None and cpu >= self.limit_cpus):
            return Status.BAD_CPU
        return None if self.listed(type_) else Status.BAD_DEVICE

    @staticmethod
    def cluster_of(device: Device, offset: int) -> Cluster | None:
        """Return the cluster that holds a slot; 0 is a slot, too."""
        return device.clusters[offset // SLOTS] if 0 <= offset < device.total else None

    # Clusters

    def step_take(self, type_: int, flag: int, order: int, offset: int | None) -> tuple[Status, int, bool]:
        """STEP_TAKE of the first cluster of a list, or of that of slot `offset`.

        Returns the status, its first slot, and whether it was the list's first.
        """
        if refusal := self.beyond(type_, order):
            return refusal, 0, False
        device = self.devices[type_]
        if flag > Flag.DISCARD or (offset is None and flag == Flag.NONE):
            return Status.BAD_RANGE, 0, False
        if offset is None:
            clusters = device.list_of(Flag(flag), order)
            if not clusters:
                return Status.NO_SPACE, 0, False
            cluster = next(iter(clusters.values()))
        else:
            named = self.cluster_of(device, offset)
            if named is None or named.flag == Flag.NONE or named.taken:
                return Status.BAD_RANGE, 0, False
            cluster = named
            clusters = device.list_of(cluster.flag, cluster.order)
            if flag and clusters is not device.list_of(Flag(flag), order):
                return Status.BAD_RANGE, 0, False
        first = next(iter(clusters)) == cluster.index
        del clusters[cluster.index]
        cluster.flag = Flag.NONE
        return Status.OK, cluster.index * SLOTS, first

    def step_put(self, type_: int, offset: int, flag: int, order: int, taken: bool) -> Status:
        """STEP_PUT: a cluster to the tail of a list, or off all lists."""
        if refusal := self.beyond(type_, order):
            return refusal
        device = self.devices[type_]
        cluster = self.cluster_of(device, offset)
        if cluster is None or flag > Flag.DISCARD or (taken and flag != Flag.DISCARD):
            return Status.BAD_RANGE
        allowed = {
            Flag.NONE: True,
            Flag.FREE: not cluster.count,
            Flag.NONFULL: cluster.count > 0,
            Flag.FRAG: 0 < cluster.count < SLOTS,
            Flag.FULL: cluster.count == SLOTS,
            Flag.DISCARD: not cluster.count and device.discarding,
        }
        if not allowed[Flag(flag)] or (cluster.count and cluster.order != order):
            return Status.BAD_RANGE
        on_list = cluster.flag != Flag.NONE and not cluster.taken
        to_list = flag != Flag.NONE and not taken
        target = device.list_of(Flag(flag), order)
        if on_list and to_list and device.list_of(cluster.flag, cluster.order) is target:
            return Status.BAD_RANGE
        device.unlist(cluster)
        cluster.flag = Flag(flag)
        cluster.taken = taken
        if not cluster.count:
            cluster.order = 0 if flag == Flag.FREE else order
        if to_list:
            target[cluster.index] = cluster
            self.counts.list_moves += 1
        return Status.OK

    def step_slots(self, type_: int, offset: int, nr: int, order: int | None) -> Status:
        """STEP_GIVE with the order an empty cluster gets, or STEP_FREE with None."""
        if refusal := self.beyond(type_, order or 0):
            return refusal
        device = self.devices[type_]
        if not self.inside(device, offset, nr):
            return Status.BAD_RANGE
        cluster = device.clusters[offset // SLOTS]
        mask = run(offset % SLOTS, nr)
        there = cluster.used & mask
        if cluster.flag not in OPEN or there != (mask if order is None else 0):
            return Status.BAD_RANGE
        if order is None:
            if cluster.flag != Flag.NONE and cluster.count == nr:
                return Status.BAD_RANGE
            cluster.used &= ~mask
            cluster.count -= nr
            device.used -= nr
            return Status.OK
        if not cluster.count:
            cluster.order = order
        cluster.used |= mask
        cluster.count += nr
        device.used += nr
        return Status.OK

    # Places to go on, devices

    def step_next(self, type_: int, cpu: int | None, order: int, offset: int) -> Status:
        """STEP_NEXT of a CPU, or of the device for None."""
        if refusal := self.beyond(type_, order, cpu):
            return refusal
        device = self.devices[type_]
        inside = 0 <= offset < device.total
        if not inside or offset % (1 << order) or device.rotating != (cpu is None):
            return Status.BAD_RANGE
        if cpu is None:
            device.next_offset[order] = offset
        else:
            self.next_offsets[cpu][order] = NextOffset(device if offset else None, offset)
        return Status.OK

    def step_visit(self, type_: int) -> tuple[Status, int, int]:
        """STEP_VISIT. Returns the status, the first device, and one more than the device behind this one."""
        device = self.listed(type_)
        if device is None:
            return Status.BAD_DEVICE, 0, 0
        if device not in self.available:
            return Status.BAD_RANGE, 0, 0
        first = self.available[0].type
        behind = self.available[self.available.index(device) + 1 :]
        self.requeue(device)
        return Status.OK, first, behind[0].type + 1 if behind else 0

    def step_available(self, type_: int, joins: bool) -> Status:
        """STEP_AVAILABLE."""
        device = self.listed(type_)
        if device is None:
            return Status.BAD_DEVICE
        if joins == (device in self.available):
            return Status.BAD_RANGE
        if joins:
            self.join(device)
        else:
            self.available.remove(device)
        return Status.OK

    def join(self, device: Device) -> None:
        """Put a device behind its equals, full or not."""
        at = 0
        while at < len(self.available) and self.available[at].priority >= device.priority:
            at += 1
        self.available.insert(at, device)

    def requeue(self, device: Device) -> None:
        """Move a device behind its equals, full or not."""
        self.available.remove(device)
        self.join(device)

    def set_right(self, device: Device) -> None:
        """Have a device on the available list if, and only if, it should be."""
        should = device.writeok and device.used < device.total
        if should and device not in self.available:
            self.join(device)
        elif not should and device in self.available:
            self.available.remove(device)

    def add_usage(self, device: Device, nr: int) -> None:
        """Count slots as used."""
        device.used += nr
        self.set_right(device)

    def drop_usage(self, device: Device, nr: int) -> None:
        """Count slots as free."""
        device.used -= nr
        self.set_right(device)

    # Questions

    waits = False
    """An allocation waits for an answer: its cluster may be used though it is on no list."""

    def usable(self, cluster: Cluster, order: int) -> bool:  # type: ignore[override]
        """Leave clusters alone that a host's step has taken off their lists."""
        if cluster.flag == Flag.NONE and not self.waits:
            return False
        return super().usable(cluster, order)

    def ask(self, cpu: int, order: int) -> Generator[Question, int | None, Slots | None]:
        """ALLOC with RECLAIM: yields what is asked, is sent the slot tried (None: there was nothing), returns the end.

        The engine asks where the kernel may reclaim: while more than half of swap is in use, and a search passes over
        slots. On FRAG with policy FREE_FIRST it does not.
        """
        op = Operation(cpu, order)
        self.hosted = True
        try:
            search = self.allocation(op)
            answer: object = None
            last: Isolate | None = None
            while True:
                step = search.send(answer)
                self.waits = False
                answer = None
                if isinstance(step, Attempt):
                    mute = self.policy.scan == Scan.FREE_FIRST and last is not None and last.flag == Flag.FRAG
                    end = step.slot if step.slot >= 0 else SLOTS
                    if self.half_used and not mute and step.start < end:
                        at = step.cluster.index * SLOTS + step.start
                        tried = yield Question(step.device.type, at, end - step.start, False)
                        answer = None if tried is None else tried % SLOTS
                        self.waits = True
                elif isinstance(step, ReclaimFull):
                    yield Question(step.device.type, step.cluster.index * SLOTS, SLOTS, True)
                elif isinstance(step, Isolate):
                    last = step
                    answer = self.isolate(step.device, step.flag, step.order)
                elif isinstance(step, Visit):
                    last = None
                    answer = self.visit(step.device, op.cpu)
                elif isinstance(step, HalfUsed):
                    answer = self.half_used
                elif isinstance(step, Populate):
                    answer = True
        except StopIteration as end_:
            return end_.value
        finally:
            self.hosted = self.waits = False
