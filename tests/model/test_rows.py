# SPDX-License-Identifier: Apache-2.0
"""The bit tricks against plain loops."""

from itertools import pairwise

from hwswap.model import rows
from hypothesis import given
from hypothesis import strategies as st

bitmaps = st.one_of(
    st.integers(0, rows.ALL),
    st.sets(st.integers(0, rows.SLOTS - 1), max_size=12).map(lambda slots: sum(1 << slot for slot in slots)),
    st.sets(st.integers(0, rows.SLOTS - 1), max_size=12).map(lambda slots: rows.ALL ^ sum(1 << slot for slot in slots)),
)


def slow_first_fit(used: int, order: int, start: int) -> int:
    """Look at one candidate after another, slot by slot."""
    for first in range(start, rows.SLOTS - (1 << order) + 1, 1 << order):
        if all(not used >> slot & 1 for slot in range(first, first + (1 << order))):
            return first
    return -1


@given(bitmaps, st.integers(0, rows.ORDERS - 1), st.data())
def test_first_fit_is_the_plain_search(used, order, data):
    start = data.draw(st.integers(0, (rows.SLOTS >> order) - 1)) << order
    assert rows.first_fit(used, order, start) == slow_first_fit(used, order, start)


@given(bitmaps)
def test_runs_cover_the_mask_and_are_maximal(mask):
    found = rows.runs(mask)
    assert sum(rows.run(slot, nr) for slot, nr in found) == mask
    for (slot, nr), (later, _) in pairwise(found):
        assert slot + nr < later


def test_a_run_does_not_reach_over_the_end():
    top = 1 << (rows.SLOTS - 1)
    assert rows.first_fit(rows.ALL ^ top, 1, 0) == -1
    assert rows.first_fit(rows.ALL ^ top, 0, 0) == rows.SLOTS - 1
