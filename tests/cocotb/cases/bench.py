# SPDX-License-Identifier: Apache-2.0
"""The test bench: clock, register master, host memory at the engine's DMA port, and a host's view of both."""

import itertools
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import hwswap_map as m
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from hwswap.model.clusters import BLKDEV, SOLIDSTATE
from hwswap.model.grant_entries import DeviceEntry
from hwswap.model.host_memory import Command
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import DUMP, Script, Sizes
from hwswap_map import Status

from cases.memory import HostMemory, Shuffled
from cases.player import Player

SSD = BLKDEV | SOLIDSTATE
CLOCK_NS = 10
TIMEOUT_CYCLES = 200_000
"""Nothing the tests wait for takes this long."""

GUARD = 0xA5
"""The content of host memory in the ring of commands, and around results; the engine must leave it."""

ADDRESSES = 1 << 64

SIZES = Sizes(*(int(os.environ.get(f"HWSWAP_{name}", "0")) for name in ("DEVICES", "CPUS", "CLUSTERS")))
"""The sizes of the engine; one of grants alone has no devices."""


class Layout(NamedTuple):
    """The places of the shared structures."""

    commands: int
    completions: int
    dump: int


def anywhere(rng: random.Random) -> Layout:
    """Draw addresses from all of 64-bit space, far from each other, each at the least alignment that it may have."""
    tops = rng.sample(range(1 << 6), 3)
    lows = (0xFC0, 0xFC0, 0xFF8)
    return Layout(*(top << 58 | rng.getrandbits(46) << 12 | low for top, low in zip(tops, lows, strict=True)))


@dataclass(frozen=True)
class Completion:
    """A completion as the host sees it."""

    status: Status
    slot: int
    type: int
    result: int


class Bench:
    """Everything a test needs; make it with `start`."""

    def __init__(self, dut: Any) -> None:
        """Connect to the engine."""
        self.dut = dut
        self.seed = int(os.environ["HWSWAP_SEED"])
        self.pace = os.environ["HWSWAP_PACE"]
        self.rng = random.Random(self.seed)
        self.log = logging.getLogger("cocotb.bench")
        self.log.info("seed %d, pace %s", self.seed, self.pace)
        # Refused accesses of the engine are a part of the tests: as warnings they would fill the end of the log.
        for name, level in (("s_axil", logging.WARNING), ("m_axi", logging.ERROR)):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(level)
        self.clock = Clock(dut.clock, CLOCK_NS, unit="ns")
        self.memory = HostMemory()
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clock, dut.reset)
        self.dma = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clock, dut.reset, target=self.memory)
        self.shuffled: list[Shuffled] = []
        self.layout = anywhere(random.Random(self.seed))
        self.size_log2 = 6
        self.new_rings()

    @classmethod
    async def start(cls, dut: Any) -> "Bench":
        """Reset the engine, set up its rings and enable it."""
        bench = await cls.after_reset(dut)
        await bench.setup()
        return bench

    @classmethod
    async def after_reset(cls, dut: Any) -> "Bench":
        """Reset the engine."""
        bench = cls(dut)
        bench.pauses()
        bench.clock.start()
        await bench.reset()
        return bench

    def pauses(self) -> None:
        """Put idle cycles and back-pressure on every channel of both buses, as the run's pace says.

        `idle` delays what the bench drives, `pressure` what it accepts, `both` does both. But with `none`, memory
        answers out of order.
        """
        if self.pace != "none":
            for source, field in ((self.dma.read_if.r_channel, "rid"), (self.dma.write_if.b_channel, "bid")):
                rng = random.Random(self.rng.getrandbits(32))
                self.shuffled.append(Shuffled(source, field, self.dut.clock, rng))
        write, read = self.registers.write_if, self.registers.read_if
        dma_write, dma_read = self.dma.write_if, self.dma.read_if
        driven = (write.aw_channel, write.w_channel, read.ar_channel, dma_write.b_channel, dma_read.r_channel)
        accepted = (write.b_channel, read.r_channel, dma_write.aw_channel, dma_write.w_channel, dma_read.ar_channel)
        if self.pace in ("idle", "both"):
            for channel in driven:
                channel.set_pause_generator(self.pause_pattern())
        if self.pace in ("pressure", "both"):
            for channel in accepted:
                channel.set_pause_generator(self.pause_pattern())

    def pause_pattern(self) -> Iterator[bool]:
        """Pause for 0 to 3 cycles after each 1 to 3 cycles; a different pattern for each channel."""
        rng = random.Random(self.rng.getrandbits(32))
        pattern = [
            pause for _ in range(97) for pause in [False] * rng.randint(1, 3) + [True] * rng.choice((0, 0, 1, 2, 3))
        ]
        return itertools.cycle(pattern)

    async def reset(self) -> None:
        """Reset the engine by its reset input."""
        self.dut.reset.value = 1
        await ClockCycles(self.dut.clock, 4)
        for channel in self.shuffled:
            channel.reset()
        self.dut.reset.value = 0
        await ClockCycles(self.dut.clock, 2)
        await self.until_field(m.CONTROL_OFFSET, m.CONTROL_RESET, 0, "CONTROL.RESET stays 1")

    async def reset_by_register(self) -> None:
        """RESET, with a bus that refuses nothing: nothing is left of the state before."""
        self.memory.allow_all()
        await self.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        await self.until_field(m.CONTROL_OFFSET, m.CONTROL_RESET, 0, "CONTROL.RESET stays 1")
        for offset in (m.STATUS_OFFSET, m.IRQ_STATUS_OFFSET, m.CMD_HEAD_OFFSET, m.STAT_COMMANDS_OFFSET):
            assert await self.read(offset) == 0
        for at in range(0, m.DMA_WINDOW_STRIDE * m.DMA_WINDOW_COUNT, 8):
            assert await self.read(m.DMA_WINDOW_BASE + at) == 0
        assert self.dut.irq.value == 0

    def new_rings(self) -> None:
        """Begin with empty rings at the layout's places, and with a script that goes on where the rings are.

        The script's DUMP writes to the layout's place.
        """
        self.taken = 0
        self.script = s = Script(self.layout.dump - DUMP - 8, TIMEOUT_CYCLES)
        s.commands, s.completions = (
            (at - s.base) % ADDRESSES for at in (self.layout.commands, self.layout.completions)
        )
        s.log2 = self.size_log2
        s.lines.clear()

    async def setup(self) -> None:
        """Tell the engine where everything is, then enable it; the ring of commands is full of guard bytes before."""
        at = self.layout
        size = 1 << self.size_log2
        self.new_rings()
        self.memory.put(at.commands, bytes([GUARD]) * (32 * size))
        self.memory.put(at.completions, bytes(16 * size))
        await self.write(m.CMD_BASE_OFFSET, at.commands)
        await self.write(m.CPL_BASE_OFFSET, at.completions)
        await self.write(m.CMD_SIZE_OFFSET, self.size_log2)
        await self.windows()
        await self.enable()

    async def windows(self) -> None:
        """Let the engine reach all of memory but the last page, by all of its windows, in any order."""
        cuts = sorted(self.rng.sample(range(1, ADDRESSES >> 12), m.DMA_WINDOW_COUNT - 1))
        bounds = [0, *cuts, (ADDRESSES >> 12) - 1]
        pieces = list(itertools.pairwise(bounds))
        self.rng.shuffle(pieces)
        for number, (start, limit) in enumerate(pieces):
            await self.window(number, start << 12, limit << 12)

    async def window(self, number: int, start: int, limit: int, read: bool = True, write: bool = True) -> None:
        """Set a DMA window."""
        base = m.DMA_WINDOW_BASE + m.DMA_WINDOW_STRIDE * number
        await self.write(base + m.DMA_WINDOW_START_OFFSET, start)
        permissions = m.DMA_WINDOW_LIMIT_READ.put(read) | m.DMA_WINDOW_LIMIT_WRITE.put(write)
        await self.write(base + m.DMA_WINDOW_LIMIT_OFFSET, limit | permissions)

    async def enable(self) -> None:
        """Write CONTROL: TABLE_WRITES, and then ENABLE too."""
        writes = m.CONTROL_TABLE_WRITES.put(1)
        await self.write(m.CONTROL_OFFSET, writes)
        await self.write(m.CONTROL_OFFSET, writes | m.CONTROL_ENABLE.put(1))

    # Registers

    async def read(self, offset: int) -> int:
        """Read a register."""
        return await self.registers.read_qword(offset)

    async def write(self, offset: int, value: int) -> None:
        """Write a register."""
        await self.registers.write_qword(offset, value)

    async def cycles(self, count: int) -> None:
        """Let time pass."""
        await ClockCycles(self.dut.clock, count)

    async def until(
        self, holds: Callable[[], Awaitable[bool]], said: str, every: int = 20, cycles: int = TIMEOUT_CYCLES
    ) -> None:
        """Wait until something holds, and look every few cycles; AssertionError with the message if it never does."""
        for _ in range(0, cycles, every):
            if await holds():
                return
            await self.cycles(every)
        assert await holds(), said

    async def until_field(self, offset: int, field: m.Field, value: int, said: str) -> None:
        """Wait until a register's field has a value."""

        async def has() -> bool:
            return field.get(await self.read(offset)) == value

        await self.until(has, said)

    async def idle(self, cycles: int = TIMEOUT_CYCLES) -> None:
        """Wait until the engine says that nothing is under way."""

        async def rests() -> bool:
            return self.dut.idle.value == 1

        await self.until(rests, "the engine does not get idle", cycles=cycles)

    async def grant_device(self, entry: DeviceEntry) -> None:
        """Tell the engine of a device whose slots it may grant, or that it is gone; return when it knows."""
        await self.write(
            m.GRANT_RANGE_OFFSET, m.GRANT_RANGE_BASE.put(entry.base) | m.GRANT_RANGE_CLUSTERS.put(entry.clusters)
        )
        await self.write(
            m.GRANT_DEVICE_OFFSET,
            m.GRANT_DEVICE_TYPE.put(entry.type)
            | m.GRANT_DEVICE_LIVE.put(entry.live)
            | m.GRANT_DEVICE_EPOCH.put(entry.epoch)
            | m.GRANT_DEVICE_PRIORITY.put(entry.priority & 0xFFFF),
        )
        said = f"the engine does not take over {entry}"
        await self.until_field(m.GRANT_STATE_OFFSET, m.GRANT_STATE_DEVICE_BUSY, 0, said)

    # Commands

    def post(self, command: Command) -> None:
        """Write a command into the ring, without ringing."""
        size = 1 << self.size_log2
        assert self.script.tail - self.taken < size, "the ring is full"
        self.memory.put(self.layout.commands + 32 * (self.script.tail % size), command.pack())
        self.script.tail += 1

    async def ring(self) -> None:
        """Tell the engine of the posted commands."""
        await self.write(m.CMD_TAIL_OFFSET, self.script.tail % (1 << 32))

    async def completion(self) -> Completion:
        """Wait for the next completion and take it."""
        size = 1 << self.size_log2
        at = self.layout.completions + 16 * (self.taken % size)
        phase = 1 - (self.taken // size & 1)

        async def there() -> bool:
            return m.MEM_COMPLETION_INFO_PHASE.get(self.memory.word(at + m.MEM_COMPLETION_INFO_OFFSET)) == phase

        await self.until(there, f"no completion of command {self.taken}", 10)
        info = self.memory.word(at + m.MEM_COMPLETION_INFO_OFFSET)
        result = self.memory.word(at + m.MEM_COMPLETION_RESULT_OFFSET)
        done = Completion(
            status=Status(m.MEM_COMPLETION_INFO_STATUS.get(info)),
            slot=m.MEM_COMPLETION_RESULT_SLOT.get(result),
            type=m.MEM_COMPLETION_RESULT_TYPE.get(result),
            result=result,
        )
        index = m.MEM_COMPLETION_INFO_INDEX.get(info)
        assert index == self.taken % (1 << 16), f"completion {self.taken} says it is {index}"
        self.taken += 1
        return done

    async def run(self, *commands: Command) -> list[Completion]:
        """Give commands at once, and return their completions."""
        for command in commands:
            self.post(command)
        await self.ring()
        return [await self.completion() for _ in commands]

    async def must(self, *commands: Command) -> None:
        """Give commands that all succeed."""
        self.script.give([Expected(command, Status.OK) for command in commands])
        await self.play()

    async def play(self, commands: bool = True) -> None:
        """Play the lines that have come into the script; AssertionError if anything is not as it must be.

        Args:
            commands: there are some in it, whose completions it takes; nobody else waits for any.
        """
        lines, self.script.lines = self.script.lines, []
        if commands:
            self.taken = self.script.tail
        await Player(self, self.script.base).play(lines)

    async def irq_edge(self, said: str = "no interrupt comes") -> None:
        """Wait for the interrupt."""
        if self.dut.irq.value == 0:
            await First(RisingEdge(self.dut.irq), Timer(TIMEOUT_CYCLES * CLOCK_NS // 10, "ns"))
        assert self.dut.irq.value == 1, said
