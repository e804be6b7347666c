# SPDX-License-Identifier: Apache-2.0
"""A script of advisory mode in which one thing decides, or several happen at once.

Clusters that are full because of a hint, and are not any more when the hint is used up; records of clusters that no
device has; counters of notices with each bit set; commands while hint rings are filled.
"""

import hwswap_map as m
from hwswap_map import Flag, Opcode, Status

from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.host_memory import Command
from hwswap.model.mirror import Record
from hwswap.model.rows import ALL, ORDERS, SLOTS, run
from hwswap.stimulus.advisory_mode import Advisory
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import COUNT, LIMIT, NOTICE_LOG2, RING_LOG2, Script, Sizes

CLUSTERS = 4
"""Clusters of a device: few, as all records are fetched again and again."""

NOTHING = Expected(Command(Opcode.NOP), Status.OK)


class Alone(Advisory):
    """A host that does one thing at a time, or commands beside the filling of hint rings."""

    busy = False
    """Commands are given while hint rings are filled."""

    def switch_hints(self, on: bool) -> None:
        """Let the engine fill hint rings, or not; give commands meanwhile."""
        super().switch_hints(on)
        if on and self.busy:
            for nr in (1, 1 << RING_LOG2, 3, 1 << RING_LOG2):
                self.script.give([NOTHING] * nr)

    def some_devices(self) -> None:
        """Bring devices on, one in each share of the clusters, with clusters of no device before and behind them."""
        share = self.sizes.clusters // self.sizes.devices
        for type_ in range(self.sizes.devices):
            flags = BLKDEV | SOLIDSTATE | (DISCARD if type_ % 2 else 0)
            self.epoch = 0x11 * (type_ + 1)
            # The best device has more than CPUs x orders need in fill_beside_commands: hints come from it alone.
            clusters = CLUSTERS if type_ else 6 * CLUSTERS
            self.swapon(type_, clusters * SLOTS, share * type_ + 2, flags, -type_)

    def full_by_a_hint(self, order: int) -> None:
        """All but a hint's slots of its cluster are in use; it is full until the hint is used up, and not taken."""
        self.script.note(f"full by a hint of order {order}")
        self.want = [1 << order] + [0] * (self.sizes.cpus - 1)
        self.rest()
        ring = self.rings[0, order]
        entry = ring.entries[ring.tail - 1]
        cluster = self.model.devices[entry.type].clusters[entry.slot // SLOTS]
        number = self.model.devices[entry.type].base + cluster.index
        self.want = [0] * self.sizes.cpus
        bitmap = ALL & ~run(entry.slot % SLOTS, 1 << order)
        for flag in (Flag.FRAG, Flag.NONFULL):
            old = self.records[number]
            self.store(number, Record(bitmap, order, flag, (old.seq + 1) % COUNT, entry.epoch))
            self.notify(0, number)
            self.rest()
            self.must(Status.OK if cluster.flag == Flag.FULL else Status.BAD_RANGE)
        ring.popped = ring.tail
        self.rest()
        self.check(everything=True)
        self.want = [1 << order] * self.sizes.cpus
        self.rest()
        self.check(everything=False)
        for filled in self.rings.values():
            filled.popped = filled.tail
        self.want = [0] * self.sizes.cpus
        old = self.records[number]
        flag = Flag.NONFULL if cluster.bad else Flag.FREE
        self.store(number, Record(cluster.bad, 0, flag, (old.seq + 1) % COUNT, entry.epoch))
        self.notify(0, number)
        self.rest()

    def of_no_device(self) -> None:
        """Records of clusters that no device has change nothing, whatever epoch they are of."""
        self.script.note("records of no device's clusters")
        owned = {device.base + at for device in self.model.devices.values() for at in range(len(device.clusters))}
        for number in sorted(self.rng.sample(sorted(set(range(self.sizes.clusters)) - owned), 3)):
            for type_, device in self.model.devices.items():
                bitmap = self.rng.getrandbits(SLOTS)
                record = Record(
                    bitmap, self.rng.randrange(ORDERS), Flag.NONFULL, self.rng.getrandbits(30), device.epoch
                )
                self.store(number, record)
                self.notify(type_ % self.sizes.cpus, number)
                self.rest()
            del self.records[number]
        self.check(everything=True)

    def all_free(self) -> None:
        """Have no slot in use but the bad ones."""
        for number, old in list(self.records.items()):
            device, cluster = self.found(number)
            flag = Flag.NONFULL if cluster.bad else Flag.FREE
            self.store(number, Record(cluster.bad, 0, flag, (old.seq + 1) % COUNT, device.epoch))
        for type_ in self.model.devices:
            self.rest()
            self.fetch_again(type_)
        self.rest()

    def fill_beside_commands(self, orders: int) -> None:
        """Fill the rings of so many orders again and again while commands are given.

        A command has the engine try again where there was no space, and find none, so there is enough.
        """
        self.busy = True
        self.limits(64, 0xFFFF, 0)
        self.want = [(1 << orders) - 1] * self.sizes.cpus
        for _ in range(6):
            self.rest()
            self.must(Status.NO_SPACE if any(ring.failed for ring in self.rings.values()) else Status.OK)
            self.check(everything=False)
            for ring in self.rings.values():
                ring.popped += self.rng.randint(0, ring.tail - ring.popped)
        self.check(everything=True)
        self.busy = False

    def counted_from(self, count: int) -> None:
        """Have the number of notices be `count`, which is more than fits; a few notices follow."""
        numbers = list(self.records)
        for cpu in range(self.sizes.cpus):
            self.notice_tail[cpu] = count % COUNT
            self.posted[cpu] += [0] * (2 << NOTICE_LOG2)
        self.rest()
        for cpu in range(self.sizes.cpus):
            for _ in range(3):
                number = self.rng.choice(numbers)
                self.change(number)
                self.notify(cpu, number)
        self.rest()
        self.check(everything=False)


def mirror(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all of this once."""
    # Each CPU may want all records fetched again.
    host = Alone(seed, sizes, Script(limit=LIMIT * sizes.cpus))
    s = host.script
    s.after_reset()
    host.start()
    host.switch_hints(False)
    host.some_devices()
    host.limits(1, 0xFFFF, 0)
    for order in range(ORDERS - 1):
        host.full_by_a_hint(order)
    host.of_no_device()
    s.note("notices counted from anywhere")
    for bit in range(NOTICE_LOG2 + 3, 32):
        host.counted_from(1 << bit)
    host.check(everything=True)
    s.note("commands while hint rings are filled")
    host.all_free()
    host.fill_beside_commands(4)
    s.settle(1)
    s.read(m.STATUS_OFFSET, 0)
    s.reset_by_register()
    return s.text()
