# SPDX-License-Identifier: Apache-2.0
"""STEP commands and questions of the golden model: what a kernel did, put together by a host."""

from collections import Counter
from pathlib import Path

import pytest
from allocators import machine
from hwswap.compare import operations
from hwswap.model.clusters import DISCARD, SOLIDSTATE
from hwswap.model.golden import BLKDEV, Slots
from hwswap.model.rows import SLOTS
from hwswap.model.stepper import Question, Stepper
from hwswap.traces import trace
from hwswap.traces.records import Op, Record
from hwswap.traces.trace import ClusterMap
from hwswap_map import Flag, Status

DATA = Path(__file__).parents[1] / "data"


def stepper(*clusters: int, flags: int = BLKDEV | SOLIDSTATE) -> Stepper:
    """Make a model with one device for each number of whole clusters."""
    model = Stepper()
    model.__dict__.update(machine(*clusters, flags=flags).__dict__)
    return model


class Host:
    """Carries the operations of a recorded trace out, each allocation where it has its result, and is asked."""

    def __init__(self, recorded: trace.Trace, helpful: bool) -> None:
        """Take a trace; a host that is not helpful never finds anything to reclaim."""
        limits = recorded.header
        self.recorded = recorded
        self.helpful = helpful
        self.model = Stepper(limits.devices, limits.cpus, limits.clusters)
        self.clusters = ClusterMap()
        self.inside: dict[int, list[Record]] = {}
        self.seen: Counter[str] = Counter()

    def first_difference(self) -> str | None:
        """Return the first decision that is another one, None if all are equal."""
        for record in self.recorded.records:
            if record.op == Op.BEGIN:
                self.inside[record.c] = []
            elif record.op == Op.RECLAIM or (record.op == Op.FREE and record.c):
                self.inside[record.c].append(record)
            elif record.op == Op.ALLOC:
                expected = Slots(record.type, record.a) if record.a else None
                found = self.alloc(record)
                if found != expected or self.inside.pop(record.c):
                    return f"{record}: {found}"
            elif record.op == Op.DISCARD_TAKE:
                if self.model.discard_take(record.type)[1] != record.a:
                    return f"{record}"
            elif record.op < Op.INIT_DEVICE and operations.step(self.model, self.clusters, record) != Status.OK:
                return f"{record}: refused"
        return None

    def alloc(self, record: Record) -> Slots | None:
        """Carry an allocation out."""
        search = self.model.ask(record.cpu, record.order)
        tried: int | None = None
        while True:
            try:
                question = search.send(tried)
            except StopIteration as end:
                return end.value
            self.seen["full" if question.full else "asked"] += 1
            tried = self.answer(question, self.inside[record.c]) if self.helpful else None

    def answer(self, question: Question, inside: list[Record]) -> int | None:
        """Free what the kernel reclaimed there."""
        if not inside or inside[0].op != Op.RECLAIM or inside[0].type != question.type:
            return None
        if inside[0].a not in range(question.offset, question.offset + question.nr):
            return None
        tried = inside.pop(0).a
        self.seen["reclaimed"] += 1
        while inside and inside[0].op == Op.FREE:
            freed = inside.pop(0)
            assert self.model.free(freed.type, freed.a, freed.b) == Status.OK
        return tried


@pytest.mark.parametrize(("name", "seen"), [("reclaim", ("asked", "reclaimed")), ("near-full", ("full",))])
def test_who_answers_as_the_kernel_did_has_its_decisions(name, seen):
    host = Host(trace.read(DATA / f"{name}.hwst.gz"), helpful=True)
    assert host.first_difference() is None
    for what in seen:
        assert host.seen[what] > 500, host.seen


def test_who_reclaims_nothing_has_others():
    host = Host(trace.read(DATA / "reclaim.hwst.gz"), helpful=False)
    assert host.first_difference() is not None


def test_nobody_is_asked_while_less_than_half_is_used():
    model = stepper(4)
    while not model.half_used:
        with pytest.raises(StopIteration):
            next(model.ask(0, 4))
    model.free(0, SLOTS, 16)
    assert not model.half_used
    with pytest.raises(StopIteration):
        next(model.ask(1, 0))


def test_an_allocation_done_by_steps_is_the_allocation():
    one, other = stepper(3), stepper(3)
    for _ in range(5):
        slots = one.alloc(0, 4)
        assert slots is not None
        assert other.step_visit(0) == (Status.OK, 0, 0)
        at = slots.offset
        flag = other.devices[0].clusters[at // SLOTS].flag
        assert other.step_take(0, flag, 4 * (flag != Flag.FREE), None)[:2] == (Status.OK, SLOTS)
        assert other.step_slots(0, at, 16, 4) == Status.OK
        assert other.step_put(0, at, Flag.FRAG, 4, taken=False) == Status.OK
        assert other.step_next(0, 0, 4, at + 16) == Status.OK
    assert one.devices[0].used == other.devices[0].used
    assert one.alloc(0, 4) == other.alloc(0, 4)
    assert one.alloc(1, 4) == other.alloc(1, 4)
    assert not other.faults()


@pytest.mark.parametrize(
    ("flag", "order", "taken", "status"),
    [
        (Flag.FREE, 3, False, Status.OK),
        (Flag.DISCARD, 3, False, Status.OK),
        (Flag.DISCARD, 3, True, Status.OK),
        (Flag.NONE, 3, False, Status.OK),
        (Flag.NONE, 3, True, Status.BAD_RANGE),
        (Flag.NONFULL, 0, False, Status.BAD_RANGE),
        (Flag.FULL, 0, False, Status.BAD_RANGE),
        (Flag.FREE, 10, False, Status.BAD_CPU),
        (6, 0, False, Status.BAD_RANGE),
    ],
)
def test_an_empty_cluster_goes_where_empty_ones_belong(flag, order, taken, status):
    model = stepper(2, flags=BLKDEV | SOLIDSTATE | DISCARD)
    assert model.step_take(0, Flag.NONE, 0, SLOTS) == (Status.OK, SLOTS, True)
    assert model.step_put(0, SLOTS, flag, order, taken) == status
    cluster = model.devices[0].clusters[1]
    if status == Status.OK:
        assert (cluster.flag, cluster.order, cluster.taken) == (flag, 0 if flag == Flag.FREE else order, taken)
        assert model.faults() == []
    else:
        assert cluster.flag == Flag.NONE
