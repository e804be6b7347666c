# SPDX-License-Identifier: Apache-2.0
"""A script with devices as large as the engine's store, and with numbers of any size.

Those of other scripts are small, so that much happens to each cluster. Here counters, slots, sizes and positions take
large values: one device after the other has most of the store, some of it bad, and is filled and emptied.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.clusters import DISCARD
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import Hint, Placement, Policy, Scan
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.stimulus.commands import SSD, Expected
from hwswap.stimulus.player import Player
from hwswap.stimulus.script import FAR_BASE, MEMORY_BASE, Script, Sizes

LIMIT = 400_000
"""Cycles for a command: CHECK walks all lists."""

FILLED = 0.9
"""The share of a device that is given before allocations and frees take turns."""

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
        self.do(prepare(*place))
        for index in rng.sample(range(1, clusters - 1), 5):
            nr = rng.choice((1, 40, SLOTS))
            offset = index * SLOTS + rng.randint(0, SLOTS - nr)
            self.do(Command(Opcode.MARK_BAD, type_, nr=nr, arg0=offset))
        self.on(type_)
        self.flush(f"a large device, {place}")

    def go(self, type_: int) -> None:
        """Take a device off, after having given that up once."""
        self.do(Command(Opcode.SWAPOFF_BEGIN, type_), Command(Opcode.SWAPON, type_))
        self.off(type_)
        self.flush(f"device {type_} goes")

    def bad_device(self, type_: int) -> None:
        """A device all of whose clusters but two are bad comes and goes."""
        pages = self.sizes.clusters * SLOTS
        self.do(prepare(type_, pages, 0, SSD))
        self.do(*(Command(Opcode.MARK_BAD, type_, nr=SLOTS, arg0=at) for at in range(SLOTS, pages - SLOTS, SLOTS)))
        self.on(type_)
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
            self.lines.append(Expected(Command(Opcode.DUMP, arg0=first, arg1=target), Status.OK))
        self.flush("dumps of nothing")


def sizes_of_rings(script: Script, rng: random.Random) -> None:
    """Give the ring all sizes there are, and those there are not, while nobody looks."""
    for log2 in rng.sample(range(16), 16):
        script.write(m.CMD_SIZE_OFFSET, log2)
        script.read(m.CMD_SIZE_OFFSET, log2 if log2 in range(1, 13) else 0)


def large(seed: int, sizes: Sizes) -> str:
    """Return a script of large devices and numbers."""
    rng = random.Random(seed)
    s = Script(FAR_BASE if seed % 2 else MEMORY_BASE, LIMIT)
    s.after_reset()
    sizes_of_rings(s, rng)
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
