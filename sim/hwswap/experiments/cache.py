# SPDX-License-Identifier: Apache-2.0
"""The swap cache as tables, one per cluster, and as the trees that were there before: loads of a look-up, and memory.

The golden model fills a device slot by slot and empties it, in the order in which it was filled and at random. A table
is there while its cluster is not on FREE; the trees (radix_tree.py) hold an entry for each slot in use. A look-up of a
table loads the table's address out of the cluster's record, and the word; one of a tree the root, and of each node its
shift and a slot. The ways to the records and to the roots are left out: they are alike. Each load needs the word that
the one before it has read.
"""

import itertools
import random
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hwswap_map import Flag
from rich.table import Table

from hwswap.experiments import published
from hwswap.experiments.comparison import Result, Row
from hwswap.experiments.offsets import device
from hwswap.experiments.radix_tree import NODE_BYTES, Trees
from hwswap.model.rows import SLOTS
from hwswap.project import printed

CLUSTERS, SHORT_CLUSTERS = 64, 32
"""Of the device: 128 MiB, two trees; in short one tree."""

SAMPLES = 32
"""The number of samples while the device fills, and while it empties."""

LOOKUPS, SHORT_LOOKUPS = 8_192, 1_024

TABLE_BYTES = 4096
RECORD_BYTES = 48
"""Of `struct swap_cluster_info`, with memory cgroups."""

TABLE_AT = 8
"""Bytes before the table's address in it."""

WORD = 8
LINE = 64
CACHE_LINES = 512
"""Of the cache that look-ups are sent through: 32 KiB, the least recently used line goes."""

RECORDS, TABLES, TREES = 0, 1 << 40, 2 << 40
"""Addresses of records, tables and trees: far from each other."""

ORDERLY, RANDOM = "in order", "at random"
DRAINS = (ORDERLY, RANDOM)
MOMENTS = ((True, 0.1), (True, 0.5), (True, 1.0), (False, 0.5), (False, 0.1))
"""When memory is shown: filling or not, and the share of slots in use."""


class Cache:
    """A cache of lines."""

    def __init__(self, lines: int) -> None:
        """Begin empty."""
        self.lines = lines
        self.held: OrderedDict[int, None] = OrderedDict()

    def misses(self, address: int) -> bool:
        """Load from an address; tell whether its line was not there."""
        line = address // LINE
        if line in self.held:
            self.held.move_to_end(line)
            return False
        self.held[line] = None
        if len(self.held) > self.lines:
            self.held.popitem(last=False)
        return True


class Memory:
    """A device, its tables and its trees."""

    def __init__(self, clusters: int) -> None:
        """Begin with nothing in use."""
        self.allocator = device(clusters)
        self.slots = clusters * SLOTS
        self.trees = Trees(self.slots)

    def has_table(self, cluster: int) -> bool:
        """Tell whether a cluster has a table."""
        return self.allocator.devices[0].clusters[cluster].flag != Flag.FREE

    def fill(self) -> Iterator[int]:
        """Allocate until nothing is left; yield each slot."""
        while (found := self.allocator.alloc(0, 0)) is not None:
            self.trees.store(found.offset)
            yield found.offset

    def free(self, offset: int) -> None:
        """Give a slot back."""
        self.allocator.free(0, offset, 1)
        self.trees.erase(offset)

    def table_loads(self, offset: int) -> Iterator[int]:
        """Yield the addresses that a look-up in a table reads."""
        cluster = offset // SLOTS
        yield RECORDS + cluster * RECORD_BYTES + TABLE_AT
        if self.has_table(cluster):
            yield TABLES + cluster * TABLE_BYTES + offset % SLOTS * WORD

    def tree_loads(self, offset: int) -> Iterator[int]:
        """Yield the addresses that a look-up in a tree reads."""
        for address in self.trees.loads(offset):
            yield TREES + address

    @property
    def table_bytes(self) -> int:
        """Return the bytes of the tables."""
        return TABLE_BYTES * sum(self.has_table(cluster) for cluster in range(self.slots // SLOTS))

    @property
    def tree_bytes(self) -> int:
        """Return the bytes of the nodes."""
        return NODE_BYTES * self.trees.nodes


@dataclass(frozen=True)
class Sample:
    """Memory at one moment. `slots` is also the bytes of swap_map, one per slot, which stood beside the trees."""

    drain: str
    filling: bool
    slots: int
    used: int
    table_bytes: int
    tree_bytes: int


@dataclass(frozen=True)
class Looked:
    """The averages of look-ups in a row."""

    stream: str
    kind: str
    loads: float
    lines: float
    """Of 64 bytes, of those that one look-up loads from."""

    misses: float
    """Of the cache of CACHE_LINES."""


def look(stream: str, kind: str, loads: Iterable[Iterator[int]]) -> Looked:
    """Carry look-ups out one after the other."""
    cache = Cache(CACHE_LINES)
    number = total = lines = misses = 0
    for addresses in map(list, loads):
        number += 1
        total += len(addresses)
        lines += len({address // LINE for address in addresses})
        misses += sum(map(cache.misses, addresses))
    return Looked(stream, kind, total / number, lines / number, misses / number)


def lookups(memory: Memory, stream: str, offsets: Sequence[int]) -> list[Looked]:
    """Look these slots up, in the tables and in the trees."""
    return [
        look(stream, "table", map(memory.table_loads, offsets)),
        look(stream, "tree", map(memory.tree_loads, offsets)),
    ]


def measure(drain: str, clusters: int, number: int, seed: int) -> tuple[list[Sample], list[Looked]]:
    """Fill a device, look slots up, empty it."""
    rng = random.Random(seed)
    memory = Memory(clusters)
    samples: list[Sample] = []
    step = memory.slots // SAMPLES

    def sample(filling: bool, used: int) -> None:
        samples.append(Sample(drain, filling, memory.slots, used, memory.table_bytes, memory.tree_bytes))

    held = []
    sample(True, 0)
    for offset in memory.fill():
        held.append(offset)
        if len(held) % step == 0:
            sample(True, len(held))
    sample(True, len(held))
    looked: list[Looked] = []
    if drain == ORDERLY:
        looked += lookups(memory, "full, neighbours", held[:number])
        looked += lookups(memory, "full, random slots", rng.choices(held, k=number))
    else:
        rng.shuffle(held)
    for gone, offset in enumerate(held, 1):
        memory.free(offset)
        used = len(held) - gone
        if used % step == 0:
            sample(False, used)
        if drain == RANDOM and used == len(held) // 10:
            looked += lookups(memory, "a tenth left, random slots", rng.choices(held[-used:], k=number))
    return samples, looked


def at(samples: Sequence[Sample], drain: str, filling: bool, share: float) -> Sample:
    """Return the sample next to a share of the slots in use."""
    own = [sample for sample in samples if (sample.drain, sample.filling) == (drain, filling)]
    return min(own, key=lambda sample: abs(sample.used - share * sample.slots))


def mean_ratio(samples: Sequence[Sample], drain: str, beside: int) -> float:
    """Return tables by trees with swap_map, of the bytes on average over filling and emptying.

    `beside` is how many bytes a slot stand beside the tables: 1 with swap_map, 0 without.
    """
    own = [sample for sample in samples if sample.drain == drain]
    return sum(s.table_bytes + beside * s.slots for s in own) / sum(s.tree_bytes + s.slots for s in own)


def rows(samples: Sequence[Sample], looked: Sequence[Looked]) -> list[Row]:
    """Return the figures that were published, and ours."""
    made = [
        Row(
            f"memory, table : tree, both with swap_map, average of filling and emptying {drain}",
            mean_ratio(samples, drain, 1),
            published.SWAP_TABLE_MEMORY,
            published.SWAP_TABLE,
        )
        for drain in DRAINS
    ]
    for drain in DRAINS:
        figure = f"the same, table without swap_map, as in Linux 7.3: tree with it, {drain}"
        made.append(Row(figure, mean_ratio(samples, drain, 0)))
    by = {(of.stream, of.kind): of for of in looked}
    for stream in dict.fromkeys(of.stream for of in looked):
        for name, value in (("loads", "loads"), ("cache lines", "lines"), ("misses of 32 KiB", "misses")):
            for kind in ("table", "tree"):
                made.append(Row(f"{name} a look-up, {kind}; {stream}", getattr(by[stream, kind], value)))
    return made


def memory_grid(samples: Sequence[Sample]) -> Table:
    """Return the bytes at some moments."""
    lines = []
    for drain in DRAINS:
        cells = [f"leaving {drain}"]
        for filling, share in MOMENTS:
            found = at(samples, drain, filling, share)
            sizes = (found.table_bytes, found.table_bytes + found.slots, found.tree_bytes + found.slots)
            cells.append(" : ".join(f"{size / 1024:,.0f}" for size in sizes))
        lines.append(cells)
    heads = [f"{'filling' if filling else 'emptying'}, {100 * share:.0f} %" for filling, share in MOMENTS]
    title = f"KiB of tables : tables with swap_map (phase I) : trees with swap_map; {samples[0].slots:,} slots, order 0"
    return printed.table(title, ("load", *heads), lines)


def run(seed: int, short: bool) -> Result:
    """Do the experiment."""
    clusters, number = (SHORT_CLUSTERS, SHORT_LOOKUPS) if short else (CLUSTERS, LOOKUPS)
    measured = [measure(drain, clusters, number, seed) for drain in DRAINS]
    samples, looked = (list(itertools.chain(*parts)) for parts in zip(*measured, strict=True))
    return Result(
        "The swap cache as a table a cluster, and as a tree for each 64 MiB",
        rows(samples, looked),
        [memory_grid(samples)],
        (
            (
                "Throughput and time of usemem (28.6 % more, 27.8 % less time in the kernel): they are of locks as "
                "much as of look-ups, and the model has no time."
            ),
            (
                "Loads, cache lines and misses of a look-up: no figure was published. A cache of 32 KiB for "
                "look-ups alone is an assumption; nothing else competes for it."
            ),
            "What a slab loses at its end, and the roots of trees, are not counted.",
        ),
    )
