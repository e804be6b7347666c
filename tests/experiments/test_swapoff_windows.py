# SPDX-License-Identifier: Apache-2.0
"""Swapoff's walk by hand."""

import pytest
from hwswap.experiments import swapoff
from hwswap.experiments.swapoff import GUEST, LOADS, WHOLE, Load, runs, swapped_out, walk
from hwswap.model.readahead import Policy
from hwswap.model.rows import SLOTS

IN_ORDER = Load("", shuffled=False, freed=0.0)


def test_fixed_windows_wait_once_for_each_block():
    done = walk(range(1, 64), 64, 3, Policy.FIXED)
    assert (done.waits, done.pages, done.requests) == (8, 63, 8)
    assert done.sizes == {8: 7, 7: 1}  # without the header


def test_adaptive_windows_without_hits_have_one_or_two_slots_whatever_page_cluster():
    """4 alone, as 2 was asked for before it; 5 with its neighbour read already; 6 with 7."""
    for page_cluster in (1, 3, 8):
        done = walk(range(4, 64), 64, page_cluster, Policy.ADAPTIVE)
        assert (done.waits, done.pages) == (45, 60)


def test_the_walk_of_linux_5_6_asks_at_each_page():
    done = walk(range(2, 64), 64, 3, Policy.ADAPTIVE, every_page=True)
    assert done.sizes.total() == 62
    assert done.sizes[2] == 61  # all but the first are next to the one before
    assert done.pages == 62
    assert done.waits == 31 + 1


def test_what_is_free_is_left_out_of_the_reads():
    done = walk([9, 12, 13, 15], 64, 3, Policy.FIXED)
    assert (done.waits, done.pages, done.requests) == (1, 4, 3)
    assert done.time(latency=100, page_cost=10) == 140


@pytest.mark.parametrize(("offsets", "expected"), [([], 0), ([4], 1), ([4, 5, 7, 8], 2)])
def test_runs(offsets, expected):
    assert runs(offsets) == expected


def test_every_walk_reads_each_page_once():
    for load in LOADS:
        slots = swapped_out(load, 2, seed=3)
        for policy in (Policy.ADAPTIVE, Policy.FIXED):
            for every_page in (False, True):
                done = walk(slots, 2 * SLOTS, 4, policy, every_page)
                assert done.pages == len(slots)
                assert 0 < done.waits <= done.requests <= done.pages


def test_loads_are_what_they_say():
    pages = 2 * SLOTS - swapoff.LEFT_OUT
    assert swapped_out(IN_ORDER, 2, seed=1) == list(range(1, pages + 1))
    half = swapped_out(GUEST, 2, seed=1)
    assert len(half) == pages // 2 and half == sorted(half)
    batches = swapped_out(WHOLE, 2, seed=1)
    assert sorted(batches) == list(range(1, pages + 1)) and batches != sorted(batches)
    assert all(batches[at + 1] == batches[at] + 1 for at in range(pages) if at % 32 != 31)
    assert batches != swapped_out(WHOLE, 2, seed=2)


def test_the_fit_hits_what_it_is_fitted_to():
    found = swapoff.walks(2, seed=1)
    latency = swapoff.fitted_latency(found)
    assert latency > 0
    reached = swapoff.ratio(found, swapoff.FITTED_AT, every_page=True, latency=latency, page_cost=1)
    assert reached == pytest.approx(7.75 / 25.35)
