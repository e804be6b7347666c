# SPDX-License-Identifier: Apache-2.0
"""A script of the index: which cluster it names for each order, while clusters change and devices come and go.

Few clusters are partly used, so that each allocation shows what the index knows: with FREE clusters left, one that it
does not name is passed over for an empty one; one that it names wrongly makes a scan fail. Devices are larger than a
word of the index and begin anywhere in one. They go with slots in use, and others come where they were.
"""

import random

from hwswap_map import Flag, Opcode

from hwswap.model.clusters import BLKDEV, DISCARD, Cluster, Device
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import Hint, Placement, Policy, Scan
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.stimulus.commands import SSD
from hwswap.stimulus.player import Player
from hwswap.stimulus.script import Script, Sizes

LARGEST, LARGEST_FULL = 42, 25
"""Clusters of the largest device, and of the largest that is filled: some words of the index, and set up soon."""

TOP = ORDERS - 1
"""This order is only ever served from empty clusters."""


class Indexed(Player):
    """A host that has devices of many clusters, most of them empty or full."""

    def come_somewhere(self, type_: int, largest: int) -> None:
        """Bring a device on where there is room."""
        taken = {d.base + i for d in self.model.devices.values() for i in range(len(d.clusters))}
        clusters = self.rng.randint(1, largest)
        places = [
            base for base in range(self.sizes.clusters - clusters + 1) if taken.isdisjoint(range(base, base + clusters))
        ]
        if places:
            self.come(type_, clusters, self.rng.choice((places[0], places[-1], self.rng.choice(places))))

    def come(self, type_: int, clusters: int, base: int) -> None:
        """Bring a device on, some of its clusters with bad slots."""
        rng = self.rng
        pages = clusters * SLOTS - rng.choice((0, rng.randrange(SLOTS - 2)))
        flags = rng.choice((SSD, SSD, SSD, SSD | DISCARD, BLKDEV))
        self.do(prepare(type_, pages, base, flags, -1))
        for index in rng.sample(range(clusters), min(clusters, rng.randint(0, 3))):
            offset = index * SLOTS + rng.randrange(1, SLOTS)
            if offset < pages:
                self.do(Command(Opcode.MARK_BAD, type_, nr=1, arg0=offset))
        self.on(type_)

    def place(self, placement: Placement) -> None:
        """Switch the placement, and the order of lists and the hints that go with it."""
        scan, hint = self.rng.choice(list(Scan)), self.rng.choice((Hint.PER_CPU, Hint.SHARED))
        self.follow(Policy(scan=scan, hint=hint, placement=placement))

    def holes(self, order: int) -> int:
        """Return slots in use between which an order finds one run, or hardly misses it."""
        rng = self.rng
        wanted = run(0, SLOTS)
        for _ in range(rng.choice((1, 1, 2))):
            size = min(max(order + rng.choice((-1, 0, 0, 0, 1)), 0), TOP)
            hole = run(rng.randrange(SLOTS >> size) << size, 1 << size)
            wanted &= ~hole
        if rng.random() < 0.2:  # a run that begins where none may
            wanted = run(0, SLOTS) & ~run(rng.randrange(SLOTS - (1 << min(order, 7))), 1 << min(order, 7))
        if rng.random() < 0.3:  # nearly all of it
            wanted = run(rng.randrange(SLOTS), 1)
        return wanted

    def some_cluster(self) -> None:
        """Have the next cluster that an order gets partly used, with or without a run of it."""
        order, cpu = self.rng.randrange(TOP), self.rng.randrange(self.model.limit_cpus)
        for _ in range(self.rng.randint(1, SLOTS >> order)):
            found = self.alloc_by(cpu, order)
            if found is None:
                return
        device = self.model.devices[found.type]
        self.free_mask(device, device.clusters[found.offset // SLOTS], ~self.holes(order))

    def without_free(self, device: Device, few: int) -> None:
        """Leave no cluster of a device on FREE, all of them full but a few."""
        while any(cluster.flag == Flag.FREE for cluster in device.clusters):
            if self.alloc_by(self.rng.randrange(self.model.limit_cpus), TOP) is None:
                break
        for cluster in self.rng.sample(device.clusters, min(few, len(device.clusters))):
            self.free_mask(device, cluster, ~self.holes(self.rng.randrange(TOP)))

    def edges(self) -> list[tuple[Device, Cluster]]:
        """Draw a few clusters, rather the first and last ones of devices, which share words of the index."""
        found = []
        for _ in range(self.rng.choice((1, 2, 2, 3, 5))):
            device, cluster = self.cluster()
            found.append((device, self.rng.choice((device.clusters[0], device.clusters[-1], cluster))))
        return found

    def among_full_ones(self) -> None:
        """With all else full, a few clusters have room, for an order or for single pages only."""
        rng = self.rng
        order = rng.randrange(TOP)
        changed = self.edges()
        for device, cluster in changed:
            self.refill(device, cluster, self.holes(order), order if rng.random() < 0.8 else rng.randrange(TOP))
        for _ in range(3):
            self.alloc((order, 0))
        if rng.random() < 0.3:
            self.replace(rng.choice(changed)[0], order)
        self.all_full()

    def replace(self, device: Device, order: int) -> None:
        """A device goes with slots in use, and one of empty clusters comes where it was; its neighbours stay."""
        for place in range(len(device.clusters)):
            if self.rng.random() < 0.2:
                of = self.rng.randrange(TOP)
                self.refill(device, device.clusters[place], self.holes(of), of)
        self.off(device.type)
        self.come(device.type, len(device.clusters), device.base)
        for wanted in (order, *range(TOP)):
            self.alloc((wanted,))


def spread(player: Indexed, rounds: int, largest: int) -> None:
    """Few clusters are partly used, most are empty: devices come and go, and the placement is switched."""
    rng = player.rng
    for type_ in range(player.sizes.devices):
        player.come_somewhere(type_, largest)
    for number in range(rounds):
        player.place(rng.choice((Placement.INDEXED, Placement.INDEXED, Placement.INDEXED, Placement.LINUX)))
        if rng.random() < 0.25:
            player.without_free(player.device(), rng.choice((1, 2, 5)))
        for _ in range(rng.choice((1, 2, 4))):
            player.some_cluster()
        for _ in range(rng.choice((4, 8))):
            player.alloc(tuple(range(ORDERS)) + (0,))
            if rng.random() < 0.4:
                player.free()
        if rng.random() < 0.3:
            player.discard()
        if rng.random() < 0.4:
            type_ = rng.randrange(player.sizes.devices)
            if type_ in player.model.devices:
                player.off(type_)
            player.come_somewhere(type_, largest)
        player.flush(f"index, round {number}")


def side_by_side(player: Indexed, rounds: int, largest: int) -> None:
    """Devices one after the other, empty at first, then full but for a few clusters."""
    rng = player.rng
    base = rng.randrange(8) if rng.random() < 0.3 else max(player.sizes.clusters - 3 * largest, 0)
    for type_ in rng.sample(range(player.sizes.devices), player.sizes.devices):
        clusters = min(rng.randint(1, largest), player.sizes.clusters - base)
        if clusters > 0:
            player.come(type_, clusters, base)
            base += clusters
    player.place(Placement.INDEXED)
    for order in range(ORDERS):  # the index knows nothing of these clusters any more
        player.alloc((order,))
    player.all_full()
    for number in range(rounds):
        player.among_full_ones()
        player.flush(f"few with room, round {number}")


def index(seed: int, rounds: int, sizes: Sizes) -> str:
    """Return a script of so many rounds, in each of which clusters change and the index is asked."""
    rng = random.Random(seed)
    script = Script()
    script.after_reset()
    for part, largest in ((spread, min(LARGEST, sizes.clusters // 3)), *((side_by_side, LARGEST_FULL),) * 3):
        player = Indexed(script, rng, sizes)
        part(player, rounds if part == spread else rounds // 2, largest)
        player.flush("all that was done")
        player.compare()
        for _ in range(8):  # state that the reset must clear
            player.some_cluster()
        player.flush("clusters partly used, of all orders")
        script.reset_by_register()
    return script.text()
