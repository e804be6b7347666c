# SPDX-License-Identifier: Apache-2.0
"""Streams for a running kernel: nothing in them is what a kernel would refuse."""

import itertools
from collections import Counter

import pytest
from hwswap.compare.check import check
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.rows import SLOTS
from hwswap.stimulus import kernel_streams
from hwswap.traces import trace
from hwswap.traces.records import Op
from run_seed import SEED

CASES = list(kernel_streams.cases(SEED + 11, 120_000))


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


def test_cpus_stay_for_some_operations(made):
    changes = allocations = 0
    for case, stream, _ in made:
        if case.shape.cpus > 1:
            cpus = [record.cpu for record in stream.records if record.op == Op.ALLOC]
            changes += sum(one != other for one, other in itertools.pairwise(cpus))
            allocations += len(cpus)
    assert 0.03 < changes / allocations < 0.15
