# SPDX-License-Identifier: Apache-2.0
"""The records of a trace carried out by the golden model, one by one, each decision compared."""

from collections.abc import Generator

from hwswap_map import Status

from hwswap.compare.outcome import Difference, place, said
from hwswap.model.clusters import Slots
from hwswap.model.golden import Allocator
from hwswap.model.policy import Policy
from hwswap.model.rows import SLOTS
from hwswap.model.stepper import Question, Stepper
from hwswap.traces import initial
from hwswap.traces.records import FAILED, FIRST, FIRST_READAHEAD, FIRST_STEP, FROM_FULL, NOT_FIRST, Op, Record
from hwswap.traces.trace import ClusterMap, Trace


class Asking(Stepper):
    """A model that carries a sequence out: operations, steps, and allocations that ask."""

    search: Generator[Question, int | None, Slots | None] | None = None
    """The allocation that waits for an answer."""

    def dialog(self, record: Record) -> tuple[int, int, int]:
        """Begin an allocation that may ask, or answer it; return the outcome as ASK and ANSWER have it."""
        if record.op == Op.ASK:
            self.search = self.ask(record.cpu, record.order)
            answer = None
        else:
            answer = record.c >> 1 if record.c & 1 else None
        assert self.search is not None
        try:
            question = self.search.send(answer)
        except StopIteration as end:
            self.search = None
            return *(end.value or (FAILED, 0)), 0
        return question.type, question.offset, question.nr | FROM_FULL * question.full


def model_for(trace: Trace) -> Allocator:
    """Return an empty model that is large enough for a trace."""
    header = trace.header
    steps = any(FIRST_STEP <= record.op < FIRST_READAHEAD for record in trace.records)
    return (Asking if steps else Allocator)(
        devices=max(header.devices, 1), cpus=header.cpus, clusters=max(header.clusters, 1)
    )


def compare(model: Allocator, clusters: ClusterMap, number: int, record: Record) -> Difference | None:
    """Do what a record says and return where the model decides otherwise, None where it does not."""
    if record.op == Op.ALLOC:
        type_, offset = model.alloc(record.cpu, record.order) or (FAILED, 0)
        if (type_, offset) != (record.type, record.a):
            return Difference(number, record, place(record.type, record.a), place(type_, offset))
        return None
    if record.op in (Op.ASK, Op.ANSWER):
        assert isinstance(model, Asking)
        outcome = model.dialog(record)
        if outcome != (record.type, record.a, record.b):
            return Difference(number, record, said(record.type, record.a, record.b), said(*outcome))
        return None
    if record.op == Op.DISCARD_TAKE:
        _, offset = model.discard_take(record.type)
        if offset != record.a:
            return Difference(number, record, f"offset {record.a}", f"offset {offset}")
        return None
    if record.op in (Op.STEP_TAKE, Op.STEP_VISIT) and (difference := other_answer(model, number, record)):
        return difference
    if record.op == Op.SWAPOFF and (left := in_use(model, record.type)):
        return Difference(number, record, "the device gone", f"still has {left} slots in use")
    status = step(model, clusters, record)
    if status != Status.OK:
        return Difference(number, record, "it done", f"refuses it with {status.name}")
    return None


def with_answer(model: Stepper, record: Record) -> Record:
    """Return a STEP_TAKE or STEP_VISIT that can be carried out with what the engine answers; others as they are."""
    if record.op == Op.STEP_TAKE:
        device = model.devices[record.type]
        cluster = device.clusters[record.a]
        first = next(iter(device.list_of(cluster.flag, cluster.order)), None)
        return record._replace(c=FIRST if first == record.a else NOT_FIRST)
    if record.op == Op.STEP_VISIT:
        available = [device.type for device in model.available]
        behind = available[available.index(record.type) + 1 :]
        return record._replace(a=available[0] + 1, b=behind[0] + 1 if behind else 0)
    return record


def other_answer(model: Allocator, number: int, record: Record) -> Difference | None:
    """Return where the model would answer a STEP_TAKE or STEP_VISIT otherwise; None if no answer is in the record."""
    said = (record.c,) if record.op == Op.STEP_TAKE else (record.a, record.b)
    if not said[0]:
        return None
    assert isinstance(model, Stepper)
    try:
        mine = with_answer(model, record)
    except (KeyError, ValueError, IndexError):
        return None  # it is refused
    answer = (mine.c,) if record.op == Op.STEP_TAKE else (mine.a, mine.b)
    return None if answer == said else Difference(number, record, f"the answer {said}", f"{answer}")


def in_use(model: Allocator, type_: int) -> int:
    """Return the slots of a device that are in use and not bad."""
    clusters = model.devices[type_].clusters
    return sum((cluster.used & ~cluster.bad).bit_count() for cluster in clusters)


def step(model: Allocator, clusters: ClusterMap, record: Record) -> Status:
    """Do what a record says that holds no decision; return the model's status."""
    op, type_ = record.op, record.type
    if op == Op.FREE:
        return model.free(type_, record.a, record.b)
    if op == Op.DISCARD_DONE:
        return model.discard_done(type_, record.a)
    if op == Op.PREPARE:
        base = clusters.claim(type_, record.a)
        return model.prepare(type_, record.a, base, record.b, record.c, node=record.cpu)
    if op == Op.BAD:
        return model.mark_bad(type_, record.a, record.b)
    if op == Op.SWAPON:
        return model.swapon(type_)
    if op == Op.SWAPOFF_BEGIN:
        return model.swapoff_begin(type_)
    if op == Op.SWAPOFF:
        clusters.release(type_)
        return model.swapoff(type_)
    if op == Op.POLICY:
        model.set_policy(Policy.unpack(record.a | record.b << 32))
    elif op == Op.NODE:
        model.nodes[record.cpu] = record.a
    elif op >= FIRST_STEP:
        assert isinstance(model, Stepper)
        return forced_step(model, record)
    else:
        initial.restore(model, record)
    return Status.OK


def forced_step(model: Stepper, record: Record) -> Status:
    """Carry out the command that a STEP record stands for; return its status."""
    op, cpu, order, type_, a, b, _ = record
    if op == Op.STEP_TAKE:
        return model.step_take(type_, b, order, a * SLOTS)[0]
    if op == Op.STEP_PUT:
        return model.step_put(type_, a * SLOTS, b, order, False)
    if op == Op.STEP_GIVE:
        return model.step_slots(type_, a, b, order)
    if op == Op.STEP_NEXT:
        return model.step_next(type_, None if b else cpu, order, a)
    if op == Op.STEP_VISIT:
        return model.step_visit(type_)[0]
    return model.step_available(type_, bool(b))
