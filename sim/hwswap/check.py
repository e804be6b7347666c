# SPDX-License-Identifier: Apache-2.0
"""Running a trace through the golden model and comparing every decision.

A trace that holds only operations is replayed freely: each allocation runs at once where its result stands. One that
says how each decision came about is replayed step by step (guided.py).
"""

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from hwswap import initial
from hwswap.clusters import Slots
from hwswap.golden import Allocator
from hwswap.hwswap_map import Readahead as ReadaheadPolicy
from hwswap.hwswap_map import Status
from hwswap.policy import Policy
from hwswap.readahead import Readahead
from hwswap.records import FAILED, FIRST_READAHEAD, FIRST_STEP, FROM_FULL, NAMES, Op, Record
from hwswap.rows import SLOTS
from hwswap.stepper import Question, Stepper
from hwswap.trace import ClusterMap, Trace


@dataclass(frozen=True)
class Difference:
    """The first operation at which trace and model disagree."""

    number: int
    record: Record
    expected: str
    got: str

    def __str__(self) -> str:
        """Say it in one sentence."""
        op = NAMES[self.record.op].upper()
        what = f"order {self.record.order} on CPU {self.record.cpu}" if op == "ALLOC" else f"device {self.record.type}"
        return f"operation {self.number} ({op}, {what}): the trace has {self.expected}, the model {self.got}"


@dataclass
class Outcome:
    """What a replay came to: `decisions` were compared, in `guided` steps the trace was followed, by cause."""

    decisions: int = 0
    guided: Counter[str] = field(default_factory=Counter)
    difference: Difference | None = None


def place(type_: int, offset: int) -> str:
    """Say where an allocation went."""
    return "no space" if type_ == FAILED else f"device {type_} offset {offset}"


def said(type_: int, offset: int, about: int) -> str:
    """Say how an ASK or ANSWER ended."""
    return f"a question about {about & ~FROM_FULL} slots from {place(type_, offset)}" if about else place(type_, offset)


def check(trace: Trace, progress: Callable[[int], None] | None = None) -> Difference | None:
    """Run the model over a trace; return the first difference, None when every decision is equal."""
    return replay(trace, progress).difference


def replay(trace: Trace, progress: Callable[[int], None] | None = None) -> Outcome:
    """Run the model over a trace, in the way that its kind asks for.

    `progress` is told the number of records done, now and then.
    """
    if trace.detailed:
        from hwswap.guided import Guided  # needs this module

        return Guided(trace).replay(progress)
    outcome = Outcome()
    model = model_for(trace)
    clusters = ClusterMap()
    windows = Windows(model, trace.header.cpus, outcome)
    for number, record in enumerate(trace.records):
        if progress is not None and not number % 4096:
            progress(number)
        if record.op in (Op.ALLOC, Op.DISCARD_TAKE, Op.ASK):
            outcome.decisions += 1
        if record.op >= FIRST_READAHEAD:
            outcome.difference = windows.compare(number, record)
        else:
            outcome.difference = compare(model, clusters, number, record)
        if outcome.difference is not None:
            return outcome
    if faults := model.faults():
        raise AssertionError(f"the model contradicts itself after the trace: {faults[0]}")
    if progress is not None:
        progress(len(trace.records))
    return outcome


class Windows:
    """The readahead's windows of a trace, compared with the golden model's.

    The kernel keeps the state of the readahead without a lock, so on several CPUs a window may be made from a state
    that is not the one the window before it left. The trace says from which; it is followed then, and that is counted.
    """

    def __init__(self, model: Allocator, cpus: int, outcome: Outcome) -> None:
        """Begin with a state that is not known."""
        self.model = model
        self.cpus = cpus
        self.outcome = outcome
        self.readahead: Readahead | None = None
        self.policy = ReadaheadPolicy.ADAPTIVE
        self.hits = 0

    def compare(self, number: int, record: Record) -> Difference | None:
        """Take a READAHEAD_STATE or a READAHEAD; return where the model has another."""
        if record.op == Op.READAHEAD_STATE:
            return self.state(number, record)
        assert self.readahead is not None  # the trace was checked: a state comes first
        self.outcome.decisions += 1
        end = self.model.devices[record.type].pages
        window = self.readahead.window(record.a, self.hits, record.order, end, self.policy)
        if window != (record.b, record.c):
            return Difference(number, record, span(record.b, record.c), span(*window))
        return None

    def state(self, number: int, record: Record) -> Difference | None:
        """Take what the next window was made from."""
        found = Readahead(record.a, record.b)
        before, self.readahead = self.readahead, found
        self.policy = ReadaheadPolicy(record.order)
        self.hits = record.c
        if before is None or before == found:
            return None
        if self.cpus == 1:
            return Difference(number, record, said_state(found), said_state(before))
        self.outcome.guided["another CPU made a window meanwhile"] += 1
        return None


def span(first: int, nr: int) -> str:
    """Say which slots a window has."""
    return f"{nr} slots from {first} on"


def said_state(state: Readahead) -> str:
    """Say what the readahead keeps."""
    return f"offset {state.previous} and {state.last} slots before"


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
    if record.op == Op.SWAPOFF and (left := in_use(model, record.type)):
        return Difference(number, record, "the device gone", f"still has {left} slots in use")
    status = step(model, clusters, record)
    if status != Status.OK:
        return Difference(number, record, "it done", f"refuses it with {status.name}")
    return None


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
        return guided_step(model, record)
    else:
        initial.restore(model, record)
    return Status.OK


def guided_step(model: Stepper, record: Record) -> Status:
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
