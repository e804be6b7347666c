# SPDX-License-Identifier: Apache-2.0
"""Registers: who the engine is, what it can, and that the registers behave as docs/registers.md says."""

import os

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import prepare

from cases.bench import Bench

ADDRESSES = ("CMD_BASE", "CPL_BASE")
LINE = 64
"""What these are multiples of: the bits below are ignored."""


@cocotb.test()
async def says_who_it_is(dut):
    bench = await Bench.start(dut)
    assert m.ID_MAGIC.get(await bench.read(m.ID_OFFSET)).to_bytes(6, "big") == b"HWSWAP"
    version = await bench.read(m.VERSION_OFFSET)
    assert m.VERSION_MAJOR.get(version) == 3
    caps = await bench.read(m.CAPS_OFFSET)
    assert m.CAPS_DEVICES.get(caps) == int(os.environ["HWSWAP_DEVICES"])
    assert m.CAPS_CPUS.get(caps) == int(os.environ["HWSWAP_CPUS"])
    assert m.CAPS_CLUSTERS.get(caps) == int(os.environ["HWSWAP_CLUSTERS"])
    assert m.CAPS_ORDERS.get(caps) == 10


@cocotb.test()
async def begins_with_the_reset_values_of_the_map(dut):
    bench = await Bench.after_reset(dut)
    for name, field in (
        ("CONTROL", m.CONTROL_ENABLE),
        ("STATUS", m.STATUS_DMA_ERROR),
        ("CONTROL", m.CONTROL_TABLE_WRITES),
        ("STATUS", m.STATUS_FAULT),
        ("STATUS", m.STATUS_DMA_REFUSED),
        ("STATUS", m.STATUS_BUS_OWED),
        ("DMA_REFUSED", m.DMA_REFUSED_VALID),
        ("CMD_SIZE", m.CMD_SIZE_LOG2),
        ("IRQ_STATUS", m.IRQ_STATUS_COMPLETION),
        ("IRQ_ENABLE", m.IRQ_ENABLE_COMPLETION),
        ("CMD_TAIL", m.CMD_TAIL_TAIL),
        ("CMD_HEAD", m.CMD_HEAD_HEAD),
        ("USAGE", m.USAGE_SLOTS),
    ):
        value = field.get(await bench.read(getattr(m, f"{name}_OFFSET")))
        assert value == field.reset, f"{name}: {value:#x}"


@cocotb.test()
async def registers_honour_byte_strobes_and_keep_what_is_written(dut):
    bench = await Bench.start(dut)
    await bench.write(m.CONTROL_OFFSET, 0)
    values = {}
    for name in ADDRESSES:
        offset = getattr(m, f"{name}_OFFSET")
        values[offset] = bench.rng.getrandbits(64)
        await bench.write(offset, values[offset])
    for offset, value in list(values.items()):
        at = bench.rng.randrange(8)
        length = bench.rng.randint(1, 8 - at)
        data = bench.rng.randbytes(length)
        await bench.registers.write(offset + at, data)
        whole = bytearray(value.to_bytes(8, "little"))
        whole[at : at + length] = data
        values[offset] = int.from_bytes(whole, "little") & -LINE
    for offset, value in values.items():
        assert await bench.read(offset) == value, f"register {offset:#x}"


@cocotb.test()
async def read_only_and_absent_registers_ignore_writes(dut):
    bench = await Bench.start(dut)
    for offset in (m.ID_OFFSET, m.VERSION_OFFSET, m.BUILD_OFFSET, m.CAPS_OFFSET, m.USAGE_OFFSET, 0x3F8, 0xF000):
        before = await bench.read(offset)
        await bench.write(offset, before ^ 0xFFFF_FFFF_FFFF_FFFF)
        assert await bench.read(offset) == before, f"register {offset:#x}"
    assert await bench.read(0x3F8) == 0
    last = m.DEVICE_BASE + (m.DEVICE_COUNT - 1) * m.DEVICE_STRIDE
    assert await bench.read(last) == 0


@cocotb.test()
async def control_has_no_other_bits(dut):
    bench = await Bench.start(dut)
    enable, writes, reset = (m.CONTROL_ENABLE.put(1), m.CONTROL_TABLE_WRITES.put(1), m.CONTROL_RESET.put(1))
    everything = (1 << 64) - 1 ^ reset
    for value in (everything, everything ^ writes, everything ^ enable, 0, enable):
        await bench.write(m.CONTROL_OFFSET, value)
        assert await bench.read(m.CONTROL_OFFSET) == value & (enable | writes)


@cocotb.test()
async def a_host_of_32_bits_can_ring_the_bell(dut):
    bench = await Bench.start(dut)
    bench.post(prepare(1, 3000, 2, BLKDEV | SOLIDSTATE))
    await bench.registers.write_dword(m.CMD_TAIL_OFFSET + 4, 0)
    await bench.cycles(100)
    assert m.CMD_HEAD_HEAD.get(await bench.read(m.CMD_HEAD_OFFSET)) == 0
    await bench.registers.write_dword(m.CMD_TAIL_OFFSET, bench.tail)
    assert (await bench.completion()).status == 0
