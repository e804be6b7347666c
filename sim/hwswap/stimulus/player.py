# SPDX-License-Identifier: Apache-2.0
"""Random commands that go into a script, and the script of clusters in all states."""

import random

import hwswap_map as m

from hwswap.model.clusters import BLKDEV, DISCARD
from hwswap.model.golden import Allocator
from hwswap.model.policy import Policy, Scan
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import SSD, RandomCommands
from hwswap.stimulus.script import FAR_BASE, Script, Sizes

KINDS = (SSD, SSD | DISCARD, BLKDEV, SSD)


class Player(RandomCommands):
    """Random commands that go into a script."""

    def __init__(self, script: Script, rng: random.Random, sizes: Sizes) -> None:
        """Begin with an engine after reset."""
        super().__init__(Allocator(sizes.devices, sizes.cpus, sizes.clusters), rng)
        self.script = script
        self.sizes = sizes
        script.begin(m.CONTROL_ENABLE.put(1))

    def flush(self, note: str) -> None:
        """Write the commands so far into the script."""
        self.script.note(note)
        self.script.give(self.lines)
        self.lines.clear()

    def follow(self, policy: Policy) -> None:
        """Follow a policy from here on."""
        self.flush("before another policy")
        self.model.set_policy(policy)
        self.script.write(m.POLICY_OFFSET, policy.pack())

    def compare(self) -> None:
        """Compare the engine's state with the model's."""
        s = self.script
        engine_state.whole(s, self.model, self.sizes)
        s.settle()
        engine_state.statistics(s, self.model, 0, moves=False)

    def shuffle(self) -> None:
        """Fill every cluster, each of one order, then free slots of each in another sequence."""
        rng = self.rng
        clusters = [(device, cluster) for device in self.model.devices.values() for cluster in device.clusters]
        for device, cluster in rng.sample(clusters, len(clusters)):
            self.fill(device, cluster, rng.randrange(ORDERS))
        for device, cluster in rng.sample(clusters, len(clusters)):
            self.free_mask(device, cluster, ~self.pattern())

    def lonely(self) -> None:
        """With all else full, one cluster has room; the allocations fit, or nearly."""
        rng = self.rng
        device, cluster = self.cluster()
        self.all_full()
        for _ in range(4):
            order, size = rng.randrange(ORDERS), rng.randrange(ORDERS)
            wanted = run(0, SLOTS)
            for _ in range(rng.choice((1, 1, 2))):
                wanted &= ~run(rng.randrange(SLOTS >> size) << size, 1 << size)
            self.refill(device, cluster, wanted, order)
            for _ in range(rng.choice((1, 2, 3))):
                self.alloc((order, order, 0))
        self.all_full()


def lists(seed: int, rounds: int, sizes: Sizes) -> str:
    """Return a script that fills and empties all clusters anew in each round, and then allocates of all orders."""
    rng = random.Random(seed)
    script = Script(FAR_BASE)
    script.after_reset()
    for kinds in ((SSD, SSD, SSD | DISCARD, BLKDEV), (SSD | DISCARD, SSD, BLKDEV, SSD)):
        player = Player(script, rng, sizes)
        player.bring(kinds[: sizes.devices], range(1, 5), (-1, -1, 3))
        player.flush("devices")
        for number in range(rounds):
            player.follow(Policy(scan=rng.choice(list(Scan))))
            player.shuffle()
            for _ in range(rng.randint(4, 16)):
                player.alloc(tuple(range(10)))
                if rng.random() < 0.3:
                    player.free()
                if rng.random() < 0.1:
                    player.discard()
                if rng.random() < 0.1:
                    player.permission()
            player.flush(f"lists, round {number}")
        for device in player.model.devices.values():
            if not device.writeok:
                player.on(device.type)
        for number in range(rounds):
            player.lonely()
            player.flush(f"one cluster with room, round {number}")
        player.compare()
        script.reset_by_register()
    return script.text()
