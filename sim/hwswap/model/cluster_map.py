# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of its clusters in host memory, and how the engine reads it: all of them in turn.

For each cluster of all devices (*global cluster*: the device's base + the cluster in the device) there is a bitmap and
a word. The kernel stores them as they change and says no more; the engine reads them in rounds. Each access is a step
of its own here, so that a test can put them into any order: `change` is the kernel's, `Reader` is the engine's. Source:
docs/grants.md.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from hwswap_map import Flag

from hwswap.model.rows import ALL, ORDERS, SLOTS, free_runs

BLOCK: Final = 16
"""Clusters whose words are read at once: 64 bytes."""

WORD_SLOTS: Final = 64
"""Slots of one word of a bitmap."""

WORDS: Final = SLOTS // WORD_SLOTS
"""Words of 64 bits of a bitmap."""

LISTED: Final = (Flag.NONFULL, Flag.FRAG)
"""Lists of clusters that are in use and have room."""


@dataclass(frozen=True)
class Word:
    """WORD of a cluster, 32 bits: the order it is exclusive to, the list it is on, its device's epoch (8 bits)."""

    order: int = 0
    list: Flag = Flag.NONE
    epoch: int = 0

    def pack(self) -> int:
        """Return the 32 bits."""
        return self.order | self.list << 4 | self.epoch << 8

    @classmethod
    def unpack(cls, value: int) -> "Word":
        """Read 32 bits; a list or an order that there is not is taken for no list, which is never granted from."""
        order, list_ = value & 15, value >> 4 & 7
        if order >= ORDERS or list_ > Flag.DISCARD:
            return cls(0, Flag.NONE, value >> 8 & 255)
        return cls(order, Flag(list_), value >> 8 & 255)


class Arrays:
    """The arrays in host memory. BITMAP is held in words of 64 bits: no store and no read is wider."""

    def __init__(self, clusters: int) -> None:
        """Make arrays for so many global clusters, all zero: on no list, so that nothing of it is granted."""
        self.clusters = clusters
        self.bitmap = [[0] * WORDS for _ in range(clusters)]
        self.word = [0] * clusters

    def used(self, cluster: int) -> int:
        """Return a cluster's bitmap as one integer."""
        return sum(word << WORD_SLOTS * i for i, word in enumerate(self.bitmap[cluster]))


def change(arrays: Arrays, cluster: int, used: int, word: Word) -> Iterator[str]:
    """Store a cluster's new bitmap and word under its lock, those words that are others than before, one a step.

    Args:
        arrays: in host memory.
        cluster: global cluster.
        used: a bit a slot, 1: in use, bad, or after the device's end.
        word: order, list and epoch.

    Yields:
        After each store, the name of the array.
    """
    for i in range(WORDS):
        part = used >> WORD_SLOTS * i & (1 << WORD_SLOTS) - 1
        if arrays.bitmap[cluster][i] != part:
            arrays.bitmap[cluster][i] = part
            yield "BITMAP"
    if arrays.word[cluster] != word.pack():
        arrays.word[cluster] = word.pack()
        yield "WORD"


# The engine


@dataclass(frozen=True)
class Summary:
    """What the engine keeps of a cluster: its word, and the largest order with an aligned free run (-1: none)."""

    word: Word = Word()
    run: int = -1


def largest_run(used: int) -> int:
    """Return the largest order of which there is an aligned free run, -1 if the cluster is full."""
    return max((order for order in range(ORDERS) if free_runs(used & ALL, order)), default=-1)


def read_bitmap(arrays: Arrays, cluster: int) -> Generator[str, Any, int]:
    """Read a bitmap, a word of 64 bits a step; the kernel may store between two of them.

    Yields:
        After each read, its name.

    Returns:
        The bitmap as one integer.
    """
    used = 0
    for i in range(WORDS):
        used |= arrays.bitmap[cluster][i] << WORD_SLOTS * i
        yield "BITMAP read"
    return used


class Reader:
    """The engine's reader: goes over all clusters in rounds, and reads one out of turn when it is asked to.

    What it reads may be old or torn: that costs a grant that is refused, and the next round mends it.

    Attributes:
        summaries: of all clusters, as they were read last.
        rounds: those that are finished.
    """

    def __init__(self, arrays: Arrays) -> None:
        """Begin before the first cluster, and know nothing: all on no list."""
        self.arrays = arrays
        self.summaries = [Summary()] * arrays.clusters
        self.rounds = 0
        self.asked: int | None = None
        self.first = 0
        self.words = [0] * BLOCK
        self.steps = self.go()

    def step(self) -> str:
        """Make one access to memory; return its name, `round` at a round's end, `again` when what was asked is read."""
        return next(self.steps)

    def again(self, cluster: int) -> Iterator[str]:
        """Have a cluster read before the next one whose turn it is.

        Yields:
            After each step of the reader, its name.
        """
        self.asked = cluster
        while self.asked is not None:
            yield self.step()

    def go(self) -> Iterator[str]:
        """Go round for ever; each step is one access to memory and its answer."""
        while True:
            for first in range(0, self.arrays.clusters, BLOCK):
                self.first = first
                yield from self.answer()
                self.words = self.arrays.word[first : first + BLOCK]
                yield "WORD read"
                for cluster in range(first, first + len(self.words)):
                    yield from self.answer()
                    yield from self.read(cluster, self.words[cluster - first])
            self.rounds += 1
            yield "round"

    def answer(self) -> Iterator[str]:
        """Read the cluster that was asked for, if one was: word, and bitmap, both anew.

        A read is of two words. Those of the round's block are its newest then.
        """
        if self.asked is None:
            return
        pair = self.asked // 2 * 2
        words = self.arrays.word[pair : pair + 2]
        if 0 <= pair - self.first < len(self.words):
            self.words[pair - self.first : pair - self.first + 2] = words
        yield "WORD read"
        yield from self.read(self.asked, words[self.asked - pair])
        self.asked = None
        yield "again"

    def read(self, cluster: int, value: int) -> Iterator[str]:
        """Read the bitmap of a cluster with this word where it matters, and keep what was read."""
        word, run = Word.unpack(value), -1
        if word.list == Flag.FREE:
            run = ORDERS - 1
        elif word.list in LISTED:
            run = largest_run((yield from read_bitmap(self.arrays, cluster)))
        self.summaries[cluster] = Summary(word, run)
