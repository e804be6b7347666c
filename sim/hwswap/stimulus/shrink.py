# SPDX-License-Identifier: Apache-2.0
"""Cutting a stream of operations down to a short one that still shows what it showed.

Operations depend on each other: what is freed was allocated, and where that is follows from all that was before. So an
operation is kept without its outcome, a free as parts of allocations, and whatever is left of a stream is carried out
by the golden model anew. An operation that has no meaning any more is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwswap_map import Status

from hwswap.model.golden import Allocator
from hwswap.stimulus.kernel_discards import KernelDiscards
from hwswap.traces import trace
from hwswap.traces.records import Op, Record
from hwswap.traces.stream import Shape, header
from hwswap.traces.trace import ClusterMap, Trace, complete

ROUNDS = 150
"""How often something is left out at most."""

_PREFIXES = 8

Say = Callable[[str], None]
"""Is told how far it is."""


@dataclass(frozen=True)
class Step:
    """An operation without its outcome.

    Attributes:
        record: as it was; of an allocation and a free only CPU and order count. A DISCARD_TAKE stands for all discards
            that a script asked for; those of an allocation belong to it.
        number: of an allocation, counted from 0.
        parts: of a free: number of the allocation, first slot in it, slots.
    """

    record: Record
    number: int = -1
    parts: tuple[tuple[int, int, int], ...] = ()


def steps(made: Trace) -> list[Step]:
    """Return the operations of a trace without their outcomes."""
    owners: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[Step] = []
    allocations = 0
    before = -1
    for record in made.records:
        if record.op == Op.ALLOC:
            if before == Op.DISCARD_DONE:
                # The one that failed before, again.
                found.pop()
                allocations -= 1
            if record.type != trace.FAILED:
                for slot in range(1 << record.order):
                    owners[record.type, record.a + slot] = allocations, slot
            found.append(Step(record, allocations))
            allocations += 1
        elif record.op == Op.FREE:
            parts: list[tuple[int, int, int]] = []
            for slot in range(record.a, record.a + record.b):
                number, at = owners.pop((record.type, slot))
                if parts and parts[-1][0] == number and sum(parts[-1][1:]) == at:
                    parts[-1] = (number, parts[-1][1], parts[-1][2] + 1)
                else:
                    parts.append((number, at, 1))
            found.append(Step(record, parts=tuple(parts)))
        elif record.op != Op.DISCARD_DONE and not (record.op == Op.DISCARD_TAKE and record.a):
            found.append(Step(record))
        before = record.op
    return found


class _Redo:
    """Operations carried out anew."""

    def __init__(self, shape: Shape, kind: type[Allocator]) -> None:
        self.model = kind(shape.devices, shape.cpus, shape.clusters)
        self.kernel = KernelDiscards(self.model)
        self.clusters = ClusterMap()
        self.places: dict[int, tuple[int, int]] = {}
        self.held: dict[int, int] = {}
        self.leaving: set[int] = set()
        self.records: list[Record] = []

    def step(self, step: Step) -> None:
        """Carry one out, if it has a meaning."""
        record = step.record
        if record.op == Op.ALLOC:
            if record.order or not self.kernel.goes_round():
                self.alloc(step.number, record.cpu, record.order)
        elif record.op == Op.FREE:
            for number, first, nr in step.parts:
                if number in self.places:
                    type_, offset = self.places[number]
                    self.model.free(type_, offset + first, nr)
                    self.held[type_] -= nr
                    self.records.append(trace.free(record.cpu, type_, offset + first, nr))
        elif record.op == Op.DISCARD_TAKE:
            device = self.model.devices.get(record.type)
            # A swapoff that has nothing left to wait for may have come to its end.
            if device is not None and (device.writeok or self.held[record.type]):
                self.records += self.kernel.ask(record.type)
        elif self.device(record):
            self.kernel.note(record)
            self.records.append(record)

    def alloc(self, number: int, cpu: int, order: int) -> None:
        """Allocate."""
        self.records.append(trace.alloc(cpu, order, self.model.alloc(cpu, order)))
        if not order and self.records[-1].type == trace.FAILED:
            self.records += self.kernel.retry(cpu)
        made = self.records[-1]
        if made.type != trace.FAILED:
            self.places[number] = made.type, made.a
            self.held[made.type] += 1 << order

    def device(self, record: Record) -> bool:
        """Carry out what is done to a device; False if it cannot be."""
        type_ = record.type
        device = self.model.devices.get(type_)
        match record.op:
            case Op.PREPARE:
                if device is not None:
                    return False
                base = self.clusters.claim(type_, record.a)
                self.held[type_] = 0
                return self.model.prepare(type_, record.a, base, record.b, record.c) == Status.OK
            case Op.BAD:
                return device is not None and self.model.mark_bad(type_, record.a, record.b) == Status.OK
            case Op.SWAPON:
                # A swapoff that has nothing left to wait for cannot be interrupted.
                if device is None or (type_ in self.leaving and not self.held[type_]):
                    return False
                self.leaving.discard(type_)
                return self.model.swapon(type_) == Status.OK
            case Op.SWAPOFF_BEGIN:
                # Only what is on, and not under way already.
                if device is None or not device.writeok or self.model.swapoff_begin(type_) != Status.OK:
                    return False
                self.leaving.add(type_)
                return True
            case Op.SWAPOFF:
                if type_ not in self.leaving or self.held[type_] or self.model.swapoff(type_) != Status.OK:
                    return False
                self.leaving.discard(type_)
                self.clusters.release(type_)
                return True
        raise AssertionError(f"a stream for a kernel has no {record.op}")


def again(kept: Sequence[Step], shape: Shape, kind: type[Allocator] = Allocator) -> Trace:
    """Carry operations out anew; return them with the model's outcomes."""
    redo = _Redo(shape, kind)
    for step in kept:
        redo.step(step)
    return complete(header(shape), redo.records)


def _shortest_prefix(kept: list[Step], first: Callable[[list[list[Step]]], int | None]) -> list[Step]:
    """Leave out what is behind the operation that shows it."""
    low, high = 0, len(kept)
    while high - low > 1:
        ends = sorted({low + -(-(high - low) * part // _PREFIXES) for part in range(1, _PREFIXES + 1)})
        found = first([kept[:end] for end in ends])
        if found is None:
            break
        low, high = ([low, *ends])[found], ends[found]
    return kept[:high]


def _ddmin(
    kept: list[Step], may_go: Callable[[Step], bool], first: Callable[[list[list[Step]]], int | None], say: Say
) -> list[Step]:
    """Leave operations out that may go (Zeller and Hildebrandt's ddmin: parts alone, then all but one part)."""
    pieces = 2
    for _ in range(ROUNDS):
        movable = [at for at, step in enumerate(kept) if may_go(step)]
        if not movable:
            break
        size = -(-len(movable) // pieces)
        parts = [set(movable[at : at + size]) for at in range(0, len(movable), size)]
        gone = [set(movable) - part for part in parts] if len(parts) > 1 else []
        gone += parts
        candidates = [[step for at, step in enumerate(kept) if at not in some] for some in gone]
        say(f"shrinking: {len(kept)} operations, {len(candidates)} attempts")
        found = first(candidates)
        if found is not None:
            kept = candidates[found]
            pieces = 2 if found < len(parts) else max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces *= 2
    return kept


def shrink(
    kept: list[Step], first: Callable[[list[list[Step]]], int | None], say: Say = lambda text: None
) -> list[Step]:
    """Leave operations out as long as what is left still shows it.

    Args:
        kept: operations that show it.
        first: is given several lists of operations; returns the number of one that shows it, None if none does.
        say: is told how far it is.

    Returns:
        Operations of which none can be left out, unless that took too many rounds: first those behind the one that
        shows it go, then allocations and frees, then any.
    """
    kept = _shortest_prefix(kept, first)
    kept = _ddmin(kept, lambda step: step.record.op in (Op.ALLOC, Op.FREE), first, say)
    return _ddmin(kept, lambda step: True, first, say)
