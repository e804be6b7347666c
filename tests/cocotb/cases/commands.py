# SPDX-License-Identifier: Apache-2.0
"""The command ring: wrap, phases, interrupt, and what each command refuses and why."""

import cocotb
import hwswap_map as m
from cocotb.triggers import RisingEdge
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap_map import Opcode, Status

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE


@cocotb.test()
async def nops_go_round_the_ring(dut):
    """Rings of 2 and 8 entries, several laps, one at a time and as many as fit; phases are looked at by the bench."""
    bench = await Bench.start(dut)
    for log2 in (1, 3):
        await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        await bench.until_not_resetting()
        bench.size_log2 = log2
        await bench.setup()
        total = 0
        while total < 5 << log2:
            batch = bench.rng.randint(1, 1 << log2)
            done = await bench.run(*[Command(Opcode.NOP)] * batch)
            total += batch
            assert all((d.status, d.opcode) == (Status.OK, Opcode.NOP) for d in done)
        await bench.idle()
        assert m.CMD_HEAD_HEAD.get(await bench.read(m.CMD_HEAD_OFFSET)) == total
        assert await bench.read(m.STAT_COMMANDS_OFFSET) == total
        bench.guards()


@cocotb.test()
async def a_command_may_ask_for_an_interrupt(dut):
    bench = await Bench.start(dut)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_COMPLETION.put(1))
    await bench.must(Command(Opcode.NOP))
    await bench.idle()
    assert dut.irq.value == 0
    bench.post(Command(Opcode.NOP, irq=True))
    rise = cocotb.start_soon(bench.irq_edge())
    await bench.ring()
    await rise
    # The interrupt never comes before the completion is in memory.
    at = bench.layout.completions + 16 * (bench.taken % (1 << bench.size_log2))
    assert bench.memory.word(at + m.MEM_COMPLETION_INFO_OFFSET) & 1
    await bench.completion()
    assert await bench.read(m.IRQ_STATUS_OFFSET) == m.IRQ_STATUS_COMPLETION.put(1)
    await bench.write(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1))
    await RisingEdge(dut.clock)
    assert await bench.read(m.IRQ_STATUS_OFFSET) == 0
    assert dut.irq.value == 0


@cocotb.test()
async def nothing_happens_before_enable(dut):
    bench = await Bench.start(dut)
    await bench.write(m.CONTROL_OFFSET, 0)
    bench.post(Command(Opcode.NOP))
    await bench.ring()
    await bench.cycles(300)
    assert m.CMD_HEAD_HEAD.get(await bench.read(m.CMD_HEAD_OFFSET)) == 0
    await bench.enable()
    assert (await bench.completion()).status == Status.OK


@cocotb.test()
async def each_command_says_why_it_refuses(dut):
    bench = await Bench.start(dut)
    on = [prepare(1, 2000, 4, SSD), Command(Opcode.SWAPON, 1)]
    await bench.must(*on, Command(Opcode.ALLOC), Command(Opcode.ALLOC))
    devices = m.CAPS_DEVICES.get(await bench.read(m.CAPS_OFFSET))
    cpus = m.CAPS_CPUS.get(await bench.read(m.CAPS_OFFSET))
    clusters = m.CAPS_CLUSTERS.get(await bench.read(m.CAPS_OFFSET))
    wrong = [
        *((Command(opcode, 1, arg0=1), Status.BAD_OPCODE) for opcode in range(14, 32)),
        (Command(255), Status.BAD_OPCODE),
        (Command(8, 1), Status.BAD_OPCODE),
        (Command(9, 1), Status.BAD_OPCODE),
        # SWAPON_PREPARE
        (prepare(1, 2000, 20, SSD), Status.BAD_DEVICE),
        (prepare(devices, 2000, 20, SSD), Status.BAD_DEVICE),
        (prepare(31, 2000, 20, SSD), Status.BAD_DEVICE),
        (prepare(2, 0, 20, SSD), Status.BAD_RANGE),
        (prepare(2, 2000, 1, SSD), Status.BAD_RANGE),
        (prepare(2, 2000, 7, SSD), Status.BAD_RANGE),
        (prepare(2, 20000, 0, SSD), Status.BAD_RANGE),
        (prepare(2, 2000, clusters - 3, SSD), Status.BAD_RANGE),
        (prepare(2, 0xFFFFFFFF, 8, SSD), Status.BAD_RANGE),
        (prepare(2, 600, 0xFFFFFFFF, SSD), Status.BAD_RANGE),
        # MARK_BAD
        (Command(Opcode.MARK_BAD, 1, nr=1, arg0=100), Status.BAD_DEVICE),
        (Command(Opcode.MARK_BAD, 2, nr=1, arg0=100), Status.BAD_DEVICE),
        # SWAPON, SWAPOFF_BEGIN, SWAPOFF, CHECK
        (Command(Opcode.SWAPON, 1), Status.BAD_DEVICE),
        (Command(Opcode.SWAPON, 2), Status.BAD_DEVICE),
        (Command(Opcode.SWAPOFF_BEGIN, 2), Status.BAD_DEVICE),
        (Command(Opcode.SWAPOFF, 2), Status.BAD_DEVICE),
        (Command(Opcode.SWAPOFF, 31), Status.BAD_DEVICE),
        (Command(Opcode.CHECK, 2), Status.BAD_DEVICE),
        # DUMP
        (Command(Opcode.DUMP, nr=2, arg0=clusters - 1, arg1=bench.layout.dump), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=1, arg0=clusters, arg1=bench.layout.dump), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=1, arg0=1 << 32, arg1=bench.layout.dump), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=1, arg0=0, arg1=bench.layout.dump + 4), Status.BAD_RANGE),
        # DISCARD_TAKE, DISCARD_DONE
        (Command(Opcode.DISCARD_TAKE, 2), Status.BAD_DEVICE),
        (Command(Opcode.DISCARD_DONE, 2, arg0=512), Status.BAD_DEVICE),
        (Command(Opcode.DISCARD_DONE, 1, arg0=512), Status.BAD_RANGE),
        (Command(Opcode.DISCARD_DONE, 1, arg0=2048), Status.BAD_RANGE),
        (Command(Opcode.DISCARD_DONE, 1, arg0=512 | 1 << 32), Status.BAD_RANGE),
        # ALLOC
        (Command(Opcode.ALLOC, cpu=cpus), Status.BAD_CPU),
        (Command(Opcode.ALLOC, cpu=255), Status.BAD_CPU),
        (Command(Opcode.ALLOC, order=10), Status.BAD_CPU),
        (Command(Opcode.ALLOC, order=15), Status.BAD_CPU),
        # FREE
        (Command(Opcode.FREE, 2, nr=1, arg0=1), Status.BAD_DEVICE),
        (Command(Opcode.FREE, 1, nr=1, arg0=0), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=0, arg0=1), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=3, arg0=1), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=1, arg0=3), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=2, arg0=511), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=1, arg0=2000), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=1, arg0=1 | 1 << 32), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=513, arg0=512), Status.BAD_RANGE),
        (Command(Opcode.FREE, 1, nr=1023, arg0=1), Status.BAD_RANGE),
    ]
    before = [await bench.read(m.DEVICE_BASE + m.DEVICE_STRIDE + at) for at in (0, 8)]
    done = await bench.run(*[command for command, _ in wrong])
    for (command, status), got in zip(wrong, done, strict=True):
        assert got.status == status, f"{command}: {got.status.name}, expected {status.name}"
    assert [await bench.read(m.DEVICE_BASE + m.DEVICE_STRIDE + at) for at in (0, 8)] == before
    assert await bench.read(m.STAT_COMMAND_ERRORS_OFFSET) == len(wrong)
    # And everything still works.
    await bench.must(
        Command(Opcode.FREE, 1, nr=2, arg0=1), Command(Opcode.SWAPOFF_BEGIN, 1), Command(Opcode.SWAPOFF, 1)
    )
    await bench.must(*on)
    await bench.no_faults([1])


@cocotb.test()
async def no_space_is_an_answer_and_no_error(dut):
    bench = await Bench.start(dut)
    done = await bench.do(Command(Opcode.ALLOC))
    assert (done.status, done.slot, done.type) == (Status.NO_SPACE, 0, 0)
    assert await bench.read(m.STAT_COMMAND_ERRORS_OFFSET) == 0
    assert await bench.read(m.STAT_ALLOC_FAIL_OFFSET) == 1


@cocotb.test()
async def bad_slots_are_marked_between_prepare_and_swapon(dut):
    bench = await Bench.start(dut)
    await bench.must(prepare(0, 1000, 0, SSD))
    for command, status in (
        (Command(Opcode.MARK_BAD, 0, nr=2, arg0=5), Status.OK),
        (Command(Opcode.MARK_BAD, 0, nr=2, arg0=6), Status.BAD_RANGE),
        (Command(Opcode.MARK_BAD, 0, nr=1, arg0=0), Status.BAD_RANGE),
        (Command(Opcode.MARK_BAD, 0, nr=2, arg0=511), Status.BAD_RANGE),
        (Command(Opcode.MARK_BAD, 0, nr=1, arg0=1000), Status.BAD_RANGE),
        (Command(Opcode.MARK_BAD, 0, nr=488, arg0=512), Status.OK),
        (Command(Opcode.SWAPON, 0), Status.OK),
    ):
        got = await bench.status_of(command)
        assert got == status, f"{command}: {got.name}"
    state = await bench.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET)
    assert m.DEVICE_STATE_USED.get(state) == 1 + 2 + 512
    done = await bench.run(*[Command(Opcode.ALLOC)] * 512)
    got = [d.slot for d in done if d.status == Status.OK]
    assert got == [slot for slot in range(1, 512) if slot not in (5, 6)]
    state = await bench.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET)
    assert not m.DEVICE_STATE_AVAILABLE.get(state)
    await bench.no_faults([0])


@cocotb.test()
async def the_device_table_shows_a_device_through_its_life(dut):
    bench = await Bench.start(dut)
    at = m.DEVICE_BASE + 3 * m.DEVICE_STRIDE

    async def seen():
        state = await bench.read(at + m.DEVICE_STATE_OFFSET)
        fields = (m.DEVICE_STATE_CLAIMED, m.DEVICE_STATE_WRITEOK, m.DEVICE_STATE_AVAILABLE)
        return [field.get(state) for field in fields]

    assert await seen() == [0, 0, 0]
    await bench.must(prepare(3, 4321, 77, SSD, priority=-5))
    assert await seen() == [1, 0, 0]
    assert await bench.read(at) == m.DEVICE_SIZE_PAGES.put(4321) | m.DEVICE_SIZE_BASE.put(77)
    state = await bench.read(at + m.DEVICE_STATE_OFFSET)
    assert m.DEVICE_STATE_PRIORITY.get(state) == -5 & 0xFFFF
    assert m.DEVICE_STATE_USED.get(state) == 1 + 9 * 512 - 4321
    assert m.USAGE_SLOTS.get(await bench.read(m.USAGE_OFFSET)) == 0
    await bench.must(Command(Opcode.SWAPON, 3))
    assert await seen() == [1, 1, 1]
    assert m.USAGE_SLOTS.get(await bench.read(m.USAGE_OFFSET)) == 4320
    await bench.must(Command(Opcode.SWAPOFF_BEGIN, 3))
    assert await seen() == [1, 0, 0]
    assert m.USAGE_SLOTS.get(await bench.read(m.USAGE_OFFSET)) == 0
    await bench.must(Command(Opcode.SWAPON, 3))
    assert await seen() == [1, 1, 1]
    await bench.must(Command(Opcode.SWAPOFF_BEGIN, 3), Command(Opcode.SWAPOFF, 3))
    assert await seen() == [0, 0, 0]
