# SPDX-License-Identifier: Apache-2.0
"""The test bench: clock, register master, host memory behind the engine's master, and a host's view of both."""

import itertools
import logging
import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import cocotb
import hwswap_map as m
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from cocotbext.axi.address_space import MemoryInterface
from cocotbext.axi.sparse_memory import SparseMemory
from hwswap.model.golden import Allocator
from hwswap.model.host_memory import ClusterState, Command
from hwswap_map import Opcode, Status

CLOCK_NS = 10
TIMEOUT_CYCLES = 200_000
"""Nothing the tests wait for takes this long."""

GUARD = 0xA5
"""What host memory holds that nobody has written; the engine must leave it where it was not asked to write."""


ADDRESSES = 1 << 64

DUMPED = 64
"""Clusters of one DUMP."""


class DmaDenied(Exception):
    """The test told host memory to refuse an access; the bus model answers SLVERR."""


@dataclass(frozen=True)
class Shown:
    """A part of memory that somebody else holds, given and taken by offsets in it."""

    zone: range
    load: Callable[[int, int], bytes]
    store: Callable[[int, bytes], None]


class HostMemory(MemoryInterface):
    """Sparse 64-bit host memory that can refuse accesses."""

    def __init__(self) -> None:
        """Make memory full of guard bytes."""
        super().__init__(size=1 << 64, base=0)
        self.bytes = SparseMemory(1 << 64)
        self.denied: list[range] = []
        self.denied_writes: list[range] = []
        self.shown: list[Shown] = []
        self.reads = 0
        self.writes: list[tuple[int, int]] = []

    async def _read(self, address: int, length: int, **_: Any) -> bytes:
        self.reads += 1
        self.allow(address)
        return self.get(address, length)

    async def _write(self, address: int, data: bytes, **_: Any) -> None:
        self.allow(address)
        if any(address in zone for zone in self.denied_writes):
            raise DmaDenied(f"{address:#x}")
        self.writes.append((address, len(data)))
        self.put(address, data)

    def allow(self, address: int) -> None:
        """Refuse an access of the engine's to a denied address."""
        if any(address in zone for zone in self.denied):
            raise DmaDenied(f"{address:#x}")

    def get(self, address: int, length: int) -> bytes:
        """Read for the host, in no time."""
        for part in self.shown:
            if address in part.zone:
                return part.load(address - part.zone.start, length)
        return self.bytes.read(address, length)

    def put(self, address: int, data: bytes) -> None:
        """Write for the host, in no time."""
        for part in self.shown:
            if address in part.zone:
                part.store(address - part.zone.start, data)
                return
        self.bytes.write(address, data)

    def word(self, address: int) -> int:
        """Read 64 bits for the host."""
        return int.from_bytes(self.get(address, 8), "little")

    def put_word(self, address: int, value: int) -> None:
        """Write 64 bits for the host."""
        self.put(address, value.to_bytes(8, "little"))


class Shuffled:
    """Gives answers to a channel in any order that AXI4 allows: those of one identifier in theirs."""

    def __init__(self, source: Any, field: str, clock: Any, rng: random.Random) -> None:
        """Stand before a channel's source; `field` names the identifier."""
        self.field = field
        self.clock = clock
        self.rng = rng
        self.waiting: dict[int, deque[Any]] = {}
        self.came = Event()
        self.source = source
        self.send_now = source.send
        source.send = self.send
        self.task = cocotb.start_soon(self.run())

    def reset(self) -> None:
        """Forget all answers that were not given, at the end of a reset: the bus model does so at its begin alone."""
        self.task.cancel()
        self.waiting.clear()
        self.source.clear()
        self.task = cocotb.start_soon(self.run())

    async def send(self, answer: Any) -> None:
        """Take an answer, to be given some time."""
        self.waiting.setdefault(int(getattr(answer, self.field)), deque()).append(answer)
        self.came.set()

    async def run(self) -> None:
        """Give one after the other."""
        while True:
            if not any(self.waiting.values()):
                self.came.clear()
                await self.came.wait()
            if self.rng.random() < 0.1:
                await ClockCycles(self.clock, self.rng.randrange(1, 12))
            await self.send_now(self.rng.choice([queue for queue in self.waiting.values() if queue]).popleft())


@dataclass(frozen=True)
class Layout:
    """Where the shared structures lie: spread over 64-bit space, each at the least alignment it may have."""

    commands: int = 0x0000_0012_3456_7FC0
    completions: int = 0x0000_0BAD_0000_0FC0
    dump: int = 0x0000_4000_0000_0FF8

    @classmethod
    def anywhere(cls, rng: random.Random) -> "Layout":
        """Draw addresses from all of 64-bit space, with the same lowest 12 bits, far from each other."""
        names = [field.name for field in fields(cls)]
        tops = rng.sample(range(1 << 6), len(names))
        return cls(
            **{
                name: top << 58 | rng.getrandbits(46) << 12 | getattr(cls, name) & 0xFFF
                for name, top in zip(names, tops, strict=True)
            }
        )


@dataclass(frozen=True)
class Completion:
    """A completion as the host sees it."""

    status: Status
    slot: int
    type: int
    opcode: int
    index: int
    cycles: int
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
        for name in ("s_axil", "m_axi"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)
        self.clock = Clock(dut.clock, CLOCK_NS, unit="ns")
        self.memory = HostMemory()
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clock, dut.reset)
        self.dma = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clock, dut.reset, target=self.memory)
        self.shuffled: list[Shuffled] = []
        self.layout = Layout.anywhere(random.Random(self.seed))
        self.size_log2 = 6
        self.tail = 0
        self.taken = 0

    @classmethod
    async def start(cls, dut: Any, **control: bool) -> "Bench":
        """Reset the engine, set up its rings and enable it; `control` sets further bits of CONTROL."""
        bench = await cls.after_reset(dut)
        await bench.setup(**control)
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
        await self.until_not_resetting()

    async def until_not_resetting(self) -> None:
        """Wait until CONTROL.RESET reads 0."""
        for _ in range(TIMEOUT_CYCLES // 50):
            if not m.CONTROL_RESET.get(await self.read(m.CONTROL_OFFSET)):
                return
            await self.cycles(50)
        raise AssertionError("CONTROL.RESET stays 1")

    async def setup(self, **control: bool) -> None:
        """Tell the engine where everything is, then enable it; rings are full of guard bytes before."""
        at = self.layout
        size = 1 << self.size_log2
        self.tail = self.taken = 0
        self.memory.put(at.commands - 64, bytes([GUARD]) * (32 * size + 128))
        self.memory.put(at.completions - 64, bytes([GUARD]) * 64 + bytes(16 * size) + bytes([GUARD]) * 64)
        await self.write(m.CMD_BASE_OFFSET, at.commands)
        await self.write(m.CPL_BASE_OFFSET, at.completions)
        await self.write(m.CMD_SIZE_OFFSET, self.size_log2)
        await self.windows()
        await self.enable(**control)

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

    async def enable(self, **control: bool) -> None:
        """Write CONTROL: ENABLE, TABLE_WRITES unless it is named, and the bits named."""
        bits = m.CONTROL_ENABLE.put(1)
        control = {"table_writes": True} | control
        for name, value in control.items():
            bits |= getattr(m, f"CONTROL_{name.upper()}").put(value)
        await self.write(m.CONTROL_OFFSET, bits & ~m.CONTROL_ENABLE.put(1))
        await self.write(m.CONTROL_OFFSET, bits)

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

    async def idle(self) -> None:
        """Wait until the engine says that nothing is under way."""
        for _ in range(TIMEOUT_CYCLES // 20):
            if self.dut.idle.value == 1:
                return
            await self.cycles(20)
        raise AssertionError("the engine does not get idle")

    # Commands

    def post(self, command: Command) -> None:
        """Write a command into the ring, without ringing."""
        size = 1 << self.size_log2
        assert self.tail - self.taken < size, "the ring is full"
        self.memory.put(self.layout.commands + 32 * (self.tail % size), command.pack())
        self.tail += 1

    async def ring(self) -> None:
        """Tell the engine of the posted commands."""
        await self.write(m.CMD_TAIL_OFFSET, self.tail % (1 << 32))

    async def completion(self) -> Completion:
        """Wait for the next completion and take it."""
        size = 1 << self.size_log2
        at = self.layout.completions + 16 * (self.taken % size)
        phase = 1 - (self.taken // size & 1)
        for _ in range(TIMEOUT_CYCLES // 10):
            info = self.memory.word(at + m.MEM_COMPLETION_INFO_OFFSET)
            if m.MEM_COMPLETION_INFO_PHASE.get(info) == phase:
                break
            await self.cycles(10)
        else:
            raise AssertionError(f"no completion of command {self.taken}")
        result = self.memory.word(at + m.MEM_COMPLETION_RESULT_OFFSET)
        done = Completion(
            status=Status(m.MEM_COMPLETION_INFO_STATUS.get(info)),
            slot=m.MEM_COMPLETION_RESULT_SLOT.get(result),
            type=m.MEM_COMPLETION_RESULT_TYPE.get(result),
            opcode=m.MEM_COMPLETION_INFO_OPCODE.get(info),
            index=m.MEM_COMPLETION_INFO_INDEX.get(info),
            cycles=m.MEM_COMPLETION_INFO_CYCLES.get(info),
            result=result,
        )
        assert done.index == self.taken % (1 << 16), f"completion {self.taken} says it is {done.index}"
        self.taken += 1
        return done

    async def run(self, *commands: Command) -> list[Completion]:
        """Give commands, as many at once as the ring holds, and return their completions."""
        done = []
        for batch in batches(commands, 1 << self.size_log2):
            for command in batch:
                self.post(command)
            await self.ring()
            done += [await self.completion() for _ in batch]
        return done

    async def do(self, command: Command) -> Completion:
        """Give one command and return its completion."""
        return (await self.run(command))[0]

    async def must(self, *commands: Command) -> None:
        """Give commands that all succeed."""
        for command, done in zip(commands, await self.run(*commands), strict=True):
            assert done.status == Status.OK, f"{command}: {done.status.name}"

    async def status_of(self, command: Command) -> Status:
        """Give one command and return its status."""
        return (await self.do(command)).status

    async def no_faults(self, types: Iterable[int]) -> None:
        """Let the engine check itself; nothing may be wrong with the devices named."""
        for type_ in types:
            done = await self.do(Command(Opcode.CHECK, type_))
            assert (done.status, done.slot) == (Status.OK, 0), f"CHECK of device {type_}: {done}"
        assert await self.read(m.STATUS_OFFSET) & ~m.STATUS_BUSY.put(1) == 0

    async def dump(self, first: int, count: int) -> list[ClusterState]:
        """Let the engine write what it holds of some clusters."""
        at = self.layout.dump
        guard = bytes([GUARD]) * 64
        size = m.MEM_CLUSTER_STATE_BYTES * count
        self.memory.put(at - 64, guard + bytes(size) + guard)
        await self.must(Command(Opcode.DUMP, nr=count, arg0=first, arg1=at))
        assert self.memory.get(at - 64, 64) == guard == self.memory.get(at + size, 64)
        data = self.memory.get(at, size)
        step = m.MEM_CLUSTER_STATE_BYTES
        return [ClusterState.unpack(data[start : start + step]) for start in range(0, size, step)]

    async def same_clusters(self, model: Allocator) -> None:
        """Let the engine check itself, and compare all clusters of its devices with the model's."""
        await self.no_faults(model.devices)
        for type_, device in model.devices.items():
            for first in range(0, len(device.clusters), DUMPED):
                wanted = model.dump(type_)[first : first + DUMPED]
                found = await self.dump(device.base + first, len(wanted))
                for number, (seen, state) in enumerate(zip(found, wanted, strict=True), first):
                    assert state.is_shown(seen), f"cluster {number} of device {type_}: {seen}, expected {state}"

    def guards(self) -> None:
        """See that the bytes around the rings are untouched."""
        size = 1 << self.size_log2
        for start, length in ((self.layout.commands, 32 * size), (self.layout.completions, 16 * size)):
            for at in (start - 64, start + length):
                assert self.memory.get(at, 64) == bytes([GUARD]) * 64, f"the engine wrote near {at:#x}"

    async def irq_edge(self) -> None:
        """Wait for the interrupt."""
        if self.dut.irq.value == 0:
            await RisingEdge(self.dut.irq)


def batches(items: Iterable[Command], size: int) -> Iterator[list[Command]]:
    """Cut into lists of at most `size`."""
    source = iter(items)
    while batch := list(itertools.islice(source, size)):
        yield batch
