# SPDX-License-Identifier: Apache-2.0
"""A cluster's 512 slots as one big integer, and the search for an aligned free run in it.

Bit i is slot i of the cluster; 1 means in use. Everything here is pure arithmetic on such integers.
"""

from typing import Final

SLOTS: Final = 512
"""Slots of a cluster (SWAPFILE_CLUSTER with 4 KiB pages and 2 MiB huge pages)."""

ORDERS: Final = 10
"""Orders 0 to 9 (SWAP_NR_ORDERS with CONFIG_THP_SWAP)."""

ALL: Final = (1 << SLOTS) - 1
"""Every slot of a cluster."""

ALIGNED: Final = tuple(sum(1 << slot for slot in range(0, SLOTS, 1 << order)) for order in range(ORDERS))
"""For each order the slots at which a run of that order may begin."""

BLOCK: Final = tuple((1 << (1 << order)) - 1 for order in range(ORDERS))
"""For each order a run of 2^order ones, at slot 0."""


def run(slot: int, nr: int) -> int:
    """Return the mask of `nr` slots from `slot` upwards."""
    return ((1 << nr) - 1) << slot


def free_runs(used: int, order: int) -> int:
    """Return the slots at which an aligned run of 2^order free slots begins, as a mask.

    In step i a bit survives only if the 2^i slots from it and the 2^i slots after those are free, so after `order`
    steps it stands for 2^order free slots. Ones never come in from above slot 511.
    """
    free = ALL & ~used
    for step in range(order):
        free &= free >> (1 << step)
    return free & ALIGNED[order]


def first_fit(used: int, order: int, start: int) -> int:
    """Return the lowest slot >= `start` of an aligned free run of 2^order slots, -1 if there is none.

    What the loop of `alloc_swap_scan_cluster` over `cluster_scan_range` finds for a `start` aligned to 2^order.
    """
    candidates = free_runs(used, order) >> start
    if not candidates:
        return -1
    return start + (candidates & -candidates).bit_length() - 1


def runs(mask: int) -> list[tuple[int, int]]:
    """Return the maximal runs of ones of `mask` in rising order as (first slot, slots)."""
    found = []
    base = 0
    while mask:
        skip = (mask & -mask).bit_length() - 1
        mask >>= skip
        base += skip
        length = (~mask & (mask + 1)).bit_length() - 1
        found.append((base, length))
        mask >>= length
        base += length
    return found
