# SPDX-License-Identifier: Apache-2.0
"""Which of the allocator's rarer turns a trace takes, and how often: counted from how its decisions came about.

- A *NONFULL walk over more than one cluster*: an allocation takes more than one cluster off one device's NONFULL list
  of its own order.
- A *FRAG scan*: it takes a cluster off the FRAG list of its own order.
- A *steal*: an allocation of order 0 gets its slot in a cluster that came off a list of a larger order.
- A *discard*: a cluster that waited on DISCARD has been discarded.
- *Filled up and returned*: a device leaves the available list though it is not going, and comes back.
- A *reclaim*: a scan stops for slots that perhaps only the cache holds, or slots of a full cluster are freed on an
  allocation's way.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hwswap_map import Flag

from hwswap.model.rows import ORDERS, SLOTS
from hwswap.traces.records import FAILED, NO_CLUSTER, Op, Record

DECISIONS = "decisions"
WALKS = "NONFULL walks over more than one cluster"
FRAG_SCANS = "FRAG scans"
STEALS = "steals"
DISCARDS = "discards"
RETURNS = "devices that filled up and returned"
TOP_FAILURES = "order-9 failures"
RECLAIMS = "reclaims"

TURNS = (DECISIONS, WALKS, FRAG_SCANS, STEALS, DISCARDS, RETURNS, TOP_FAILURES, RECLAIMS)
"""All that is counted, by name."""


@dataclass(slots=True)
class _Allocation:
    """What is to be remembered of an allocation under way."""

    order: int
    walked: tuple[int, int] = (0, 0)
    """The device whose NONFULL list it is on, and how many clusters it took off that."""
    foreign: tuple[int, int] | None = None
    """The device and cluster it took off a larger order's list last."""
    emptying: bool = False
    """It took a cluster off FULL, and none of that one's slots has been freed yet."""


class Coverage:
    """Counts the turns of one trace, record by record."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self.counts: Counter[str] = Counter(dict.fromkeys(TURNS, 0))
        self.running: dict[int, _Allocation] = {}
        self.going: set[int] = set()
        self.full: set[int] = set()

    def record(self, record: Record) -> None:
        """Count what a record shows."""
        op, _, order, type_, _, there, number = record
        if op == Op.BEGIN:
            self.running[number] = _Allocation(order)
        elif op == Op.END:
            self.running.pop(number, None)
        elif op == Op.ALLOC:
            self.alloc(record)
        elif op == Op.ISOLATE:
            self.isolate(record)
        elif op == Op.FREE:
            allocation = self.running.get(number)
            if allocation is not None and allocation.emptying:
                allocation.emptying = False
                self.counts[RECLAIMS] += 1
        elif op == Op.RECLAIM:
            self.counts[RECLAIMS] += 1
        elif op == Op.DISCARD_TAKE:
            self.counts[DECISIONS] += 1
        elif op == Op.DISCARD_DONE:
            self.counts[DISCARDS] += 1
        elif op == Op.AVAILABLE:
            if not there and type_ not in self.going:
                self.full.add(type_)
            elif there and type_ in self.full:
                self.full.discard(type_)
                self.counts[RETURNS] += 1
        elif op == Op.SWAPOFF_BEGIN:
            self.going.add(type_)
            self.full.discard(type_)
        elif op in (Op.SWAPON, Op.PREPARE):
            self.going.discard(type_)

    def alloc(self, record: Record) -> None:
        """Count a decision, whether it is a failure of the top order, and whether it is a steal."""
        self.counts[DECISIONS] += 1
        if record.type == FAILED:
            self.counts[TOP_FAILURES] += record.order == ORDERS - 1
            return
        allocation = self.running.get(record.c)
        if allocation is not None and allocation.foreign == (record.type, record.a // SLOTS):
            self.counts[STEALS] += 1

    def isolate(self, record: Record) -> None:
        """Count what it means that an allocation took a cluster off a list."""
        allocation = self.running.get(record.c)
        if allocation is None or record.a == NO_CLUSTER:
            return
        allocation.emptying = record.b == Flag.FULL
        own = record.order == allocation.order
        if record.b == Flag.FRAG and own:
            self.counts[FRAG_SCANS] += 1
        elif record.b == Flag.NONFULL and own:
            device, taken = allocation.walked
            taken = taken + 1 if device == record.type else 1
            allocation.walked = record.type, taken
            self.counts[WALKS] += taken == 2
        elif record.b in (Flag.FRAG, Flag.NONFULL):
            allocation.foreign = record.type, record.a


def coverage(records: Iterable[Record]) -> Counter[str]:
    """Return how often each turn occurs; what does not is there with 0."""
    counting = Coverage()
    for record in records:
        counting.record(record)
    return counting.counts
