# SPDX-License-Identifier: Apache-2.0
"""A script of free runs in each word of a cluster, of each order that fits a word, at each place in it.

The finder works out in all words at once where runs begin, so each word is logic of its own.
"""

import random

import hwswap_map as m

from hwswap.model.golden import Cluster, Device
from hwswap.model.policy import Placement, Policy
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.stimulus.script import MIXED_BASE, Script, Sizes
from hwswap.stimulus.single import WORD_SLOTS, WORDS, Single

WORD_ORDERS = WORD_SLOTS.bit_length()


class Runs(Single):
    """A host that leaves the runs of one word free, or nearly."""

    def go_on_from(self, device: Device, cluster: Cluster, order: int, word: int | None) -> int:
        """Have some CPU go on from the first slot of a word, or from nowhere; return its number."""
        cpu = self.rng.randrange(self.sizes.cpus)
        self.next_at(device, cpu, order, 0 if word is None else cluster.index * SLOTS + word * WORD_SLOTS)
        return cpu

    def each_run(self, device: Device, cluster: Cluster) -> None:
        """All is full but for one run, which is found from in front of its word and from within it."""
        for order in range(WORD_ORDERS):
            self.refill(device, cluster, run(0, SLOTS), order)
            for slot in range(0, SLOTS, 1 << order):
                word = slot // WORD_SLOTS
                for begin in {None, word, self.rng.randrange(word + 1)}:
                    cpu = self.go_on_from(device, cluster, order, begin)
                    self.free_run(device, cluster.index * SLOTS + slot, 1 << order)
                    self.alloc_by(cpu, order)
            self.flush(f"each run of order {order}")

    def nearly(self, device: Device, cluster: Cluster) -> None:
        """In a word, half of each run is free, and all of the last one, which is found; then nothing is."""
        for order in range(1, WORD_ORDERS):
            halves = run(0, 1 << (order - 1))
            for word in range(WORDS):
                for at_end in (False, True):
                    begin = word * WORD_SLOTS
                    last = begin + WORD_SLOTS - (1 << order)
                    free = run(last, 1 << order)
                    for slot in range(begin, last, 1 << order):
                        free |= halves << slot + (at_end << (order - 1))
                    for start in (None, word):
                        self.refill(device, cluster, run(0, SLOTS) & ~free, order)
                        cpu = self.go_on_from(device, cluster, order, start)
                        self.alloc_by(cpu, order)
                        self.alloc_by(cpu, order)
            self.flush(f"nearly runs of order {order}")

    def one_in_use(self, device: Device, cluster: Cluster) -> None:
        """In a word, one slot is in use: runs are found around it."""
        for slot in range(SLOTS):
            word = slot // WORD_SLOTS
            order = self.rng.randrange(WORD_ORDERS)
            self.refill(device, cluster, run(0, SLOTS) & ~run(word * WORD_SLOTS, WORD_SLOTS) | 1 << slot, order)
            cpu = self.go_on_from(device, cluster, order, self.rng.choice((None, word)))
            for _ in range(2):
                self.alloc_by(cpu, order)
        self.flush("one slot of a word in use")

    def known_to_the_index(self, device: Device, cluster: Cluster) -> None:
        """One word alone has a run, not the one that changes: the index names the cluster, with and without the run.

        A cluster is empty beside it, so that it is seen when the index does not know the run.
        """
        empty = next(other for other in device.clusters[1:] if other is not cluster)
        policy = Policy(placement=Placement.INDEXED)
        self.model.set_policy(policy)
        self.script.write(m.POLICY_OFFSET, policy.pack())
        for order in range(WORD_ORDERS):
            for word in range(WORDS):
                slot = word * WORD_SLOTS + (self.rng.randrange(WORD_SLOTS) & -1 << order)
                hole = run(slot, 1 << order)
                self.refill(device, empty, 0, 0)
                self.refill(device, cluster, run(0, SLOTS) & ~hole, order)
                other = (word + self.rng.randrange(1, WORDS)) % WORDS * WORD_SLOTS
                self.free_run(device, cluster.index * SLOTS + other, 1)
                self.set_right()
                for _ in range(2):
                    self.forget_one(order)
                    self.alloc_by(self.rng.randrange(self.sizes.cpus), order)
            self.flush(f"runs of order {order} that the index knows")
        self.model.set_policy(Policy())
        self.script.write(m.POLICY_OFFSET, 0)

    def misaligned(self, device: Device, cluster: Cluster) -> None:
        """No CPU goes on from a slot that is no multiple of the order's run, whichever bit says so."""
        for order in range(1, ORDERS):
            for bit in range(order + 1):
                for cpu in range(self.sizes.cpus):
                    self.next_at(device, cpu, order, cluster.index * SLOTS + (1 << bit) % SLOTS)
                    self.next_at(device, cpu, order, 0)
        self.flush("places that are not aligned")


def free_runs(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all words once."""
    script = Script(MIXED_BASE)
    script.after_reset()
    player = Runs(script, random.Random(seed), sizes)
    player.one_cluster(3)
    device = player.model.devices[0]
    player.misaligned(device, device.clusters[1])
    player.all_full()
    player.set_right()
    for part in (player.each_run, player.nearly, player.one_in_use):
        part(device, device.clusters[1 + player.rng.randrange(2)])
        player.all_full()
        player.set_right()
    player.flush("all full")
    player.known_to_the_index(device, device.clusters[1])
    player.all_full()
    player.set_right()
    player.flush("all full again")
    player.compare()
    script.settle()
    script.reset_by_register()
    return script.text()
