# SPDX-License-Identifier: Apache-2.0
"""A script in which the bus answers each kind of transfer of the command ring with an error, and all begins anew then.

Those of commands on swap tables are in swap_tables.py.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.host_memory import Command
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.player import KINDS, Player
from hwswap.stimulus.script import MEMORY_BYTES, NOWHERE, PAGE, Script, Sizes


def used(script: Script, rng: random.Random, sizes: Sizes) -> Player:
    """Begin with some devices, some of whose slots are in use."""
    player = Player(script, rng, sizes)
    script.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    player.bring(KINDS[: sizes.devices], range(2, 5))
    for _ in range(24):
        player.alloc()
        player.free()
    player.flush("some operations")
    return player


def dump_nowhere(script: Script, player: Player, target: int) -> None:
    """The second record of a DUMP is where no memory is, or all of them are; those before it are written."""
    device = player.model.devices[0]
    inside = range(target, target + 8 * m.MEM_CLUSTER_STATE_BYTES, m.MEM_CLUSTER_STATE_BYTES)
    # Permitted, so that it is the bus that says no.
    script.window(0, script.base, script.base + MEMORY_BYTES + PAGE)
    number = script.tail
    lines = [Expected(Command(Opcode.DUMP, nr=len(device.clusters), arg0=device.base, arg1=target), Status.BUS_ERROR)]
    script.post(lines)
    script.stopped()
    script.finish(number, lines)
    for at, state in zip(inside, player.model.dump(0), strict=False):
        offset = at - script.base
        if 0 <= offset < MEMORY_BYTES:
            for number, (word, mask) in enumerate(zip(state.words(), state.masks(), strict=True)):
                script.expect(offset + 8 * number, word, mask)


def errors(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all of these once."""
    rng = random.Random(seed)
    s = Script()
    s.after_reset()
    for name in ("CMD_BASE", "CPL_BASE"):
        player = used(s, rng, sizes)
        player.compare()
        s.note(f"an error of the bus: {name}")
        s.write(getattr(m, f"{name}_OFFSET"), NOWHERE)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
        s.stopped()
        s.reset_by_register()
    for target in (NOWHERE, s.base + MEMORY_BYTES - m.MEM_CLUSTER_STATE_BYTES):
        player = used(s, rng, sizes)
        player.compare()
        s.note(f"an error of the bus: DUMP to {target:#x}")
        dump_nowhere(s, player, target)
        s.reset_by_register()
    used(s, rng, sizes).compare()
    s.reset_by_register()
    return s.text()
