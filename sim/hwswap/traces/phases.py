# SPDX-License-Identifier: Apache-2.0
"""Phases that random streams walk through."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """A stretch of a stream: which share of the slots it steers to, of which orders it allocates, and how it frees.

    `level` bounds the share of slots in use it makes for, `orders` are weights of orders 0 to 9, `whole` is the share
    of frees that give back an allocation as it was made, `length` bounds the operations.
    """

    name: str
    level: tuple[float, float]
    orders: tuple[int, ...]
    whole: float
    length: tuple[int, int]


SMALL = (60, 6, 8, 4, 12, 2, 2, 2, 2, 2)
LARGE = (10, 4, 8, 4, 16, 4, 4, 6, 6, 8)
MIDDLE = (4, 6, 6, 6, 8, 2, 1, 1, 0, 0)
SINGLE = (1,) + (0,) * 9
EVEN = (1,) * 10

PHASES = (
    Phase("fill", (0.5, 0.95), LARGE, 0.8, (300, 1500)),
    Phase("churn", (0.2, 0.9), SMALL, 0.7, (300, 1500)),
    Phase("churn, middle orders", (0.6, 0.95), MIDDLE, 0.6, (300, 1500)),
    Phase("churn, all orders", (0.3, 1.0), EVEN, 0.5, (200, 1000)),
    Phase("fragment", (0.4, 0.8), SINGLE, 0.1, (300, 1500)),
    Phase("large in fragments", (0.7, 0.95), MIDDLE, 0.3, (200, 1000)),
    Phase("near full", (0.97, 1.0), SMALL, 0.4, (300, 1500)),
    Phase("steal", (0.9, 1.0), SINGLE, 0.4, (200, 1000)),
    Phase("drain", (0.0, 0.1), SMALL, 0.9, (200, 1200)),
)

FILL_UP = Phase("fill up", (1.0, 1.0), LARGE, 0.9, (300, 1500))
HOLES = Phase("fill holes", (1.0, 1.0), MIDDLE, 0.3, (100, 600))
