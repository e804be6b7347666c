# SPDX-License-Identifier: Apache-2.0
"""A script about a store in DRAM: errors of the bus, resets and a hung bus while lines are fetched and written back."""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.stepper import Stepper
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import (
    COMMANDS,
    COMPLETIONS,
    ELSEWHERE,
    LIMIT,
    MEMORY_BYTES,
    MIXED_BASE,
    PAGE,
    ROW_BYTES,
    WORD,
    Script,
    Sizes,
)

SSD = BLKDEV | SOLIDSTATE
ENABLE = m.CONTROL_ENABLE.put(1)

CLUSTERS = 1_280
"""Clusters of the device, if the engine has so many: more than the caches of a large engine hold, and many times those
of a small one."""

ENDS = 16
"""A device takes all of an engine's clusters but so many, so that it can be in more than one place."""

RECORDS = 0x0000
"""Offset in the script's memory of the records, where the bitmaps before them are in no memory; the rings are moved."""

HANGS = 3
"""How often the bus hangs at most: RESET gives it up after as long as the engine was built for."""

BY_CLUSTER = 100
"""Cycles for each cluster after which a device that comes counts as not coming."""


class StoreHost:
    """A host that has an engine go through more clusters than its caches hold, one slot at a time."""

    def __init__(self, script: Script, rng: random.Random, sizes: Sizes) -> None:
        """Begin with an engine after reset."""
        self.script = script
        self.rng = rng
        self.sizes = sizes
        self.clusters = min(CLUSTERS, sizes.clusters - ENDS)
        self.model = Stepper(sizes.devices, sizes.cpus, sizes.clusters)

    def begin(self) -> None:
        """Set the engine up, and forget what was."""
        self.model = Stepper(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
        self.script.begin(ENABLE)
        self.script.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))

    def bring(self) -> list[Expected]:
        """Return commands that bring a device on which has its clusters anywhere."""
        return self.bring_at(self.rng.randrange(0, self.sizes.clusters - self.clusters + 1))

    def bring_at(self, base: int) -> list[Expected]:
        """Return commands that bring a device on which has its clusters from one on."""
        pages = self.clusters * SLOTS
        return [
            Expected(prepare(0, pages, base, SSD), self.model.prepare(0, pages, base, SSD, -1)),
            Expected(Command(Opcode.SWAPON, 0), self.model.swapon(0)),
        ]

    def fill(self) -> list[Expected]:
        """Return allocations of all orders, whole clusters first, until no slot is left."""
        lines = []
        for order in reversed(range(ORDERS)):
            command = Command(Opcode.ALLOC, cpu=0, order=order)
            while found := self.model.alloc(0, order):
                lines.append(Expected(command, Status.OK, found.offset, found.type))
            lines.append(Expected(command, Status.NO_SPACE))
        return lines

    def holes(self, count: int) -> list[Expected]:
        """Return frees of one slot in clusters all over the device, and allocations of as many."""
        device = self.model.devices[0]
        lines = []
        for cluster in self.rng.sample([c for c in device.clusters if c.count == SLOTS], count):
            # Slot 0 of a device is its header, which nobody frees.
            offset = cluster.index * SLOTS + self.rng.randrange(0 if cluster.index else 1, SLOTS)
            lines.append(Expected(Command(Opcode.FREE, 0, nr=1, arg0=offset), self.model.free(0, offset, 1)))
        for _ in range(count):
            cpu = self.rng.randrange(self.sizes.cpus)
            found = self.model.alloc(cpu, 0)
            assert found is not None
            lines.append(Expected(Command(Opcode.ALLOC, cpu=cpu), Status.OK, found.offset, found.type))
        return lines

    def compare(self) -> None:
        """Compare the engine's own state with the model's, and see that nothing else is wrong."""
        engine_state.whole(self.script, self.model, self.sizes)
        self.script.settle()
        self.script.read(m.STATUS_OFFSET, 0)
        self.script.beats()

    def used(self) -> None:
        """Begin with a device that is full, and has been used all over."""
        self.begin()
        for lines in (self.bring(), self.fill(), self.holes(self.clusters // 4)):
            self.script.give(lines)


def all_over(host: StoreHost, rounds: int) -> None:
    """Holes come and go all over a full device, so often that each line is fetched and written back again and again."""
    s = host.script
    s.note("holes all over a device")
    host.used()
    for _ in range(rounds):
        s.give(host.holes(host.rng.randrange(1, host.clusters // 2)))
    host.compare()
    s.reset_by_register()


def stop(s: Script, refused: bool) -> None:
    """Expect that the engine stops and says why, and begin anew; its core is held until then."""
    s.stopped()
    # Not at rest: what the core was at stays as it is.
    s.add("pass", 400)
    why = m.STATUS_DMA_ERROR.put(1) | m.STATUS_DMA_REFUSED.put(refused)
    s.read(m.STATUS_OFFSET, why, WORD ^ m.STATUS_BUSY.put(1))
    s.reset_by_register()


def refused(host: StoreHost) -> None:
    """A line that no DMA window permits stops the engine: of each part of the store, fetched and written back."""
    s = host.script
    parts = {"bitmaps": (s.rows, s.store * ROW_BYTES), "records": (s.records, s.store * m.MEM_STORE_RECORD_BYTES)}
    for name, (start, size) in parts.items():
        for write in (False, True):
            s.note(f"{name} that may not be {'written' if write else 'read'}")
            host.used()
            s.settle()
            # All else stays in a window; the part is in one of its own, which lets it go one way alone.
            limit = -(-(start + size) // PAGE) * PAGE
            s.window(1, s.base + MEMORY_BYTES, s.base + start)
            s.window(2, s.base + limit, s.base + s.bytes)
            s.window(3, s.base + start, s.base + limit, read=write, write=not write)
            s.window(0, s.base, s.base + MEMORY_BYTES)
            s.post(host.holes(host.clusters // 4)[: 1 << s.log2])
            stopped = m.DMA_REFUSED_VALID.put(1) | m.DMA_REFUSED_WRITE.put(write)
            s.add(
                "poll", m.DMA_REFUSED_OFFSET, m.DMA_REFUSED_VALID.put(1) | m.DMA_REFUSED_WRITE.put(1), stopped, s.limit
            )
            stop(s, refused=True)


def nowhere(host: StoreHost) -> None:
    """Memory answers with an error: where bitmaps are written back, and where records are fetched."""
    s = host.script
    size = s.store * ROW_BYTES
    for name, offset in (("bitmaps", RECORDS - size), ("records", s.bytes - size)):
        s.note(f"no memory where the {name} are")
        s.commands, s.completions = ELSEWHERE, ELSEWHERE + PAGE
        host.begin()
        s.window(2, 0, WORD & -PAGE)
        s.write(m.STORE_BASE_OFFSET, s.base + offset)
        s.post(host.bring_at(0)[:1])
        stop(s, refused=False)
        s.commands, s.completions = COMMANDS, COMPLETIONS
    # Of the first part the records were there, of the second the bitmaps.
    for first, bytes_ in ((RECORDS, m.MEM_STORE_RECORD_BYTES), (s.bytes - size, ROW_BYTES)):
        for at in range(first, first + host.clusters * bytes_, 8):
            s.expect(at, 0, mask=0)


def resets(host: StoreHost, rounds: int) -> None:
    """A reset at all moments while lines move; then all is as it was after the first one."""
    s = host.script
    for number in range(rounds):
        s.note(f"a reset while lines move, {number}")
        host.used()
        s.post(host.holes(host.clusters // 4)[: 1 << s.log2])
        s.add("pass", host.rng.randrange(40, 400))
        s.reset_by_register()
    s.note("after the resets")
    host.used()
    host.compare()
    s.reset_by_register()


def hung_bus(host: StoreHost, rounds: int) -> None:
    """RESET behind a bus that hangs while lines move ends; what the bus owes then is no line of the next store."""
    s = host.script
    timeout = 1 << host.sizes.reset_timeout_log2
    for _ in range(min(rounds, HANGS)):
        s.note("a bus that hangs while lines move")
        host.used()
        s.post(host.holes(host.clusters // 4)[: 1 << s.log2])
        s.add("pass", host.rng.randrange(40, 400))
        s.add("hold", 1)
        s.add("pass", 300)
        s.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        s.add("pass", timeout // 2)
        s.read(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1), m.CONTROL_RESET.put(1))
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, timeout + s.limit)
        # A read that is answered in the very cycle in which the masters are given up says 0, too: so once more, which
        # waits for nobody.
        s.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, s.limit)
        s.read(m.STATUS_OFFSET, m.STATUS_BUS_OWED.put(1))
        host.begin()
        lines = host.bring()
        s.post(lines)
        s.add("pass", 300)
        s.read(m.STAT_COMMANDS_OFFSET, 0)
        s.add("hold", 0)
        s.finish(0, lines)
        s.give(host.fill())
        s.give(host.holes(host.clusters // 4))
        host.compare()
        s.reset_by_register()


def store(seed: int, rounds: int, sizes: Sizes) -> str:
    """Return a script of so many rounds of all this, for an engine that has its clusters in DRAM."""
    rng = random.Random(seed)
    clusters = min(CLUSTERS, sizes.clusters)
    s = Script(MIXED_BASE, max(LIMIT, BY_CLUSTER * clusters), sizes.store)
    host = StoreHost(s, rng, sizes)
    s.after_reset()
    all_over(host, rounds)
    refused(host)
    nowhere(host)
    resets(host, rounds)
    hung_bus(host, rounds)
    return s.text()
