# SPDX-License-Identifier: Apache-2.0
"""Swap tables: what the scripts (scripts.py) do not have, and what goes wrong.

Tables lie anywhere in 64-bit space, many commands are given at once, and after each batch all of memory is compared.
"""

from types import SimpleNamespace

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import ANY
from hwswap.stimulus.table_commands import PAGE
from hwswap_map import Opcode, Status, TableKind

from cases.bench import Bench
from cases.tabled import BenchTables

SSD = BLKDEV | SOLIDSTATE
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
async def a_lookup_is_ignored_while_another_is_under_way(dut):
    """Written twice at once; only the first one's number comes back."""
    bench, host = await start(dut)
    host.give_all(0)
    await host.run()
    for number in range(20):
        first, second = (m.LOOKUP_SEQ.put(1000 + 2 * number + i) | m.LOOKUP_SLOT.put(i) for i in range(2))
        await bench.write(m.LOOKUP_OFFSET, first)
        info = await bench.read(m.LOOKUP_INFO_OFFSET)
        await bench.write(m.LOOKUP_OFFSET, second)
        await bench.until_field(m.LOOKUP_INFO_OFFSET, m.LOOKUP_INFO_BUSY, 0, "the lookup has no end")
        now = await bench.read(m.LOOKUP_INFO_OFFSET)
        seq = m.LOOKUP_INFO_SEQ.get(now) - 1000
        assert seq in (2 * number, 2 * number + 1)
        if not m.LOOKUP_INFO_BUSY.get(info):
            assert seq == 2 * number + 1, "a lookup was ignored although none was under way"
        slot = seq - 2 * number
        assert await bench.read(m.LOOKUP_ENTRY_OFFSET) == host.tables.words(0, 0, slot, 1)[0]


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
    """Of a table, at the start of what a command changes and in the middle; other errors are in masters.py."""
    bench, host = await start(dut)
    for opcode in (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE):
        for slot in (3, 150):
            host.give_all(3)
            await host.run()
            at = host.tables.directory[3, 1] + 8 * slot
            before = {page: bench.memory.get(page, PAGE) for page in host.places.pages}
            bench.memory.denied.append(range(at, at + 8))
            await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
            bench.post(Command(opcode, 3, nr=200, arg0=SLOTS + 3 | ANY << 32))
            await bench.ring()
            await bench.stopped()
            done = await bench.completion()
            assert (done.status, done.result) == (Status.BUS_ERROR, 0), f"{opcode}: {done}"
            after = {page: bench.memory.get(page, PAGE) for page in host.places.pages}
            assert after == before, f"{opcode}: words were written after an error of a read"
            await bench.reset_by_register()
            await bench.setup()
            host = await tabled(bench, host)


@cocotb.test()
async def reset_in_the_middle_of_table_commands(dut):
    """At random moments; afterwards no word is half written, and everything works as after power-up."""
    bench, host = await start(dut)
    for _ in range(8):
        host.give_all(0)
        host.give_all(3)
        await host.run()
        pages = [host.tables.directory[3, cluster] for cluster in range(4)]
        before = [bench.memory.word(page + 8 * slot) for page in pages for slot in range(SLOTS)]
        for cluster in range(4):
            arg0 = cluster * SLOTS | ANY << 32
            bench.post(Command(Opcode.TABLE_FILL, 3, nr=SLOTS, arg0=arg0, arg1=0x1234_5678_9ABC))
            bench.post(Command(Opcode.TABLE_COUNT, 0, arg2=host.places.targets[0]))
        await bench.ring()
        await bench.cycles(bench.rng.randrange(2500))
        await bench.reset_by_register()
        after = [bench.memory.word(page + 8 * slot) for page in pages for slot in range(SLOTS)]
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            filled = old >> 59 << 59 | 0x1234_5678_9ABC << 2 | 2
            assert new in (old, filled), f"word {i}: {old:#x} became {new:#x}"
        await bench.setup()
        host = await tabled(bench, host)
        host.give_all(0)
        await host.run(
            Command(Opcode.TABLE_COUNT, 0, arg2=host.places.targets[1]), Command(Opcode.TABLE_TAKE, 0, nr=6, arg0=0)
        )


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
