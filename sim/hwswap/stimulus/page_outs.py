# SPDX-License-Identifier: Apache-2.0
"""Scripts of folios that are paged out and given back one by one, and where the golden model puts each.

A script is for a program in a guest (sim/guest/witness), which says by /proc/self/pagemap where the kernel put each
folio. The golden model does the same operations by itself, from the swapon on; nothing of the kernel's answers is given
to it.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hwswap_map import Status

from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.rows import SLOTS

ORDERS = (0, 2, 3, 4, 5, 6, 7, 8, 9)
"""What anonymous memory comes in: there is no anonymous folio of order 1."""

CPUS = 4
"""CPUs of the guest."""

DISKS = 6
"""Its RAM disks."""

DISK_CLUSTERS = 24
"""Clusters that one of them has at most."""

OPERATIONS = 5_000
"""Operations of a scene at most: its devices are switched on before, and off after."""

PAGES = 60_000
"""Pages of its folios, at which it ends as well: those of large folios take their time."""

SCENES = len(ORDERS)
"""Scenes at least: each order is certain to come in one of so many."""

_LEVELS = {0.1: 6, 0.3: 6, 0.5: 6, 0.65: 4, 0.8: 3, 0.9: 2, 0.97: 1, 1.02: 1}
"""How much of all swap shall be in use, in turn, and how often; at more than 1 pages find no slot."""


@dataclass(frozen=True)
class Area:
    """A RAM disk that is swap."""

    pages: int
    priority: int | None
    """None: swapon names none."""
    bad: tuple[int, ...] = ()
    rotating: bool = False


@dataclass(frozen=True)
class PageOut:
    """A new folio of an order is paged out."""

    cpu: int
    order: int
    entry: int
    """Place in the program's memory, one of those of the order."""

    def line(self) -> str:
        """Return it as the program reads it."""
        return f"a {self.cpu} {self.order} {self.entry}"


@dataclass(frozen=True)
class GiveBack:
    """Some of its pages are given back, and with them their slots."""

    cpu: int
    order: int
    entry: int
    first: int
    pages: int

    def line(self) -> str:
        """Return it as the program reads it."""
        return f"f {self.cpu} {self.order} {self.entry} {self.first} {self.pages}"


Operation = PageOut | GiveBack


@dataclass(frozen=True)
class Scene:
    """Devices that are switched on in this sequence, and what is done one after the other until all go off."""

    areas: tuple[Area, ...]
    operations: tuple[Operation, ...]

    @property
    def folios(self) -> int:
        """How many folios are paged out."""
        return sum(isinstance(operation, PageOut) for operation in self.operations)

    @property
    def cpus(self) -> int:
        """How many CPUs do something."""
        return len({operation.cpu for operation in self.operations})

    def text(self) -> str:
        """Return the script."""
        entries: Counter[int] = Counter()
        for operation in self.operations:
            entries[operation.order] = max(entries[operation.order], operation.entry + 1)
        lines = [f"o {order} {number}" for order, number in sorted(entries.items())]
        return "\n".join([*lines, *(operation.line() for operation in self.operations)]) + "\n"


# Drawing a script


def draw_areas(rng: random.Random) -> tuple[Area, ...]:
    """Draw the devices: how many, how large, of which priorities, with bad slots and partial clusters or without."""
    number = rng.randint(1, DISKS)
    most = rng.choice((4, 8, DISK_CLUSTERS, DISK_CLUSTERS))
    manner = rng.choice(("none", "equal", "two", "different"))
    areas = []
    for at in range(number):
        pages = rng.randint(1, most) * SLOTS
        if rng.random() < 0.4:
            pages = max(pages - rng.randrange(SLOTS), 16)
        priority = {"none": None, "equal": 5, "two": rng.choice((3, 7)), "different": rng.choice((at, 20 - at))}[manner]
        bad = sorted(rng.sample(range(1, pages), rng.randint(1, 8))) if rng.random() < 0.3 else ()
        areas.append(Area(pages, priority, tuple(bad), rng.random() < 0.15))
    return tuple(areas)


class Drawing:
    """Draws the operations of one scene."""

    def __init__(self, rng: random.Random, areas: Sequence[Area], order: int) -> None:
        """Draw what they have in common: CPUs, and how often each order comes; that one does."""
        self.rng = rng
        self.room = sum(area.pages - 1 - len(area.bad) for area in areas)
        self.cpus = rng.sample(range(CPUS), rng.choice((1, 1, 2, 2, 3, 4)))
        # Each order, and each CPU of it, has clusters of its own: with too few of them nothing large goes out whole.
        most = max(1, min(len(ORDERS), self.room // SLOTS // (3 * len(self.cpus))))
        chosen = {order, *rng.sample(ORDERS, rng.randint(1, most) - 1)}
        self.weights = {order: rng.choice((1, 2, 8)) for order in sorted(chosen)}
        self.fall = rng.choice((0.7, 0.9, 1.1))  # by 1 each order takes as many pages, by 0 as many folios
        self.level = 0.0
        self.left = 0  # operations until it is another level
        self.used = 0
        self.drawn = 0
        self.live: list[tuple[int, int, list[tuple[int, int]]]] = []  # order, entry, runs of its pages
        self.spare: dict[int, list[int]] = {}
        self.entries: Counter[int] = Counter()
        self.cpu = self.cpus[0]

    def operations(self, number: int) -> Iterator[Operation]:
        """Yield so many operations, fewer where the folios are large."""
        for _ in range(number):
            if self.drawn > PAGES:
                return
            if not self.left:
                self.level = self.rng.choices(list(_LEVELS), list(_LEVELS.values()))[0]
                self.left = self.rng.randint(50, 800)
            self.left -= 1
            if self.rng.random() < 0.3:
                self.cpu = self.rng.choice(self.cpus)
            more = self.used < self.level * self.room
            if self.rng.random() < 0.15:
                more = not more
            full = self.used > 1.05 * self.room  # no more than that is kept in memory
            yield self.page_out() if not self.live or (more and not full) else self.give_back()

    def page_out(self) -> PageOut:
        """Draw a folio."""
        orders = list(self.weights)
        weights = [self.weights[order] / 2 ** (self.fall * order) for order in orders]
        order = self.rng.choices(orders, weights)[0]
        spare = self.spare.setdefault(order, [])
        if spare:
            entry = spare.pop()
        else:
            entry = self.entries[order]
            self.entries[order] += 1
        self.used += 1 << order
        self.drawn += 1 << order
        self.live.append((order, entry, [(0, 1 << order)]))
        return PageOut(self.cpu, order, entry)

    def give_back(self) -> GiveBack:
        """Draw pages of a folio: mostly all that are left."""
        at = self.rng.choice((0, -1, *[self.rng.randrange(len(self.live))] * 4))
        order, entry, runs = self.live[at]
        first, pages = runs.pop(self.rng.randrange(len(runs)))
        if pages > 1 and self.rng.random() < 0.25:
            start = self.rng.randrange(pages)
            taken = self.rng.randint(1, pages - start)
            rest = [(first, start), (first + start + taken, pages - start - taken)]
            runs += [run for run in rest if run[1]]
            first, pages = first + start, taken
        if not runs:
            self.live[at] = self.live[-1]
            self.live.pop()
            self.spare.setdefault(order, []).append(entry)
        self.used -= pages
        return GiveBack(self.cpu, order, entry, first, pages)


def scenes(seed: int, operations: int) -> Iterator[Scene]:
    """Yield scenes of so many operations in all, several also where these are few.

    The same arguments give the same.
    """
    most = min(OPERATIONS, max(operations // SCENES, 1))
    number = 0
    while operations > 0:
        rng = random.Random(f"{seed} {number}")
        areas = draw_areas(rng)
        part = tuple(Drawing(rng, areas, ORDERS[number % SCENES]).operations(min(most, operations)))
        yield Scene(areas, part)
        operations -= len(part)
        number += 1


# What the golden model makes of it


@dataclass
class Expected:
    """Where the golden model puts each folio, and how that came about."""

    lines: list[str] = field(default_factory=list)
    """As the program in the guest writes them."""
    cpus: list[int] = field(default_factory=list)
    """Whose each line is."""
    whole: Counter[int] = field(default_factory=Counter)
    """Folios that went out in one piece, by order."""
    split: Counter[int] = field(default_factory=Counter)
    """Folios for which no run of slots was found, so that the kernel splits them, by order."""
    single: int = 0
    """Pages of those that found a slot by themselves."""
    unplaced: int = 0
    """Pages that found none: they stay in memory."""
    slots: int = 0
    paths: Counter[str] = field(default_factory=Counter)
    """Allocations by where they ended (Counts.by_path of the model)."""

    def add(self, other: "Expected") -> None:
        """Count in what another scene came to; not where each folio went."""
        for name in ("whole", "split", "paths"):
            getattr(self, name).update(getattr(other, name))
        self.single += other.single
        self.unplaced += other.unplaced
        self.slots += other.slots

    @property
    def folios(self) -> int:
        """Folios in all."""
        return self.whole.total() + self.split.total() + self.unplaced_singles

    unplaced_singles: int = 0
    """Folios of order 0 among the pages that found no slot."""


Place = tuple[int, int] | None
"""Type and offset of a page's slot, None if it has none."""


def switch_on(allocator: Allocator, areas: Sequence[Area]) -> None:
    """Switch the devices on; numbers are given in their sequence."""
    base = 0
    for type_, area in enumerate(areas):
        flags = BLKDEV if area.rotating else BLKDEV | SOLIDSTATE
        priority = {} if area.priority is None else {"priority": area.priority}
        statuses = [allocator.prepare(type_, area.pages, base, flags, **priority)]
        statuses += [allocator.mark_bad(type_, slot, 1) for slot in area.bad]
        statuses.append(allocator.swapon(type_))
        assert set(statuses) == {Status.OK}, statuses
        base += -(-area.pages // SLOTS)


def split_sequence(pages: int) -> Iterator[int]:
    """Yield the pages of a split folio as the kernel pages them out.

    `shrink_folio_list` goes on with the first one, whose place at the list's end the folio had; the others were put at
    the list's tail one after the other (`lru_add_split_folio`), and are taken from there.
    """
    yield 0
    yield from range(pages - 1, 0, -1)


def joined(places: Sequence[Place]) -> list[tuple[Place, int]]:
    """Return runs of places that follow one another: the first one, and how many."""
    found: list[tuple[Place, int]] = []
    for place in places:
        if found:
            first, pages = found[-1]
            follows = None if first is None else (first[0], first[1] + pages)
            if place == follows:
                found[-1] = first, pages + 1
                continue
        found.append((place, 1))
    return found


def line_of(places: Sequence[Place]) -> str:
    """Return places as the program in the guest writes them."""
    words = []
    for place, pages in joined(places):
        words.append(f"-+{pages}" if place is None else f"{place[0]}:{place[1]}+{pages}")
    return " ".join(words)


def expect(scene: Scene, kind: type[Allocator] = Allocator) -> Expected:
    """Have the golden model, or another one of that kind, carry a scene out."""
    allocator = kind(devices=DISKS, cpus=CPUS, clusters=DISKS * DISK_CLUSTERS)
    switch_on(allocator, scene.areas)
    made = Expected()
    places: dict[tuple[int, int], list[Place]] = {}
    for operation in scene.operations:
        if isinstance(operation, PageOut):
            pages = 1 << operation.order
            found = allocator.alloc(operation.cpu, operation.order)
            if found is not None:
                made.whole[operation.order] += 1
                where: list[Place] = [(found.type, found.offset + page) for page in range(pages)]
            elif not operation.order:
                made.unplaced_singles += 1
                where = [None]
            else:
                made.split[operation.order] += 1
                where = [None] * pages
                for page in split_sequence(pages):
                    where[page] = allocator.alloc(operation.cpu, 0)
                made.single += pages - where.count(None)
            made.unplaced += where.count(None)
            made.slots += pages - where.count(None)
            places[operation.order, operation.entry] = where
            made.lines.append(line_of(where))
            made.cpus.append(operation.cpu)
        else:
            where = places[operation.order, operation.entry]
            for place, pages in joined(where[operation.first : operation.first + operation.pages]):
                while place is not None and pages:
                    type_, offset = place
                    part = min(pages, SLOTS - offset % SLOTS)  # swap_put_entries_direct: cluster by cluster
                    status = allocator.free(type_, offset, part)
                    assert status == Status.OK, (operation, place, status)
                    place, pages = (type_, offset + part), pages - part
    made.paths.update(allocator.counts.by_path)
    return made
