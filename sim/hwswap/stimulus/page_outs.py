# SPDX-License-Identifier: Apache-2.0
"""Scripts of folios that are paged out and given back one by one, for `hwswap witness`.

A script is for a program in a guest (sw/driver/workloads/witness.c), which says by /proc/self/pagemap where the kernel
put each folio.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hwswap.model.rows import SLOTS

ORDERS = (0, 2, 3, 4, 5, 6, 7, 8, 9)
"""The orders of anonymous memory: there is no anonymous folio of order 1."""

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
"""Shares of all swap that are to be in use, in turn, and their weights; at more than 1 pages find no slot."""


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
    """Devices that are switched on in this sequence, and the operations, in turn, until all go off."""

    areas: tuple[Area, ...]
    operations: tuple[Operation, ...]

    @property
    def folios(self) -> int:
        """Return the number of folios that are paged out."""
        return sum(isinstance(operation, PageOut) for operation in self.operations)

    @property
    def cpus(self) -> int:
        """Return the number of CPUs that do something."""
        return len({operation.cpu for operation in self.operations})

    def text(self) -> str:
        """Return the script."""
        entries: Counter[int] = Counter()
        for operation in self.operations:
            entries[operation.order] = max(entries[operation.order], operation.entry + 1)
        lines = [f"o {order} {number}" for order, number in sorted(entries.items())]
        return "\n".join([*lines, *(operation.line() for operation in self.operations)]) + "\n"


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
        """Draw the common part: CPUs, and the weight of each order; `order` is always there."""
        self.rng = rng
        self.room = sum(area.pages - 1 - len(area.bad) for area in areas)
        self.cpus = rng.sample(range(CPUS), rng.choice((1, 1, 2, 2, 3, 4)))
        # Each order, and each CPU of it, has clusters of its own: with too few clusters nothing large goes out whole.
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
