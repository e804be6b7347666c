# SPDX-License-Identifier: Apache-2.0
"""Discards as a kernel does them: of which device, in which order, and when an allocation would not end."""

import pytest
from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.golden import VISITS, Allocator
from hwswap.model.rows import SLOTS
from hwswap.stimulus.kernel_discards import KernelDiscards
from hwswap.traces import trace
from hwswap.traces.records import Op

CLUSTERS = 3


@pytest.fixture
def kernel():
    """Return the discards of a kernel."""
    return KernelDiscards(Allocator())


@pytest.fixture
def model(kernel):
    return kernel.model


def come(kernel, type_, priority):
    kernel.model.prepare(type_, CLUSTERS * SLOTS, CLUSTERS * type_, DISCARD | SOLIDSTATE | BLKDEV, priority)
    kernel.model.swapon(type_)
    kernel.note(trace.swapon(type_))


def fill(model):
    for order in (9, 0):
        while model.alloc(0, order):
            pass


def empty(model, type_, *clusters):
    for cluster in clusters:
        model.free(type_, cluster * SLOTS, SLOTS)


def test_devices_are_discarded_by_priority_and_equals_in_the_order_they_came(kernel, model):
    for type_, priority in enumerate((3, 5, 5, 3)):
        come(kernel, type_, priority)
    assert kernel.first() is None
    fill(model)
    assert [device.type for device in kernel.active] == [1, 2, 0, 3]
    empty(model, 3, 1)
    assert kernel.first().type == 3
    for type_ in (0, 2, 1):
        empty(model, type_, 1)
        assert kernel.first().type == type_
    # A device that has been on its way off comes after its equals, and is not looked at before.
    model.swapoff_begin(1)
    kernel.note(trace.swapoff_begin(1))
    assert kernel.first().type == 2
    model.swapon(1)
    kernel.note(trace.swapon(1))
    assert [device.type for device in kernel.active] == [2, 1, 0, 3]


def test_an_allocation_discards_all_of_one_device_and_tries_again(kernel, model):
    come(kernel, 0, 5)
    come(kernel, 1, 3)
    fill(model)
    assert kernel.retry(1) == []
    empty(model, 1, 1)
    empty(model, 0, 2, 1)
    assert model.alloc(1, 0) is None
    failed = model.counts.by_path["fail"]
    assert kernel.retry(1) == [
        trace.discard_take(0, 2 * SLOTS),
        trace.discard_done(0, 2 * SLOTS),
        trace.discard_take(0, SLOTS),
        trace.discard_done(0, SLOTS),
        trace.alloc(1, 0, (0, 2 * SLOTS)),
    ]
    assert model.counts.by_path["fail"] == failed - 1
    assert len(model.devices[1].discard) == 1


def test_who_asks_has_all_of_a_device_discarded(kernel, model):
    come(kernel, 0, -1)
    fill(model)
    empty(model, 0, 2, 1)
    ops = [(record.op, record.a) for record in kernel.ask(0)]
    one, other = 2 * SLOTS, SLOTS
    assert ops[:4] == [(op, at) for at in (one, other) for op in (Op.DISCARD_TAKE, Op.DISCARD_DONE)]
    assert ops[4:] == [(Op.DISCARD_TAKE, 0)]
    assert kernel.ask(0) == [trace.discard_take(0, 0)]


@pytest.mark.parametrize(
    ("priorities", "emptied", "round_"),
    [
        ((5, 5), (0, 1), True),
        # One is full, and so not visited.
        ((5, 5), (0,), False),
        ((5, 3), (0, 1), False),
        ((9, 5, 5), (0, 1, 2), True),
        ((5, 5, 3), (0, 1, 2), True),
        ((5, 3, 1), (0, 1, 2), False),
    ],
)
def test_equals_that_have_nothing_but_what_waits_are_visited_without_end(kernel, model, priorities, emptied, round_):
    for type_, priority in enumerate(priorities):
        come(kernel, type_, priority)
    fill(model)
    assert not kernel.goes_round()
    for type_ in emptied:
        empty(model, type_, 1)
    assert kernel.goes_round() == round_
    visits = []
    visit = model.visit
    model.visit = lambda device, cpu: visits.append(device) or visit(device, cpu)
    assert model.alloc(0, 0) is None
    assert (len(visits) == VISITS) == round_
    # A device that has something to give ends it, if it is visited at all: an equal, or one of a better priority.
    model.free(0, 1, 1)
    assert not kernel.goes_round()
    assert model.alloc(0, 0) == (0, 1)
