# SPDX-License-Identifier: Apache-2.0
"""Marks: how the kernel says which clusters have changed, and how the engine finds out.

Host memory has, for each cluster of all devices (*global cluster*: the device's base + the cluster in the device), a
bitmap, a word, and a byte that is 1 while the engine has not read what changed (DIRTY); for each 64 clusters one byte
more (GROUP). The kernel stores, the engine clears and reads; neither asks the other. Each access is a step of its own
here, so that a test can put them into any order: `change` and `mark` are the kernel's, `Scanner` is the engine's.

In which order a CPU's stores become visible is no matter of this model: they do at once. hwswap.verify.mark_race has
that. Source: docs/grants.md.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from hwswap_map import Flag

from hwswap.model.rows import ALL, ORDERS, SLOTS, free_runs

GROUP: Final = 64
"""Clusters of a group."""

WORD_SLOTS: Final = 64
"""Slots of one word of a bitmap."""

WORDS: Final = SLOTS // WORD_SLOTS
"""Words of 64 bits of a bitmap."""

GROUPS_A_READ: Final = 64
"""Bytes of GROUP that the engine reads at once: those of 4,096 clusters."""


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
        self.dirty = bytearray(-(-clusters // GROUP) * GROUP)
        self.group = bytearray(-(-clusters // GROUP))

    def used(self, cluster: int) -> int:
        """Return a cluster's bitmap as one integer."""
        return sum(word << WORD_SLOTS * i for i, word in enumerate(self.bitmap[cluster]))

    def quiet(self) -> bool:
        """Tell whether no cluster is marked."""
        return not any(self.dirty) and not any(self.group)


# The kernel, under the cluster's lock


def change(arrays: Arrays, cluster: int, used: int, word: Word) -> Iterator[str]:
    """Store a cluster's new bitmap and word, those words that are others than before, one a step.

    Args:
        arrays: in host memory.
        cluster: global cluster.
        used: a bit a slot, 1: in use, bad, or behind the device's end.
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


def mark(arrays: Arrays, cluster: int) -> Iterator[str]:
    """Say that a cluster has changed. The kernel does not look first: who looks needs a full barrier.

    Args:
        arrays: in host memory.
        cluster: global cluster.

    Yields:
        After each store, the name of the array. Before each one there is a barrier between stores.
    """
    arrays.dirty[cluster] = 1
    yield "DIRTY"
    arrays.group[cluster // GROUP] = 1
    yield "GROUP"


# The engine


@dataclass(frozen=True)
class Summary:
    """What the engine keeps of a cluster: its word, and the largest order with an aligned free run (-1: none)."""

    word: Word = Word()
    run: int = -1


def largest_run(used: int) -> int:
    """Return the largest order of which there is an aligned free run, -1 if the cluster is full."""
    return max((order for order in range(ORDERS) if free_runs(used, order)), default=-1)


def summary(word: int, used: int) -> Summary:
    """Return what the engine keeps of a cluster with this word and bitmap."""
    return Summary(Word.unpack(word), largest_run(used & ALL))


class Index(Protocol):
    """Where the scanner's summaries go."""

    def scan_begins(self, cluster: int) -> None:
        """Take note that the scanner begins to read a cluster."""

    def scanned(self, cluster: int, found: Summary) -> None:
        """Take over what the scanner has read."""


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


class Scanner:
    """The engine's scan: clears what it saw before it reads what that stands for, so a change it misses is marked."""

    def __init__(self, arrays: Arrays, index: Index) -> None:
        """Begin before the first group."""
        self.arrays = arrays
        self.index = index

    def steps(self) -> Iterator[str]:
        """Go round for ever; each step is one access to memory and its answer.

        Yields:
            After each access, its name; `round` when a round over all groups is finished.
        """
        while True:
            for first in range(0, len(self.arrays.group), GROUPS_A_READ):
                groups = bytes(self.arrays.group[first : first + GROUPS_A_READ])
                yield "GROUP read"
                for group, marked in enumerate(groups, first):
                    if marked:
                        yield from self.one_group(group)
            yield "round"

    def one_group(self, group: int) -> Iterator[str]:
        """Clear a group, then the bytes of its clusters that were 1, then read those clusters."""
        arrays = self.arrays
        arrays.group[group] = 0
        yield "GROUP cleared"
        first = group * GROUP
        dirty = bytes(arrays.dirty[first : first + GROUP])
        yield "DIRTY read"
        marked = [first + i for i, byte in enumerate(dirty) if byte]
        if not marked:
            return
        # Byte strobes: what was 0 may be 1 by now, and must stay.
        for cluster in marked:
            arrays.dirty[cluster] = 0
        yield "DIRTY cleared"
        for cluster in marked:
            if cluster < arrays.clusters:
                yield from self.one_cluster(cluster)

    def one_cluster(self, cluster: int) -> Iterator[str]:
        """Read a cluster's word and bitmap; both may be torn, which costs a grant that is refused at most."""
        self.index.scan_begins(cluster)
        word = self.arrays.word[cluster]
        yield "WORD read"
        used = yield from read_bitmap(self.arrays, cluster)
        self.index.scanned(cluster, summary(word, used))
