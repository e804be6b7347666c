# SPDX-License-Identifier: Apache-2.0
"""The golden model's places for the folios of a script (hwswap.stimulus.page_outs).

It does the operations by itself, from the swapon on; nothing of a kernel's answers is given to it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hwswap_map import Status

from hwswap.model.clusters import BLKDEV, SOLIDSTATE
from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap.stimulus.page_outs import CPUS, DISK_CLUSTERS, DISKS, Area, PageOut, Scene


@dataclass
class Expected:
    """The golden model's place for each folio, and its path to it."""

    lines: list[str] = field(default_factory=list)
    """As the program in the guest writes them."""
    whole: Counter[int] = field(default_factory=Counter)
    """Folios that went out in one piece, by order."""
    split: Counter[int] = field(default_factory=Counter)
    """Folios for which no run of slots was found, so that the kernel splits them, by order."""
    unplaced: int = 0
    """Pages that found none: they stay in memory."""
    slots: int = 0
    """Slots that were taken, also by pages that were given back later."""
    paths: Counter[str] = field(default_factory=Counter)
    """Allocations by where they ended (Counts.by_path of the model)."""

    def add(self, other: "Expected") -> None:
        """Add the counts of another scene; not the places of folios."""
        for name in ("whole", "split", "paths", "unplaced", "slots"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


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
                where = [None]
            else:
                made.split[operation.order] += 1
                where = [None] * pages
                for page in split_sequence(pages):
                    where[page] = allocator.alloc(operation.cpu, 0)
            made.unplaced += where.count(None)
            made.slots += pages - where.count(None)
            places[operation.order, operation.entry] = where
            words = (f"-+{nr}" if place is None else f"{place[0]}:{place[1]}+{nr}" for place, nr in joined(where))
            made.lines.append(" ".join(words))
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
