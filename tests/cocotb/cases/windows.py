# SPDX-License-Identifier: Apache-2.0
"""What contains the engine: DMA windows, TABLE_WRITES, and stops that begin nothing more."""

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap_map import Opcode, Status

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE
PAGE = 4096
NO_WINDOW = {"start": 0, "limit": 0, "read": False, "write": False}


async def close(bench: Bench) -> None:
    """Take all windows away."""
    for number in range(m.DMA_WINDOW_COUNT):
        await bench.window(number, **NO_WINDOW)


async def stopped(bench: Bench, refused: tuple[int, bool] | None) -> None:
    """The engine has stopped, by a burst that was refused (its address, and whether it was to write) or by the bus."""
    await bench.irq_edge()
    await bench.idle()
    await bench.cycles(100)
    status = await bench.read(m.STATUS_OFFSET)
    assert status == m.STATUS_DMA_ERROR.put(1) | m.STATUS_DMA_REFUSED.put(refused is not None)
    word = await bench.read(m.DMA_REFUSED_OFFSET)
    assert m.DMA_REFUSED_VALID.get(word) == (refused is not None)
    if refused is not None:
        address, write = refused
        assert (m.DMA_REFUSED_ADDR.get(word) << 3, m.DMA_REFUSED_WRITE.get(word)) == (address, write)
        assert await bench.read(m.STAT_DMA_REFUSED_OFFSET) == 1


async def again(bench: Bench) -> None:
    """RESET, and set everything up; the windows were cleared."""
    bench.memory.denied.clear()
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
    await bench.until_not_resetting()
    for at in range(0, m.DMA_WINDOW_STRIDE * m.DMA_WINDOW_COUNT, 8):
        assert await bench.read(m.DMA_WINDOW_BASE + at) == 0
    assert await bench.read(m.STATUS_OFFSET) == 0
    await bench.setup()
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))


@cocotb.test()
async def nothing_is_read_or_written_outside_of_the_windows(dut):
    """Each window in turn has the commands, without the completions, or one page beside them, or one permission."""
    bench = await Bench.start(dut)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    commands, completions = bench.layout.commands, bench.layout.completions
    page = commands & -PAGE
    for number in range(m.DMA_WINDOW_COUNT):
        other = (number + 1) % m.DMA_WINDOW_COUNT
        for start, limit, read, write, refused in (
            (page, page + PAGE, False, True, (commands, False)),
            (page - PAGE, page, True, True, (commands, False)),
            (page + PAGE, page + 2 * PAGE, True, True, (commands, False)),
            (page, page + PAGE, True, False, (completions, True)),
        ):
            await close(bench)
            await bench.window(number, start, limit, read, write)
            await bench.window(other, completions & -PAGE, (completions & -PAGE) + PAGE, write=False)
            traffic = bench.memory.reads, len(bench.memory.writes)
            bench.post(Command(Opcode.NOP))
            await bench.ring()
            await stopped(bench, refused)
            made = (traffic[0] + 4 * refused[1], traffic[1])
            assert (bench.memory.reads, len(bench.memory.writes)) == made, "an access was made that is not permitted"
            await again(bench)
    await bench.must(Command(Opcode.NOP))


@cocotb.test()
async def words_of_tables_are_written_with_permission_alone(dut):
    bench = await Bench.start(dut)
    await bench.must(prepare(0, 2 * SLOTS, 0, SSD), Command(Opcode.SWAPON, 0))
    for permitted in (False, True, False):
        await bench.enable(table_writes=permitted)
        for opcode in (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE):
            want = Status.NO_TABLE if permitted else Status.WRITE_PROTECTED
            assert await bench.status_of(Command(opcode, 0, nr=1, arg0=SLOTS | 127 << 32)) == want
        assert await bench.status_of(Command(Opcode.TABLE_LOOKUP, 0, arg0=SLOTS)) == Status.NO_TABLE


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
        await stopped(bench, None)
        assert m.CMD_HEAD_HEAD.get(await bench.read(m.CMD_HEAD_OFFSET)) == bench.taken
        state = await bench.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET)
        assert m.DEVICE_STATE_USED.get(state) == 2
        assert await bench.read(m.DEVICE_BASE + m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET) == 0
        await again(bench)
