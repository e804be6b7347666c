# SPDX-License-Identifier: Apache-2.0
"""Resting and waking (patch 0010, swap_grants_want() and swap_grants_rest_work()): no wish for a ring is lost.

A CPU stores its wish and then looks whether the backend rests; the worker stores that it rests and then looks for
wishes. All orders in which the two stores arrive and the two look: a store may wait in a buffer while its side looks,
unless there is a barrier between the two.
"""

from itertools import permutations

import pytest

EVENTS = [(who, what) for who in ("CPU", "worker") for what in ("arrives", "looks")]


@pytest.mark.parametrize("cpu_fence", [False, True])
@pytest.mark.parametrize("worker_fence", [False, True])
def test_a_wish_is_seen_by_one_side_where_both_have_a_barrier(cpu_fence, worker_fence):
    """The CPU sees that the backend is about to rest, or the worker sees the wish; without a barrier neither may."""
    seen = []
    for order in permutations(EVENTS):
        at = {event: number for number, event in enumerate(order)}
        waits = [side for side in ("CPU", "worker") if at[side, "looks"] < at[side, "arrives"]]
        if not (cpu_fence and "CPU" in waits or worker_fence and "worker" in waits):
            seen.append(at["worker", "arrives"] < at["CPU", "looks"] or at["CPU", "arrives"] < at["worker", "looks"])
    assert any(seen)
    assert all(seen) == (cpu_fence and worker_fence)
