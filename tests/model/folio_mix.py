# SPDX-License-Identifier: Apache-2.0
"""swapmix (sw/driver/workloads) on models: the kernel's allocator is the golden model, the engine the specification.

Folios of 4 to 128 kB come and go, in sizes whose mix changes, on swap that is kept as full as it is told to be. What
the workload draws are the numbers that the program draws, so with no engine as many folios are split as in a guest.
The engine has its say every few folios; how late it is in a guest depends on the machine.
"""

from collections import Counter

from hwswap.model.golden import Allocator, Slots
from hwswap.model.grants import DeviceEntry, Lines
from hwswap.model.marks import Arrays, Scanner, Word, change, mark
from hwswap.model.rows import SLOTS
from hwswap.model.steps import Operation
from hwswap_map import Flag

PAGES = (1, 4, 8, 16, 32)
WEIGHTS = (32, 8, 4, 2, 1)
FAVOURED = 4
PHASE = 16 << 8
MB = 256
"""Of swap, in all; pages of a megabyte, too."""

BITS = (1 << 64) - 1
TURNS = 128
"""Of so many folios that NO_RUN fails the kernel looks for one: SWAP_GRANTS_TURNS."""


def mix64(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & BITS
    return x ^ x >> 31


class Draw:
    """The program's random numbers."""

    def __init__(self, seed):
        """Begin as the program does."""
        self.state = mix64(seed)

    def below(self, bound):
        """Return the next number below `bound`."""
        while True:
            self.state = self.state + 0x9E3779B97F4A7C15 & BITS
            value = mix64(self.state)
            if value < BITS - BITS % bound:
                return value % bound


class Kernel(Allocator):
    """The kernel's allocator with patch 0010: grants steer it, and what it does is told by marks."""

    def __init__(self, devices, make=None):
        """Make devices of one priority, and an engine by `make`, which is given arrays and lines."""
        super().__init__(devices=devices, cpus=1, clusters=MB // 2)
        pages = MB * MB // devices
        for type_ in range(devices):
            self.prepare(type_, pages, type_ * pages // SLOTS, priority=5)
            self.swapon(type_)
        self.held = {}
        self.fails = self.emptied = 0
        self.changed = set(range(MB // 2))
        self.grants = None
        if make:
            self.arrays, self.lines = Arrays(MB // 2), Lines(1)
            self.grants = make(self.arrays, self.lines)
            for device in self.devices.values():
                entry = DeviceEntry(device.type, device.base, len(device.clusters), device.priority, device.type + 1)
                self.grants.set_device(entry)
            self.rounds, self.passes = Scanner(self.arrays, self.grants.index).steps(), self.grants.steps()
            for _ in range(2):
                self.engine()

    def engine(self):
        """Let the engine see what has changed, and look at all rings."""
        for device in self.devices.values():
            for cluster in device.clusters:
                number = device.base + cluster.index
                word = Word(cluster.order, cluster.flag, device.type + 1)
                if self.arrays.used(number) != cluster.used or self.arrays.word[number] != word.pack():
                    list(change(self.arrays, number, cluster.used, word))
                if number in self.changed:
                    list(mark(self.arrays, number))
        self.changed.clear()
        while next(self.rounds) != "round":
            pass
        self.grants.round_finished()
        while next(self.passes) != "pass":
            pass

    def tell(self, slots):
        """Mark the cluster of some slots, or of none."""
        if slots is not None:
            self.changed.add(self.devices[slots.type].base + slots.offset // SLOTS)
        return slots

    def isolate(self, device, flag, order):
        """Take a cluster off a list: its list has changed."""
        cluster = super().isolate(device, flag, order)
        if cluster is not None:
            self.changed.add(device.base + cluster.index)
        return cluster

    def free_cluster(self, device, cluster):
        """Take note that a cluster is free again."""
        self.emptied += 1
        super().free_cluster(device, cluster)

    def free(self, type_, offset, nr):
        """Give back slots, and mark their cluster."""
        self.changed.add(self.devices[type_].base + offset // SLOTS)
        return super().free(type_, offset, nr)

    def alloc(self, cpu, order):
        """Find slots: by a grant, where the CPU goes on, by a search."""
        if self.grants is None:
            return super().alloc(cpu, order)
        operation = Operation(cpu, order)
        hint = self.hint_of(cpu, order)
        found = self.granted(operation)
        if found is None and hint.device is not None and hint.offset:
            found = self.tell(self.finish(self.resume(operation, hint.device, hint.offset)))
        if found is None and order and self.lines.no_run >> order & 1:
            self.fails += 1
            if self.fails % TURNS:
                return None
        return found or self.tell(self.finish(self.alloc_slow(operation)))

    def finish(self, search):
        """Do a search to its end."""
        answer = None
        while True:
            try:
                answer = self.perform(search.send(answer))
            except StopIteration as end:
                return end.value

    def granted(self, operation):
        """Take the next place of a grant, if there is one and it is any good."""
        order = operation.order
        mask, grant = self.held.get(order, (0, None))
        if not mask:
            self.tell(grant and self.place(grant, 0))
            mask, grant = self.pop(order)
            if not mask:
                self.held.pop(order, None)
                return None
        self.held[order] = mask & mask - 1, grant
        type_, offset = self.place(grant, (mask & -mask).bit_length() - 1)
        device = self.devices[type_]
        cluster = device.clusters[offset // SLOTS]
        listed = cluster.flag in (Flag.NONFULL, Flag.FRAG) and (not order or cluster.order == order)
        found = None
        if listed or cluster.flag == Flag.FREE:
            if not listed:
                del device.free[cluster.index]
                cluster.flag = Flag.NONE
            found = self.finish(self.scan(operation, device, cluster, offset % SLOTS))
            if found is not None and found.offset == offset:
                return found
            self.tell(self.place(grant, 0))
        if found is None:
            self.held.pop(order)
            self.tell(self.place(grant, 0))
        return found

    @staticmethod
    def place(grant, unit):
        """Return where a unit of a grant is."""
        return Slots(grant.type, grant.slot + (unit << grant.order))

    def pop(self, order):
        """Take the next grant out of a ring: its mask, and all of it."""
        head = self.lines.head[0]
        while (grant := self.lines.entry(0, order, head[order])) is not None:
            head[order] += 1
            mask = grant.mask & ~(not grant.slot)
            if mask:
                return mask, grant
        self.lines.want[0] |= 1 << order
        return 0, None


class Boundless:
    """An allocator that always has room, and takes note of how many slots each order has at most."""

    grants = None

    def __init__(self):
        """Begin with nothing in use; the offset of what is allocated is its order."""
        self.used, self.most = Counter(), Counter()

    def alloc(self, cpu, order):
        """Give some place."""
        self.used[order] += 1 << order
        self.most[order] = max(self.most[order], self.used[order])
        return Slots(cpu, order)

    def free(self, type_, offset, nr):
        """Take note."""
        self.used[offset] -= nr


def folio_mix(kernel, percent, seed=1, churn=0.5, every=4):
    """Do what `swapmix --fill --churn --seed` does.

    Args:
        kernel: the allocator.
        percent: how full swap is kept.
        seed: the program's.
        churn: how much comes and goes, as a part of what is kept.
        every: the engine has its say each time so many folios were swapped out.

    Returns:
        How many folios of each size (kB) were swapped out whole, and how many were split.
    """
    draw = Draw(seed)
    wanted = MB * percent // 100 << 8
    left = int((wanted >> 8) * churn) << 8
    there, pages, phase, favourite, number = [], 0, 0, 0, 0
    whole, split = Counter(), Counter()
    while left:
        if not phase:
            favourite, phase = draw.below(len(PAGES)), PHASE
        weights = [weight * (FAVOURED if size == favourite else 1) for size, weight in enumerate(WEIGHTS)]
        drawn, size = draw.below(sum(weights)), 0
        while drawn >= weights[size]:
            drawn -= weights[size]
            size += 1
        phase = max(0, phase - PAGES[size])
        full = False
        while pages + PAGES[size] > wanted:
            index = draw.below(len(there))
            for nr, slots in there[index]:
                kernel.free(*slots, nr)
                pages -= nr
            there[index] = there[-1]
            there.pop()
            full = True
        found = kernel.alloc(0, PAGES[size].bit_length() - 1)
        (split if found is None else whole)[4 * PAGES[size]] += 1
        if found is None:
            there.append([(1, kernel.alloc(0, 0)) for _ in range(PAGES[size])])
        else:
            there.append([(PAGES[size], found)])
        pages += PAGES[size]
        if full:
            left = max(0, left - PAGES[size])
        number += 1
        if kernel.grants is not None and number % every == 0:
            kernel.engine()
    return whole, split
