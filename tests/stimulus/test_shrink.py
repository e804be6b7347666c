# SPDX-License-Identifier: Apache-2.0
"""Cutting a stream down: what is left still shows it, and is short."""

import itertools
import random
from collections import Counter

import pytest
from hwswap.compare.check import check
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.rows import SLOTS
from hwswap.stimulus import kernel_streams
from hwswap.stimulus.shrink import Step, again, shrink, steps
from hwswap.traces import trace
from hwswap.traces.records import Op
from hwswap.traces.stream import Shape, header
from run_seed import SEED
from wrong_models import DiscardsToHead, NeverRequeues

SHAPE = Shape(seed=5, ops=3_000, devices=4, cpus=4, clusters=64, span=4)
DISCARDING = Shape(seed=5, ops=4_000, devices=2, cpus=2, clusters=64, span=6, features=frozenset({"discard"}))


def shows(kept, kind=NeverRequeues):
    """Whether what the wrong model makes of operations differs from the right one's."""
    return check(again(kept, SHAPE, kind)) is not None


def first(candidates, kind=NeverRequeues):
    return next((at for at, kept in enumerate(candidates) if shows(kept, kind)), None)


@pytest.mark.parametrize("shape", [SHAPE, DISCARDING])
def test_operations_without_their_outcomes_come_to_the_same_outcomes(shape):
    made, _ = kernel_streams.generate(shape)
    redone = again(steps(made), shape)
    # A free of several allocations at once has become one for each of them.
    assert sum(record.b for record in redone.records if record.op == Op.FREE) == sum(
        record.b for record in made.records if record.op == Op.FREE
    )
    others = [[record for record in each.records if record.op != Op.FREE] for each in (made, redone)]
    assert others[0] == others[1]
    assert check(redone) is None


def test_an_allocation_that_has_discarded_is_one_operation():
    made, _ = kernel_streams.generate(DISCARDING)
    pairs = [(one.op, other.op) for one, other in itertools.pairwise(made.records)]
    assert pairs.count((Op.DISCARD_DONE, Op.ALLOC)) and pairs.count((Op.DISCARD_DONE, Op.DISCARD_TAKE))
    kept = steps(made)
    ops = Counter(step.record.op for step in kept)
    retried = pairs.count((Op.DISCARD_DONE, Op.ALLOC))
    assert ops[Op.ALLOC] == sum(record.op == Op.ALLOC for record in made.records) - retried
    assert ops[Op.DISCARD_TAKE] == sum(record.op == Op.DISCARD_TAKE and not record.a for record in made.records)
    assert not ops[Op.DISCARD_DONE]
    assert [step.number for step in kept if step.record.op == Op.ALLOC] == list(range(ops[Op.ALLOC]))


@pytest.mark.parametrize("shape", [SHAPE, DISCARDING])
@pytest.mark.parametrize("seed", range(5))
def test_any_operations_that_are_left_have_a_meaning(seed, shape):
    made, _ = kernel_streams.generate(shape)
    rng = random.Random(SEED + seed)
    kept = [step for step in steps(made) if rng.random() < 0.7]
    redone = again(kept, shape)
    trace.validate(redone.records, shape.cpus)
    assert check(redone) is None
    assert again(kept, shape, NeverRequeues).records


def test_a_difference_behind_discards_is_cut_down_to_a_few_operations():
    kept = steps(kernel_streams.generate(DISCARDING, DiscardsToHead)[0])
    assert shows(kept, DiscardsToHead)
    short = shrink(kept, lambda candidates: first(candidates, DiscardsToHead))
    assert shows(short, DiscardsToHead) and len(short) <= 10, [step.record for step in short]
    assert any(record.op == Op.DISCARD_DONE for record in again(short, SHAPE).records)


def test_a_difference_is_cut_down_to_a_few_operations():
    rng = random.Random(3)
    model, records = NeverRequeues(SHAPE.devices, SHAPE.cpus, SHAPE.clusters), []
    for type_ in range(3):
        model.prepare(type_, 3 * SLOTS, 3 * type_, SOLIDSTATE | BLKDEV, -1)
        model.swapon(type_)
        records += [trace.prepare(type_, 3 * SLOTS, SOLIDSTATE | BLKDEV, -1), trace.swapon(type_)]
    for _ in range(300):
        cpu, order = rng.randrange(4), rng.randrange(5)
        found = model.alloc(cpu, order)
        records.append(trace.alloc(cpu, order, found))
        if found and rng.random() < 0.5:
            model.free(found.type, found.offset, 1 << order)
            records.append(trace.free(cpu, found.type, found.offset, 1 << order))
    kept = steps(trace.complete(header(SHAPE), records))
    assert shows(kept)
    short = shrink(kept, first)
    assert shows(short)
    # Two devices are switched on, and two allocations have to come to different ones.
    assert len(short) == 6, [step.record for step in short]


def test_what_is_never_shown_by_less_is_left_as_it_is():
    kept = [Step(step.record, step.number, step.parts) for step in steps(kernel_streams.generate(SHAPE)[0])[:40]]
    said = []
    assert shrink(kept, lambda candidates: None, said.append) == kept
    assert said[0] == "shrinking: 40 operations, 4 attempts" and said[-1].endswith("80 attempts")
