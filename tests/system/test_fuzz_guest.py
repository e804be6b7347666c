# SPDX-License-Identifier: Apache-2.0
"""The short form of `make fuzz`: fresh operations, their seed printed; HWSWAP_SEED=n asks for those of a seed."""

import pytest
from hwswap.kernel import fuzz, fuzz_tally
from hwswap.model.clusters import BLKDEV, SOLIDSTATE
from hwswap.model.golden import Allocator
from hwswap.rtl import replay
from hwswap.stimulus import kernel_streams
from hwswap.traces import stream, trace
from wrong_models import DiscardsToHead, FreesToHead

OPERATIONS = 100_000


def test_kernels_golden_model_and_rtl_give_the_same_answers(tmp_path, fresh_seed):
    tally, found = fuzz.compare(fresh_seed, OPERATIONS, tmp_path, lambda text: None)
    assert found is None, f"{found.who}: {found.said} HWSWAP_SEED={fresh_seed}"
    assert tally.operations == OPERATIONS
    assert fuzz_tally.unlike(tally) == []
    # Each kernel and each engine had its share, each order was placed, and each kind of event was seen.
    assert set(tally.kernels) == set(fuzz.KERNELS)
    assert set(tally.engines) == {engine.build for engine in kernel_streams.ENGINES}
    assert all(tally.allocated[order] for order in range(10)), tally.allocated
    assert tally.events["swapons"] and tally.events["swapoffs"], tally.events
    # Kernels with tracepoints counted what they took off lists.
    assert 0 < tally.traced < OPERATIONS and all(tally.taken[name] for name in fuzz_tally.LEAST_TAKEN), tally.taken


def full_device_taken_back() -> trace.Trace:
    """Return operations in which a swapoff of a full device is given up, and what is allocated then."""
    model = Allocator(2, 1, 4)
    made = []
    for type_, priority in ((0, 5), (1, 0)):
        assert not model.prepare(type_, 1024, 2 * type_, SOLIDSTATE | BLKDEV, priority)
        assert not model.swapon(type_)
        made += [trace.prepare(type_, 1024, SOLIDSTATE | BLKDEV, priority), trace.swapon(type_)]

    def alloc(order: int) -> None:
        made.append(trace.alloc(0, order, model.alloc(0, order)))

    for _ in range(1023):
        alloc(0)
    assert model.devices[0].used == 1024
    model.swapoff_begin(0)
    model.swapon(0)
    made.extend((trace.swapoff_begin(0), trace.swapon(0)))
    for order in (4, 0, 4, 9, 0):
        alloc(order)
    model.free(0, 7, 1)
    made.append(trace.free(0, 0, 7, 1))
    for order in (4, 0, 0, 4):
        alloc(order)
    shape = stream.Shape(seed=0, ops=len(made), devices=2, cpus=1, clusters=4, span=2)
    return trace.complete(stream.header(shape), made)


def test_full_device_whose_swapoff_was_given_up_is_tried_by_kernels_and_rtl(tmp_path):
    made = full_device_taken_back()
    # The first large one finds no room, though the other device is empty.
    assert made.records[1029].type == trace.FAILED and made.records[1030].type == 1
    for kernel in fuzz.KERNELS:
        (said,) = fuzz.on_kernel(kernel, [made], tmp_path / f"{kernel}.log").answers
        assert "answer" not in said, fuzz.answer(said, made)
    assert replay.replay(made).equal


@pytest.mark.parametrize(("kind", "seed"), [(FreesToHead, 1), (DiscardsToHead, 5)])
def test_a_wrong_rule_is_found_on_the_kernel_and_on_the_rtl(tmp_path, kind, seed):
    tally, found = fuzz.compare(seed, 40_000, tmp_path, lambda text: None, kind)
    assert found is not None and found.who in fuzz.KERNELS and tally.operations < 40_000
    assert "the kernel has device" in found.said
    assert fuzz.on_rtl(found.case, found.made)
