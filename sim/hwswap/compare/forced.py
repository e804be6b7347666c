# SPDX-License-Identifier: Apache-2.0
"""Replaying a trace that says how its decisions came about, step by step, CPUs interleaved as they were.

Each allocation of the trace is a search of the golden model (`Allocator.allocation`) that goes on when the trace has
the next event of it. The model's next step is compared with the kernel's: the device it turned to, the list it looked
at, the cluster it got, the slots it took. The model's own lists change when the trace says that the kernel's did, as
only that is ordered by the lists' locks.

Where the outcome depends on what only the kernel could know, the trace is followed, and the step counted as forced by
its cause. On one CPU there is no cause but memory, sleep and reclaim.
"""

from hwswap_map import Flag

from hwswap.compare.forced_lists import (
    GONE,
    LATE,
    OTHER_MOMENT,
    RECLAIMED_SLOTS,
    SKIPPED,
    SLEPT_FOR_TABLE,
    WITHOUT_TABLE,
    Lists,
    Running,
)
from hwswap.compare.operations import compare
from hwswap.compare.outcome import place
from hwswap.model.follower import Mismatch
from hwswap.model.rows import BLOCK, SLOTS
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
from hwswap.traces.records import AT_ONCE, FAILED, FIRST_DETAIL, NAMES, NO_MEMORY, Op, Record
from hwswap.traces.trace import Trace

SOON = 64
"""The most records by which an event can come late."""


class ForcedReplay(Lists):
    """The replay of one trace."""

    def __init__(self, trace: Trace) -> None:
        """Prepare an empty model for a trace."""
        super().__init__(trace)
        self.loose: dict[int, set[int]] = {}
        self.went: dict[int, int] = {}
        """Devices that are going, and the records that say so."""
        self.at = -1

    def record(self, record: Record) -> None:
        """Carry out a record, or compare it: allocations, frees, discards and details by the method of their name."""
        self.at += 1
        if record.op >= FIRST_DETAIL or record.op in (Op.ALLOC, Op.FREE, Op.DISCARD_TAKE):
            getattr(self, NAMES[record.op])(record)
            return
        self.unsettled.add(record.type)
        if record.op == Op.SWAPOFF_BEGIN:
            self.went[record.type] = self.at
        compare(self.model, self.clusters, record)
        if record.op == Op.SWAPOFF:
            self.unsettled.discard(record.type)

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
        """End an allocation: the trace must have the search's result."""
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
        waits, remembered = running.step, f"offset {record.a} of device {record.type} remembered"
        if not isinstance(waits, Resume):
            raise self.unexpected(running, remembered)
        if (waits.device.type, waits.offset) != (record.type, record.a):
            raise Mismatch(remembered, f"{waits.offset} of {waits.device.type}")
        running.advance()
        if isinstance(running.step, Attempt):
            raise Mismatch(f"offset {record.a} refused", "scans its cluster")

    def isolate(self, record: Record) -> None:
        """Compare the cluster that is taken off a list.

        Outside an allocation it is one of FULL, for the reclaim that goes on in the background (`swap_reclaim_work`).
        """
        if not record.c:
            if record.b != Flag.FULL:
                raise Mismatch("a cluster isolated outside an allocation", "knows that of FULL only")
            self.first(record, self.loose.setdefault(record.type, set()))
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
        """Compare a scan's result and let it end."""
        if not isinstance(running.step, Scanned):
            raise self.unexpected(running, "the end of a scan")
        if running.step.offset != offset:
            expected, got = (place(record.type, at) if at else "nothing" for at in (offset, running.step.offset))
            raise Mismatch(expected, got)
        running.advance()
