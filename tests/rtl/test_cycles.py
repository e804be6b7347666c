# SPDX-License-Identifier: Apache-2.0
"""The cycles of operations on a recorded trace, and of allocations under PLACEMENT: INDEXED on streams that take long.

Of the latter (docs/engine.md), what is promised is for one visit of a device, and for each further one: the golden
model counts the visits, and the longest allocation of a stream may not take longer than its longest walk along the
devices may.
"""

import random
from collections import Counter

import pytest
from hwswap.bench.engine_cycles import DATA, INDEXED, goals, measure, measure_file
from hwswap.compare import operations
from hwswap.compare.redo import redo
from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.golden import VISITS
from hwswap.model.policy import Placement, Policy
from hwswap.model.rows import SLOTS
from hwswap.traces import trace
from hwswap.traces.stream import Shape, generate, header
from run_seed import SEED
from watched_models import Walking

ROTATING = 12
"""Cycles more where a rotating device is visited: its own place is read first, and its cluster searched twice."""

FURTHER = 8
"""Cycles of each further visit."""

FURTHER_ROTATING = 3
"""So many more if that device rotates."""

LEFT = 1
"""Cycles more where the CPU's place is on a device that is on its way off: it is searched, and refused."""


@pytest.fixture
def walking(monkeypatch):
    """Have the golden model note its walks."""
    monkeypatch.setattr(Walking, "longest", (0, 0))
    monkeypatch.setattr(Walking, "left", 0)
    monkeypatch.setattr(operations, "Allocator", Walking)
    return Walking


def promised(visits: int, rotating: int) -> int:
    """Return the most cycles that an allocation with so many visits takes, some of them of rotating devices."""
    return INDEXED + FURTHER * max(visits - 1, 0) + (ROTATING + FURTHER_ROTATING * rotating if rotating else 0)


def allocations(records, shape: Shape) -> Counter[int]:
    """Return how many allocations take so many cycles in the core."""
    return measure(trace.complete(header(shape), records), "longest").allocs


@pytest.mark.parametrize("number", range(12))
def test_no_allocation_of_a_random_stream_takes_longer_than_promised(walking, number):
    rng = random.Random(SEED + number)
    features = frozenset(name for name in ("discard", "rotating") if rng.random() < 0.7)
    devices, span = rng.choice((1, 2, 3, 4, 8)), rng.choice((3, 12, 24))
    shape = Shape(rng.getrandbits(32), 6000, devices, cpus=3, clusters=128, span=span, features=features)
    done = redo(generate(shape), Policy(placement=Placement.INDEXED))
    took = allocations(done, shape)
    most = promised(*walking.longest)
    # More than an allocation takes that goes on at its CPU's place: the index was asked.
    assert 8 < max(took) <= most + LEFT, walking.longest
    assert sum(number for cycles, number in took.items() if cycles > most) <= walking.left


@pytest.mark.parametrize("devices", [2, 3, 8])
@pytest.mark.parametrize("flags", [SOLIDSTATE | BLKDEV | DISCARD, BLKDEV | DISCARD])
def test_devices_that_wait_for_discards_are_visited_as_often_as_there_is_patience(walking, devices, flags):
    model = Walking(devices, 2, 128)
    policy = Policy(placement=Placement.INDEXED)
    model.set_policy(policy)
    records = [trace.policy(policy)]
    for type_ in range(devices):
        model.prepare(type_, 3 * SLOTS, 3 * type_, flags, -1)
        model.swapon(type_)
        records += [trace.prepare(type_, 3 * SLOTS, flags, -1), trace.swapon(type_)]

    def alloc(order):
        found = model.alloc(1, order)
        records.append(trace.alloc(1, order, found))
        return found

    for order in (9, 0):
        while alloc(order):
            pass
    # Of each device one cluster is emptied: it is not full, and has nothing to give.
    for type_ in range(devices):
        model.free(type_, SLOTS, SLOTS)
        records.append(trace.free(0, type_, SLOTS, SLOTS))
    for order in (0, 0, 9):
        assert alloc(order) is None
    shape = Shape(1, len(records), devices, cpus=2, clusters=128, span=3)
    visits, rotating = walking.longest
    assert visits == VISITS and rotating in (0, VISITS)
    took = max(allocations(records, shape))
    assert FURTHER * VISITS < took <= promised(visits, rotating), (took, promised(visits, rotating))


def test_a_recorded_trace_meets_the_targets():
    linux, indexed = measure_file(DATA / "fragmented.hwst.gz")
    assert [target for target in goals([linux], [indexed]) if not target.met] == []
