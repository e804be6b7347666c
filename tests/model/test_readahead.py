# SPDX-License-Identifier: Apache-2.0
"""The readahead window: cases worked out by hand. Recorded ones are in tests/compare/test_recorded_windows.py."""

import pytest
from hwswap.model.readahead import Policy, Readahead, Window

END = 10_000


@pytest.mark.parametrize(
    ("state", "fault", "window", "after"),
    [
        # (previous, last), (offset, hits, page_cluster), (first, slots), (previous, last)
        ((0, 0), (1000, 0, 3), (1000, 1), (1000, 1)),  # no hits, far away
        ((1000, 1), (1001, 0, 3), (1000, 2), (1001, 2)),  # next to it: 2, aligned downwards
        ((1001, 2), (1000, 0, 3), (1000, 2), (1000, 2)),  # before it
        ((1000, 2), (1003, 1, 3), (1000, 4), (1000, 4)),  # 1 hit: 3, so 4; hits leave the previous offset
        ((1000, 4), (1004, 2, 3), (1004, 4), (1000, 4)),  # 2 hits: 4
        ((1000, 4), (1009, 3, 3), (1008, 8), (1000, 8)),  # 3 hits: 5, so 8
        ((1000, 8), (1017, 7, 3), (1016, 8), (1000, 8)),  # 9, so 16, at most 8
        ((1000, 8), (5000, 0, 3), (5000, 4), (5000, 4)),  # 1, but at least half of 8
        ((5000, 4), (7001, 0, 3), (7000, 2), (7001, 2)),
        ((7001, 2), (9000, 0, 3), (9000, 1), (9000, 1)),
        ((9000, 8), (9002, 0, 1), (9000, 4), (9002, 4)),  # half of the last one, although the limit is 2
        ((9000, 512), (600, 0, 9), (512, 256), (600, 256)),
        ((9000, 1), (600, 4_294_967_295, 9), (512, 512), (9000, 512)),  # hits do not wrap
        ((9000, 1), (600, 4_294_967_294, 2), (600, 4), (9000, 4)),
        ((9000, 1), (3, 5, 3), (1, 7), (9000, 8)),  # slot 0 is left out
        ((0, 0), (1, 0, 1), (1, 1), (1, 2)),  # 1 is next to 0: {0, 1} without 0
        ((9000, 8), (9999, 6, 4), (9992, 8), (9000, 8)),  # up to the device's end
        ((9000, 16), (9998, 9, 4), (9984, 16), (9000, 16)),
        ((9000, 16), (9998, 31, 5), (9984, 16), (9000, 32)),  # cut there, and the state is not
        ((9000, 16), (4321, 5, 0), (4321, 1), (9000, 16)),  # page_cluster 0 touches no state
        ((9000, 16), (9001, 0, 0), (9001, 1), (9000, 16)),
    ],
)
def test_windows_worked_out_by_hand(state, fault, window, after):
    readahead = Readahead(*state)
    assert readahead.window(*fault, END) == window
    assert (readahead.previous, readahead.last) == after


@pytest.mark.parametrize("page_cluster", range(10))
def test_windows_of_each_page_cluster_grow_to_it_and_stay_in_a_cluster(page_cluster):
    readahead = Readahead()
    largest = 0
    for offset in range(4096, 8192):
        first, nr = readahead.window(offset, largest, page_cluster, END)
        assert first <= offset < first + nr
        assert first // 512 == (first + nr - 1) // 512
        largest = max(largest, nr)
    assert largest == 1 << page_cluster


@pytest.mark.parametrize("page_cluster", range(10))
def test_fixed_windows_are_always_the_same_and_leave_the_state(page_cluster):
    readahead = Readahead(123, 8)
    size = 1 << page_cluster
    for hits in (0, 1, 100):
        first, nr = readahead.window(5000, hits, page_cluster, END, Policy.FIXED)
        assert (first, nr) == (5000 - 5000 % size, size)
    assert readahead.window(1, 0, page_cluster, END, Policy.FIXED) == Window(1, max(size - 1, 1))
    last = END - 1
    assert readahead.window(last, 0, page_cluster, END, Policy.FIXED) == Window(last - last % size, last % size + 1)
    assert readahead == Readahead(123, 8)
