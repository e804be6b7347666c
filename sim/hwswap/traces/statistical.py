# SPDX-License-Identifier: Apache-2.0
"""Makes a trace of samples (samples.py): the numbers are a kernel's, the decisions the golden model's.

In each interval between two samples as many allocations of each order and as many freed slots as the kernel counted;
their order, their CPUs and which slots are freed are drawn from a seed. What else is invented is in docs/traces.md.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from hwswap_map import Status

from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator, Device, Slots
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.traces import trace
from hwswap.traces.records import MAX_TYPES, Record
from hwswap.traces.samples import HUGE, PAGES_BACK, PAGES_OUT, WRITTEN_LATER, Sample, SampleError, Samples, Swap
from hwswap.traces.stream import InUse

MOST = 5_000_000
"""Operations of a trace at most: one of 5 million takes 80 MB, and some minutes."""

MOST_CPUS = 256

PIECE = 16
"""Slots that are freed together of what was in use at the start, since in what pieces it came is not known."""

DISCARD_CHANCE = 1 / 8
"""Chance, before each operation, that the clusters which wait for a discard have been discarded."""


@dataclass
class Interval:
    """What happened between two samples, in numbers.

    `allocated` and `failed` are by order; `uncounted` are further allocations of order 0, without which the slots in
    use could not have become so many; `freed` are slots; `read` are folios read back, by order.
    """

    before: Sample
    after: Sample
    allocated: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    read: Counter[int] = field(default_factory=Counter)
    uncounted: int = 0
    freed: int = 0

    @property
    def operations(self) -> int:
        """How many records it becomes, at most."""
        return self.allocated.total() + 2 * self.failed.total() + self.uncounted + self.freed


def start_operations(sample: Sample) -> int:
    """Return about how many records it takes to bring as many slots into use as a sample has."""
    return sum(min(swap.used, swap.used // SLOTS + 2 * SLOTS) if swap.partition else swap.used for swap in sample.swaps)


def slots(by_order: Counter[int]) -> int:
    """Return the slots of some allocations."""
    return sum(number << order for order, number in by_order.items())


def in_use(sample: Sample) -> int:
    """Return the slots in use on all devices."""
    return sum(swap.used for swap in sample.swaps)


def difference(before: dict[str, int], after: dict[str, int], names: Iterable[str]) -> int:
    """Return by how much counters grew together; those that are not known count as 0."""
    grown = 0
    for name in names:
        step = after.get(name, 0) - before.get(name, 0)
        if step < 0:
            raise SampleError(f"the counter {name} goes back by {-step}: the samples are of more than one boot")
        grown += step
    return grown


def by_order(before: Sample, after: Sample, names: tuple[str, ...]) -> Counter[int]:
    """Return by how much counters of folios grew together, by order, from 1 on.

    Where order 9 is not counted by its size, /proc/vmstat may know it.
    """
    grown: Counter[int] = Counter()
    for order in range(1, ORDERS):
        sizes = before.sizes.get(order, {}), after.sizes.get(order, {})
        grown[order] = difference(*sizes, names)
        huge = HUGE.get(names[0])
        if order == 9 and huge and names[0] not in sizes[1]:
            grown[order] += difference(before.vmstat, after.vmstat, [huge])
    return +grown


def split(pages: int, large: Counter[int], debt: int) -> tuple[Counter[int], int]:
    """Return folios by order, order 0 among them: the pages that are in no large folio; and the debt left.

    The counters are not read at one moment, so a large folio may be counted before its pages are: that debt is taken
    off the single pages of the next interval.
    """
    single = pages - slots(large) - debt
    return +Counter({**large, 0: max(single, 0)}), max(-single, 0)


def intervals(samples: Samples) -> Iterator[Interval]:
    """Yield what happened between each two samples."""
    debt_out = debt_back = 0
    for before, after in pairwise(samples.taken):
        if after.seconds < before.seconds:
            raise SampleError(f"the sample at {after.seconds} s comes behind that at {before.seconds} s")
        one = Interval(before, after)
        pages = difference(before.vmstat, after.vmstat, PAGES_OUT)
        later = difference(before.vmstat, after.vmstat, [WRITTEN_LATER])
        one.allocated, debt_out = split(pages - later, by_order(before, after, ("swpout", "zswpout")), debt_out)
        one.failed = by_order(before, after, ("swpout_fallback",))
        back = difference(before.vmstat, after.vmstat, PAGES_BACK)
        one.read, debt_back = split(back, by_order(before, after, ("swpin", "zswpin")), debt_back)
        one.freed = slots(one.allocated) + in_use(before) - in_use(after)
        if one.freed < 0:
            one.uncounted, one.freed = -one.freed, 0
        yield one


@dataclass
class Made:
    """A trace and how far it is what was counted."""

    trace: trace.Trace
    allocated: Counter[int]
    """Allocations as they were counted, by order."""
    failed: Counter[int]
    """Large folios that found no room in the kernel, by order."""
    uncounted: int = 0
    freed: int = 0
    singles: Counter[int] = field(default_factory=Counter)
    """Allocations for which the model had no room as a whole, by order: single slots came in their place."""
    undone: Counter[int] = field(default_factory=Counter)
    """Allocations for which the model had room and the kernel none, by order: given back at once."""
    unseen: int = 0
    """Slots allocated on devices that came and went between two samples; they are left out."""
    start: int = 0
    """Records that bring the devices to the state of the first sample."""
    seconds: float = 0.0


class Maker:
    """A trace being made: the golden model, what is in use in it, and the dice."""

    def __init__(self, samples: Samples, seed: int, discard: bool = False) -> None:
        """Prepare; with `discard`, devices that can discard are taken to, which no sample tells."""
        if not 0 <= seed < 1 << 64:
            raise SampleError(f"the seed is {seed}: choose one from 0 to 2^64 - 1")
        self.samples = samples
        self.seed = seed
        self.discard = discard
        self.rng = random.Random(seed)
        self.cpus = min(max(samples.cpus, 1), MOST_CPUS)
        self.clusters = trace.ClusterMap()
        self.model = Allocator(MAX_TYPES, self.cpus, clusters=1 << 32)  # the trace says how many it takes
        self.types: dict[tuple[str, bool, int, int], int] = {}
        self.held: dict[int, InUse] = {}
        self.records: list[Record] = []

    def make(self, progress: Callable[[int], None] | None = None) -> Made:
        """Make the trace; `progress` is told how many intervals are done."""
        found = list(intervals(self.samples))
        if (operations := start_operations(self.samples.taken[0]) + sum(one.operations for one in found)) > MOST:
            raise SampleError(
                f"the samples tell of up to {operations:,} operations, and a trace may have {MOST:,}: "
                "make it of a part, with --until SECONDS"
            )
        made = Made(trace.Trace(self.header(), self.records), Counter(), Counter())
        made.seconds = self.samples.taken[-1].seconds
        self.begin(self.samples.taken[0])
        made.start = len(self.records)
        made.trace.header.workload += f"; the first {made.start} records are what was before"
        for number, one in enumerate(found, 1):
            self.play(one, made)
            if progress is not None:
                progress(number)
        trace.complete(made.trace.header, self.records)
        return made

    def header(self) -> trace.Header:
        """Return the header, which says what kind of trace this is."""
        seconds = self.samples.taken[-1].seconds
        workload = f"counters read for {seconds:g} s, each {self.samples.interval:g} s; order, CPUs and slots are drawn"
        return trace.Header(trace.STATISTICAL, self.samples.kernel, "golden model", workload, self.seed, self.cpus)

    # Devices

    def begin(self, sample: Sample) -> None:
        """Bring the devices of the first sample on, with as many slots in use as they have.

        Each is filled while no other has write permission. All are operations that every replayer knows.
        """
        for swap in sample.swaps:
            type_ = self.come(swap).type
            if in_use(sample):
                self.fill(type_, swap.used)
                must(self.model.swapoff_begin(type_))
                self.records.append(trace.swapoff_begin(type_))
        if in_use(sample):
            for type_ in self.held:
                must(self.model.swapon(type_))
                self.records.append(trace.swapon(type_))

    def fill(self, type_: int, left: int) -> None:
        """Take slots of the only device there is, with folios of 2 MB as far as that goes."""
        order = ORDERS - 1
        while left:
            if left < 1 << order:
                order = 0
            result = self.model.alloc(0, order)
            if result is None and order:
                order = 0
                continue
            assert result is not None, "a sample has no more slots in use than there are"
            self.records.append(trace.alloc(0, order, result))
            left -= 1 << order
            for at in range(0, 1 << order, PIECE):
                self.held[type_].add(result.offset + at, min(PIECE, 1 << order))

    def come(self, swap: Swap) -> Device:
        """Bring a device on, empty, under the lowest number that is not taken."""
        free = [type_ for type_ in range(MAX_TYPES) if type_ not in self.held]
        if not free:
            raise SampleError(f"more than {MAX_TYPES} swap devices at the same time")
        type_, pages = free[0], swap.pages + 1  # the header slot is not in /proc/swaps
        flags = (0 if swap.rotational else SOLIDSTATE) | (BLKDEV if swap.partition else 0)
        if self.discard and swap.can_discard:
            flags |= DISCARD
        must(self.model.prepare(type_, pages, self.clusters.claim(type_, pages), flags, swap.priority))
        must(self.model.swapon(type_))
        self.records += [trace.prepare(type_, pages, flags, swap.priority), trace.swapon(type_)]
        self.types[swap.identity] = type_
        self.held[type_] = InUse()
        return self.model.devices[type_]

    def changes(self, one: Interval) -> list[int]:
        """Bring on what is new; return the numbers of the devices that are gone at the end of the interval."""
        there = {swap.identity for swap in one.after.swaps}
        gone = [self.types.pop(identity) for identity in list(self.types) if identity not in there]
        for swap in one.after.swaps:
            if swap.identity not in self.types:
                self.come(swap)
        return gone

    def begin_swapoff(self, gone: list[int], todo: "Todo") -> int:
        """Take write permission from devices; return how many slots have to go elsewhere.

        The model may have more slots than the kernel on these devices: as many are allocated once more, on others.
        """
        for type_ in gone:
            must(self.model.swapoff_begin(type_))
            self.records.append(trace.swapoff_begin(type_))
        moved = max(sum(self.held[type_].slots for type_ in gone) - todo.freed, 0)
        todo.add([(0, True)] * moved)
        todo.freed += moved
        return moved

    def end_swapoff(self, gone: list[int]) -> None:
        """Forget devices that are empty."""
        for type_ in gone:
            must(self.model.swapoff(type_))
            self.clusters.release(type_)
            del self.held[type_]
            self.records.append(trace.swapoff(type_))

    # One interval

    def play(self, one: Interval, made: Made) -> None:
        """Do as much as was counted in an interval, in a sequence of the dice; what goes, goes last."""
        if not self.types and not one.after.swaps:
            made.unseen += slots(one.allocated)
            return
        gone = self.changes(one)
        target = {self.types[swap.identity]: swap.used for swap in one.after.swaps}
        todo = Todo(one, self.rng)
        while todo.folios:
            self.operation(todo, gone, target, made)
        moved = self.begin_swapoff(gone, todo)
        while todo.folios or todo.freed:
            self.operation(todo, gone, target, made)
        self.end_swapoff(gone)
        if (held := sum(held.slots for held in self.held.values())) != in_use(one.after):
            raise AssertionError(f"{held} slots are in use in the trace, {in_use(one.after)} were sampled")
        made.allocated.update(one.allocated)
        made.failed.update(one.failed)
        made.uncounted += one.uncounted + moved
        made.freed += one.freed + moved

    def operation(self, todo: "Todo", gone: list[int], target: dict[int, int], made: Made) -> None:
        """Allocate or free, as the dice and the room there is will have it."""
        self.some_discards()
        full = not self.model.available and bool(todo.folios) and todo.folios[-1][1]
        can_free = todo.freed and any(held.slots for held in self.held.values())
        if can_free and (not todo.folios or full or self.rng.random() * todo.slots < todo.freed):
            self.free(todo, gone, target)
        elif full:
            raise AssertionError("more slots are to be allocated than the devices have")
        else:
            self.alloc(todo, made)

    def alloc(self, todo: "Todo", made: Made) -> None:
        """Carry the next allocation out."""
        order, wanted = todo.folios[-1]
        result = self.ask(order)
        if result is None and order == 0:  # all that is free waits for a discard (swap_sync_discard)
            if not self.discards():
                raise AssertionError("the model has free slots and gives none")
            return
        todo.done()
        if not wanted:
            if result is not None:
                made.undone[order] += 1
                self.give_back(result.type, result.offset, 1 << order)
        elif result is not None:
            self.held[result.type].add(result.offset, 1 << order)
        else:  # as the kernel splits a folio that it finds no room for
            made.singles[order] += 1
            todo.add([(0, True)] * (1 << order))

    def ask(self, order: int) -> Slots | None:
        """Let the model decide, on a CPU of the dice."""
        cpu = self.rng.randrange(self.cpus)
        result = self.model.alloc(cpu, order)
        self.records.append(trace.alloc(cpu, order, result))
        return result

    def free(self, todo: "Todo", gone: list[int], target: dict[int, int]) -> None:
        """Free slots that the dice choose, so that devices get to have as many in use as they had."""
        held = {type_: held.slots for type_, held in self.held.items() if held.slots}
        for weights in (
            {type_: held[type_] for type_ in gone if type_ in held},
            {type_: number - target.get(type_, 0) for type_, number in held.items() if number > target.get(type_, 0)},
            held,
        ):
            if weights:
                break
        type_ = self.rng.choices(list(weights), list(weights.values()))[0]
        mine = self.held[type_]
        offset, length = mine.draw(self.rng)
        nr = min(length, todo.free_size())
        start = offset + self.rng.randrange(length - nr + 1) if nr == 1 else offset
        rest = (offset, start - offset), (start + nr, offset + length - start - nr)
        mine.extents += [piece for piece in rest if piece[1]]
        mine.remove(start, nr)
        todo.freed -= nr
        self.give_back(type_, start, nr)

    def give_back(self, type_: int, offset: int, nr: int) -> None:
        """Free slots of one cluster."""
        must(self.model.free(type_, offset, nr))
        self.records.append(trace.free(self.rng.randrange(self.cpus), type_, offset, nr))

    # Discards

    def some_discards(self) -> None:
        """Now and then, discard all that waits for it (`swap_discard_work`)."""
        if self.rng.random() < DISCARD_CHANCE:
            self.discards()

    def discards(self) -> bool:
        """Discard all clusters that wait for it; tell whether there was one."""
        before = len(self.records)
        for type_, device in self.model.devices.items():
            while device.discard:
                status, offset = self.model.discard_take(type_)
                must(status)
                must(self.model.discard_done(type_, offset))
                self.records += [trace.discard_take(type_, offset), trace.discard_done(type_, offset)]
        return len(self.records) > before


class Todo:
    """What is left of an interval.

    `folios` are to be allocated, the next one last, as (order, whether the kernel had room); they take `wanted` slots.
    `freed` slots are to be freed.
    """

    def __init__(self, one: Interval, rng: random.Random) -> None:
        """Mix what was counted."""
        self.rng = rng
        self.folios: list[tuple[int, bool]] = []
        self.wanted = 0
        self.freed = one.freed
        self.add((order, True) for order, number in one.allocated.items() for _ in range(number))
        self.add((order, False) for order, number in one.failed.items() for _ in range(number))
        self.add([(0, True)] * one.uncounted)
        self.read = [order for order, number in one.read.items() for _ in range(number)]
        rng.shuffle(self.folios)
        rng.shuffle(self.read)
        self.reading = slots(one.read)

    @property
    def slots(self) -> int:
        """Slots to allocate and slots to free."""
        return self.wanted + self.freed

    def add(self, folios: Iterable[tuple[int, bool]]) -> None:
        """Put folios before all others."""
        for order, room in folios:
            self.folios.append((order, room))
            self.wanted += 1 << order

    def done(self) -> None:
        """Take the next folio off."""
        self.wanted -= 1 << self.folios.pop()[0]

    def free_size(self) -> int:
        """Return how many slots the next free has at most: those of a folio that was read, or all of an allocation."""
        if not self.read or self.rng.random() * self.freed >= self.reading:
            return self.freed
        order = self.read.pop()
        self.reading -= 1 << order
        return min(1 << order, self.freed)


def must(status: Status) -> None:
    """Stop at an operation that the model refuses."""
    if status != Status.OK:
        raise AssertionError(f"the model refuses a statistical trace's operation with {status.name}")


def summary(made: Made) -> list[str]:
    """Say what was counted, and where the trace is otherwise."""
    found = [f"order {order}: {number:,} allocations counted" for order, number in sorted(made.allocated.items())]
    found.append(f"{made.freed:,} slots freed")
    for order, number in sorted(made.failed.items()):
        found.append(
            f"order {order}: {number:,} folios found no room in the kernel; the model had room for "
            f"{made.undone[order]:,} of them, and these are given back at once"
        )
    for order, number in sorted(made.singles.items()):
        found.append(f"order {order}: for {number:,} of them the model had no room as a whole; they take single slots")
    if made.unseen:
        found.append(f"{made.unseen:,} slots are left out: they were allocated when no sample had a device")
    if made.uncounted:
        found.append(f"{made.uncounted:,} single slots are allocated beyond what was counted, as more are in use")
    return found


def until(samples: Samples, seconds: float) -> Samples:
    """Return the samples up to a time."""
    taken = [sample for sample in samples.taken if sample.seconds <= seconds]
    if not taken:
        raise SampleError(f"there is no sample up to {seconds:g} s")
    return Samples(samples.kernel, samples.cpus, samples.interval, taken)
