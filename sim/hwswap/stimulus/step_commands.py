# SPDX-License-Identifier: Apache-2.0
"""A script of STEP commands and of questions about reclaim, random, between allocations and frees."""

import random

import hwswap_map as m

from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.policy import Policy, Scan
from hwswap.model.stepper import Stepper
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import RandomCommands
from hwswap.stimulus.script import FAR_BASE, Script, Sizes

SSD = BLKDEV | SOLIDSTATE
KINDS = (SSD, SSD | DISCARD, BLKDEV, SSD)


class Player(RandomCommands):
    """Random commands that go into a script."""

    def __init__(self, script: Script, rng: random.Random, sizes: Sizes) -> None:
        """Begin with an engine after reset."""
        super().__init__(Stepper(sizes.devices, sizes.cpus, sizes.clusters), rng)
        self.script = script
        self.sizes = sizes
        script.begin(m.CONTROL_ENABLE.put(1))

    def flush(self, note: str) -> None:
        """Write down what was done."""
        self.script.note(note)
        self.script.give(self.lines)
        self.lines.clear()

    def compare(self) -> None:
        """Compare the engine's state with the model's."""
        s = self.script
        engine_state.whole(s, self.model, self.sizes)
        s.settle()
        engine_state.statistics(s, self.model, 0, moves=False)


def lists(seed: int, rounds: int, sizes: Sizes) -> str:
    """Return a script that puts all clusters anew in each round, by steps, and then allocates of all orders."""
    rng = random.Random(seed)
    script = Script()
    script.after_reset()
    for kinds in ((SSD, SSD, SSD | DISCARD, BLKDEV), (SSD | DISCARD, SSD, BLKDEV, SSD)):
        player = Player(script, rng, sizes)
        player.bring(kinds[: sizes.devices], range(1, 5), (-1, -1, 3))
        player.flush("devices")
        for number in range(rounds // 2):
            policy = Policy(scan=rng.choice(list(Scan)))
            player.model.set_policy(policy)
            script.write(m.POLICY_OFFSET, policy.pack())
            player.shuffle()
            for _ in range(rng.randint(4, 16)):
                player.alloc(tuple(range(10)))
                if rng.random() < 0.3:
                    player.free()
            player.flush(f"lists, round {number}")
        player.forget()
        for number in range(rounds):
            player.lonely()
            player.flush(f"one cluster with room, round {number}")
        player.tidy()
        player.flush("in order again")
        player.compare()
        script.reset_by_register()
    return script.text()


def steps(seed: int, rounds: int, sizes: Sizes) -> str:
    """Return a script of so many rounds of STEP commands, then questions under each policy that treats them apart."""
    rng = random.Random(seed)
    script = Script(FAR_BASE)
    script.after_reset()
    player = Player(script, rng, sizes)
    player.bring(KINDS[: sizes.devices], range(2, 6), (-1, -1, 3))
    player.flush("devices")
    operations = [player.take, player.some_put, player.slots, player.next, player.visit, player.available]
    others = [player.alloc] * 6 + [player.free] * 4 + [player.discard, player.permission]
    for number in range(rounds):
        for _ in range(rng.randint(1, 24)):
            rng.choice(operations if rng.random() < 0.5 else others)()
        player.flush(f"steps, round {number}")
        if number % 40 == 39 or number == rounds - 1:
            player.tidy()
            player.flush(f"in order again after round {number}")
            player.compare()
    for policy in (Policy(), Policy(scan=Scan.FREE_FIRST)):
        script.reset_by_register()
        player = Player(script, rng, sizes)
        player.bring(KINDS[: sizes.devices - 1], range(3, 6))
        script.write(m.POLICY_OFFSET, policy.pack())
        player.model.set_policy(policy)
        for _ in range(120):
            player.alloc((9, 8, 7, 7, 6, 6, 5, 4))
        player.flush("more than half is used")
        for number in range(rounds // 3):
            for operation in rng.choices("afdp", (60, 20, 3, 1), k=rng.randint(5, 20)):
                if operation == "a" or (operation == "f" and not player.model.half_used):
                    player.ask_at_random()
                else:
                    {"f": player.free, "d": player.discard, "p": player.permission}[operation]()
            player.flush(f"questions, round {number}")
        player.compare()
    return script.text()
