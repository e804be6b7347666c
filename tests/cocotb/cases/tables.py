# SPDX-License-Identifier: Apache-2.0
"""Swap tables: cases that the scripts (scripts.py) do not have, and errors.

Tables lie anywhere in 64-bit space, many commands are given at once, and after each batch all of memory is compared.
"""

from types import SimpleNamespace

import cocotb
import hwswap_map as m
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import ANY
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.table_commands import PAGE
from hwswap_map import Opcode, Status, TableKind

from cases.bench import SSD, Bench
from cases.tabled import BenchTables

SIZES = {0: 6 * SLOTS - 17, 3: 4 * SLOTS, 6: 300}
"""Pages of the devices of all tests: with a partial last cluster, with whole ones, and with part of one."""


async def start(dut) -> tuple[Bench, BenchTables]:
    """Start an engine whose devices are claimed; one of them had its SWAPON."""
    bench = await Bench.start(dut)
    return bench, await tabled(bench)


async def tabled(bench: Bench, old: BenchTables | None = None) -> BenchTables:
    """Claim devices of an engine after reset; the first has its SWAPON. Tables get the places of an old host's."""
    base = 0
    for type_, pages in SIZES.items():
        await bench.must(prepare(type_, pages, base, SSD))
        base += -(-pages // SLOTS)
    await bench.must(Command(Opcode.SWAPON, min(SIZES)))
    devices = {type_: SimpleNamespace(pages=pages) for type_, pages in SIZES.items()}
    return BenchTables(bench, devices, old.places if old else None)


@cocotb.test()
async def a_table_that_was_taken_is_not_touched(dut):
    """Commands that use it are in flight before it is taken; from its completion on the memory is denied."""
    bench, host = await start(dut)
    target = host.places.targets[0]
    for lap in range(6):
        host.give_all(0)
        await host.run()
        clusters = bench.rng.sample(range(6), 3)
        pages = [host.tables.directory[0, cluster] for cluster in clusters]
        commands = [
            Command(Opcode.TABLE_COUNT, 0, arg0=0, arg2=target),
            Command(Opcode.TABLE_FILL, 0, nr=SLOTS // 2, arg0=clusters[0] * SLOTS | ANY << 32, arg1=lap),
            Command(Opcode.TABLE_SCAN, 0, arg0=SLOTS | 1 << TableKind.OTHER << 32),
            *(Command(Opcode.TABLE_TAKE, 0, nr=1, arg0=cluster * SLOTS + lap) for cluster in clusters),
        ]
        await host.run(*commands)
        zones = [range(page, page + PAGE) for page in pages]
        bench.memory.denied += zones
        await host.run(
            Command(Opcode.TABLE_COUNT, 0, arg0=0, arg2=target),
            *(Command(Opcode.TABLE_LOOKUP, 0, arg0=cluster * SLOTS) for cluster in clusters),
            Command(Opcode.TABLE_SCAN, 0, arg0=0 | (ANY - 1) << 32, arg2=target),
            Command(Opcode.TABLE_FILL, 0, nr=3, arg0=clusters[1] * SLOTS | ANY << 32, arg1=lap),
        )
        await bench.cycles(200)
        assert m.STATUS_DMA_ERROR.get(await bench.read(m.STATUS_OFFSET)) == 0
        bench.memory.allow_all()


@cocotb.test()
async def nothing_is_written_after_an_error_of_a_read(dut):
    """Of a table, at the start of a command's range and in the middle; other errors are in masters.py."""
    bench, host = await start(dut)
    for opcode in (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE):
        for slot in (3, 150):
            host.give_all(3)
            await host.run()
            at = host.tables.directory[3, 1] + 8 * slot
            before = {page: bench.memory.get(page, PAGE) for page in host.places.pages}
            bench.memory.denied.append(range(at, at + 8))
            await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
            lines = [Expected(Command(opcode, 3, nr=200, arg0=SLOTS + 3 | ANY << 32), Status.BUS_ERROR)]
            bench.script.post(lines)
            bench.script.stopped(m.CONTROL_TABLE_WRITES.put(1))
            bench.script.finish(bench.script.tail - 1, lines)
            await bench.play()
            after = {page: bench.memory.get(page, PAGE) for page in host.places.pages}
            assert after == before, f"{opcode}: words were written after an error of a read"
            await bench.reset_by_register()
            await bench.setup()
            host = await tabled(bench, host)


@cocotb.test()
async def words_are_counted(dut):
    """STAT_TABLE_: words of tables read at least once for each slot that was asked for, and written exactly."""
    bench, host = await start(dut)
    host.give_all(3)
    await host.run()
    read = await bench.read(m.STAT_TABLE_ENTRIES_READ_OFFSET)
    written = await bench.read(m.STAT_TABLE_ENTRIES_WRITTEN_OFFSET)
    await host.run(
        Command(Opcode.TABLE_FILL, 3, nr=77, arg0=5 | ANY << 32),
        Command(Opcode.TABLE_CLEAR, 3, nr=9, arg0=600 | ANY << 32),
        Command(Opcode.TABLE_FILL, 3, nr=5, arg0=5 | 1 << 32, arg1=1),
        Command(Opcode.TABLE_COUNT, 3, arg0=SLOTS, arg2=host.places.targets[0]),
    )
    assert await bench.read(m.STAT_TABLE_ENTRIES_WRITTEN_OFFSET) - written == 77 + 9
    assert await bench.read(m.STAT_TABLE_ENTRIES_READ_OFFSET) - read >= 77 + 9 + 5 + 3 * SLOTS
    assert await bench.read(m.STAT_TABLE_BUSY_CYCLES_OFFSET) > 0
