# SPDX-License-Identifier: Apache-2.0
"""Streams for a running kernel: none has an operation that a kernel would refuse."""

import itertools
from collections import Counter

import pytest
from hwswap.compare.check import check
from hwswap.model.clusters import BLKDEV, SOLIDSTATE
from hwswap.model.golden import VISITS
from hwswap.model.rows import SLOTS
from hwswap.stimulus import kernel_streams
from hwswap.stimulus.kernel_discards import KernelDiscards
from hwswap.traces import trace
from hwswap.traces.records import Op
from hwswap.traces.stream import Shape
from run_seed import SEED
from watched_models import Walking

CASES = list(kernel_streams.cases(SEED + 11, 120_000))
DISCARDING = Shape(seed=5, ops=4_000, devices=2, cpus=2, clusters=64, span=6, features=frozenset({"discard"}))


@pytest.fixture(scope="module")
def made():
    """The streams themselves, each with its case."""
    return [(case, *kernel_streams.generate(case.shape)) for case in CASES]


def test_a_seed_gives_the_same_streams_and_another_seed_others():
    assert list(kernel_streams.cases(SEED + 11, 120_000)) == CASES
    assert list(kernel_streams.cases(SEED + 12, 120_000)) != CASES
    assert sum(case.shape.ops for case in CASES) == 120_000
    assert {case.engine for case in CASES} == set(kernel_streams.ENGINES)


def test_a_stream_fits_its_engine_and_the_guest(made):
    for case, stream, _ in made:
        header, engine = stream.header, case.engine
        assert header.cpus <= min(engine.cpus, kernel_streams.CPUS)
        assert header.devices <= min(engine.devices, kernel_streams.DEVICES)
        assert header.clusters <= engine.clusters
        assert len(stream.records) == case.shape.ops
        assert check(stream) is None


def test_devices_are_such_as_swapon_takes(made):
    kinds = Counter()
    for _, stream, _ in made:
        files = set()
        for record in stream.records:
            if record.op == Op.PREPARE:
                assert -1 <= record.c <= 32767 and record.cpu == 0
                assert SLOTS // 2 <= record.a <= kernel_streams.LARGEST * SLOTS
                files.discard(record.type)
                if not record.b & BLKDEV:
                    files.add(record.type)
                    assert record.a <= kernel_streams.FILE_CLUSTERS * SLOTS and record.b & SOLIDSTATE
                kinds["file" if record.type in files else "solid" if record.b & SOLIDSTATE else "rotating"] += 1
            # A file's header may not name bad pages.
            assert record.op != Op.BAD or record.type not in files
    assert all(kinds[kind] for kind in ("file", "solid", "rotating")), kinds


def test_a_swapoff_is_given_up_only_while_slots_are_in_use(made):
    given_up = 0
    for _, stream, _ in made:
        held, leaving = Counter(), set()
        for record in stream.records:
            if record.op == Op.ALLOC and record.type != trace.FAILED:
                held[record.type] += 1 << record.order
            elif record.op == Op.FREE:
                held[record.type] -= record.b
            elif record.op == Op.SWAPOFF_BEGIN:
                leaving.add(record.type)
            elif record.op == Op.SWAPOFF:
                leaving.discard(record.type)
                assert not held[record.type]
            elif record.op == Op.SWAPON and record.type in leaving:
                leaving.discard(record.type)
                assert held[record.type]
                given_up += 1
    assert given_up


def test_the_only_device_of_a_stream_is_filled_if_it_is_large():
    shape = Shape(seed=SEED + 3, ops=6_000, devices=1, cpus=2, clusters=8192, span=kernel_streams.LARGEST)
    made, _ = kernel_streams.generate(shape)
    (size,) = (record.a for record in made.records if record.op == Op.PREPARE)
    assert -(-size // SLOTS) == kernel_streams.LARGEST
    used = most = 0
    for record in made.records:
        if record.op == Op.ALLOC and record.type != trace.FAILED:
            used += 1 << record.order
        elif record.op == Op.FREE:
            used -= record.b
        most = max(most, used)
    assert most > 0.99 * size


def test_cpus_stay_for_some_operations_frees_among_them(made):
    changes = operations = 0
    for case, stream, _ in made:
        if case.shape.cpus > 1:
            cpus = [record.cpu for record in stream.records if record.op in (Op.ALLOC, Op.FREE)]
            changes += sum(one != other for one, other in itertools.pairwise(cpus))
            operations += len(cpus)
    assert 0.03 < changes / operations < 0.15


def test_discards_are_asked_for_as_a_whole_or_belong_to_an_allocation_that_failed(made):
    ended = Counter()
    for stream in [kernel_streams.generate(DISCARDING)[0], *(stream for _, stream, _ in made)]:
        records = iter(enumerate(stream.records))
        for number, record in records:
            if record.op != Op.DISCARD_TAKE:
                assert record.op != Op.DISCARD_DONE
                continue
            failed, type_ = stream.records[number - 1], record.type
            while record.op == Op.DISCARD_TAKE and record.a:
                done = next(records)[1]
                assert (done.op, done.type, done.a) == (Op.DISCARD_DONE, type_, record.a)
                record = next(records)[1]
            if record.op == Op.ALLOC:
                assert (failed.op, failed.type, failed.order) == (Op.ALLOC, trace.FAILED, 0)
                assert (record.cpu, record.order, record.type) == (failed.cpu, 0, type_)
            else:
                assert (record.op, record.type, record.a) == (Op.DISCARD_TAKE, type_, 0)
            ended[record.op] += 1
    assert ended[Op.ALLOC] and ended[Op.DISCARD_TAKE], ended


def test_no_allocation_goes_round_between_devices_without_end(monkeypatch):
    equals = Shape(seed=38, ops=8_000, devices=2, cpus=2, clusters=64, span=4, features=frozenset({"discard"}))
    for shape in [equals, *(case.shape for case in CASES if "discard" in case.shape.features)]:
        monkeypatch.setattr(Walking, "longest", (0, 0))
        kernel_streams.generate(shape, Walking)
        assert Walking.longest[0] <= shape.devices
    # Without that care, one does.
    monkeypatch.setattr(KernelDiscards, "goes_round", lambda self: False)
    kernel_streams.generate(equals, Walking)
    assert Walking.longest[0] == VISITS


def test_where_an_allocation_ends_is_counted_once(made):
    for stream, ended in [kernel_streams.generate(DISCARDING), *(each[1:] for each in made)]:
        retried = sum(
            one.op == Op.DISCARD_DONE and other.op == Op.ALLOC for one, other in itertools.pairwise(stream.records)
        )
        assert sum(ended.values()) == sum(record.op == Op.ALLOC for record in stream.records) - retried
