# SPDX-License-Identifier: Apache-2.0
"""Grants in an engine with a core: beside its commands and swap tables, and with RESET at any time."""

import cocotb
import hwswap_map as m
from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap_map import Opcode

from cases.masters import Cell
from cases.rows import ROWS, Row
from cases.world import RING_LOG2, TABLED, World

WORKS = list(dict.fromkeys(row.work for row in ROWS if row.needs != "grants"))
"""All that the core does."""

MOST = 60
"""Works of the core within which one is met that grants go on beside."""


async def passes_within(world: World) -> int:
    """Fill the ring with commands that read a whole table each; return the passes over the rings in their middle."""
    dut = world.bench.dut
    counts = [Command(Opcode.TABLE_COUNT, TABLED, arg1=SLOTS, arg2=world.at["counts"])] * (1 << RING_LOG2)
    async with world.asking:
        task = cocotb.start_soon(world.tables.run(*counts))
        try:
            await world.bench.cycles(200)
            start = int(dut.passes.value)
            await world.bench.cycles(400)
            assert not task.done(), "the commands are too short for this"
            passes = int(dut.passes.value) - start
            await task
        finally:
            task.cancel()
    return passes


async def beside(world: World) -> None:
    """Have grants made, and meanwhile the core do its works; all comes out right, and neither waits for the other."""
    grants = cocotb.start_soon(world.grants())
    went_on = 0
    try:
        for _ in range(MOST):
            await world.bench.rng.choice(WORKS)(world)
            went_on += await passes_within(world)
            if grants.done() and went_on:
                break
        assert went_on, "grants wait for table commands"
        await grants
    finally:
        grants.cancel()


BESIDE = Row("beside each other", zone="", write=False, work=beside, needs="grants")


@cocotb.test()
async def says_that_it_makes_grants(dut):
    cell = await Cell.start(dut, BESIDE)
    assert cell and cell.world.has == {"core", "check", "grants"}
    assert await cell.bench.read(m.GRANT_CONTROL_OFFSET) == 0
    names = ("WORD", "LINE", "NO_RUN", "RING")
    values = {getattr(m, f"GRANT_{name}_BASE_OFFSET"): cell.bench.rng.getrandbits(64) for name in names}
    for offset, value in values.items():
        await cell.bench.write(offset, value)
    for offset, value in values.items():
        assert await cell.bench.read(offset) == value & -64, "the bits below a line are not taken over"
    await cell.bench.reset_by_register()
    for offset in values:
        assert await cell.bench.read(offset) == 0


@cocotb.test()
async def grants_beside_commands_and_swap_tables(dut):
    """Three times, and with RESET at any time in between."""
    cell = await Cell.start(dut, BESIDE)
    assert cell
    for _ in range(3):
        await cell.again()
        await cell.right()
        async with cell.working(BESIDE):
            await cell.bench.cycles(cell.bench.rng.randrange(3000))
    await cell.again()
    await cell.right()
    assert await cell.bench.read(m.STAT_GRANTS_OFFSET) > 0
