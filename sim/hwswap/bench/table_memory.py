# SPDX-License-Identifier: Apache-2.0
"""The memory that swap tables take as a device fills and empties, beside a swap cache that is a tree.

The golden model allocates until its device is full, and frees until it is empty. A cluster has a table, one page,
while it is not on FREE. The tree holds an entry for each slot in use, folio or shadow, as the kernel's swap cache did
before it became a table: an XArray for each 64 MiB of a device (SWAP_ADDRESS_SPACE_SHIFT), with nodes of 64 entries.
Its nodes follow from which slots are in use, exactly: a node exists where an entry below it does, and there are as many
levels as the highest index needs (lib/xarray.c: xas_create(), xas_shrink()). Beside it the kernel kept a byte for each
slot of the device, used or not (swap_map), which the words of a table contain.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hwswap_map import Flag

from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.rows import SLOTS

TABLE_BYTES = 4096
NODE_BYTES = 576
"""Of `struct xa_node` on a 64-bit kernel; what a slab loses at its end is not counted."""

NODE_BITS = 6
SPACE_SLOTS = 1 << 14
"""Slots of one tree."""

SAMPLES = 32
"""How often a device is looked at while it fills, and while it empties."""


@dataclass(frozen=True)
class Load:
    """How a device fills and empties."""

    name: str
    orders: tuple[int, ...]
    """Of the folios that come, drawn with the same number of slots of each."""

    shuffled: bool
    """They go in a random sequence, not in the one they came in."""


LOADS = (
    Load("order 0, leaving as it came", (0,), shuffled=False),
    Load("order 0, leaving at random", (0,), shuffled=True),
    Load("order 4, leaving at random", (4,), shuffled=True),
    Load("order 9, leaving at random", (9,), shuffled=True),
    Load("orders 0, 4 and 9, leaving at random", (0, 4, 9), shuffled=True),
)


class Sample(NamedTuple):
    """The device at one moment."""

    load: str
    filling: bool
    slots: int
    used: int
    tables: int
    nodes: int

    @property
    def table_bytes(self) -> int:
        """What the swap tables take."""
        return self.tables * TABLE_BYTES

    @property
    def tree_bytes(self) -> int:
        """What the trees take, and the byte a slot beside them."""
        return self.nodes * NODE_BYTES + self.slots


def nodes_of(used: Sequence[int]) -> int:
    """Return how many nodes one tree has that holds the entries with these indices, none of them twice."""
    if not used or max(used) == 0:
        return 0  # index 0 alone is kept in the root
    nodes = 0
    places = set(used)
    while max(places):
        places = {place >> NODE_BITS for place in places}
        nodes += len(places)
    return nodes


def trees_of(bitmaps: Sequence[int]) -> int:
    """Return how many nodes the trees of a device have whose clusters use these slots."""
    a_tree = SPACE_SLOTS // SLOTS
    nodes = 0
    for first in range(0, len(bitmaps), a_tree):
        used = [
            at * SLOTS + slot
            for at, bitmap in enumerate(bitmaps[first : first + a_tree])
            for slot in range(SLOTS)
            if bitmap >> slot & 1
        ]
        nodes += nodes_of(used)
    return nodes


class Filling:
    """A device that fills and empties."""

    def __init__(self, load: Load, clusters: int, seed: int) -> None:
        """Begin with an empty device."""
        self.load = load
        self.rng = random.Random(seed)
        self.allocator = Allocator(devices=1, cpus=1, clusters=clusters)
        self.pages = clusters * SLOTS
        self.allocator.prepare(0, self.pages, 0, BLKDEV | SOLIDSTATE)
        self.allocator.swapon(0)
        self.used = 0

    def sample(self, filling: bool) -> Sample:
        """Look at the device."""
        clusters = self.allocator.devices[0].clusters
        tables = sum(cluster.flag != Flag.FREE for cluster in clusters)
        return Sample(
            self.load.name, filling, self.pages, self.used, tables, trees_of([c.used & ~c.bad for c in clusters])
        )

    def folios(self) -> Iterator[tuple[int, int]]:
        """Allocate until nothing is left; yield each folio's offset and order. What no longer fits becomes order 0."""
        while True:
            most = max(self.load.orders)
            weights = [1 << most - order for order in self.load.orders]
            order = self.rng.choices(self.load.orders, weights)[0]
            found = self.allocator.alloc(0, order) or self.allocator.alloc(0, order := 0)
            if found is None:
                return
            yield found.offset, order

    def run(self) -> list[Sample]:
        """Fill and empty the device."""
        step = self.pages // SAMPLES
        samples = [self.sample(filling=True)]
        folios = []

        def changed(nr: int, filling: bool) -> None:
            before, self.used = self.used, self.used + nr
            if before // step != self.used // step:
                samples.append(self.sample(filling))

        for offset, order in self.folios():
            folios.append((offset, order))
            changed(1 << order, filling=True)
        samples.append(self.sample(filling=True))
        if self.load.shuffled:
            self.rng.shuffle(folios)
        for offset, order in folios:
            self.allocator.free(0, offset, 1 << order)
            changed(-(1 << order), filling=False)
        samples.append(self.sample(filling=False))
        return samples


def run(clusters: int, seed: int, progress: Callable[[str], None]) -> list[Sample]:
    """Let a device of so many clusters fill and empty under each load; `progress` is called with its name."""
    samples = []
    for load in LOADS:
        progress(load.name)
        samples += Filling(load, clusters, seed).run()
    return samples


def at(samples: Sequence[Sample], load: str, filling: bool, share: float) -> Sample:
    """Return the sample of a load that is next to a share of the slots in use."""
    own = [sample for sample in samples if sample.load == load and sample.filling == filling]
    return min(own, key=lambda sample: abs(sample.used - share * sample.slots))
