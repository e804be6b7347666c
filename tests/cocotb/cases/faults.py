# SPDX-License-Identifier: Apache-2.0
"""DMA that is answered with an error: the engine stops and says so, and RESET makes it whole again."""

import cocotb
import hwswap_map as m
from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap_map import Opcode

from cases.bench import Bench
from cases.hints import limits
from cases.host import Host

PAGES = 3 * SLOTS


async def start(dut) -> tuple[Bench, Host]:
    """Start an engine in advisory mode with two devices, and its error interrupt enabled."""
    bench = Bench(dut)
    bench.pauses()
    bench.clock.start()
    await bench.reset()
    host = await Host.start(bench, hints=True)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    for type_ in range(2):
        await host.swapon(type_, PAGES, 3 * type_, epoch=1)
    await bench.rounds()
    return bench, host


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
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1) | m.CONTROL_HINTS.put(1))
    await bench.cycles(600)
    assert (bench.memory.reads, len(bench.memory.writes)) == (reads, writes), "a stopped engine goes on"
    assert m.CONTROL_ENABLE.get(await bench.read(m.CONTROL_OFFSET)) == 0


async def expect_recovery(bench: Bench, host: Host) -> None:
    """RESET, set-up and resync: the engine mirrors and hints again."""
    bench.memory.denied.clear()
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
    await bench.until_not_resetting()
    assert await bench.read(m.STATUS_OFFSET) == 0
    assert bench.dut.irq.value == 0
    await host.setup(hints=True)
    for type_ in range(2):
        await host.swapon(type_, PAGES, 3 * type_, epoch=2)
    for number in host.records:
        host.change(number, host.records[number].bitmap | 0xF0, 2)
    host.resync[0] = 1
    host.want = [1] * 4
    host.publish_all()
    await bench.rounds()
    assert await host.differences() == []
    fresh = host.new_hints()
    assert fresh
    assert all(hint.valid and hint.epoch == 2 for _, _, hint in fresh)
    await bench.no_faults(host.devices)


def zone(at: int, size: int = 1 << 16) -> range:
    """Return an address range to deny."""
    return range(at, at + size)


@cocotb.test()
async def an_error_on_a_cpu_line(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.cpu_lines))
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_a_notice(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.notices))
    host.notify(0, 1)
    host.publish(0)
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_in_the_middle_of_a_record(dut):
    bench, host = await start(dut)
    before = (await host.dump(1, 1))[0]
    at = bench.layout.states + m.MEM_CLUSTER_STATE_BYTES + 32
    bench.memory.denied.append(zone(at, 8))
    host.change(1, 0xFF, 0)
    host.notify(0, 1)
    host.publish(0)
    await expect_stop(bench)
    assert before.bitmap == 0
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_the_engine_line(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.engine_lines))
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_a_hint(dut):
    bench, host = await start(dut)
    await limits(bench, slots=8, cap_min=64, cap_shift=8)
    bench.memory.denied.append(zone(bench.layout.hints))
    host.want[0] = 1
    host.publish(0)
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_a_command(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.commands))
    bench.post(Command(Opcode.NOP))
    await bench.ring()
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_a_completion(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.completions))
    bench.post(Command(Opcode.NOP))
    await bench.ring()
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def an_error_on_a_dump(dut):
    bench, host = await start(dut)
    bench.memory.denied.append(zone(bench.layout.dump + 100, 8))
    bench.post(Command(Opcode.DUMP, nr=3, arg0=0, arg1=bench.layout.dump))
    await bench.ring()
    await expect_stop(bench)
    await expect_recovery(bench, host)


@cocotb.test()
async def reset_in_the_middle_of_work(dut):
    """RESET at a random moment of a busy engine; no bus transfer is left half done (the bus models would stall)."""
    bench, host = await start(dut)
    for lap in range(4):
        host.want = [0x3FF] * 4
        for number in host.records:
            host.change(number, 0xFFF0, 0)
        host.resync = [lap + 5] * 4
        host.publish_all()
        for _ in range(8):
            bench.post(Command(Opcode.CHECK, 0))
        await bench.ring()
        await bench.cycles(bench.rng.randrange(400))
        await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        await bench.until_not_resetting()
        await expect_recovery(bench, host)
