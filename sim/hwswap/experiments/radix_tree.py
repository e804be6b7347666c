# SPDX-License-Identifier: Apache-2.0
"""The swap cache as a tree, as it was before the swap tables: an XArray for each 64 MiB of a device, by its rules.

A node has 64 slots (lib/xarray.c). A tree has as many levels as its highest index needs: it grows at the top when an
index does not fit (xas_expand), an empty node is freed (xas_delete_node), and a top node of which only the first slot
is used gives way to what is there (xas_shrink). Index 0 alone is kept in the root, without a node. So the nodes follow
from the indices in use: one for each 64 places of the level below that are, level by level.
"""

from collections import Counter
from collections.abc import Iterator

BITS = 6
"""Of an index that a node resolves (XA_CHUNK_SHIFT)."""

NODE_BYTES = 576
"""Of `struct xa_node` with 64-bit pointers."""

SLOTS_AT = 40
"""Bytes before its slots: shift and counts, parent, array, a list."""

WORD = 8
ROOT_BYTES = 64
"""A root is counted as a cache line of its own: it is a field of a larger structure, one a tree."""

TREE_SHIFT = 14
"""Indices of a tree: 64 MiB of pages (SWAP_ADDRESS_SPACE_SHIFT)."""

LEVELS = -(-TREE_SHIFT // BITS)


class Tree:
    """One tree."""

    def __init__(self) -> None:
        """Begin empty."""
        self.places: list[Counter[int]] = [Counter() for _ in range(LEVELS + 1)]
        """By level, entries by their place there: their index, without as many low bits as the level leaves out."""

    def count(self, index: int, entries: int) -> None:
        """Count an entry at an index more (1), or one less (-1)."""
        for level, places in enumerate(self.places):
            places[index >> BITS * level] += entries
            if not places[index >> BITS * level]:
                del places[index >> BITS * level]

    def store(self, index: int) -> None:
        """Put an entry at an index."""
        if index not in self.places[0]:
            self.count(index, 1)

    def erase(self, index: int) -> None:
        """Take the entry of an index away; a KeyError tells that there is none."""
        if index not in self.places[0]:
            raise KeyError(index)
        self.count(index, -1)

    @property
    def height(self) -> int:
        """The levels that have nodes."""
        return next(level for level, places in enumerate(self.places) if not places or list(places) == [0])

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return sum(len(places) for places in self.places[1 : self.height + 1])

    def loads(self, index: int) -> Iterator[int]:
        """Yield the addresses that a look-up reads, the root's first; it ends where nothing is below.

        Each address follows from what was read before: a node's slot from its shift.
        """
        yield -ROOT_BYTES
        top = self.height
        for level in range(top, 0, -1):
            place = index >> BITS * level
            if level < top and place not in self.places[level]:
                return
            # A node of its own for each place that a level can have.
            address = ((level << TREE_SHIFT) + (place if level < top else 0)) * NODE_BYTES
            yield address
            if level == top and place:
                return
            yield address + SLOTS_AT + (index >> BITS * (level - 1)) % (1 << BITS) * WORD


class Trees:
    """The trees of a device."""

    ROOM = 1 << 32
    """Of addresses for the nodes of a tree."""

    def __init__(self, slots: int) -> None:
        """Begin with a device of so many slots, none in use."""
        self.trees = [Tree() for _ in range(-(-slots >> TREE_SHIFT))]

    def store(self, offset: int) -> None:
        """Put an entry at a slot."""
        self.trees[offset >> TREE_SHIFT].store(offset & (1 << TREE_SHIFT) - 1)

    def erase(self, offset: int) -> None:
        """Take the entry of a slot away."""
        self.trees[offset >> TREE_SHIFT].erase(offset & (1 << TREE_SHIFT) - 1)

    def loads(self, offset: int) -> Iterator[int]:
        """Yield the addresses that a look-up reads."""
        at = offset >> TREE_SHIFT
        for address in self.trees[at].loads(offset & (1 << TREE_SHIFT) - 1):
            yield at * self.ROOM + address

    @property
    def nodes(self) -> int:
        """Count the nodes of all trees."""
        return sum(tree.nodes for tree in self.trees)
