# SPDX-License-Identifier: Apache-2.0
"""The operations of a trace once more, under another policy.

Slots are given elsewhere, so a trace's frees are looked up by the allocations they belong to. An allocation of a large
order that fails falls back to as many single slots as it wanted, as the kernel's reclaim does when it splits the folio.
Where the trace's own allocation had failed, the attempt is made and given back at once if it succeeds: its folio's
single slots are in the trace.
"""

from collections.abc import Iterator

from hwswap_map import Status

from hwswap.compare.operations import model_for, step
from hwswap.model.policy import Policy
from hwswap.model.rows import SLOTS
from hwswap.traces import records
from hwswap.traces.records import FAILED, FIRST_DETAIL, Op, Record
from hwswap.traces.trace import ClusterMap, Trace

Place = tuple[int, int]
"""Device and slot."""


class Redo:
    """One trace under one policy, on the golden model."""

    def __init__(self, trace: Trace, policy: Policy) -> None:
        """Prepare an empty model."""
        self.trace = trace
        self.model = model_for(trace)
        self.clusters = ClusterMap()
        self.records: list[Record] = []
        self.held: dict[Place, Place] = {}
        self.discarding: dict[int, list[int]] = {}
        if policy.pack():
            self.model.set_policy(policy)
            self.records.append(records.policy(policy))

    def run(self) -> list[Record]:
        """Do all operations; return them with the model's decisions."""
        for record in self.trace.records:
            if record.op == Op.ALLOC:
                self.alloc(record)
            elif record.op == Op.FREE:
                self.free(record.type, range(record.a, record.a + record.b))
            elif record.op in (Op.DISCARD_TAKE, Op.DISCARD_DONE):
                self.discard(record)
            elif record.op < FIRST_DETAIL and record.op != Op.POLICY:
                if record.op == Op.SWAPOFF:
                    self.empty(record.type)
                    self.discarding.pop(record.type, None)
                self.done(record)
        return self.records

    def done(self, record: Record) -> None:
        """Do an operation that is no decision."""
        status = step(self.model, self.clusters, record)
        assert status == Status.OK, f"{record}: {status.name}"
        self.records.append(record)

    def attempt(self, cpu: int, order: int) -> Place | None:
        """Allocate."""
        found = self.model.alloc(cpu, order)
        self.records.append(records.alloc(cpu, order, found))
        return found

    def alloc(self, record: Record) -> None:
        """Do an allocation."""
        found = self.attempt(record.cpu, record.order)
        nr = 1 << record.order
        if record.type == FAILED:
            if found is not None:
                self.done(records.free(record.cpu, *found, nr))
            return
        if found is not None:
            for i in range(nr):
                self.held[record.type, record.a + i] = found[0], found[1] + i
        elif record.order:
            for i in range(nr):
                single = self.attempt(record.cpu, 0)
                if single is not None:
                    self.held[record.type, record.a + i] = single

    def free(self, type_: int, slots: range) -> None:
        """Free the slots that were given for some slots of the trace."""
        places = [place for slot in slots if (place := self.held.pop((type_, slot), None)) is not None]
        for device, first, nr in together(places):
            self.done(records.free(0, device, first, nr))

    def empty(self, type_: int) -> None:
        """Free all that is held on a device that goes: swapoff reads it back."""
        gone = {place: at for place, at in self.held.items() if at[0] == type_}
        for place in gone:
            del self.held[place]
        for device, first, nr in together(sorted(gone.values())):
            self.done(records.free(0, device, first, nr))

    def discard(self, record: Record) -> None:
        """Take a cluster off DISCARD, or end the discard of the one that was taken first."""
        taken = self.discarding.setdefault(record.type, [])
        if record.op == Op.DISCARD_TAKE:
            _, offset = self.model.discard_take(record.type)
            self.records.append(records.discard_take(record.type, offset))
            # The first cluster of a device has offset 0, but a bad slot, so it is never empty.
            if offset:
                taken.append(offset)
        elif taken:
            self.done(records.discard_done(record.type, taken.pop(0)))


def together(places: list[Place]) -> Iterator[tuple[int, int, int]]:
    """Yield device, first slot and number of slots that follow each other in one cluster."""
    at = 0
    while at < len(places):
        device, first = places[at]
        nr = 1
        while at + nr < len(places) and places[at + nr] == (device, first + nr) and (first + nr) % SLOTS:
            nr += 1
        yield device, first, nr
        at += nr


def redo(trace: Trace, policy: Policy) -> list[Record]:
    """Return all operations under a policy, with the golden model's decisions."""
    return Redo(trace, policy).run()
