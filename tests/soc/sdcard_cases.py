# SPDX-License-Identifier: Apache-2.0
"""The SD card controller as Linux's and LiteX's drivers use it, with a simulated card. Run by test_sdcard.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

RAM = 0x4000_0000
REGISTERS = json.loads(Path(os.environ["HWSWAP_SD_CARD_REGISTERS"]).read_text())
SEED = int(os.environ["HWSWAP_SD_CARD_SEED"])
NONE, SHORT, LONG, BUSY = range(4)
READ, WRITE = 1, 2
DONE, ERROR, TIMEOUT, CRC = 1, 2, 4, 8
ADDRESS = 0x1234 << 16
SECTOR = 512


class Host:
    """A driver: registers by name, commands, and blocks by DMA."""

    def __init__(self, dut) -> None:
        """Attaches to the design."""
        self.dut = dut
        self.image = Path("sdcard.img")
        self.free = True

    async def start(self, divider: int = 4) -> None:
        """Starts the clock, resets, and has the card's clock be that of the SoC by `divider`."""
        dut = self.dut
        for signal in (dut.host_cyc, dut.host_stb, dut.host_we, dut.host_sel, dut.host_adr, dut.host_dat_w):
            signal.value = 0
        Clock(dut.host_clk, 20, "ns").start()
        dut.host_rst.value = 1
        await ClockCycles(dut.host_clk, 8)
        dut.host_rst.value = 0
        await ClockCycles(dut.host_clk, 8)
        await self.set("sdcard_phy_clocker_divider", divider)

    async def _cycle(self, address: int, data: int | None) -> int:
        dut = self.dut
        while not self.free:
            await RisingEdge(dut.host_clk)
        self.free = False
        dut.host_adr.value = address >> 2
        dut.host_sel.value = 0xF
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
        self.free = True
        return value

    async def hog(self, cycles: int) -> None:
        """Keeps everybody else off the bus."""
        while not self.free:
            await RisingEdge(self.dut.host_clk)
        self.free = False
        self.dut.host_cyc.value = 1
        await ClockCycles(self.dut.host_clk, cycles)
        self.dut.host_cyc.value = 0
        self.free = True

    async def get(self, name: str, word: int = 0) -> int:
        """A register's word."""
        return await self._cycle(REGISTERS[name] + 4 * word, None)

    async def set(self, name: str, value: int, word: int = 0) -> None:
        """Writes a register's word."""
        await self._cycle(REGISTERS[name] + 4 * word, value)

    async def memory(self, address: int, length: int) -> bytes:
        """Reads RAM."""
        words = [await self._cycle(RAM + address + at, None) for at in range(0, length, 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)

    async def fill(self, address: int, content: bytes) -> None:
        """Writes RAM."""
        for at in range(0, len(content), 4):
            await self._cycle(RAM + address + at, int.from_bytes(content[at : at + 4], "little"))

    async def command(self, index: int, argument: int = 0, kind: int = SHORT, data: int = 0) -> tuple[int, int]:
        """Gives a command and waits for it and its data; returns both events."""
        await self.set("sdcard_core_cmd_argument", argument)
        await self.set("sdcard_core_cmd_command", index << 8 | data << 5 | kind)
        await self.set("sdcard_core_cmd_send", 1)
        for _ in range(200_000):
            events = [await self.get(f"sdcard_core_{name}_event") for name in ("cmd", "data")]
            if events[0] & events[1] & DONE:
                return events[0], events[1]
        raise AssertionError(f"command {index} does not end")

    async def good(self, index: int, argument: int = 0, kind: int = SHORT, data: int = 0) -> list[int]:
        """A command that has to go well; returns the response's four words, the last one first in time."""
        assert await self.command(index, argument, kind, data) == (DONE, DONE), f"command {index}"
        return [await self.get("sdcard_core_cmd_response", word) for word in range(4)]

    async def app(self, index: int, argument: int = 0, address: int = ADDRESS, data: int = 0) -> list[int]:
        """An application's command."""
        status = (await self.good(55, address))[3]
        assert status & 0x20, f"{status:#x}"
        return await self.good(index, argument, data=data)

    async def receive(self, length: int, count: int, address: int = 0) -> None:
        """Gets the DMA to memory ready."""
        await self._dma("sdcard_block2mem_dma", length, count, address)

    async def provide(self, content: bytes, address: int = 0) -> None:
        """Gets the DMA from memory ready."""
        await self.fill(address, content)
        await self._dma("sdcard_mem2block_dma", SECTOR, len(content) // SECTOR, address)

    async def _dma(self, name: str, length: int, count: int, address: int) -> None:
        await self.set(f"{name}_enable", 0)
        await self.set(f"{name}_base", 0)
        await self.set(f"{name}_base", RAM + address, 1)
        await self.set(f"{name}_length", length * count)
        await self.set(f"{name}_enable", 1)
        await self.set("sdcard_core_block_length", length)
        await self.set("sdcard_core_block_count", count)

    async def done(self, name: str) -> None:
        """Waits for a DMA to end."""
        for _ in range(10_000):
            if await self.get(f"{name}_dma_done"):
                return
        raise AssertionError(f"{name} does not end")

    async def block(self, index: int, argument: int, length: int, app: bool = False) -> bytes:
        """A command that answers with a block."""
        await self.receive(length, 1)
        await (self.app(index, argument, data=READ) if app else self.good(index, argument, data=READ))
        await self.done("sdcard_block2mem")
        return await self.memory(0, length)

    async def read(self, sector: int, count: int) -> bytes:
        """Reads sectors as Linux does: their number before, if there are several."""
        await self.receive(SECTOR, count)
        if count > 1:
            await self.good(23, count)
        await self.good(18 if count > 1 else 17, sector, data=READ)
        await self.done("sdcard_block2mem")
        return await self.memory(0, count * SECTOR)

    async def write(self, sector: int, content: bytes) -> None:
        """Writes sectors as Linux does."""
        await self.provide(content)
        count = len(content) // SECTOR
        if count > 1:
            await self.good(23, count)
        await self.good(25 if count > 1 else 24, sector, data=WRITE)
        assert await self.get("sdcard_phy_dataw_status") == 1, "accepted"
        await self.done("sdcard_mem2block")

    async def find(self) -> int:
        """Goes up to the card's selection; returns its size in sectors."""
        assert await self.get("sdcard_phy_card_detect") == 0
        await self.set("sdcard_phy_init_initialize", 1)
        await ClockCycles(self.dut.host_clk, 1000)
        assert await self.command(0, 0, NONE) == (DONE, DONE)
        assert (await self.good(8, 0x1AA))[3] == 0x1AA
        assert (await self.app(41, 0, 0))[3] == 0x40FF_8000
        for _ in range(10):
            if (await self.app(41, 0x40FF_8000, 0))[3] >> 31:
                break
        else:
            raise AssertionError("the card does not get ready")
        await self.good(2, 0, LONG)
        assert (await self.good(3))[3] & 0xFFFF_0000 == ADDRESS
        data = await self.good(9, ADDRESS, LONG)
        assert data[0] >> 30 == 1
        await self.good(7, ADDRESS, BUSY)
        # 22 bits, from bit 48 on, in steps of 512 KiB.
        return (((data[1] << 32 | data[2]) >> 16 & 0x3F_FFFF) + 1) * 1024

    async def find_as_linux(self) -> int:
        """One line until the card has said what it can, then four."""
        await self.set("sdcard_phy_settings", 0)
        size = await self.find()
        ability = await self.block(51, 0, 8, app=True)
        assert ability == bytes.fromhex("0205800200000000"), ability.hex()
        await self.app(6, 2)
        await self.set("sdcard_phy_settings", 1)
        return size

    def sectors(self, sector: int, count: int) -> bytes:
        """What the card holds."""
        with self.image.open("rb") as stream:
            stream.seek(sector * SECTOR)
            return stream.read(count * SECTOR)


@cocotb.test
@cocotb.parametrize(divider=[2, 3, 4, 30])
async def linux(dut, divider: int) -> None:
    """Found on one line, used on four: single and multiple blocks, both ways, at every kind of clock."""
    host = Host(dut)
    rng = random.Random(SEED + divider)
    await host.start(divider)
    assert await host.find_as_linux() * SECTOR == host.image.stat().st_size
    status = await host.block(13, 0, 64, app=True)
    assert status == bytes([0x80]) + bytes(63)
    switch = await host.block(6, 0x00FF_FFF0, 64)
    assert switch[13] == 3
    for _ in range(1 if divider > 4 else 4):
        count = rng.choice((1, 2, 8))
        # Behind those that the card damages once: they are for the cases below.
        sector = rng.randrange(1000, 2000)
        assert await host.read(sector, count) == host.sectors(sector, count)
        content = rng.randbytes(count * SECTOR)
        await host.write(sector + 3, content)
        assert host.sectors(sector + 3, count) == content
        assert await host.read(sector + 3, count) == content
        assert (await host.good(13, ADDRESS))[3] == 4 << 9 | 1 << 8, "transfer state, ready, no error"


@cocotb.test
async def one_line(dut) -> None:
    """Everything on one line, for a card that has no more."""
    host = Host(dut)
    rng = random.Random(SEED)
    await host.start(2)
    await host.set("sdcard_phy_settings", 0)
    await host.find()
    content = rng.randbytes(3 * SECTOR)
    await host.write(77, content)
    assert host.sectors(77, 3) == content
    assert await host.read(76, 5) == host.sectors(76, 5)


@cocotb.test
async def bios(dut) -> None:
    """LiteX's BIOS: four lines without a word to the PHY, blocks one by one, or several until they are stopped."""
    host = Host(dut)
    await host.start(4)
    assert await host.get("sdcard_phy_settings") == 1
    await host.find()
    await host.app(6, 2)
    assert (await host.block(51, 0, 8, app=True))[1] == 5
    await host.good(16, SECTOR)
    assert await host.read(5, 1) == host.sectors(5, 1)
    await host.receive(SECTOR, 3)
    await host.good(18, 9, data=READ)
    await host.done("sdcard_block2mem")
    await host.good(12, 0, BUSY)
    assert await host.memory(0, 3 * SECTOR) == host.sectors(9, 3)
    content = random.Random(SEED).randbytes(2 * SECTOR)
    await host.provide(content)
    await host.good(25, 30, data=WRITE)
    await host.good(12, 0, BUSY)
    assert host.sectors(30, 2) == content


@cocotb.test
async def busy_memory(dut) -> None:
    """A bus that is held longer than the FIFOs last stops the card's clock, and nothing is lost."""
    host = Host(dut)
    rng = random.Random(SEED)
    await host.start(2)
    await host.find_as_linux()

    async def hold(times: int) -> None:
        for _ in range(times):
            await ClockCycles(dut.host_clk, rng.randrange(300, 900))
            await host.hog(rng.randrange(1, 6000))

    for sector in (100, 200):
        holding = cocotb.start_soon(hold(12))
        assert await host.read(sector, 16) == host.sectors(sector, 16)
        await holding
        content = rng.randbytes(8 * SECTOR)
        await host.fill(0, content)
        holding = cocotb.start_soon(hold(12))
        await host.write(sector, content)
        await holding
        assert host.sectors(sector, 8) == content


@cocotb.test
async def damaged(dut) -> None:
    """A wrong CRC either way, and a card that no longer answers, are told; the next try goes well."""
    host = Host(dut)
    await host.start(4)
    await host.find_as_linux()
    content = random.Random(SEED).randbytes(4 * SECTOR)

    await host.receive(SECTOR, 4)
    await host.good(23, 4)
    assert await host.command(18, 500, data=READ) == (DONE, DONE | CRC), "sector 502 is damaged on its way"
    await host.done("sdcard_block2mem")
    assert await host.read(500, 4) == host.sectors(500, 4)

    for first, status in ((600, 2), (700, 0)):
        before = host.sectors(first, 4)
        await host.provide(content)
        await host.good(23, 4)
        assert await host.command(25, first, data=WRITE) == (DONE, DONE | ERROR)
        assert await host.get("sdcard_phy_dataw_status") == status
        await host.done("sdcard_mem2block")
        # The second block was refused, and what came behind it was not sent.
        assert host.sectors(first, 4) == content[:SECTOR] + before[SECTOR:]
        await host.good(12, 0, BUSY)
        await host.write(first, content)
        assert host.sectors(first, 4) == content


@cocotb.test
async def nothing_said(dut) -> None:
    """A command that the card does not know ends with a time-out, and so does a block that never comes."""
    host = Host(dut)
    await host.start(4)
    await host.find_as_linux()
    assert (await host.command(5))[0] == DONE | TIMEOUT
    await host.receive(SECTOR, 1)
    assert await host.command(13, ADDRESS, data=READ) == (DONE, DONE | TIMEOUT)
    assert await host.read(1, 1) == host.sectors(1, 1)


@cocotb.test
async def forgotten(dut) -> None:
    """What was fetched for a write that never began is not written by the next one."""
    host = Host(dut)
    rng = random.Random(SEED)
    await host.start(4)
    await host.find_as_linux()
    # To no card.
    assert await host.command(7, 0, NONE) == (DONE, DONE)
    await host.provide(rng.randbytes(2 * SECTOR))
    assert (await host.command(25, 900, data=WRITE))[0] == DONE | TIMEOUT
    await host.good(7, ADDRESS, BUSY)
    content = rng.randbytes(2 * SECTOR)
    await host.write(900, content)
    assert host.sectors(900, 2) == content


@cocotb.test
async def interrupt(dut) -> None:
    """The end of a command with its data is a level that Linux's driver enables for as long as it waits."""
    host = Host(dut)
    await host.start(4)
    await host.find_as_linux()
    await host.receive(SECTOR, 1)
    await host.set("sdcard_core_cmd_argument", 3)
    await host.set("sdcard_core_cmd_command", 17 << 8 | READ << 5 | SHORT)
    await host.set("sdcard_core_cmd_send", 1)
    await host.set("sdcard_irq_enable", 8)
    await ClockCycles(dut.host_clk, 100)
    assert not dut.irq.value
    for _ in range(10_000):
        await RisingEdge(dut.host_clk)
        if dut.irq.value:
            break
    assert await host.get("sdcard_core_data_event") == DONE
    await host.set("sdcard_irq_enable", 0)
    assert not dut.irq.value
