# SPDX-License-Identifier: Apache-2.0
"""A script of advisory mode with devices as large as the engine's store, and with numbers of any size.

The scripts of advisory_mode.py keep devices small, so that much happens to each cluster. Here counters, slots, rings'
sizes and positions take large values: one device after the other has most of the store, most of it in use or bad, and
all hint rings are filled from it.
"""

import hwswap_map as m
from hwswap_map import Flag, Opcode, Status

from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap.model.mirror import Record
from hwswap.model.rows import ALL, ORDERS, SLOTS
from hwswap.stimulus.advisory_mode import Advisory
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import COUNT, FAR_BASE, MEMORY_BASE, NOTICE_LOG2, Script, Sizes

LIMIT = 400_000
"""Cycles for a command: RESYNC fetches all records of the store, CHECK walks all lists."""

ROUNDS = 3
"""How often the hint rings are filled anew from one device."""


class Large(Advisory):
    """A host with one large device at a time."""

    def large(self, type_: int) -> None:
        """Bring a device on that has most of the store."""
        rng = self.rng
        clusters = rng.randint(self.sizes.clusters * 3 // 4, self.sizes.clusters)
        base = rng.randint(0, self.sizes.clusters - clusters)
        pages = clusters * SLOTS - rng.choice((0, rng.randrange(SLOTS - 2)))
        self.swapon(type_, pages, base, BLKDEV | SOLIDSTATE, rng.randint(-32768, 32767))

    def bad_device(self, type_: int) -> None:
        """Prepare a device most of whose clusters are bad, switch it on and off."""
        self.script.note(f"a device of bad slots: {type_}")
        clusters = self.sizes.clusters
        arguments = (type_, clusters * SLOTS, 0, BLKDEV | SOLIDSTATE, -1)
        self.must(self.model.prepare(*arguments, 0))
        lines = [Expected(prepare(*arguments, 0), Status.OK)]
        for index in range(1, clusters - 1):
            self.must(self.model.mark_bad(type_, index * SLOTS, SLOTS))
            lines.append(Expected(Command(Opcode.MARK_BAD, type_, nr=SLOTS, arg0=index * SLOTS), Status.OK))
        self.script.give(lines)
        self.must(self.model.swapon(type_))
        self.command(Opcode.SWAPON, type_)
        self.check(everything=False)
        self.must(self.model.swapoff_begin(type_))
        self.command(Opcode.SWAPOFF_BEGIN, type_)
        self.must(self.model.swapoff(type_))
        self.command(Opcode.SWAPOFF, type_)

    def change_all(self, type_: int) -> None:
        """Change all clusters of a device: some are full, some empty, the others anything; it has to be told."""
        device = self.model.devices[type_]
        used = self.rng.choice((0.1, 0.5, 0.95))
        for cluster in device.clusters:
            number = device.base + cluster.index
            old = self.records[number]
            luck = self.rng.random()
            bitmap = ALL if luck < used else cluster.bad if luck < 0.97 else self.rng.getrandbits(SLOTS) | cluster.bad
            flag = Flag.FULL if bitmap == ALL else Flag.FRAG if bitmap else Flag.FREE
            order = 0 if flag == Flag.FREE or cluster.bad else self.rng.choice((0, self.rng.randrange(ORDERS)))
            self.store(number, Record(bitmap, order, flag, (old.seq + 1) % COUNT, device.epoch))

    def lose_count(self, cpu: int) -> None:
        """Post more notices than the ring holds, by any number: all records are fetched."""
        self.notice_tail[cpu] = (self.notice_tail[cpu] + self.rng.getrandbits(31) + (1 << NOTICE_LOG2)) % COUNT
        self.posted[cpu] += [0] * (2 << NOTICE_LOG2)

    def ask_again(self, cpu: int) -> None:
        """Want everything fetched, with any number."""
        self.resync[cpu] = (self.resync[cpu] + self.rng.randrange(1, COUNT)) % COUNT
        self.resync_wanted[cpu] = True

    def pages_of_requests(self) -> None:
        """Write anything into the CPU pages, and start nothing: the lowest byte of a request is left alone."""
        s = self.script
        for cpu in range(min(self.sizes.cpus, m.CPU_PAGE_COUNT)):
            base = m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * cpu
            for _ in range(6):
                slot, request = self.rng.getrandbits(32), self.rng.getrandbits(64)
                s.write(base + m.CPU_PAGE_ARG_OFFSET, slot)
                s.read(base + m.CPU_PAGE_ARG_OFFSET, slot)
                s.write(base + m.CPU_PAGE_REQUEST_OFFSET, request, 0xFE)
                s.read(base + m.CPU_PAGE_REQUEST_OFFSET, request, 0xFFFF_FFFF_FFFF_FF00)

    def dumps_of_nothing(self) -> None:
        """Dump no record to anywhere."""
        for _ in range(8):
            first, target = self.rng.randint(0, self.sizes.clusters), self.rng.getrandbits(61) << 3
            self.command(Opcode.DUMP, 0, (first, target), nr=0)

    def fill_rings(self, type_: int) -> None:
        """Fill all rings from one device, use some hints up, and fill again."""
        self.want = [0x3FF] * self.sizes.cpus
        self.limits(self.rng.choice((0xFFFF, 8192)), 0xFFFF, self.rng.choice((0, 0, 15)))
        for _ in range(ROUNDS):
            self.rest()
            self.check(everything=False)
            for ring in self.rings.values():
                ring.popped += self.rng.randint(0, ring.tail - ring.popped)
        self.command(Opcode.CHECK, type_)
        self.recall(self.rng.choice((type_, None)))

    def break_rings(self) -> None:
        """Claim to have popped more hints than there were: the rings are given up."""
        for ring in self.rings.values():
            ring.popped = (ring.tail + 1 + self.rng.getrandbits(8)) % COUNT
        self.rest()
        self.rest()


def sizes_of_rings(host: Large) -> None:
    """Give the rings all sizes there are, and those there are not, while nobody looks."""
    s = host.script
    for name, built in (("CMD_SIZE", range(1, 13)), ("NOTICE_SIZE", range(3, 13))):
        for log2 in host.rng.sample(range(16), 16):
            s.write(getattr(m, f"{name}_OFFSET"), log2)
            s.read(getattr(m, f"{name}_OFFSET"), log2 if log2 in built else 0)


def large(seed: int, sizes: Sizes) -> str:
    """Return a script of advisory mode with large devices and numbers."""
    host = Large(seed, sizes, Script(FAR_BASE if seed % 2 else MEMORY_BASE, LIMIT))
    host.script.after_reset()
    sizes_of_rings(host)
    host.pages_of_requests()
    host.start()
    host.switch_hints(False)
    host.dumps_of_nothing()
    host.bad_device(host.rng.randrange(sizes.devices))
    for type_ in host.rng.sample(range(sizes.devices), sizes.devices):
        host.large(type_)
        host.fill_rings(type_)
        host.change_all(type_)
        if type_ % 2:
            host.fetch_again(type_)
        elif host.rng.random() < 0.5:
            host.ask_again(host.rng.randrange(sizes.cpus))
        else:
            host.lose_count(host.rng.randrange(sizes.cpus))
        host.fill_rings(type_)
        host.swapoff(type_, give_up=True)
        host.swapoff(type_, give_up=False)
    host.large(0)
    host.fill_rings(0)
    host.break_rings()
    host.check(everything=False)
    host.statistics()
    host.script.reset_by_register()
    return host.script.text()
