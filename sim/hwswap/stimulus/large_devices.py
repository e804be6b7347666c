# SPDX-License-Identifier: Apache-2.0
"""A script with devices as large as the engine's store, and with numbers of any size.

Those of other scripts are small, so that much happens to each cluster. Here counters, slots, sizes and positions take
large values: one device after the other has most of the store, some of it bad, and is filled and emptied.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.golden import DISCARD
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import Hint, Placement, Policy, Scan
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.stimulus.player import SSD, Player
from hwswap.stimulus.script import FAR_BASE, MEMORY_BASE, Script, Sizes

LIMIT = 400_000
"""Cycles for a command: CHECK walks all lists."""

FILLED = 0.9
"""How much of a device is given before allocations and frees take turns, of it as a whole."""

TURNS = 300
"""Allocations and frees then."""


class Large(Player):
    """A host with one large device at a time."""

    def come(self, type_: int) -> None:
        """Bring a device on that has most of the store."""
        rng = self.rng
        clusters = rng.randint(self.sizes.clusters * 3 // 4, self.sizes.clusters)
        base = rng.randint(0, self.sizes.clusters - clusters)
        pages = clusters * SLOTS - rng.choice((0, rng.randrange(SLOTS - 2)))
        flags, priority = rng.choice((SSD, SSD, SSD | DISCARD)), rng.randint(-32768, 32767)
        place = (type_, pages, base, flags, priority)
        self.add(prepare(*place), self.model.prepare(*place))
        for index in rng.sample(range(1, clusters - 1), 5):
            nr = rng.choice((1, 40, SLOTS))
            offset = index * SLOTS + rng.randint(0, SLOTS - nr)
            self.add(Command(Opcode.MARK_BAD, type_, nr=nr, arg0=offset), self.model.mark_bad(type_, offset, nr))
        self.add(Command(Opcode.SWAPON, type_), self.model.swapon(type_))
        self.flush(f"a large device, {place}")

    def go(self, type_: int) -> None:
        """Take a device off, after having given that up once."""
        for opcode, step in (
            (Opcode.SWAPOFF_BEGIN, self.model.swapoff_begin),
            (Opcode.SWAPON, self.model.swapon),
            (Opcode.SWAPOFF_BEGIN, self.model.swapoff_begin),
            (Opcode.SWAPOFF, self.model.swapoff),
        ):
            self.add(Command(opcode, type_), step(type_))
        self.flush(f"device {type_} goes")

    def bad_device(self, type_: int) -> None:
        """A device all of whose clusters but two are bad comes and goes."""
        clusters = self.sizes.clusters
        place = (type_, clusters * SLOTS, 0, SSD, -1)
        self.add(prepare(*place), self.model.prepare(*place))
        for offset in range(SLOTS, (clusters - 1) * SLOTS, SLOTS):
            command = Command(Opcode.MARK_BAD, type_, nr=SLOTS, arg0=offset)
            self.add(command, self.model.mark_bad(type_, offset, SLOTS))
        self.add(Command(Opcode.SWAPON, type_), self.model.swapon(type_))
        self.flush(f"a device of bad slots: {type_}")
        self.compare()
        self.go(type_)

    def follow_others(self) -> None:
        """Follow other rules from the next allocation on."""
        kinds = (list(Scan), [self.model.policy.device], list(Hint), list(Placement))
        policy = Policy(*(self.rng.choice(kind) for kind in kinds), seed=self.rng.getrandbits(32))
        self.follow(policy)

    def fill(self, type_: int) -> None:
        """Give most of a device's slots, most of them at once; then allocations and frees take turns."""
        device = self.model.devices[type_]
        self.follow_others()
        while device.used < FILLED * device.total:
            self.alloc((9, 9, 9, 9, 9, 9, 8, 4, 0))
        self.flush("most of a device")
        self.follow_others()
        for _ in range(TURNS):
            if self.rng.random() < 0.6:
                self.alloc(tuple(range(ORDERS)))
            else:
                self.free()
            if self.rng.random() < 0.1:
                self.discard()
        self.flush("turns")

    def dumps_of_nothing(self) -> None:
        """Dump no record to anywhere."""
        for _ in range(8):
            first, target = self.rng.randint(0, self.sizes.clusters), self.rng.getrandbits(61) << 3
            self.add(Command(Opcode.DUMP, arg0=first, arg1=target), Status.OK)
        self.flush("dumps of nothing")


def sizes_of_rings(script: Script, rng: random.Random) -> None:
    """Give the ring all sizes there are, and those there are not, while nobody looks."""
    for log2 in rng.sample(range(16), 16):
        script.write(m.CMD_SIZE_OFFSET, log2)
        script.read(m.CMD_SIZE_OFFSET, log2 if log2 in range(1, 13) else 0)


def pages_of_requests(script: Script, rng: random.Random, sizes: Sizes) -> None:
    """Write anything into the CPU pages, and start nothing: the lowest byte of a request is left alone."""
    for cpu in range(min(sizes.cpus, m.CPU_PAGE_COUNT)):
        base = m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * cpu
        for _ in range(6):
            slot, request = rng.getrandbits(32), rng.getrandbits(64)
            script.write(base + m.CPU_PAGE_ARG_OFFSET, slot)
            script.read(base + m.CPU_PAGE_ARG_OFFSET, slot)
            script.write(base + m.CPU_PAGE_REQUEST_OFFSET, request, 0xFE)
            script.read(base + m.CPU_PAGE_REQUEST_OFFSET, request, 0xFFFF_FFFF_FFFF_FF00)


def large(seed: int, sizes: Sizes) -> str:
    """Return a script of large devices and numbers."""
    rng = random.Random(seed)
    s = Script(FAR_BASE if seed % 2 else MEMORY_BASE, LIMIT)
    s.after_reset()
    sizes_of_rings(s, rng)
    pages_of_requests(s, rng, sizes)
    host = Large(s, rng, sizes)
    host.dumps_of_nothing()
    host.bad_device(rng.randrange(sizes.devices))
    for type_ in rng.sample(range(sizes.devices), sizes.devices):
        host.come(type_)
        host.fill(type_)
        host.compare()
        host.go(type_)
    s.reset_by_register()
    return s.text()
