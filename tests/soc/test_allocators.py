# SPDX-License-Identifier: Apache-2.0
"""The firmware's two swap allocators, compiled for the host.

The stock one decides as the golden model and as the recorded kernel do; the tuned one keeps the rules, and none of its
scans fails.
"""

import random

import pytest
from firmware_allocator import Allocator, Judge, Status, compile_library
from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.rows import ORDERS, SLOTS, runs
from hwswap.project.paths import ROOT
from hwswap.traces import stream, trace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RECORDED = [path for path in sorted((ROOT / "tests" / "data").glob("*.hwst.gz")) if not trace.read(path).detailed]
"""Traces of one CPU on devices as the firmware knows them; the others have details that it cannot follow."""
assert RECORDED

PLAIN = BLKDEV | SOLIDSTATE

BOTH = pytest.mark.parametrize("name", ["stock", "tuned"])


@pytest.fixture(scope="module", params=[32, 64])
def library(request, tmp_path_factory):
    """Both allocators, with bitmap words as on RV32 and as on RV64."""
    return compile_library(tmp_path_factory.mktemp("allocators"), request.param)


def device_step(allocator, judge, record):
    """Carry out a record about a device on both; the allocator must agree."""
    op, type_ = record.op, record.type
    if op == trace.Op.PREPARE:
        assert allocator.prepare(type_, record.a, record.b, record.c) == Status.OK
        judge.prepare(type_, record.a, record.b)
    elif op == trace.Op.BAD:
        assert allocator.mark_bad(type_, record.a, record.b) == Status.OK
        judge.mark_bad(type_, record.a, record.b)
    else:
        method = trace.Op(op).name.lower()
        assert getattr(allocator, method)(type_) == Status.OK
        getattr(judge, method)(type_)


def replay_stock(library, made):
    """Run a trace on the stock allocator: every decision must be the trace's, every table word right at the end."""
    allocator = Allocator(library, "stock", devices=max(made.header.devices, 1), cpus=made.header.cpus)
    judge = Judge()
    for number, record in enumerate(made.records):
        if record.op == trace.Op.ALLOC:
            result = allocator.alloc(record.cpu, record.order, number)
            expected = None if record.type == trace.FAILED else (record.type, record.a)
            assert result == expected, f"operation {number}: {record}"
            # The trace's failures are the rules', which let a large order try one device only.
            if result is not None:
                judge.alloc(record.order, result, number)
        elif record.op == trace.Op.FREE:
            assert allocator.free(record.type, record.a, record.b) == Status.OK, f"operation {number}: {record}"
            judge.free(record.type, record.a, record.b)
        else:
            device_step(allocator, judge, record)
    judge.check_words(allocator)
    assert allocator.destroy() == 0


class Mapped:
    """Runs a trace's work on the tuned allocator, which puts it elsewhere: knows where each slot went."""

    def __init__(self, library, made):
        """Make an allocator for the trace."""
        self.allocator = Allocator(library, "tuned", devices=max(made.header.devices, 1), cpus=made.header.cpus)
        self.judge = Judge()
        self.where: dict[tuple[int, int], tuple[int, int]] = {}
        self.decisions = 0

    def run(self, made):
        """Do all of it."""
        for number, record in enumerate(made.records):
            if record.op == trace.Op.ALLOC:
                self.alloc(record, number)
            elif record.op == trace.Op.FREE:
                places = [self.where.pop((record.type, slot), None) for slot in range(record.a, record.a + record.b)]
                self.free([place for place in places if place is not None])
            else:
                if record.op == trace.Op.SWAPOFF:
                    self.empty(record.type)
                device_step(self.allocator, self.judge, record)
        self.judge.check_words(self.allocator)
        assert self.allocator.destroy() == 0

    def alloc(self, record, number):
        """Allocate; slots that only the trace got stay away, slots that only we got go back."""
        result = self.allocator.alloc(record.cpu, record.order, number)
        self.judge.alloc(record.order, result, number)
        self.decisions += 1
        nr = 1 << record.order
        if record.type == trace.FAILED:
            if result is not None:
                self.free([(result[0], result[1] + i) for i in range(nr)])
        elif result is not None:
            for i in range(nr):
                self.where[record.type, record.a + i] = (result[0], result[1] + i)

    def free(self, places):
        """Free slots, run by run."""
        clusters: dict[tuple[int, int], int] = {}
        for type_, offset in places:
            key = (type_, offset // SLOTS)
            clusters[key] = clusters.get(key, 0) | 1 << offset % SLOTS
        for (type_, cluster), mask in clusters.items():
            for slot, nr in runs(mask):
                assert self.allocator.free(type_, cluster * SLOTS + slot, nr) == Status.OK
                self.judge.free(type_, cluster * SLOTS + slot, nr)

    def empty(self, type_):
        """Free all slots on a device that goes: the trace has them elsewhere, or freed."""
        for cluster, used in self.judge.in_use(type_):
            for slot, nr in runs(used):
                assert self.allocator.free(type_, cluster * SLOTS + slot, nr) == Status.OK
                self.judge.free(type_, cluster * SLOTS + slot, nr)
        self.where = {theirs: ours for theirs, ours in self.where.items() if ours[0] != type_}


def replay(library, name, made):
    """Run a trace on an allocator: stock decides as the trace, tuned does all of its work by the rules."""
    if name == "stock":
        replay_stock(library, made)
        return
    mapped = Mapped(library, made)
    mapped.run(made)
    assert mapped.decisions == sum(record.op == trace.Op.ALLOC for record in made.records)


@BOTH
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.split(".")[0])
def test_recorded_work_is_decided_as_the_kernel_did_or_by_the_rules(library, name, path):
    replay(library, name, trace.read(path))


@BOTH
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1), devices=st.integers(1, 8), cpus=st.integers(1, 5), span=st.sampled_from([2, 6, 24])
)
def test_streams_are_decided_as_by_the_golden_model_or_by_the_rules(library, name, seed, devices, cpus, span):
    shape = stream.Shape(seed=seed, ops=2500, devices=devices, cpus=cpus, span=span, clusters=64)
    replay(library, name, stream.generate(shape))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_tuned_finds_every_run_there_is(library, seed):
    """On one small device that is nearly full all the time: every failure is judged."""
    rng = random.Random(seed)
    allocator, judge = Allocator(library, "tuned"), Judge()
    pages = rng.choice((2, 3, 4)) * SLOTS - rng.choice((0, 1, 37))
    device_step(allocator, judge, trace.prepare(0, pages, PLAIN, -1))
    device_step(allocator, judge, trace.swapon(0))
    held, failures = [], 0
    weights = [rng.random() ** 3 for _ in range(ORDERS)]
    for number in range(1500):
        order = rng.choices(range(ORDERS), weights)[0]
        result = allocator.alloc(0, order, number)
        judge.alloc(order, result, number)
        if result is None:
            failures += 1
        else:
            held.append((result[1], 1 << order))
        while held and (result is None or rng.random() < 0.2):
            offset, nr = held.pop(rng.randrange(len(held)))
            start = rng.randrange(nr) if rng.random() < 0.5 else 0
            part = rng.randint(1, nr - start) if start or rng.random() < 0.3 else nr
            held += [(o, n) for o, n in ((offset, start), (offset + start + part, nr - start - part)) if n]
            assert allocator.free(0, offset + start, part) == Status.OK
            judge.free(0, offset + start, part)
            if rng.random() < 0.5:
                break
    assert failures
    for offset, nr in held:
        assert allocator.free(0, offset, nr) == Status.OK
        judge.free(0, offset, nr)
    judge.check_words(allocator)
    assert allocator.destroy() == 0


@BOTH
def test_what_makes_no_sense_is_refused_and_changes_nothing(library, name):
    allocator = Allocator(library, name, devices=2, cpus=1)
    assert allocator.prepare(2, 1024, PLAIN, 0) == Status.BAD_DEVICE
    assert allocator.prepare(0, 0, PLAIN, 0) == Status.BAD_RANGE
    assert allocator.prepare(0, 1024, BLKDEV, 0) == Status.UNSUPPORTED
    assert allocator.prepare(0, 1024, PLAIN | DISCARD, 0) == Status.UNSUPPORTED
    assert allocator.swapon(0) == Status.BAD_DEVICE
    assert allocator.prepare(0, 1024, PLAIN, 0) == Status.OK
    assert allocator.prepare(0, 1024, PLAIN, 0) == Status.BAD_DEVICE
    assert allocator.mark_bad(0, 5, 2) == Status.OK
    assert allocator.mark_bad(0, 6, 1) == Status.BAD_RANGE
    assert allocator.mark_bad(0, 511, 2) == Status.BAD_RANGE
    assert allocator.free(0, 5, 1) == Status.BAD_DEVICE
    assert allocator.swapon(0) == Status.OK
    assert allocator.swapon(0) == Status.BAD_DEVICE
    assert allocator.mark_bad(0, 7, 1) == Status.BAD_DEVICE
    result = allocator.alloc(0, 3, 1)
    assert result is not None
    for offset, nr in (
        (result[1] - 1, 8),
        (result[1], 9),
        (result[1] + 8, 1),
        (0, 1),
        (1024, 1),
        (600, 0),
        (1000, 513),
    ):
        assert allocator.free(0, offset, nr) == Status.BAD_RANGE, (offset, nr)
    assert allocator.free(0, result[1], 8) == Status.OK
    assert allocator.free(0, result[1], 8) == Status.BAD_RANGE
    assert allocator.destroy() == 0


def test_tuned_uses_devices_by_priority_and_equals_in_turn(library):
    allocator = Allocator(library, "tuned", devices=3, cpus=1)
    for type_, priority in ((0, 1), (1, 5), (2, 5)):
        assert allocator.prepare(type_, 4 * SLOTS, PLAIN, priority) == Status.OK
        assert allocator.swapon(type_) == Status.OK
    used = [allocator.alloc(0, 9, 0)[0] for _ in range(9)]
    assert sorted(used[:6]) == [1, 1, 1, 2, 2, 2]
    assert used[0] != used[1]
    assert used[6:] == [0, 0, 0]
    assert allocator.alloc(0, 9, 0) is None
