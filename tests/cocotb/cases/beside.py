# SPDX-License-Identifier: Apache-2.0
"""Marks and grants in an engine with a core: beside its commands and swap tables, and with RESET at any time."""

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.stimulus.commands import RandomCommands
from hwswap_map import Opcode, Status

from cases.bench import Bench
from cases.kernel import Kernel
from cases.tabled import BenchTables

SSD = BLKDEV | SOLIDSTATE
ADDRESSES = ("GROUP", "DIRTY", "WORD", "LINE", "NO_RUN", "RING")


async def start(dut) -> tuple[Bench, Kernel]:
    """Start an engine that makes grants for a kernel with devices, with its error interrupt enabled."""
    bench = await Bench.after_reset(dut)
    kernel = await Kernel.start(bench)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    return bench, kernel


async def again(bench: Bench) -> Kernel:
    """RESET, and another kernel."""
    await bench.reset_by_register()
    assert await bench.read(m.GRANT_CONTROL_OFFSET) == 0
    kernel = await Kernel.start(bench)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    return kernel


async def expect_grants(bench: Bench, kernel: Kernel) -> None:
    """The engine makes grants, as if nothing had been."""
    kernel.begin(0.5)
    await bench.cycles(6000)
    await kernel.expect_right()


@cocotb.test()
async def says_that_it_makes_grants(dut):
    bench = await Bench.after_reset(dut)
    caps = await bench.read(m.CAPS_OFFSET)
    assert (m.CAPS_GRANTS.get(caps), m.CAPS_GRANTS_ONLY.get(caps)) == (1, 0)
    assert await bench.read(m.GRANT_CONTROL_OFFSET) == 0
    values = {getattr(m, f"GRANT_{name}_BASE_OFFSET"): bench.rng.getrandbits(64) for name in ADDRESSES}
    for offset, value in values.items():
        await bench.write(offset, value)
    for offset, value in values.items():
        assert await bench.read(offset) == value & -64, "the bits below a line are not taken over"
    await bench.reset_by_register()
    for offset in values:
        assert await bench.read(offset) == 0


@cocotb.test()
async def grants_beside_commands_and_swap_tables(dut):
    """Allocations and table commands of the core, lookups, marks and grants at the same time: all come out right."""
    bench, kernel = await start(dut)
    model = Allocator(8, 4, 2048)
    for type_, pages, base in ((0, 3000, 0), (5, 1024, 6)):
        model.prepare(type_, pages, base, SSD)
        model.swapon(type_)
        await bench.must(prepare(type_, pages, base, SSD), Command(Opcode.SWAPON, type_))
    commands = RandomCommands(model, bench.rng)
    tables = BenchTables(bench, model.devices, alone=False)
    kernel.begin(0.7)
    went_on = []
    # That a round of the search ends within a long batch is chance, every second time: there are more until three did.
    for number in range(60):
        if number >= 14 and sum(went_on) >= 3:
            break
        size = bench.rng.choice((4, 16, 40)) if 0 < number < 14 else 40
        tables.batch(size)
        start_round = int(dut.round.value)
        lookup = cocotb.start_soon(beside(bench))
        await tables.run()
        if size == 40:
            went_on.append(int(dut.round.value) != start_round)
        await lookup
        await allocate(bench, commands)
    assert sum(went_on) >= 3, "the search for marks waits for table commands"
    await kernel.expect_right()
    counts = kernel.host.counts
    bench.log.info("%s", dict(counts))
    assert counts["hit"] > counts["stray"] + counts["stale"] + counts["unusable"], counts
    assert await bench.read(m.STAT_GRANTS_OFFSET) > 20
    for type_ in range(8):
        state = await bench.read(m.DEVICE_BASE + m.DEVICE_STRIDE * type_ + m.DEVICE_STATE_OFFSET)
        assert m.DEVICE_STATE_USED.get(state) == (model.devices[type_].used if type_ in model.devices else 0)
    bench.guards()


async def allocate(bench: Bench, commands: RandomCommands) -> None:
    """Let the core allocate."""
    for _ in range(8):
        cpu, order = bench.rng.randrange(4), bench.rng.choice((0, 0, 1, 4))
        commands.alloc_by(cpu, order)
    bench.script.give(commands.lines)
    commands.lines.clear()
    await bench.play()


async def beside(bench: Bench) -> None:
    """Look slots up of which only the number is known to be right: tables change meanwhile."""
    for number in range(4):
        await bench.write(m.LOOKUP_OFFSET, m.LOOKUP_SLOT.put(number) | m.LOOKUP_SEQ.put(number + 1))
        await bench.until_field(m.LOOKUP_INFO_OFFSET, m.LOOKUP_INFO_BUSY, 0, "the lookup has no end")
        info = await bench.read(m.LOOKUP_INFO_OFFSET)
        assert m.LOOKUP_INFO_STATUS.get(info) in (Status.OK, Status.NO_TABLE)


@cocotb.test()
async def reset_at_any_time(dut):
    """RESET while grants are made and commands carried out; the engine begins anew."""
    bench, kernel = await start(dut)
    for _ in range(6):
        kernel.begin(0.9)
        for _ in range(20):
            bench.post(Command(Opcode.ALLOC))
        await bench.ring()
        await bench.cycles(bench.rng.randrange(3000))
        kernel.work.load = 0.0
        kernel = await again(bench)
    await expect_grants(bench, kernel)
