# SPDX-License-Identifier: Apache-2.0
"""Slots that a random stream has in use, and the draw of those that it frees."""

import random
from dataclasses import dataclass, field

from hwswap.model.rows import SLOTS, runs


@dataclass
class InUse:
    """Slots that are allocated on one device: a bitmap a cluster, and the allocations they came from, newest last.

    Allocations that were partly freed stay in the list until they are drawn.
    """

    clusters: dict[int, int] = field(default_factory=dict)
    extents: list[tuple[int, int]] = field(default_factory=list)
    slots: int = 0

    def add(self, offset: int, nr: int) -> None:
        """Note an allocation."""
        index = offset // SLOTS
        self.clusters[index] = self.clusters.get(index, 0) | ((1 << nr) - 1) << offset % SLOTS
        self.extents.append((offset, nr))
        self.slots += nr

    def remove(self, offset: int, nr: int) -> None:
        """Note a free."""
        index = offset // SLOTS
        left = self.clusters[index] & ~(((1 << nr) - 1) << offset % SLOTS)
        if left:
            self.clusters[index] = left
        else:
            del self.clusters[index]
        self.slots -= nr

    def draw(self, rng: random.Random) -> tuple[int, int]:
        """Draw an allocation, or the rest of one: (offset, slots), still in use."""
        while True:
            at = rng.randrange(len(self.extents))
            offset, nr = self.extents[at]
            self.extents[at] = self.extents[-1]
            self.extents.pop()
            mask = self.clusters.get(offset // SLOTS, 0) >> offset % SLOTS & (1 << nr) - 1
            pieces = runs(mask)
            if not pieces:
                continue
            first, length = pieces[0]
            # Another allocation may have taken the slots since; then this frees a part of that one, which is fair too.
            self.extents += [(offset + start, size) for start, size in pieces[1:]]
            return offset + first, length

    def run_around(self, offset: int) -> tuple[int, int]:
        """Return the whole run of used slots around a used one, across allocations: (offset, slots)."""
        index, slot = divmod(offset, SLOTS)
        for start, nr in runs(self.clusters[index]):
            if start <= slot < start + nr:
                return index * SLOTS + start, nr
        raise AssertionError("the slot is not in use")
