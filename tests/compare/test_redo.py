# SPDX-License-Identifier: Apache-2.0
"""The operations of a trace under other policies."""

import pytest
from allocators import SSD
from hwswap.compare import check
from hwswap.compare.redo import redo, together
from hwswap.model.clusters import DISCARD
from hwswap.model.policy import DeviceOrder, Hint, Placement, Policy, Scan
from hwswap.model.rows import SLOTS
from hwswap.traces import stream, trace
from hwswap.traces.records import FAILED, Op
from hwswap.traces.stream import Shape
from hwswap.traces.trace import alloc, discard_done, discard_take, free, prepare, swapoff, swapoff_begin, swapon


def made(*records: trace.Record) -> trace.Trace:
    header = trace.Header("generated", "rules of 7.3.4", "golden model", "by hand", None, 1)
    return trace.complete(header, list(records))


POLICIES = [
    Policy(scan=Scan.FREE_FIRST),
    Policy(device=DeviceOrder.SEQUENTIAL),
    Policy(hint=Hint.RANDOM_TRUNK),
    Policy(placement=Placement.INDEXED),
]


@pytest.fixture(scope="module")
def streamed() -> trace.Trace:
    shape = Shape(5, ops=4000, span=4, cpus=2)
    return trace.complete(stream.header(shape), list(stream.Stream(shape)))


def test_under_its_own_policy_the_same_allocations_fail(streamed):
    """A stream's failures are not followed by single slots; the allocations tried are those in the stream."""
    large = [
        [r[1:5] for r in records if r.op == Op.ALLOC and r.order]
        for records in (streamed.records, redo(streamed, Policy()))
    ]
    assert large[0] == large[1]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_what_was_done_is_what_the_model_does(streamed, policy):
    records = redo(streamed, policy)
    again = made(*records)
    again.header.cpus = streamed.header.cpus
    outcome = check.replay(trace.complete(again.header, records))
    assert outcome.difference is None, str(outcome.difference)


def test_a_large_order_that_fails_falls_back_to_single_slots():
    """FREE_FIRST uses the second empty cluster for order 3, so none is left for order 9."""
    records = [
        prepare(0, 3 * SLOTS, SSD, 0),
        swapon(0),
        alloc(0, 3, (0, SLOTS)),
        alloc(0, 3, (0, SLOTS + 8)),
        free(0, 0, SLOTS, 8),
        alloc(0, 9, (0, 2 * SLOTS)),
        free(0, 0, 2 * SLOTS, SLOTS),
    ]
    assert check.check(made(*records)) is None
    # Another CPU has no place to go on: it looks at FREE first.
    records.insert(5, alloc(1, 3, (0, SLOTS)))
    two = made(*records)
    two.header.cpus = 2
    after = redo(two, Policy(scan=Scan.FREE_FIRST))
    assert [record.type for record in after if record.op == Op.ALLOC and record.order == 9] == [FAILED]
    assert [record.type for record in after if record.op == Op.ALLOC and record.order == 0] == [0] * SLOTS
    assert sum(record.b for record in after if record.op == Op.FREE) == 8 + SLOTS, "all single slots are freed"


def test_what_is_held_on_a_device_that_goes_is_freed():
    """Under SEQUENTIAL both allocations are on device 0, which goes empty in the trace."""
    records = [
        prepare(0, 3 * SLOTS, SSD, -1),
        swapon(0),
        prepare(1, 3 * SLOTS, SSD, -1),
        swapon(1),
        alloc(0, 4, (0, SLOTS)),
        alloc(0, 5, (1, SLOTS)),
        free(0, 0, SLOTS, 16),
        swapoff_begin(0),
        swapoff(0),
    ]
    assert check.check(made(*records)) is None
    after = redo(made(*records), Policy(device=DeviceOrder.SEQUENTIAL))
    frees = [(record.type, record.b) for record in after if record.op == Op.FREE]
    assert frees == [(0, 16), (0, 32)]


def test_a_discard_ends_with_its_device():
    """A cluster taken for a discard on a device that went is none of the next one's, which is smaller here."""
    given = [alloc(0, 9, (0, SLOTS)), alloc(0, 9, (0, 2 * SLOTS))]
    first = [prepare(0, 3 * SLOTS, SSD | DISCARD, -1), swapon(0), *given, free(0, 0, 2 * SLOTS, SLOTS)]
    going = [discard_take(0, 2 * SLOTS), swapoff_begin(0), swapoff(0)]
    second = [prepare(0, 2 * SLOTS, SSD | DISCARD, -1), swapon(0), given[0], free(0, 0, SLOTS, SLOTS)]
    records = redo(made(*first, *going, *second, discard_take(0, SLOTS), discard_done(0, SLOTS)), Policy())
    assert [record.a for record in records if record.op == Op.DISCARD_DONE] == [SLOTS]


def test_slots_are_freed_together_inside_a_cluster():
    places = [(0, 510), (0, 511), (0, 512), (1, 513), (1, 514)]
    assert list(together(places)) == [(0, 510, 2), (0, 512, 1), (1, 513, 2)]
