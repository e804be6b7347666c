# SPDX-License-Identifier: Apache-2.0
"""The swap cache as a tree, as it was before the swap tables: an XArray for each 64 MiB of a device, by its rules.

A node has 64 slots (lib/xarray.c). The tree has as many levels as its highest index needs: it grows at the top when an
index does not fit (xas_expand), an empty node is freed (xas_delete_node), and a top node of which only the first slot
is used gives way to what is there (xas_shrink). Index 0 alone is kept in the root, without a node.
"""

from collections.abc import Iterator

BITS = 6
"""Of an index that a node resolves (XA_CHUNK_SHIFT)."""

MASK = (1 << BITS) - 1
NODE_BYTES = 576
"""Of `struct xa_node` with 64-bit pointers."""

SLOTS_AT = 40
"""Bytes before its slots: shift and counts, parent, array, a list."""

WORD = 8
ROOT_BYTES = 64
"""A root is counted as a cache line of its own: it is a field of a larger structure, one a tree."""

TREE_SHIFT = 14
"""Indices of a tree: 64 MiB of pages (SWAP_ADDRESS_SPACE_SHIFT)."""


class Node:
    """A node: what is in its slots, by number; in the lowest level entries, which stand for themselves (None)."""

    __slots__ = ("number", "shift", "slots")

    def __init__(self, number: int, shift: int) -> None:
        """Make an empty node; `number` tells where it is in memory."""
        self.number = number
        self.shift = shift
        self.slots: dict[int, Node | None] = {}


Head = Node | bool
"""A top node, or whether index 0 alone has an entry."""


class Tree:
    """One tree."""

    def __init__(self) -> None:
        """Begin empty."""
        self.head: Head = False
        self.nodes = 0
        self.made = 0
        self.free: list[int] = []

    def node(self, shift: int) -> Node:
        """Make a node, in the place of the one that was freed last, if any."""
        self.nodes += 1
        if self.free:
            return Node(self.free.pop(), shift)
        self.made += 1
        return Node(self.made - 1, shift)

    def drop(self, node: Node) -> None:
        """Free a node."""
        self.nodes -= 1
        self.free.append(node.number)

    def store(self, index: int) -> None:
        """Put an entry at an index."""
        if not isinstance(self.head, Node):
            if index == 0:
                self.head = True
                return
            shift = 0
            while not self.head and index >> shift + BITS:
                shift += BITS
            top = self.node(shift)
            if self.head:
                top.slots[0] = None
            self.head = top
        while index >> self.head.shift + BITS:
            top = self.node(self.head.shift + BITS)
            top.slots[0] = self.head
            self.head = top
        node = self.head
        while node.shift:
            slot = index >> node.shift & MASK
            below = node.slots.get(slot)
            if below is None:
                below = node.slots[slot] = self.node(node.shift - BITS)
            node = below
        node.slots[index & MASK] = None

    def erase(self, index: int) -> None:
        """Take the entry of an index away; a KeyError tells that there is none."""
        if not isinstance(self.head, Node):
            if index or not self.head:
                raise KeyError(index)
            self.head = False
            return
        path = [self.head]
        if index >> self.head.shift + BITS:
            raise KeyError(index)
        while path[-1].shift:
            below = path[-1].slots[index >> path[-1].shift & MASK]
            if below is None:
                raise KeyError(index)
            path.append(below)
        del path[-1].slots[index & MASK]
        while path and not path[-1].slots:
            self.drop(path.pop())
            if not path:
                self.head = False
                return
            del path[-1].slots[index >> path[-1].shift & MASK]
        self.shrink()

    def shrink(self) -> None:
        """Take top nodes away of which only the first slot is used."""
        while isinstance(self.head, Node) and list(self.head.slots) == [0]:
            self.drop(self.head)
            below = self.head.slots[0]
            self.head = True if below is None else below

    def loads(self, index: int) -> Iterator[int]:
        """Yield the addresses that a look-up reads, the root's first; it ends where nothing is below.

        Each address follows from what was read before: a node's slot from its shift.
        """
        yield -ROOT_BYTES
        node = self.head
        if not isinstance(node, Node):
            return
        yield node.number * NODE_BYTES
        if index >> node.shift + BITS:
            return
        while True:
            slot = index >> node.shift & MASK
            yield node.number * NODE_BYTES + SLOTS_AT + slot * WORD
            below = node.slots.get(slot)
            if below is None:
                return
            node = below
            yield node.number * NODE_BYTES


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
