# SPDX-License-Identifier: Apache-2.0
"""A script of what a single slot, place, bit or write decides, each by itself.

Frees of ranges in which one slot is not in use; clusters with two runs, each in any word; places to go on from at each
power of two; devices whose priorities differ in one bit; address registers that are written in part before or behind
others.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import DeviceOrder, Policy
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.model.tables import LINE
from hwswap.stimulus.corners import Corners
from hwswap.stimulus.operations import SSD
from hwswap.stimulus.script import Script, Sizes

WORDS = 16
WORD_SLOTS = SLOTS // WORDS

ADDRESSES = (m.CMD_BASE_OFFSET, m.CPL_BASE_OFFSET)
"""Registers that hold addresses of lines: they lie in one memory, whose words are 0 until they are written first."""


class Single(Corners):
    """A host that lets one thing decide."""

    def one_cluster(self, clusters: int) -> None:
        """Bring one device on."""
        pages = clusters * SLOTS
        self.add(prepare(0, pages, 0, SSD), self.model.prepare(0, pages, 0, SSD, -1))
        self.add(Command(Opcode.SWAPON, 0), self.model.swapon(0))

    def one_slot_free(self) -> None:
        """No range is freed in which one slot is not in use, wherever that slot and the range's ends are."""
        rng = self.rng
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
            if slot % WORD_SLOTS == word:  # one slot a word: with the ends in all words before and behind
                for first in range(word):
                    for last in range(word + 1, WORDS):
                        places = (WORD_SLOTS * at + rng.randrange(WORD_SLOTS) for at in (first, last))
                        ranges.add((next(places), next(places)))
            for first, last in sorted(ranges):
                self.free_run(device, begin + first, last - first + 1)
            self.give(device, cluster, 1 << slot, 0)
        self.put(device, cluster, self.fitting(cluster), cluster.order)
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
        for order in range(WORD_SLOTS.bit_length()):
            for second in range(1, WORDS):
                first = rng.randrange(second)
                places = (WORD_SLOTS * word + (rng.randrange(WORD_SLOTS) & -1 << order) for word in (first, second))
                holes = sum(run(place, 1 << order) for place in places)
                self.refill(device, cluster, run(0, SLOTS) & ~holes, order)
                self.set_right()
                self.forget_one(order)
                self.put(device, other, other.flag, other.order)
                cpu = rng.randrange(self.sizes.cpus)
                for _ in range(3):
                    self.alloc_by(cpu, order)
            self.flush(f"two runs of order {order}")

    def forget_one(self, order: int) -> None:
        """No CPU remembers a place for an order."""
        for cpu in range(self.sizes.cpus):
            self.next_at(self.model.devices[0], cpu, order, 0)

    def alloc_by(self, cpu: int, order: int) -> tuple[int, int] | None:
        """ALLOC by this CPU; return type and offset of what it got."""
        found = self.model.alloc(cpu, order)
        command = Command(Opcode.ALLOC, cpu=cpu, order=order)
        if found is None:
            self.add(command, Status.NO_SPACE)
            return None
        self.add(command, Status.OK, found.offset, found.type)
        return found.type, found.offset

    def places_to_go_on(self) -> None:
        """A CPU goes on from the first slot of a cluster, and from each power of two in it, where all is free."""
        device = self.model.devices[0]
        for order in range(ORDERS - 1):
            for cluster in device.clusters[1:]:
                self.refill(device, cluster, run(SLOTS - 1, 1), order)
            self.set_right()
            for number, cluster in enumerate(device.clusters[1:]):
                for slot in (0, *(1 << bit for bit in range(order, 9))):
                    cpu = (number + slot) % self.sizes.cpus
                    self.next_at(device, cpu, order, cluster.index * SLOTS + slot)
                    found = self.alloc_by(cpu, order)
                    if found is not None:
                        self.free_run(device, found[1], 1 << order)
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
                    self.add(Command(Opcode.SWAPOFF_BEGIN, type_), model.swapoff_begin(type_))
                    self.add(Command(Opcode.SWAPOFF, type_), model.swapoff(type_))
                one = -1 if policy == DeviceOrder.SEQUENTIAL else rng.randint(-32768, 32767)
                other = (one & 0xFFFF ^ 1 << bit ^ 0x8000) - 0x8000
                low, high = sorted((one, other))
                types = rng.sample(range(self.sizes.devices), self.sizes.devices)
                for at, type_ in enumerate(types):
                    is_low = at < len(types) // 2
                    line = (2 * SLOTS, 2 * at, SSD, low if is_low else high, int(is_low))
                    self.add(prepare(type_, *line), model.prepare(type_, *line))
                    self.add(Command(Opcode.SWAPON, type_), model.swapon(type_))
                self.flush(f"priorities {low} and {high}, policy {policy.name}")
                model.set_policy(Policy(device=policy))
                self.script.write(m.POLICY_OFFSET, model.policy.pack())
                for _ in range(self.sizes.devices + 1):
                    self.alloc((9,))
                self.flush("in sequence")
        model.set_policy(Policy())
        self.script.write(m.POLICY_OFFSET, 0)


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
                mask = sum(255 << 8 * byte for byte in range(8) if strobes >> byte & 1)
                held[address] = (held[address] & ~mask | value & mask) & -LINE
                for at, expected in held.items():
                    script.read(at, expected)
            for address in ADDRESSES:  # what must not be seen behind the next reset
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
    player.tidy()
    player.flush("in order again")
    player.compare()
    player.priorities_a_bit_apart()
    player.compare()
    script.reset_by_register()
    return script.text()
