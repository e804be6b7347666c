# SPDX-License-Identifier: Apache-2.0
"""Scripts of decisions by a single slot, place, bit or write, each by itself, and of free runs in each word.

Frees of ranges in which one slot is not in use; clusters with two runs, each in any word; places to go on from; devices
whose priorities differ in one bit; address registers that are written in part before or after others.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode

from hwswap.model.clusters import Cluster, Device
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import DeviceOrder, Placement, Policy
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.model.tables import LINE
from hwswap.stimulus.commands import SSD
from hwswap.stimulus.corners import Corners
from hwswap.stimulus.script import MIXED_BASE, Script, Sizes, merged

WORDS = 16
WORD_SLOTS = SLOTS // WORDS
WORD_ORDERS = WORD_SLOTS.bit_length()

ADDRESSES = (m.CMD_BASE_OFFSET, m.CPL_BASE_OFFSET)
"""Registers that hold addresses of lines: they lie in one memory, whose words are 0 until they are written first."""


class Single(Corners):
    """A host that lets one thing decide."""

    def one_cluster(self, clusters: int) -> None:
        """Bring one device on."""
        self.do(prepare(0, clusters * SLOTS, 0, SSD), Command(Opcode.SWAPON, 0))

    def one_slot_free(self) -> None:
        """No range is freed in which one slot is not in use, wherever that slot and the range's ends are."""
        rng = self.rng
        self.all_full()
        device = self.model.devices[0]
        cluster = device.clusters[1]
        self.refill(device, cluster, run(0, SLOTS), 0)
        begin = cluster.index * SLOTS
        for slot in range(SLOTS):
            self.free_run(device, begin + slot, 1)
            word = slot // WORD_SLOTS
            ranges = {
                (0, SLOTS - 1),
                (max(slot - 1, 0), min(slot + 1, SLOTS - 1)),
                (rng.randint(0, slot), rng.randint(slot, SLOTS - 1)),
                (rng.randint(word * WORD_SLOTS, slot), rng.randint(slot, (word + 1) * WORD_SLOTS - 1)),
            }
            if slot % WORD_SLOTS == word:  # one slot per word: with the ends in all words before and after
                for first in range(word):
                    for last in range(word + 1, WORDS):
                        places = (WORD_SLOTS * at + rng.randrange(WORD_SLOTS) for at in (first, last))
                        ranges.add((next(places), next(places)))
            for first, last in sorted(ranges):
                self.free_run(device, begin + first, last - first + 1)
            self.alloc((0,))
        self.flush("one slot is free")

    def two_runs(self) -> None:
        """A full cluster but for two runs of an order: both are found, though the second only once the first is gone.

        What the words of the open cluster hold is kept beside it, as it was when the cluster was fetched, or as it has
        changed since. So each word is the second one once for each order, and another cluster is open in between.
        """
        rng = self.rng
        device = self.model.devices[0]
        cluster, other = device.clusters[1:3]
        self.all_full()
        self.refill(device, other, run(0, SLOTS), 0)
        for order in range(1, WORD_ORDERS):
            for second in range(1, WORDS):
                first = rng.randrange(second)
                places = (WORD_SLOTS * word + (rng.randrange(WORD_SLOTS) & -1 << order) for word in (first, second))
                self.refill(device, cluster, run(0, SLOTS) & ~sum(run(place, 1 << order) for place in places), order)
                self.free_run(device, other.index * SLOTS + rng.randrange(SLOTS), 1)
                self.alloc((0,))
                cpu = rng.randrange(self.sizes.cpus)
                for _ in range(3):
                    self.alloc_by(cpu, order)
            self.flush(f"two runs of order {order}")

    def places_to_go_on(self) -> None:
        """Two CPUs go on through a cluster that is empty, each from every place that an order can have there."""
        self.all_full()
        device = self.model.devices[0]
        for order in range(ORDERS - 1):
            for cluster in device.clusters[1:]:
                self.empty(device, cluster)
                cpus = self.rng.sample(range(self.sizes.cpus), 2)
                while cluster.count < SLOTS:
                    found = self.alloc_by(self.rng.choice(cpus), order)
                    if found is not None and self.rng.random() < 0.1:
                        self.free_run(device, found.offset, 1 << order)
            self.flush(f"places to go on from, order {order}")

    def priorities_a_bit_apart(self) -> None:
        """Devices with one of two priorities that differ in one bit, in the sequences of both policies.

        Were they the same, others would come first: those of the CPU's node, or those that were switched on first, both
        of which have the lower priority. Each device has one empty cluster, so that a few allocations of order 9 show
        all of the sequence.
        """
        rng, model = self.rng, self.model
        model.nodes = [1] * self.sizes.cpus
        self.script.write(m.CPU_NODE_BASE, sum(1 << 4 * cpu for cpu in range(self.sizes.cpus)))
        for bit in range(16):
            for policy in (DeviceOrder.SEQUENTIAL, DeviceOrder.NODE_FIRST) * 2:
                for type_ in list(model.devices):
                    self.off(type_)
                one = -1 if policy == DeviceOrder.SEQUENTIAL else rng.randint(-32768, 32767)
                other = (one & 0xFFFF ^ 1 << bit ^ 0x8000) - 0x8000
                low, high = sorted((one, other))
                types = rng.sample(range(self.sizes.devices), self.sizes.devices)
                for at, type_ in enumerate(types):
                    is_low = at < len(types) // 2
                    line = (2 * SLOTS, 2 * at, SSD, low if is_low else high, int(is_low))
                    self.do(prepare(type_, *line), Command(Opcode.SWAPON, type_))
                self.flush(f"priorities {low} and {high}")
                self.follow(Policy(device=policy))
                for _ in range(self.sizes.devices + 1):
                    self.alloc((9,))
                self.flush("in sequence")
        self.follow(Policy())


def address_registers(script: Script, rng: random.Random) -> None:
    """Bytes that were not written since reset are 0, and others stay, whichever register was written before."""
    for address in ADDRESSES:
        script.write(address, rng.getrandbits(64))
    for first in ADDRESSES:
        for second in ADDRESSES:
            script.reset_by_register()
            script.note(f"address registers {first:#x} and {second:#x}")
            held = dict.fromkeys(ADDRESSES, 0)
            for address, strobes in (
                (first, 0xFF),
                (second, rng.getrandbits(8)),
                (second, rng.getrandbits(8)),
                (first, rng.getrandbits(8)),
            ):
                value = rng.getrandbits(64)
                script.write(address, value, strobes)
                held[address] = merged(held[address], value, strobes) & -LINE
                for at, expected in held.items():
                    script.read(at, expected)
            for address in ADDRESSES:  # values that must not be seen after the next reset
                script.write(address, rng.getrandbits(64) | rng.getrandbits(64))
    script.reset_by_register()


def single(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all of this once."""
    rng = random.Random(seed)
    script = Script()
    script.after_reset()
    address_registers(script, rng)
    player = Single(script, rng, sizes)
    player.one_cluster(4)
    player.one_slot_free()
    player.places_to_go_on()
    player.two_runs()
    player.compare()
    player.priorities_a_bit_apart()
    player.compare()
    script.reset_by_register()
    return script.text()


class Runs(Single):
    """A host that leaves the runs of one word free, or nearly.

    The finder works out in all words at once where runs begin, so each word is logic of its own.
    """

    def each_run(self, device: Device, cluster: Cluster) -> None:
        """All is full but for one run, which is found by CPUs that go on from before it, from behind it or anywhere."""
        for order in range(WORD_ORDERS):
            self.refill(device, cluster, run(0, SLOTS), order)
            for slot in range(0, SLOTS, 1 << order):
                self.free_run(device, cluster.index * SLOTS + slot, 1 << order)
                self.alloc((order,))
            self.flush(f"each run of order {order}")

    def nearly(self, device: Device, cluster: Cluster) -> None:
        """In a word, half of each run is free, and all of the last one, which is found; then nothing is."""
        for order in range(1, WORD_ORDERS):
            halves = run(0, 1 << (order - 1))
            for word in range(WORDS):
                begin = word * WORD_SLOTS
                last = begin + WORD_SLOTS - (1 << order)
                free = run(last, 1 << order)
                for slot in range(begin, last, 1 << order):
                    free |= halves << slot + (self.rng.randrange(2) << (order - 1))
                self.refill(device, cluster, run(0, SLOTS) & ~free, order)
                cpu = self.rng.randrange(self.sizes.cpus)
                self.alloc_by(cpu, order)
                self.alloc_by(cpu, order)
            self.flush(f"nearly runs of order {order}")

    def one_in_use(self, device: Device, cluster: Cluster) -> None:
        """In a word, one slot is in use: runs are found around it."""
        for order in range(WORD_ORDERS):
            self.refill(device, cluster, run(0, SLOTS), order)
            for slot in self.rng.sample(range(SLOTS), 96):
                word = run(slot // WORD_SLOTS * WORD_SLOTS, WORD_SLOTS)
                self.free_mask(device, cluster, word & ~(1 << slot))
                for _ in range(2):
                    self.alloc((order,))
                self.fill(device, cluster, order)
            self.flush(f"one slot of a word in use, order {order}")

    def known_to_the_index(self, device: Device, cluster: Cluster) -> None:
        """One word alone has a run, not the one that changes: the index names the cluster, with and without the run.

        A cluster is empty beside it, so that it is seen when the index does not know the run.
        """
        empty = next(other for other in device.clusters[1:] if other is not cluster)
        self.follow(Policy(placement=Placement.INDEXED))
        for order in range(WORD_ORDERS):
            for word in range(WORDS):
                slot = word * WORD_SLOTS + (self.rng.randrange(WORD_SLOTS) & -1 << order)
                self.fill(device, empty, order)
                self.refill(device, cluster, run(0, SLOTS) & ~run(slot, 1 << order), order)
                self.empty(device, empty)
                other = (word + self.rng.randrange(1, WORDS)) % WORDS * WORD_SLOTS
                self.free_mask(device, cluster, 1 << other)
                for _ in range(2):
                    self.alloc((order,))
            self.flush(f"runs of order {order} that the index knows")
        self.follow(Policy())


def free_runs(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all words once."""
    script = Script(MIXED_BASE)
    script.after_reset()
    player = Runs(script, random.Random(seed), sizes)
    player.one_cluster(3)
    device = player.model.devices[0]
    player.all_full()
    for part in (player.each_run, player.nearly, player.one_in_use):
        part(device, device.clusters[1 + player.rng.randrange(2)])
        player.all_full()
    player.known_to_the_index(device, device.clusters[1])
    player.all_full()
    player.flush("all full again")
    player.compare()
    script.settle()
    script.reset_by_register()
    return script.text()
