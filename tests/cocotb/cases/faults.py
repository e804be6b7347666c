# SPDX-License-Identifier: Apache-2.0
"""DMA that is answered with an error: the engine stops and says so, and RESET makes it whole again."""

import random

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator
from hwswap.model.host_memory import ClusterState, Command
from hwswap.stimulus.commands import Expected, RandomCommands
from hwswap_map import Opcode, Status

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE
KINDS = (SSD, SSD | DISCARD, BLKDEV)


async def use(bench: Bench) -> Allocator:
    """Bring devices on and use some of their slots; return the model, whose answers the engine gives."""
    model = Allocator()
    script = RandomCommands(model, random.Random(bench.rng.getrandbits(30)))
    script.bring(KINDS, range(3, 5))
    for _ in range(30):
        script.alloc()
        script.free()
    done = await bench.run(*[line.command for line in script.lines])
    for line, got in zip(script.lines, done, strict=True):
        assert Expected(line.command, got.status, got.slot, got.type) == line
    return model


async def start(dut) -> tuple[Bench, Allocator]:
    """Start an engine that is in use, with its error interrupt enabled."""
    bench = await Bench.start(dut)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    return bench, await use(bench)


async def expect_stop(bench: Bench) -> None:
    """The engine has stopped: status, interrupt, no more traffic, registers alive."""
    await bench.irq_edge()
    status = await bench.read(m.STATUS_OFFSET)
    assert m.STATUS_DMA_ERROR.get(status) == 1
    assert m.STATUS_FAULT.get(status) == 0
    assert m.IRQ_STATUS_ERROR.get(await bench.read(m.IRQ_STATUS_OFFSET)) == 1
    assert m.CONTROL_ENABLE.get(await bench.read(m.CONTROL_OFFSET)) == 0
    await bench.cycles(300)
    reads, writes = bench.memory.reads, len(bench.memory.writes)
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1))
    await bench.cycles(600)
    assert (bench.memory.reads, len(bench.memory.writes)) == (reads, writes), "a stopped engine goes on"
    assert m.CONTROL_ENABLE.get(await bench.read(m.CONTROL_OFFSET)) == 0


async def reset(bench: Bench) -> None:
    """RESET: nothing is left of what was."""
    bench.memory.denied.clear()
    bench.memory.denied_writes.clear()
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
    await bench.until_not_resetting()
    assert await bench.read(m.STATUS_OFFSET) == 0
    assert bench.dut.irq.value == 0


async def expect_recovery(bench: Bench) -> None:
    """RESET and set-up: the engine is as new."""
    await reset(bench)
    await bench.setup()
    await bench.same_clusters(await use(bench))


@cocotb.test()
async def an_error_in_the_middle_of_a_dump(dut):
    """The record before the one with the error is whole, those behind it are not written."""
    bench, model = await start(dut)
    at, size = bench.layout.dump, m.MEM_CLUSTER_STATE_BYTES
    bench.memory.put(at, bytes(3 * size))
    bench.memory.denied.append(range(at + size + 32, at + size + 40))
    bench.post(Command(Opcode.DUMP, nr=3, arg0=model.devices[0].base, arg1=at))
    await bench.ring()
    await expect_stop(bench)
    done = await bench.completion()
    assert (done.status, done.result) == (Status.BUS_ERROR, 0)
    assert model.dump(0)[0].is_shown(ClusterState.unpack(bench.memory.get(at, size)))
    assert bench.memory.get(at + 2 * size, size) == bytes(size)
    await expect_recovery(bench)


@cocotb.test()
async def reset_in_the_middle_of_work(dut):
    """RESET at a random moment of a busy engine; no bus transfer is left half done (the bus models would stall)."""
    bench, _ = await start(dut)
    for _ in range(4):
        for number in range(24):
            opcode = (Opcode.CHECK, Opcode.ALLOC, Opcode.DUMP)[number % 3]
            bench.post(Command(opcode, nr=2, arg1=bench.layout.dump if opcode == Opcode.DUMP else 0))
        await bench.ring()
        await bench.cycles(bench.rng.randrange(400))
        await expect_recovery(bench)
