# SPDX-License-Identifier: Apache-2.0
"""Random streams that a running kernel can be asked for, operation by operation, for `hwswap fuzz`.

They are the streams of `hwswap.traces.stream` with what a kernel allows: priorities from 0 on or none, areas that are
not all bad, files for devices that take no large orders, and a CPU that does a few operations before the next one.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.rows import SLOTS
from hwswap.traces.stream import Shape, Stream, header
from hwswap.traces.trace import Trace, complete

CPUS = 8
"""CPUs of the guest."""

DEVICES = 28
"""What a kernel with page migration has numbers for."""

FILE_CLUSTERS = 4
"""Clusters of a file at most: its blocks take memory, those of a RAM disk only once they are written."""

LARGEST = 4096
"""Clusters of a device at most: 8 GiB."""

OPERATIONS = 20_000
"""Operations of a stream at most."""

_STAY = 0.85
"""How likely the next allocation is of the same CPU: a change costs a kernel more than the operation itself."""

_FEWEST = SLOTS // 2
"""Slots of a device at least: so many that bad ones leave some."""


@dataclass(frozen=True)
class Engine:
    """A build of the engine, and what it has room for."""

    build: str
    """Its folder in build/."""
    devices: int
    cpus: int
    clusters: int


ENGINES = (Engine("model", 8, 4, 1024), Engine("model-wide", 32, 64, 512), Engine("model-scale", 2, 4, 2 * LARGEST))
"""Of all, the second has more devices and CPUs, the third more clusters, in DRAM."""


@dataclass(frozen=True)
class Case:
    """A stream to be made, and the engine that it is for."""

    shape: Shape
    engine: Engine


class KernelStream(Stream):
    """One of them being made."""

    LEFT = 1

    def __init__(self, shape: Shape) -> None:
        """Prepare a stream of the given shape."""
        super().__init__(shape)
        self.cpu = 0
        self.file = False

    def some_cpu(self) -> int:
        """Stay with a CPU for some operations."""
        if self.rng.random() >= _STAY:
            self.cpu = super().some_cpu()
        return self.cpu

    def size(self) -> int:
        """Draw the slots of a device; that it is to be a file is drawn here, too."""
        self.file = self.rng.random() < 0.15
        clusters = (super().size() + SLOTS - 1) // SLOTS
        if self.file:
            clusters = min(clusters, FILE_CLUSTERS)
        return clusters * SLOTS - self.rng.choice((0, 0, self.rng.randrange(SLOTS - _FEWEST)))

    def bad_runs(self) -> int:
        """Draw how many runs of bad slots a device has: a file has none, or the kernel refuses it."""
        return 0 if self.file else super().bad_runs()

    def traits(self) -> tuple[int, int, int]:
        """Draw flags and priority of a device."""
        flags = SOLIDSTATE if self.file else SOLIDSTATE | BLKDEV
        if not self.file and "rotating" in self.shape.features and self.rng.random() < 0.3:
            flags &= ~SOLIDSTATE
        priority = self.rng.choice((-1, -1, -1, -1, 0, 5, 5, self.rng.randint(0, 32767)))
        if self.file and self.rng.random() < 0.7:
            # As long as such a device has the best priority, no large order is placed anywhere.
            priority = -1
        return flags, priority, 0


def cases(seed: int, operations: int) -> Iterator[Case]:
    """Draw streams with so many operations in all."""
    rng = random.Random(seed)
    number = 0
    while operations > 0:
        # Each engine in turn, so that every run has something of each.
        engine = ENGINES[number % len(ENGINES)]
        devices = min(engine.devices, DEVICES)
        # Most devices are so small that a stream fills them.
        span = min(engine.clusters // 2, rng.choice((1, 3, 6, 12, 24, 24, 48, LARGEST)))
        shape = Shape(
            seed=rng.getrandbits(32),
            ops=min(operations, rng.choice((OPERATIONS // 8, OPERATIONS // 4, OPERATIONS // 2, OPERATIONS))),
            devices=rng.choice((1, 2, min(devices, 4), devices)),
            cpus=rng.choice((1, 2, 4, min(engine.cpus, CPUS))),
            clusters=engine.clusters,
            span=span,
            features=frozenset({"rotating"} if rng.random() < 0.6 else ()),
        )
        yield Case(shape, engine)
        operations -= shape.ops
        number += 1


def generate(shape: Shape, kind: type[Allocator] = Allocator) -> tuple[Trace, Counter[str]]:
    """Make a stream with the decisions of a model; return it, and how often its allocations ended where."""
    made = KernelStream(shape)
    made.model = kind(shape.devices, shape.cpus, shape.clusters)
    records = list(made)
    return complete(header(shape), records), made.model.counts.by_path
