# SPDX-License-Identifier: Apache-2.0
"""Random streams that a running kernel can be asked for, operation by operation, for `hwswap fuzz`.

They are the streams of `hwswap.traces.stream` with what a kernel allows: priorities from 0 on or none, areas that are
not all bad, files for devices that take no large orders, a CPU that does a few operations before the next one, and
discards when they are asked for or when an allocation finds nothing else (kernel_discards.py).
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.golden import Allocator
from hwswap.model.rows import ORDERS, SLOTS, runs
from hwswap.stimulus.kernel_discards import KernelDiscards
from hwswap.traces import trace
from hwswap.traces.phases import LARGE, SINGLE
from hwswap.traces.records import Op, Record
from hwswap.traces.stream import Shape, Stream, header
from hwswap.traces.trace import Trace, complete

CPUS = 8
"""CPUs of the guest."""

DEVICES = 28
"""The most devices of a kernel: of 32 numbers page migration takes three, page-table markers one (MAX_SWAPFILES)."""

FILE_CLUSTERS = 4
"""Clusters of a file at most: its blocks take memory, those of a RAM disk only once they are written."""

LARGEST = 4096
"""Clusters of a device at most: 8 GiB."""

OPERATIONS = 20_000
"""Operations of a stream at most."""

_STAY = 0.85
"""The chance that the next allocation is of the same CPU: a change costs a kernel more than the operation itself."""

_NOT_SINGLE = (0,) + (1,) * (ORDERS - 1)
"""Weights of orders, where order 0 may not be drawn."""

_TO_FILL = LARGEST + 1000
"""Allocations at most by which all is filled up."""

_LARGE = 1024
"""Clusters from which on a device is large: if it is the only one, it is filled to begin with."""

_FEWEST = SLOTS // 2
"""Slots of a device at least: so many that bad ones leave some."""


@dataclass(frozen=True)
class Engine:
    """A build of the engine, and its sizes."""

    build: str
    """Its folder in build/."""
    devices: int
    cpus: int
    clusters: int


FEATURES = {"rotating": 0.6, "discard": 0.4}
"""Features of streams beside plain devices, each with its share of the streams."""

ENGINES = (Engine("model", 8, 4, 1024), Engine("model-wide", 32, 64, 512), Engine("model-large", 2, 4, 2 * LARGEST))
"""Of all, the second has more devices and CPUs, the third more clusters."""

ROOM = ", ".join(f"{each.devices} devices, {each.cpus} CPUs and {each.clusters} clusters" for each in ENGINES)
"""Their sizes, in words."""


@dataclass(frozen=True)
class Case:
    """A stream to be made, and the engine that it is for."""

    shape: Shape
    engine: Engine


class KernelStream(Stream):
    """One of them being made."""

    LEFT = 1

    def __init__(self, shape: Shape, kind: type[Allocator] = Allocator) -> None:
        """Prepare a stream of the given shape with the decisions of a model."""
        super().__init__(shape)
        self.model = kind(shape.devices, shape.cpus, shape.clusters)
        self.kernel = KernelDiscards(self.model)
        # With few requests, allocations meet clusters that wait, and have to discard by themselves.
        self.asks = self.rng.choice((1, 0.2, 0.02, 0))
        self.cpu = 0
        self.file = False

    def life(self) -> Iterator[Record]:
        """Yield records without end, with a kernel's discards in between."""
        for record in super().life():
            yield record
            self.kernel.note(record)
            if record.op == Op.ALLOC and record.type == trace.FAILED and not record.order:
                yield from self.retry(record.cpu)
            elif record.op in (Op.ALLOC, Op.FREE) and "discard" in self.shape.features:
                yield from self.ask_in_need()

    def arrive(self) -> Iterator[Record]:
        """Bring on the first devices; fill a large one, or a stream would hardly ever see one that is nearly full."""
        yield from super().arrive()
        if self.large:
            yield from self.fill()

    @property
    def large(self) -> bool:
        """Tell whether this is a stream of one large device."""
        return self.shape.devices == 1 and self.shape.span >= _LARGE

    def freeing_cpu(self) -> int:
        """Free where allocations are made: a change of CPU costs more than a free, too."""
        return self.some_cpu()

    def retry(self, cpu: int) -> Iterator[Record]:
        """Discard as a failed allocation of order 0 does, then allocate again."""
        records = self.kernel.retry(cpu)
        for record in records:
            if record.op == Op.ALLOC and record.type != trace.FAILED:
                self.in_use[record.type].add(record.a, 1)
        yield from records

    def ask_in_need(self) -> Iterator[Record]:
        """Now and then discard where no order 0 could be drawn otherwise, or while a swapoff is under way."""
        if self.rng.random() < 0.05 and (self.kernel.goes_round() or len(self.kernel.active) < len(self.in_use)):
            waiting = [type_ for type_ in sorted(self.in_use) if self.model.devices[type_].discard]
            if waiting:
                yield from self.ask(self.rng.choice(waiting))

    def ask(self, type_: int) -> Iterator[Record]:
        """Discard all that waits on a device, unless a swapoff may have come to its end or the stream would."""
        device = self.model.devices[type_]
        if (device.writeok or self.in_use[type_].slots) and 2 * len(device.discard) < self.left:
            yield from self.kernel.ask(type_)

    def discards(self, type_: int, everything: bool) -> Iterator[Record]:
        """Ask for the discards of a device, or leave them: a kernel cannot be asked for some."""
        if self.rng.random() < self.asks:
            yield from self.ask(type_)

    def rob(self) -> Iterator[Record]:
        """Take single slots until all is full; then only clusters that wait for a discard are free."""
        yield from super().rob()
        if "discard" not in self.shape.features:
            return
        yield from self.fill()
        for _ in range(self.rng.randint(4, 24)):
            yield from self.empty_some()
            yield self.alloc(SINGLE)
            for _ in range(self.rng.randint(0, 3)):
                yield self.alloc(LARGE)

    def fill(self) -> Iterator[Record]:
        """Take all free slots, from the largest order down to single slots."""
        order = ORDERS - 1
        for _ in range(_TO_FILL):
            record = self.alloc(tuple(int(each == order) for each in range(ORDERS)))
            yield record
            if record.type != trace.FAILED:
                # The next device may have room for large ones.
                order = order if order or self.rng.random() < 0.99 else ORDERS - 1
            elif order:
                order -= 1
            else:
                return

    def empty_some(self) -> Iterator[Record]:
        """Free all of those clusters of a discarding device that have the fewest slots in use, and no bad ones."""
        discarding = [type_ for type_ in self.in_use if self.model.devices[type_].discarding]
        if discarding:
            type_ = self.rng.choice(discarding)
            clusters, blocks = self.in_use[type_].clusters, self.model.devices[type_].clusters
            sound = sorted((at for at in clusters if not blocks[at].bad), key=lambda at: blocks[at].count)
            for index in sound[: self.rng.randint(1, 3)]:
                for slot, nr in runs(clusters[index]):
                    yield self.give_back(type_, index * SLOTS + slot, nr)

    def alloc(self, orders: tuple[int, ...]) -> Record:
        """Allocate; not order 0 where it would not end, or would discard more than the stream has left."""
        first = self.kernel.first()
        if self.kernel.goes_round() or first is not None and 2 * len(first.discard) + 2 > self.left:
            orders = _NOT_SINGLE
        return super().alloc(orders)

    def some_cpu(self) -> int:
        """Stay with a CPU for some operations."""
        if self.rng.random() >= _STAY:
            self.cpu = super().some_cpu()
        return self.cpu

    def size(self) -> int:
        """Draw the slots of a device; that it is to be a file is drawn here, too."""
        self.file = not self.large and self.rng.random() < 0.15
        clusters = self.shape.span if self.large else (super().size() + SLOTS - 1) // SLOTS
        if "discard" in self.shape.features:
            # The first one has the header, and the last one may have bad slots: they never get empty.
            clusters = max(clusters, min(self.shape.span, 4))
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
        if "discard" in self.shape.features and self.rng.random() < 0.6:
            flags |= DISCARD
        priority = self.rng.choice((-1, -1, -1, -1, 0, 5, 5, self.rng.randint(0, 32767)))
        if self.file and self.rng.random() < 0.7:
            # As long as such a device has the best priority, no large order is placed anywhere.
            priority = -1
        elif flags & DISCARD and self.rng.random() < 0.5:
            # Beside an equal none but the worker could go on where all that is free waits for a discard.
            priority = self.rng.randint(0, 32767)
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
        count = rng.choice((1, 2, min(devices, 4), rng.randint(1, devices), devices))
        features = frozenset(name for name, share in FEATURES.items() if rng.random() < share)
        if "discard" in features and rng.random() < 0.6:
            # An allocation discards by itself only where no device at all has anything else to give.
            count, span = min(count, 2), rng.choice((4, 8))
        length = rng.choice((OPERATIONS // 8, OPERATIONS // 4, OPERATIONS // 2, OPERATIONS))
        if span >= _LARGE and rng.random() < 0.5:
            count, length = 1, OPERATIONS
        shape = Shape(
            seed=rng.getrandbits(32),
            ops=min(operations, length),
            devices=count,
            cpus=rng.choice((1, 2, 4, min(engine.cpus, CPUS))),
            clusters=engine.clusters,
            span=span,
            features=features,
        )
        yield Case(shape, engine)
        operations -= shape.ops
        number += 1


def generate(shape: Shape, kind: type[Allocator] = Allocator) -> tuple[Trace, Counter[str]]:
    """Make a stream with the decisions of a model; return it, and how often its allocations ended where."""
    made = KernelStream(shape, kind)
    records = list(made)
    return complete(header(shape), records), made.model.counts.by_path
