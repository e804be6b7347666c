# SPDX-License-Identifier: Apache-2.0
"""Commands that come with an error, and RESET in the middle of work: the engine is whole again.

Errors of all other transfers are in masters.py and in the script `errors`.
"""

import random

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap.stimulus.commands import RandomCommands
from hwswap_map import Opcode

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE
KINDS = (SSD, SSD | DISCARD, BLKDEV)


async def use(bench: Bench) -> Allocator:
    """Bring devices on and use some of their slots; return the model, whose answers the engine gives."""
    model = Allocator()
    work = RandomCommands(model, random.Random(bench.rng.getrandbits(30)))
    work.bring(KINDS, range(3, 5))
    for _ in range(30):
        work.alloc()
        work.free()
    bench.script.give(work.lines)
    await bench.play()
    return model


async def expect_recovery(bench: Bench) -> None:
    """RESET and set-up: the engine is as new."""
    await bench.reset_by_register()
    await bench.setup()
    await bench.same_clusters(await use(bench))


@cocotb.test()
async def commands_that_came_with_an_error_are_not_carried_out(dut):
    """Whatever word of the transfer has the error, neither the commands before it nor those behind it are."""
    bench = await Bench.start(dut)
    for word in range(0, 16, 3):
        await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
        await bench.must(
            prepare(0, 2 * SLOTS, 0, SSD), Command(Opcode.SWAPON, 0), Command(Opcode.ALLOC), Command(Opcode.NOP)
        )
        at = bench.layout.commands + 32 * bench.tail + 8 * word
        bench.memory.denied.append(range(at, at + 8))
        for command in (
            Command(Opcode.ALLOC, order=2),
            Command(Opcode.FREE, 0, nr=1, arg0=1),
            prepare(1, 2 * SLOTS, 8, SSD),
            Command(Opcode.SWAPON, 1),
        ):
            bench.post(command)
        await bench.ring()
        await bench.stopped()
        assert m.CMD_HEAD_HEAD.get(await bench.read(m.CMD_HEAD_OFFSET)) == bench.taken
        state = await bench.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET)
        assert m.DEVICE_STATE_USED.get(state) == 2
        assert await bench.read(m.DEVICE_BASE + m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET) == 0
        await bench.reset_by_register()
        await bench.setup()


@cocotb.test()
async def reset_in_the_middle_of_work(dut):
    """RESET at a random moment of a busy engine; no bus transfer is left half done (the bus models would stall)."""
    bench = await Bench.start(dut)
    await use(bench)
    for _ in range(4):
        for number in range(24):
            opcode = (Opcode.CHECK, Opcode.ALLOC, Opcode.DUMP)[number % 3]
            bench.post(Command(opcode, nr=2, arg1=bench.layout.dump if opcode == Opcode.DUMP else 0))
        await bench.ring()
        await bench.cycles(bench.rng.randrange(400))
        await expect_recovery(bench)
