# SPDX-License-Identifier: Apache-2.0
"""A script of free runs in each word of a cluster, of each order that fits a word, at each place in it.

The finder works out in all words at once where runs begin, so each word is logic of its own.
"""

import random

from hwswap.model.golden import Cluster, Device
from hwswap.model.policy import Placement, Policy
from hwswap.model.rows import SLOTS, run
from hwswap.stimulus.script import MIXED_BASE, Script, Sizes
from hwswap.stimulus.single import WORD_SLOTS, WORDS, Single

WORD_ORDERS = WORD_SLOTS.bit_length()


class Runs(Single):
    """A host that leaves the runs of one word free, or nearly."""

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
