# SPDX-License-Identifier: Apache-2.0
"""What a 32-bit host of a LiteX SoC sees of the core, and what arrives at its memory port. Run by test_core.py."""

import json
import os
from pathlib import Path

import cocotb
import hwswap_map as m
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiRam

REGISTERS = 0xB000_0000
RAM = 1 << 20
GUARD = 0xA5
COMMANDS, COMPLETIONS, RECORDS = 0x1000, 0x2000, 0x3000


class Host:
    """Clocks, the 32-bit host, the memory, and a record of the bursts on the memory port."""

    def __init__(self, dut) -> None:
        """Attaches to the design."""
        self.dut = dut
        self.ram = AxiRam(AxiBus.from_prefix(dut, "dma"), dut.host_clk, dut.reset, size=RAM)
        self.ram.write(0, bytes([GUARD]) * RAM)
        self.bursts: list[tuple[str, int, int]] = []

    async def start(self) -> None:
        """Starts the clocks, resets, and enables the rings."""
        dut = self.dut
        for signal in (dut.host_cyc, dut.host_stb, dut.host_we, dut.host_sel, dut.host_adr, dut.host_dat_w):
            signal.value = 0
        Clock(dut.host_clk, 10, "ns").start()
        # Slower, and never in step.
        Clock(dut.engine_clk, 14, "ns").start()
        dut.reset.value = 1
        await ClockCycles(dut.host_clk, 8)
        dut.reset.value = 0
        await ClockCycles(dut.host_clk, 8)
        for channel in ("ar", "aw"):
            cocotb.start_soon(self._watch(channel))

    async def _watch(self, channel: str) -> None:
        valid, ready = (getattr(self.dut, f"dma_{channel}{name}") for name in ("valid", "ready"))
        address, length = (getattr(self.dut, f"dma_{channel}{name}") for name in ("addr", "len"))
        while True:
            await RisingEdge(self.dut.host_clk)
            if valid.value and ready.value:
                self.bursts.append((channel, int(address.value), int(length.value) + 1))

    async def _cycle(self, address: int, sel: int, data: int | None) -> int:
        dut = self.dut
        dut.host_adr.value = (REGISTERS + address) >> 2
        dut.host_sel.value = sel
        dut.host_we.value = data is not None
        dut.host_dat_w.value = data or 0
        dut.host_cyc.value = dut.host_stb.value = 1
        while True:
            await RisingEdge(dut.host_clk)
            if dut.host_ack.value:
                break
        value = int(dut.host_dat_r.value)
        dut.host_cyc.value = dut.host_stb.value = 0
        await RisingEdge(dut.host_clk)
        return value

    async def read32(self, address: int) -> int:
        """Reads a half."""
        return await with_timeout(self._cycle(address, 0xF, None), 20, "us")

    async def write32(self, address: int, value: int, sel: int = 0xF) -> None:
        """Writes a half, or the bytes of it that `sel` names."""
        await with_timeout(self._cycle(address, sel, value), 20, "us")

    async def read(self, address: int) -> int:
        """Reads a register."""
        return await self.read32(address) | await self.read32(address + 4) << 32

    async def write(self, address: int, value: int) -> None:
        """Writes a register, upper half first."""
        await self.write32(address + 4, value >> 32)
        await self.write32(address, value & 0xFFFF_FFFF)

    async def command(self, number: int, head: int, *args: int) -> bytes:
        """Gives a command through the ring, waits for its completion, and returns that."""
        words = [head, *args, 0, 0, 0][:4]
        self.ram.write(COMMANDS + 32 * number, b"".join(word.to_bytes(8, "little") for word in words))
        await self.write(m.CMD_TAIL_OFFSET, number + 1)
        for _ in range(2000):
            await ClockCycles(self.dut.host_clk, 10)
            if await self.read32(m.CMD_HEAD_OFFSET) == number + 1:
                break
        else:
            raise AssertionError(f"command {number} was not completed")
        return self.ram.read(COMPLETIONS + 16 * number, 16)

    async def enable(self) -> None:
        """Sets the rings up."""
        await self.write(m.CMD_BASE_OFFSET, COMMANDS)
        await self.write(m.CPL_BASE_OFFSET, COMPLETIONS)
        await self.write(m.CMD_SIZE_OFFSET, 4)
        await self.write(m.DMA_WINDOW_BASE + m.DMA_WINDOW_START_OFFSET, 0)
        permissions = m.DMA_WINDOW_LIMIT_READ.put(1) | m.DMA_WINDOW_LIMIT_WRITE.put(1)
        await self.write(m.DMA_WINDOW_BASE + m.DMA_WINDOW_LIMIT_OFFSET, RAM | permissions)
        await self.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1))


async def begin(dut) -> Host:
    host = Host(dut)
    await host.start()
    return host


@cocotb.test()
async def identity(dut):
    host = await begin(dut)
    info = json.loads((Path(os.environ["HWSWAP_RTL_SOC"]) / "engine.json").read_text())
    assert (await host.read(m.ID_OFFSET)).to_bytes(8, "big")[2:] == b"HWSWAP"
    assert await host.read(m.BUILD_OFFSET) == int(info["build_hash"], 16)
    caps = await host.read(m.CAPS_OFFSET)
    assert m.CAPS_DEVICES.get(caps) == info["devices"]
    assert m.CAPS_CPUS.get(caps) == info["cpus"]
    assert m.CAPS_CLUSTERS.get(caps) == info["clusters"]


@cocotb.test()
async def halves_and_bytes(dut):
    host = await begin(dut)
    address = m.CPL_BASE_OFFSET
    await host.write(address, 0x1122_3344_5566_7740)
    expected = bytearray((0x1122_3344_5566_7740).to_bytes(8, "little"))
    assert await host.read(address) == int.from_bytes(expected, "little")
    for lane in range(8):
        byte = 0x80 + 0x10 * lane & 0xF0
        # The other lanes carry what must not arrive.
        data = 0x3C3C_3C3C & ~(0xFF << 8 * (lane % 4)) | byte << 8 * (lane % 4)
        await host.write32(address + (lane & 4), data, sel=1 << (lane % 4))
        expected[lane] = byte
        assert await host.read(address) == int.from_bytes(expected, "little"), f"lane {lane}"
    # No neighbour was touched.
    assert await host.read(m.CMD_BASE_OFFSET) == await host.read(m.CMD_SIZE_OFFSET) == 0


@cocotb.test()
async def command_and_interrupt(dut):
    host = await begin(dut)
    await host.enable()
    await host.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_COMPLETION.put(1))
    assert not dut.irq.value
    nop = m.MEM_COMMAND_HEAD_OPCODE.put(m.Opcode.NOP)
    completion = await host.command(0, nop)
    info = int.from_bytes(completion[8:], "little")
    assert m.MEM_COMPLETION_INFO_PHASE.get(info) == 1
    assert m.MEM_COMPLETION_INFO_STATUS.get(info) == m.Status.OK
    assert not dut.irq.value, "a command that did not ask for an interrupt"
    await host.command(1, nop | m.MEM_COMMAND_HEAD_IRQ.put(1))
    await ClockCycles(dut.host_clk, 20)
    assert dut.irq.value
    await host.write32(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1), sel=0b0001)
    await ClockCycles(dut.host_clk, 20)
    assert not dut.irq.value
    # A command is one burst of four beats, a completion one of two, wherever the bus is crossed.
    assert [burst for burst in host.bursts if burst[0] == "ar"] == [("ar", COMMANDS + 32 * n, 4) for n in range(2)]
    assert [burst for burst in host.bursts if burst[0] == "aw"] == [("aw", COMPLETIONS + 16 * n, 2) for n in range(2)]
    assert set(host.ram.read(COMPLETIONS + 32, 64)) == {GUARD}


@cocotb.test()
async def long_bursts(dut):
    host = await begin(dut)
    await host.enable()
    # Three records, over the edge of a 4 KiB page; of clusters without a device, so that nobody knows what is in them.
    beats = m.MEM_CLUSTER_STATE_BYTES // 8
    target = RECORDS + 0x1000 - 120
    dump = m.MEM_COMMAND_HEAD_OPCODE.put(m.Opcode.DUMP) | m.MEM_COMMAND_HEAD_NR.put(3)
    completion = await host.command(0, dump, 0, target)
    assert m.MEM_COMPLETION_INFO_STATUS.get(int.from_bytes(completion[8:], "little")) == m.Status.OK
    records = [(address, length) for way, address, length in host.bursts if way == "aw" and address >= RECORDS]
    assert sum(length for _, length in records) == 3 * beats
    assert all(address % 4096 + 8 * length <= 4096 for address, length in records)
    # Whole records but where the page ends: nothing on the way took the bursts apart.
    assert max(length for _, length in records) == beats
    assert len(records) == 4
    assert GUARD == host.ram.read(target - 1, 1)[0] == host.ram.read(target + 24 * beats, 1)[0]
