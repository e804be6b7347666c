# SPDX-License-Identifier: Apache-2.0
"""Replaying a trace that says how its decisions came about, step by step, CPUs interleaved as they were.

Each allocation of the trace is a search of the golden model (`Allocator.allocation`) that goes on when the trace has
the next event of it. What it is about to do is compared with what the kernel did: the device it turned to, the list
it looked at, the cluster it got, the slots it took. The model's own lists change when the trace says that the kernel's
did, as only that is ordered by the lists' locks.

Where the outcome depends on what only the kernel could know, the trace is followed, and the step counted as forced by
its cause. On one CPU there is no cause but memory, sleep and reclaim.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hwswap_map import Flag, Status

from hwswap.compare.operations import in_use, step
from hwswap.compare.outcome import Difference, Outcome, place
from hwswap.model.clusters import Cluster, Device, Slots
from hwswap.model.follower import Follower, Mismatch
from hwswap.model.rows import BLOCK, SLOTS
from hwswap.model.search import Search_
from hwswap.model.steps import (
    Attempt,
    HalfUsed,
    Isolate,
    Operation,
    Populate,
    ReclaimFull,
    Resume,
    Scanned,
    Turn,
    Visit,
)
from hwswap.traces.records import AT_ONCE, FAILED, FIRST_DETAIL, FIRST_INIT, NO_CLUSTER, NO_MEMORY, Op, Record
from hwswap.traces.trace import ClusterMap, Trace

SKIPPED = "a cluster's lock was taken"
SLEPT_FOR_TABLE = "slept for a table"
WITHOUT_TABLE = "no memory for a table"
RECLAIMED_SLOTS = "a scan stopped to reclaim"
RECLAIMED_CLUSTER = "a full cluster was reclaimed"
OTHER_MOMENT = "half used was asked at another moment"
LATE = "write permission went meanwhile"
GONE = "the remembered device was going"

SOON = 64
"""Records in which an event can come later than what it tells of."""


@dataclass
class Running:
    """An allocation under way: its search, the step the search waits at (None: it has ended), what it found."""

    op: Operation
    search: Search_
    step: Any = None
    found: Slots | None = None
    recorded: tuple[int, int] | None = None
    skipped: set[int] = field(default_factory=set)
    begun: bool = False
    reclaims: bool = False
    at: int = 0
    """The record with which it began."""

    def advance(self, answer: Any = None) -> None:
        """Let the search go on to its next step."""
        try:
            self.step = self.search.send(answer if self.begun else None)
            self.begun = True
        except StopIteration as end:
            self.step = None
            self.found = end.value


class ForcedReplay:
    """The replay of one trace."""

    def __init__(self, trace: Trace) -> None:
        """Prepare an empty model for a trace."""
        header = trace.header
        self.trace = trace
        self.model = Follower(max(header.devices, 1), header.cpus, max(header.clusters, 1))
        self.clusters = ClusterMap()
        self.running: dict[int, Running] = {}
        self.loose: dict[int, set[int]] = {}
        self.unsettled: set[int] = set()
        self.went: dict[int, int] = {}
        """Devices that are going, and the records that say so."""
        self.at = 0
        self.outcome = Outcome()
        self.forced: Counter[str] = self.outcome.forced
        self.handlers: dict[int, Callable[[Record], None]] = {
            Op.BEGIN: self.begin,
            Op.END: self.end,
            Op.VISIT: self.visit,
            Op.REFUSED: self.refused,
            Op.SCANNED: self.scanned,
            Op.ISOLATE: self.isolate,
            Op.SKIP: self.skip,
            Op.TABLE: self.table,
            Op.HALF_USED: self.half_used,
            Op.RECLAIM: self.reclaim,
            Op.RECLAIMED: self.reclaimed,
            Op.MOVE: self.move,
            Op.AVAILABLE: self.available,
            Op.ALLOC: self.alloc,
            Op.FREE: self.free,
            Op.DISCARD_TAKE: self.discard_take,
        }

    def replay(self, progress: Callable[[int], None] | None = None) -> Outcome:
        """Replay all records, up to the first difference."""
        for number, record in enumerate(self.trace.records):
            if progress is not None and not number % 4096:
                progress(number)
            self.at = number
            try:
                self.record(record)
            except Mismatch as mismatch:
                self.outcome.difference = Difference(number, record, mismatch.expected, mismatch.got)
                return self.outcome
        if not self.running and (faults := self.model.faults()):
            raise AssertionError(f"the model contradicts itself after the trace: {faults[0]}")
        if progress is not None:
            progress(len(self.trace.records))
        return self.outcome

    def record(self, record: Record) -> None:
        """Do what a record says, or compare."""
        handler = self.handlers.get(record.op)
        if handler is not None:
            handler(record)
            return
        assert record.op < FIRST_DETAIL
        if record.op < FIRST_INIT:
            if record.op == Op.SWAPOFF and (left := in_use(self.model, record.type)):
                raise Mismatch("the device gone", f"still has {left} slots in use")
            self.unsettled.add(record.type)
        if record.op == Op.SWAPOFF_BEGIN:
            self.went[record.type] = self.at
        status = step(self.model, self.clusters, record)
        if status != Status.OK:
            raise Mismatch("it done", f"refuses it with {status.name}")
        if record.op == Op.SWAPOFF:
            self.unsettled.discard(record.type)

    @property
    def at_rest(self) -> bool:
        """Tell whether nothing is under way: no allocation, no move, no device on its way to or from the list."""
        devices = self.model.devices.values()
        return not (self.running or self.model.waiting) and all(map(self.consistent, devices))

    def consistent(self, device: Device) -> bool:
        """Tell whether a device is on the available list if, and only if, it should be."""
        return (device in self.model.available) == (device.writeok and device.used < device.total)

    # Allocations

    def run(self, record: Record) -> Running:
        """Return the allocation a record belongs to, at the CPU where it now is."""
        running = self.running.get(record.c)
        if running is None:
            raise Mismatch(f"a step of allocation {record.c}", "has none under way")
        running.op.cpu = record.cpu
        if isinstance(running.step, ReclaimFull | Turn):
            running.reclaims = False
            running.advance()
        return running

    @staticmethod
    def unexpected(running: Running, what: str) -> Mismatch:
        """Return the difference that a search waits for something else."""
        waits = type(running.step).__name__ if running.step else "nothing more"
        detail = f" ({running.step.flag.name}[{running.step.order}])" if isinstance(running.step, Isolate) else ""
        return Mismatch(what, f"goes on with {waits}{detail}")

    def begin(self, record: Record) -> None:
        """Begin an allocation."""
        op = Operation(record.cpu, record.order)
        self.running[record.c] = running = Running(op, self.model.allocation(op), at=self.at)
        running.advance()

    def end(self, record: Record) -> None:
        """End an allocation: what the trace has must be what the search found."""
        running = self.run(record)
        self.nowhere_to_go(running)
        if running.step is not None:
            raise self.unexpected(running, "the end of the allocation")
        recorded = running.recorded or (FAILED, 0)
        found = running.found or (FAILED, 0)
        if recorded != tuple(found):
            raise Mismatch(place(*recorded), place(*found))
        del self.running[record.c]
        self.quiet()

    def nowhere_to_go(self, running: Running) -> None:
        """Let a search that waits for a device see that none is left."""
        self.pass_over(running)
        if isinstance(running.step, Visit) and not self.model.available:
            running.advance((None, None))

    def pass_over(self, running: Running) -> None:
        """Let a search go on that remembers a place on a device that is going: the kernel could not hold it."""
        if isinstance(running.step, Resume) and not running.step.device.writeok:
            running.search.close()
            running.search = self.model.alloc_slow(running.op)
            running.begun = False
            running.advance()
            self.forced[GONE] += 1

    def visit(self, record: Record) -> None:
        """Compare the device that is turned to."""
        running = self.run(record)
        self.pass_over(running)
        if not isinstance(running.step, Visit):
            raise self.unexpected(running, f"a visit of device {record.type}")
        device, successor = self.model.visit(running.step.device, running.op.cpu)
        if device is None or device.type != record.type:
            got = "no device" if device is None else f"device {device.type}"
            raise Mismatch(f"a visit of device {record.type}", f"one of {got}")
        running.advance((device, successor))

    def refused(self, record: Record) -> None:
        """Compare that a remembered place cannot be used."""
        running = self.run(record)
        self.at_place(running, record)
        running.advance()
        if isinstance(running.step, Attempt):
            raise Mismatch(f"offset {record.a} refused", "scans its cluster")

    @staticmethod
    def at_place(running: Running, record: Record) -> None:
        """Insist that the search goes on at the remembered place that the record names."""
        waits = running.step
        if not isinstance(waits, Resume):
            raise ForcedReplay.unexpected(running, f"offset {record.a} of device {record.type} remembered")
        if (waits.device.type, waits.offset) != (record.type, record.a):
            raise Mismatch(
                f"offset {record.a} of device {record.type} remembered", f"{waits.offset} of {waits.device.type}"
            )

    def isolate(self, record: Record) -> None:
        """Compare the cluster that is taken off a list."""
        if not record.c:
            self.isolate_full(record)
            return
        running = self.run(record)
        waits = running.step
        asked = f"{Flag(record.b).name}[{record.order}] of device {record.type}"
        if not isinstance(waits, Isolate):
            raise self.unexpected(running, f"a look at {asked}")
        if (waits.device.type, waits.flag, waits.order) != (record.type, record.b, record.order):
            raise Mismatch(
                f"a look at {asked}", f"looks at {waits.flag.name}[{waits.order}] of device {waits.device.type}"
            )
        running.advance(self.first(record, running.skipped))

    def isolate_full(self, record: Record) -> None:
        """Take a cluster off FULL for the reclaim that goes on in the background (`swap_reclaim_work`)."""
        if record.b != Flag.FULL:
            raise Mismatch("a cluster isolated outside an allocation", "knows that of FULL only")
        self.first(record, self.loose.setdefault(record.type, set()))

    def first(self, record: Record, skipped: set[int]) -> Cluster | None:
        """Take the first cluster off a list that was not passed over, and compare it with the trace's."""
        device = self.model.devices[record.type]
        clusters = device.list_of(Flag(record.b), record.order)
        cluster = next((cluster for index, cluster in clusters.items() if index not in skipped), None)
        skipped.clear()
        index = NO_CLUSTER if cluster is None else cluster.index
        if index != record.a:
            expected = "no cluster" if record.a == NO_CLUSTER else f"cluster {record.a}"
            raise Mismatch(expected, "no cluster" if cluster is None else f"cluster {index}")
        if cluster is not None:
            self.settled(device, cluster)
            del clusters[index]
            cluster.flag = Flag.NONE
        return cluster

    def skip(self, record: Record) -> None:
        """Pass over a cluster: somebody else has its lock."""
        skipped = self.run(record).skipped if record.c else self.loose.setdefault(record.type, set())
        skipped.add(record.a)
        self.forced[SKIPPED] += 1

    def table(self, record: Record) -> None:
        """Follow the trace in whether there is a table."""
        running = self.run(record)
        if not isinstance(running.step, Populate) or running.step.cluster.index != record.a:
            raise self.unexpected(running, f"a table for cluster {record.a}")
        if record.b != AT_ONCE:
            self.forced[WITHOUT_TABLE if record.b == NO_MEMORY else SLEPT_FOR_TABLE] += 1
        running.advance(record.b != NO_MEMORY)

    def half_used(self, record: Record) -> None:
        """Compare whether more than half is used.

        On several CPUs others may have counted slots just then that they record later, or a device's size may come or
        go: there the trace is followed.
        """
        running = self.run(record)
        if not isinstance(running.step, HalfUsed):
            raise self.unexpected(running, "asked whether half is used")
        if bool(record.a) != self.model.half_used:
            if self.trace.header.cpus == 1:
                raise Mismatch(f"half used: {bool(record.a)}", f"half used: {self.model.half_used}")
            self.forced[OTHER_MOMENT] += 1
        running.advance(bool(record.a))

    def enter(self, running: Running, record: Record) -> None:
        """Let a search that goes on at a remembered place begin to scan there.

        A cluster without room for the order is Scanned at once.
        """
        if isinstance(running.step, Resume):
            cluster = running.step.device.clusters[running.step.offset // SLOTS]
            self.settled(running.step.device, cluster)
            if (running.step.device.type, cluster.index) == (record.type, record.a // SLOTS):
                running.advance()
        if not isinstance(running.step, Attempt | Scanned):
            raise self.unexpected(running, f"a scan at offset {record.a} of device {record.type}")
        step_ = running.step
        if (step_.device.type, step_.cluster.index) != (record.type, record.a // SLOTS):
            raise Mismatch(
                f"a scan at offset {record.a} of device {record.type}",
                f"scans cluster {step_.cluster.index} of device {step_.device.type}",
            )

    def reclaim(self, record: Record) -> None:
        """Begin the reclaim of a range in a scan."""
        running = self.run(record)
        self.enter(running, record)
        if not isinstance(running.step, Attempt):
            raise self.unexpected(running, "a reclaim")
        slot = record.a % SLOTS
        if slot < running.step.start or 0 <= running.step.slot < slot:
            raise Mismatch(f"slot {slot} reclaimed", f"takes slot {running.step.slot} before that")
        self.forced[RECLAIMED_SLOTS] += 1

    def reclaimed(self, record: Record) -> None:
        """Go on after the reclaim; usable and clear are the model's to say."""
        running = self.run(record)
        if not isinstance(running.step, Attempt):
            raise self.unexpected(running, "the end of a reclaim")
        cluster, order = running.step.cluster, running.op.order
        usable = self.model.usable(cluster, order)
        slot = record.a % SLOTS
        clear = usable and (not cluster.count or not cluster.used >> slot & BLOCK[order])
        if (usable, clear) != (bool(record.b & 1), bool(record.b & 2)):
            raise Mismatch(f"usable {record.b & 1}, clear {record.b >> 1 & 1}", f"usable {usable:d}, clear {clear:d}")
        running.advance(slot)

    def scanned(self, record: Record) -> None:
        """Compare that a scan found nothing."""
        running = self.run(record)
        if not isinstance(running.step, Scanned):
            self.enter(running, record)
        if isinstance(running.step, Attempt):
            device = running.step.device
            late = running.step.slot >= 0 and device.writeok and self.goes_soon(record.type)
            device.writeok &= not late
            running.advance()
            if late:
                device.writeok = True
                self.forced[LATE] += 1
        self.finish(running, record, 0)

    def goes_soon(self, type_: int) -> bool:
        """Tell whether a device's write permission goes within the next records: the flag goes before its event."""
        coming = self.trace.records[self.at : self.at + SOON]
        return any(record.op == Op.SWAPOFF_BEGIN and record.type == type_ for record in coming)

    def alloc(self, record: Record) -> None:
        """Compare the slots that were taken, or that there were none."""
        self.outcome.decisions += 1
        running = self.run(record)
        if record.type == FAILED:
            running.recorded = None
            self.nowhere_to_go(running)
            if running.step is not None:
                raise self.unexpected(running, "no space")
            if running.found is not None:
                raise Mismatch("no space", place(*running.found))
            return
        running.recorded = record.type, record.a
        self.unsettled.discard(record.type)
        if not isinstance(running.step, Scanned):
            self.enter(running, record)
            device = self.model.devices[record.type]
            late = not device.writeok
            if late and self.went.get(record.type, -1) < running.at:
                raise Mismatch(
                    place(record.type, record.a), f"gives none of device {record.type}, which has long been going"
                )
            device.writeok = True
            if isinstance(running.step, Attempt):
                running.advance()
            if late:
                device.writeok = False
                self.forced[LATE] += 1
        self.finish(running, record, record.a)

    def finish(self, running: Running, record: Record, offset: int) -> None:
        """Compare what a scan found and let it end."""
        if not isinstance(running.step, Scanned):
            raise self.unexpected(running, "the end of a scan")
        if running.step.offset != offset:
            expected, got = (place(record.type, at) if at else "nothing" for at in (offset, running.step.offset))
            raise Mismatch(expected, got)
        running.advance()

    # Frees, moves, devices

    def free(self, record: Record) -> None:
        """Free slots."""
        device = self.model.devices[record.type]
        self.settled(device, device.clusters[record.a // SLOTS])
        status = self.model.free(record.type, record.a, record.b)
        if status != Status.OK:
            raise Mismatch("it done", f"refuses it with {status.name}")
        self.unsettled.discard(record.type)
        running = self.running.get(record.c)
        if running is not None and isinstance(running.step, ReclaimFull) and not running.reclaims:
            running.reclaims = True
            self.forced[RECLAIMED_CLUSTER] += 1

    def move(self, record: Record) -> None:
        """Compare where a cluster goes, and move it there."""
        model = self.model
        device = model.devices[record.type]
        cluster = device.clusters[record.a]
        key = record.type, record.a
        if key not in model.waiting and record.c:
            running = self.running.get(record.c)
            if running is not None and isinstance(running.step, ReclaimFull):
                running.advance()
        if key not in model.waiting and not record.c and cluster.flag == Flag.NONE:
            model.relocate(device, cluster)  # by the reclaim that goes on in the background
        flag = model.waiting.get(key)
        if flag != record.b:
            got = "leaves it where it is" if flag is None else f"moves it to {flag.name}"
            raise Mismatch(f"cluster {record.a} moved to {Flag(record.b).name}", got)
        if flag != Flag.FREE and cluster.order != record.order:
            raise Mismatch(f"cluster {record.a} of order {record.order}", f"order {cluster.order}")
        model.moved(device, cluster)

    def settled(self, device: Device, cluster: Cluster) -> None:
        """Insist that a cluster that is locked anew is where it goes."""
        flag = self.model.waiting.get((device.type, cluster.index))
        if flag is not None:
            raise Mismatch(f"cluster {cluster.index} locked", f"has it still on its way to {flag.name}")

    def available(self, record: Record) -> None:
        """Follow a device that comes to the available list or leaves it; `quiet` compares."""
        device = self.model.devices[record.type]
        self.unsettled.add(record.type)
        if record.b:
            self.model.join(device)
        elif device in self.model.available:
            self.model.available.remove(device)

    def quiet(self) -> None:
        """Compare the available list while no allocation is under way and no device in between.

        On several CPUs a free may be under way: `swap_usage_sub()` comes before its record. What they find on the list
        is compared at each visit.
        """
        if self.running:
            return
        for device in self.model.devices.values():
            if self.consistent(device):
                self.unsettled.discard(device.type)
            elif device.type not in self.unsettled and self.trace.header.cpus == 1:
                there = device in self.model.available
                raise Mismatch(
                    f"device {device.type} {'' if there else 'not '}available",
                    f"{device.used} of {device.total} slots in use",
                )

    def discard_take(self, record: Record) -> None:
        """Compare the cluster that is discarded next."""
        self.outcome.decisions += 1
        device = self.model.devices[record.type]
        if device.discard:
            self.settled(device, next(iter(device.discard.values())))
        _, offset = self.model.discard_take(record.type)
        if offset != record.a:
            raise Mismatch(f"offset {record.a}", f"offset {offset}")
