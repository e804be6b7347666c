# SPDX-License-Identifier: Apache-2.0
"""A golden model of the slots that the kernel reads around a faulting swap entry (mm/swap_state.c).

ADAPTIVE is the kernel's cluster readahead, which it uses for devices that rotate, for shared memory, and with
vma_ra_enabled off. FIXED always reads 2^page_cluster slots: the patch for swapoff of April 2020.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Policy(IntEnum):
    """The size of a window."""

    ADAPTIVE = 0
    FIXED = 1


class Window(NamedTuple):
    """Slots to read: the first one's offset on the device, and how many, 1 to 512."""

    first: int
    nr: int


def pages(hits: int, adjacent: bool, limit: int, before: int) -> int:
    """Return the size of a window before it is aligned and cut (`__swapin_nr_pages`).

    `hits`: pages that were read ahead and then used since the window before, a number that does not wrap.
    `adjacent`: the entry is next to the previous one. `limit`: 2^page_cluster. `before`: the size of the last window.
    """
    if hits == 0:
        wanted = 2 if adjacent else 1  # no hits to judge by, but it must not get stuck at 1
    else:
        wanted = 4
        while wanted < min(hits + 2, limit):
            wanted *= 2
    return max(min(wanted, limit), before // 2)  # the limit first: a window shrinks by half at most, limit or not


def block(offset: int, size: int, end: int) -> Window:
    """Return the aligned block of `size` slots, a power of two, around a slot of a device with `end` slots.

    Slot 0 is the header, and nothing is past the end (`swap_cluster_readahead`).
    """
    if size == 1:
        return Window(offset, 1)
    first = offset & -size
    last = min(first + size, end)
    first = max(first, 1)
    return Window(first, last - first)


@dataclass
class Readahead:
    """The state of the adaptive window: one for the whole machine, as in the kernel, not one per device."""

    previous: int = 0
    """Offset it was last asked for without hits (static prev_offset)."""

    last: int = 0
    """Size of the last window (static last_readahead_pages)."""

    def window(self, offset: int, hits: int, page_cluster: int, end: int, policy: Policy = Policy.ADAPTIVE) -> Window:
        """Return the slots to read around slot `offset` of a device with `end` slots (`swap_cluster_readahead`).

        `page_cluster` is 0 to 9; with 0 the window is the slot itself and the state stays, as it does with FIXED.
        Whoever counts the hits sets them to 0 whenever they were used, that is, not with page_cluster 0.
        """
        limit = 1 << page_cluster
        if limit == 1 or policy == Policy.FIXED:
            return block(offset, limit, end)
        size = pages(hits, abs(offset - self.previous) == 1, limit, self.last)
        if not hits:
            self.previous = offset
        self.last = size
        return block(offset, size, end)
