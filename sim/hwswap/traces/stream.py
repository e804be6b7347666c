# SPDX-License-Identifier: Apache-2.0
"""Random streams of allocator operations with the golden model's decisions, as traces.

A stream walks through phases (fill, churn, fragment, drain, near full, a device that goes and comes) over several
devices whose sizes, priorities, flags and bad slots are drawn from the seed. Same configuration, same stream.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from hwswap_map import Status

from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE, Slots
from hwswap.model.golden import Allocator
from hwswap.model.policy import DeviceOrder, Hint, Placement, Policy, Scan
from hwswap.model.rows import ORDERS, SLOTS, runs
from hwswap.traces import trace
from hwswap.traces.in_use import InUse
from hwswap.traces.phases import FILL_UP, HOLES, PHASES, SINGLE, SMALL, Phase

FEATURES = ("discard", "rotating", "scan", "sequential", "node", "shared", "trunk", "indexed")
"""Additions of a stream to the features of version 1.0 of the engine: kinds of devices, and choices of policies."""

EVERYTHING = frozenset(FEATURES)
"""All features."""

CHOICES = {
    "scan": Scan.FREE_FIRST,
    "sequential": DeviceOrder.SEQUENTIAL,
    "node": DeviceOrder.NODE_FIRST,
    "shared": Hint.SHARED,
    "trunk": Hint.RANDOM_TRUNK,
    "indexed": Placement.INDEXED,
}
"""The choice that a feature allows besides Linux's own."""


@dataclass(frozen=True)
class Shape:
    """The sizes and features of a stream.

    `clusters` is the engine's store, shared by all devices; `span` bounds the clusters of one device. `features` are
    of FEATURES: discarding devices and discards, rotating devices, and switches to and from choices of policies.
    """

    seed: int
    ops: int
    devices: int = 8
    cpus: int = 4
    clusters: int = 1024
    span: int = 24
    features: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse sizes and features that no stream can be made of."""
        for name, low, high in (("ops", 1, 10**9), ("devices", 1, 32), ("cpus", 1, 256), ("clusters", 1, 65536)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}: choose {low} to {high}")
        if unknown := sorted(self.features - set(FEATURES)):
            raise ValueError(f"a stream cannot have {unknown[0]}: choose of {', '.join(FEATURES)}")
        if not 1 <= self.span <= self.clusters:
            raise ValueError(f"span is {self.span}: choose 1 to the number of clusters, {self.clusters}")

    def __str__(self) -> str:
        """Name it well enough to make it again."""
        return (
            f"stream seed={self.seed} ops={self.ops} devices={self.devices} cpus={self.cpus} "
            f"clusters={self.clusters} span={self.span}"
        ) + (f" with={','.join(sorted(self.features))}" if self.features else "")


PATIENCE = 12
"""A phase ends when so many allocations failed since one succeeded."""

WITHOUT_LARGE = 0.15
"""Share of devices that are files: orders above 0 are refused there."""


class Stream:
    """A stream being made; iterate over it to get its records."""

    LEFT = 0
    """Slots that are in use at least where a swapoff is given up."""

    def __init__(self, shape: Shape) -> None:
        """Prepare a stream of the given shape."""
        self.shape = shape
        self.rng = random.Random(shape.seed)
        self.model = Allocator(shape.devices, shape.cpus, shape.clusters)
        self.clusters = trace.ClusterMap()
        self.in_use: dict[int, InUse] = {}
        self.taken: dict[int, list[int]] = {}
        self.left = shape.ops

    def __iter__(self) -> Iterator[trace.Record]:
        """Yield exactly `ops` records."""
        for record in self.life():
            yield record
            self.left -= 1
            if not self.left:
                return

    def life(self) -> Iterator[trace.Record]:
        """Yield records without end: some devices, then phases and comings and goings of devices."""
        if "node" in self.shape.features:
            yield from self.nodes()
        yield from self.arrive()
        while True:
            if self.shape.features & set(CHOICES) and self.rng.random() < 0.6:
                yield self.switch()
            yield from self.phase(self.rng.choice(PHASES))
            if self.rng.random() < 0.6:
                if self.rng.random() < 0.5:
                    yield from self.phase(FILL_UP)
                yield from self.comb()
                if self.rng.random() < 0.5:
                    yield from self.phase(HOLES)
                else:
                    yield from self.rob()
            event = self.rng.random()
            if event < 0.4:
                yield from self.go(give_up=event < 0.15)
            elif event < 0.8:
                absent = [type_ for type_ in range(self.shape.devices) if type_ not in self.in_use]
                if absent:
                    yield from self.come(self.rng.choice(absent))

    def arrive(self) -> Iterator[trace.Record]:
        """Bring on the first devices."""
        count = self.rng.randint(min(2, self.shape.devices), self.shape.devices)
        for type_ in self.rng.sample(range(self.shape.devices), count):
            yield from self.come(type_)

    # Policies

    def nodes(self) -> Iterator[trace.Record]:
        """Spread the CPUs over two to four nodes."""
        nodes = self.rng.randint(2, 4)
        for cpu in range(self.shape.cpus):
            self.model.nodes[cpu] = self.rng.randrange(nodes)
            yield trace.node(cpu, self.model.nodes[cpu])

    def switch(self) -> trace.Record:
        """Switch to other policies, or back to those of Linux."""
        rng = self.rng
        allowed: dict[type, list[int]] = {}
        for name, choice in CHOICES.items():
            if name in self.shape.features:
                allowed.setdefault(type(choice), [0]).append(choice)
        drawn = [kind(rng.choice(allowed.get(kind, [0]))) for kind in (Scan, DeviceOrder, Hint, Placement)]
        policy = Policy(*drawn, seed=rng.getrandbits(32) if "trunk" in self.shape.features else 0)
        self.model.set_policy(policy)
        return trace.policy(policy)

    # Devices

    def come(self, type_: int) -> Iterator[trace.Record]:
        """Bring a device on, if its clusters fit into the engine's store."""
        rng = self.rng
        pages = self.size()
        before = self.clusters.needed
        base = self.clusters.claim(type_, pages)
        if self.clusters.claimed[type_][1] > self.shape.clusters:
            self.clusters.release(type_)
            self.clusters.needed = before
            return
        flags, priority, node = self.traits()
        self.must(self.model.prepare(type_, pages, base, flags, priority, node=node))
        yield trace.prepare(type_, pages, flags, priority, node)
        for _ in range(self.bad_runs()):
            offset = rng.randrange(1, pages)
            nr = min(rng.choice((1, 1, 2, 40)), SLOTS - offset % SLOTS, pages - offset)
            if self.model.mark_bad(type_, offset, nr) == Status.OK:
                yield trace.bad(type_, offset, nr)
        self.must(self.model.swapon(type_))
        self.in_use[type_] = InUse()
        self.taken[type_] = []
        yield trace.swapon(type_)

    def size(self) -> int:
        """Draw the slots of a device."""
        rng, span = self.rng, self.shape.span
        clusters = rng.choice((1, 2, 3, rng.randint(1, span), rng.randint(1, span)))
        return min(clusters, span) * SLOTS - rng.choice((0, 0, rng.randrange(SLOTS - 2)))

    def bad_runs(self) -> int:
        """Draw how many runs of bad slots a device has."""
        return self.rng.choice((0, 0, 1, 3))

    def traits(self) -> tuple[int, int, int]:
        """Draw flags, priority and node of a device."""
        rng = self.rng
        flags = SOLIDSTATE if rng.random() < WITHOUT_LARGE else SOLIDSTATE | BLKDEV
        priority = rng.choice((-1, -1, -1, 0, 5, 5, rng.randint(-32768, 32767)))
        node = 0
        if self.shape.features and rng.random() < 0.75:
            # A device of high priority that takes no large orders would be all that is seen of most streams.
            flags, priority = SOLIDSTATE | BLKDEV, -1
        if "discard" in self.shape.features and rng.random() < 0.6:
            flags |= DISCARD
        if "rotating" in self.shape.features and rng.random() < 0.3:
            flags &= ~SOLIDSTATE
        if "node" in self.shape.features:
            node = rng.randrange(4)
        return flags, priority, node

    def go(self, give_up: bool) -> Iterator[trace.Record]:
        """Take a device off; its slots are freed while others go on. Or give up half-way and take it back."""
        if not self.in_use:
            return
        type_ = self.rng.choice(sorted(self.in_use))
        held = self.in_use[type_]
        self.must(self.model.swapoff_begin(type_))
        yield trace.swapoff_begin(type_)
        give_up = give_up and held.slots >= self.LEFT
        stop = self.rng.randint(self.LEFT, held.slots) if give_up else 0
        while held.slots > stop:
            if self.rng.random() < 0.2:
                yield self.alloc(SMALL)
            else:
                yield self.free(type_, whole=0.9)
        # The last free may have been of more than was to go.
        if give_up and held.slots >= self.LEFT:
            self.must(self.model.swapon(type_))
            yield trace.swapon(type_)
            return
        if "discard" in self.shape.features and self.rng.random() < 0.8:
            yield from self.discards(type_, everything=True)
        self.must(self.model.swapoff(type_))
        self.clusters.release(type_)
        del self.in_use[type_]
        yield trace.swapoff(type_)
        if not self.in_use or self.rng.random() < 0.7:
            yield from self.come(type_)

    # Allocating and freeing

    def phase(self, phase: Phase) -> Iterator[trace.Record]:
        """Yield the operations of one phase."""
        level = self.rng.uniform(*phase.level)
        failures = 0
        for _ in range(self.rng.randint(*phase.length)):
            if self.shape.features and self.rng.random() < 0.01:
                yield from self.sweep()
            if "discard" in self.shape.features and self.rng.random() < 0.05:
                yield from self.some_discards(everything=False)
            candidates = [type_ for type_, held in self.in_use.items() if held.slots]
            devices = self.model.available
            total = sum(device.total for device in self.model.devices.values())
            used = sum(device.used for device in self.model.devices.values())
            allocate = bool(devices) and self.rng.random() < (0.85 if used < level * total and not failures else 0.3)
            if allocate or not candidates or self.rng.random() < 0.05:
                record = self.alloc(phase.orders)
                failures = failures + 1 if record.type == trace.FAILED else 0
                yield record
                if failures == 1 and "discard" in self.shape.features and self.rng.random() < 0.5:
                    # As the kernel does when order 0 fails (swap_sync_discard).
                    yield from self.some_discards(everything=True)
                if failures == PATIENCE:
                    return
            else:
                weights = [self.in_use[type_].slots for type_ in candidates]
                yield self.free(self.rng.choices(candidates, weights)[0], phase.whole)

    def sweep(self) -> Iterator[trace.Record]:
        """Free all of some clusters, as the end of a process does."""
        held = [type_ for type_, held in self.in_use.items() if held.slots]
        if not held:
            return
        type_ = self.rng.choices(held, [self.in_use[type_].slots for type_ in held])[0]
        clusters = self.in_use[type_].clusters
        for index in self.rng.sample(sorted(clusters), min(len(clusters), self.rng.randint(1, 3))):
            for slot, nr in runs(clusters[index]):
                yield self.give_back(type_, index * SLOTS + slot, nr)

    def some_discards(self, everything: bool) -> Iterator[trace.Record]:
        """Discard on a device that has something to discard, now and then on one that has not."""
        waiting = [type_ for type_ in self.in_use if self.model.devices[type_].discard or self.taken[type_]]
        if not waiting or self.rng.random() < 0.02:
            waiting = list(self.in_use)
            if self.rng.random() < 0.9:
                return
        yield from self.discards(self.rng.choice(sorted(waiting)), everything)

    def discards(self, type_: int, everything: bool) -> Iterator[trace.Record]:
        """Begin discards of a device and end some or all of those begun, in another order."""
        taken = self.taken[type_]
        while everything or self.rng.random() < 0.6:
            status, offset = self.model.discard_take(type_)
            yield trace.discard_take(type_, offset)
            if status != Status.OK:
                break
            taken.append(offset)
        while taken and (everything or self.rng.random() < 0.6):
            offset = taken.pop(self.rng.randrange(len(taken))) + self.rng.randrange(SLOTS)
            self.must(self.model.discard_done(type_, offset))
            yield trace.discard_done(type_, offset)

    def comb(self) -> Iterator[trace.Record]:
        """Free every second block of some size in some clusters: holes into which no larger order fits.

        The lists get long, and walks over them fail, which random frees bring about only in long streams.
        """
        if not self.in_use:
            return
        type_ = self.rng.choice(sorted(self.in_use))
        held = self.in_use[type_]
        size = 1 << self.rng.randrange(7)
        clusters = self.rng.sample(sorted(held.clusters), min(len(held.clusters), self.rng.randint(1, 16)))
        first = self.rng.randrange(2) * size
        sparse = self.rng.choice((1, 2, 4, 16))
        for index in clusters:
            for start in range(first, SLOTS, 2 * size * sparse):
                block = self.model.devices[type_].clusters[index]
                for slot, nr in runs((block.used & ~block.bad) >> start & (1 << size) - 1):
                    yield self.give_back(type_, index * SLOTS + start + slot, nr)

    def rob(self) -> Iterator[trace.Record]:
        """Take single slots until all is full, so that order 0 must steal from the clusters of other orders."""
        for _ in range(self.rng.randint(200, 2000)):
            record = self.alloc(SINGLE)
            yield record
            if record.type == trace.FAILED:
                return

    def alloc(self, orders: tuple[int, ...]) -> trace.Record:
        """Allocate for some CPU."""
        cpu = self.some_cpu()
        order = self.rng.choices(range(ORDERS), orders)[0]
        result: Slots | None = self.model.alloc(cpu, order)
        if result is not None:
            self.in_use[result.type].add(result.offset, 1 << order)
        return trace.alloc(cpu, order, result)

    def some_cpu(self) -> int:
        """Draw the CPU that allocates; the first CPUs do most of it."""
        return min(self.rng.randrange(self.shape.cpus), self.rng.randrange(self.shape.cpus))

    def free(self, type_: int, whole: float) -> trace.Record:
        """Free a whole allocation, a part of one, or a run across several."""
        held = self.in_use[type_]
        offset, nr = held.draw(self.rng)
        style = self.rng.random()
        if style >= whole:
            if style > 0.95:
                offset, nr = held.run_around(offset)
            else:
                start = self.rng.randrange(nr)
                part = self.rng.randint(1, nr - start)
                if start:
                    held.extents.append((offset, start))
                if start + part < nr:
                    held.extents.append((offset + start + part, nr - start - part))
                offset, nr = offset + start, part
        return self.give_back(type_, offset, nr)

    def give_back(self, type_: int, offset: int, nr: int) -> trace.Record:
        """Free slots that are in use."""
        self.must(self.model.free(type_, offset, nr))
        self.in_use[type_].remove(offset, nr)
        return trace.free(self.freeing_cpu(), type_, offset, nr)

    def freeing_cpu(self) -> int:
        """Draw the CPU that frees."""
        return self.rng.randrange(self.shape.cpus)

    @staticmethod
    def must(status: Status) -> None:
        """Insist that the model accepts a stream's operation."""
        if status != Status.OK:
            raise AssertionError(f"the model refuses a stream's operation with {status.name}")


def header(shape: Shape) -> trace.Header:
    """Return the header of a stream's trace; trace.write fills in the counts."""
    return trace.Header(
        kind="generated",
        kernel="rules of 7.3.4",
        source="golden model",
        workload=str(shape),
        seed=shape.seed,
        cpus=shape.cpus,
    )


def generate(shape: Shape) -> trace.Trace:
    """Make a whole stream."""
    return trace.complete(header(shape), list(Stream(shape)))
