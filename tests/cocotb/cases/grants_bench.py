# SPDX-License-Identifier: Apache-2.0
"""Host memory as the golden model has it, at the AXI master of the engine of grants.

A word is read when its beat is given, and written when its beat has come, so that what the host stores in between is
between. Waiting is random; reads of different identifiers overtake each other.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cocotb
import hwswap_map as m
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from hwswap.model.cluster_map import WORDS, Arrays
from hwswap.model.grant_entries import DeviceEntry, Lines, Placement, ring_place
from hwswap.model.grant_memory import GrantMemory
from hwswap.model.rows import runs

CLUSTER_WORDS = 0x0000_7FFF_FFF0_0080
BITMAPS = 0x0000_2000_0020_0000
CHUNK, APART = 2 << 20, 4 << 20
"""Bytes of a chunk of bitmaps, and from one to the next: they need not lie behind each other."""

CPU_LINES = 0x0000_3000_0000_0FC0
ENGINE_LINE = 0x0000_0000_0001_0FC0
RINGS = 0x0000_4000_0000_0F80

READER, BUILDER = 0, 1
"""Clients of the engine's bus, in the upper bits of an identifier."""


class Memory(GrantMemory):
    """The arrays and lines of the golden model at bus addresses.

    Attributes:
        writes: address and value of each word that was written.
    """

    def __init__(self, arrays: Arrays, lines: Lines) -> None:
        """Show these."""
        super().__init__(arrays, lines)
        self.writes: list[tuple[int, int]] = []
        self.zones = {
            "word": range(CLUSTER_WORDS, CLUSTER_WORDS + 4 * arrays.clusters),
            "line": range(CPU_LINES, CPU_LINES + m.MEM_GRANT_LINE_BYTES * lines.cpus),
            "no_run": range(ENGINE_LINE, ENGINE_LINE + 8),
            "ring": range(RINGS, RINGS + ring_place(lines.cpus, 0, 0, lines.log2)),
        }

    def part(self, address: int) -> tuple[str, int]:
        """Return the part that an address is in, and the offset there."""
        chunk, at = divmod(address - BITMAPS, APART)
        if at < CHUNK and 0 <= (at := chunk * CHUNK + at) < 8 * WORDS * self.arrays.clusters:
            return "bitmap", at
        for name, zone in self.zones.items():
            if address in zone:
                return name, address - zone.start
        raise AssertionError(f"nothing is at {address:#x}")

    def read(self, address: int, client: int) -> int:
        """Return the word of 64 bits at an address; tell who listens."""
        name, at = self.part(address)
        assert client == (BUILDER if name == "line" else READER)
        return int.from_bytes(self.load(name, at, 8), "little")

    def write(self, address: int, data: int, strb: int, client: int) -> None:
        """Store the bytes of a word that are strobed."""
        name, at = self.part(address)
        assert client == BUILDER
        for first, length in runs(strb):
            self.store(name, at + first, data.to_bytes(8, "little")[first : first + length])
        self.writes.append((address, data))


@dataclass
class Burst:
    """A burst under way."""

    id: int
    address: int
    beats: int
    due: int
    done: int = 0


class Bench:
    """Clock, memory and settings of an engine.

    Attributes:
        eager: chance that the memory takes or gives something in a cycle.
        latency: cycles from an address, or the last word of a write, to the answer at the earliest.
        each: called in each cycle, while stores of the host may become visible.
    """

    def __init__(self, dut: Any, arrays: Arrays, lines: Lines, rng: random.Random, placement: Placement) -> None:
        """Make a bench for an engine."""
        self.dut = dut
        self.rng = rng
        self.memory = Memory(arrays, lines)
        self.placement = placement
        self.eager, self.latency = 1.0, 0
        self.each: Callable[[], None] = lambda: None
        self.cycle = self.rounds = self.passes = self.grants = 0

    async def start(self, pause: int = 0, pace: int = 0) -> None:
        """Reset the engine and give it its settings; reader and builder are off."""
        dut = self.dut
        chunks = -(-self.memory.arrays.clusters * WORDS * 8 // CHUNK)
        values = {
            "read": 0,
            "grant": 0,
            "open": self.placement is Placement.OPEN,
            "pause": pause,
            "pace": pace,
            "words": CLUSTER_WORDS,
            **{f"chunks_{chunk}": BITMAPS + chunk * APART for chunk in range(chunks)},
            "cpuLines": CPU_LINES,
            "engineLine": ENGINE_LINE,
            "rings": RINGS,
        }
        for name, value in values.items():
            getattr(dut, f"settings_{name}").value = int(value)
        dut.device_valid.value = 0
        for name in ("awready", "wready", "arready", "bvalid", "rvalid"):
            getattr(dut, f"axi_{name}").value = 0
        dut.reset.value = 1
        cocotb.start_soon(Clock(dut.clock, 10, unit="ns").start())
        for _ in range(4):
            await RisingEdge(dut.clock)
        await FallingEdge(dut.clock)
        dut.reset.value = 0
        self.running = cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Be the memory: look at the bus before each rising edge, drive it behind."""
        dut, rng = self.dut, self.rng
        a = {name: getattr(dut, f"axi_{name}") for name in BUS}
        reads: list[Burst] = []
        addresses: list[Burst] = []
        words: list[tuple[int, int, int]] = []
        answers: list[Burst] = []
        ar_ready = aw_ready = w_ready = False
        answering: Burst | None = None
        reading: Burst | None = None
        driven: dict[str, int] = {}

        def drive(name: str, value: int) -> None:
            # What stays is not driven again: that is slow.
            if driven.get(name) != value:
                driven[name] = value
                a[name].value = value

        a["bresp"].value = a["rresp"].value = 0
        while True:
            # Falling edge: all of the engine's outputs are as they will be taken.
            self.cycle += 1
            if ar_ready and a["arvalid"].value:
                burst = Burst(
                    int(a["arid"].value), int(a["araddr"].value), int(a["arlen"].value) + 1, self.cycle + self.latency
                )
                assert burst.address % 64 + 8 * burst.beats <= 64, "a burst leaves its 64 bytes"
                reads.append(burst)
            if aw_ready and a["awvalid"].value:
                addresses.append(Burst(int(a["awid"].value), int(a["awaddr"].value), int(a["awlen"].value) + 1, 0))
            if w_ready and a["wvalid"].value:
                words.append((int(a["wdata"].value), int(a["wstrb"].value), int(a["wlast"].value)))
            while words and addresses:
                data, strb, last = words.pop(0)
                burst = addresses[0]
                self.memory.write(burst.address + 8 * burst.done, data, strb, burst.id >> 2)
                burst.done += 1
                assert last == (burst.done == burst.beats), "wlast is not at the last word"
                if last:
                    burst.due = self.cycle + self.latency
                    answers.append(addresses.pop(0))
            self.rounds += int(dut.round.value)
            self.passes += int(dut.passed.value)
            self.grants += int(dut.granted.value)
            await RisingEdge(dut.clock)
            self.each()
            if answering is not None:
                answers.remove(answering)
            if reading is not None:
                reading.done += 1
                if reading.done == reading.beats:
                    reads.remove(reading)
            answering = self.choose(answers)
            reading = self.choose(reads)
            ar_ready, aw_ready, w_ready = (rng.random() < self.eager for _ in range(3))
            drive("arready", ar_ready)
            drive("awready", aw_ready)
            drive("wready", w_ready)
            drive("bvalid", answering is not None)
            drive("rvalid", reading is not None)
            if answering is not None:
                drive("bid", answering.id)
            if reading is not None:
                a["rdata"].value = self.memory.read(reading.address + 8 * reading.done, reading.id >> 2)
                drive("rid", reading.id)
                drive("rlast", reading.done + 1 == reading.beats)
            await FallingEdge(dut.clock)

    def choose(self, due: list[Burst]) -> Burst | None:
        """Return one that is answered now: of each identifier the first may be."""
        first = {burst.id: burst for burst in reversed(due)}
        possible = [burst for burst in first.values() if burst.due <= self.cycle]
        return self.rng.choice(possible) if possible and self.rng.random() < self.eager else None

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until something holds; ask on each falling edge. A round takes some hundred cycles for each cluster."""
        cycles = 200_000 + 400 * self.memory.arrays.clusters
        for _ in range(cycles):
            if self.running.done():
                await self.running
            if what():
                return
            await FallingEdge(self.dut.clock)
        raise AssertionError(f"nothing has come of it in {cycles} cycles")

    async def switch(self, name: str, on: bool) -> None:
        """Switch `read` or `grant` on, or off and wait until it rests."""
        getattr(self.dut, f"settings_{name}").value = int(on)
        if not on:
            await FallingEdge(self.dut.clock)
            idle = getattr(self.dut, f"{name}Idle")
            await self.until(lambda: bool(idle.value))

    async def set_device(self, entry: DeviceEntry) -> None:
        """Give the engine a device's new entry; return when it has taken effect."""
        dut = self.dut
        await FallingEdge(dut.clock)
        dut.device_bits_device.value = entry.type
        for name in ("live", "file", "rotating", "base", "clusters", "priority", "epoch"):
            getattr(dut, f"device_bits_entry_{name}").value = int(getattr(entry, name))
        dut.device_valid.value = 1
        await self.until(lambda: bool(dut.device_ready.value))
        await RisingEdge(dut.clock)
        dut.device_valid.value = 0
        await FallingEdge(dut.clock)

    async def passed(self, passes: int) -> None:
        """Wait for so many passes over the rings."""
        target = self.passes + passes
        await self.until(lambda: self.passes >= target)

    async def went_round(self, rounds: int) -> None:
        """Wait for so many rounds over the clusters."""
        target = self.rounds + rounds
        await self.until(lambda: self.rounds >= target)


BUS = (
    *("awid", "awaddr", "awlen", "awvalid", "awready", "wdata", "wstrb", "wlast", "wvalid", "wready"),
    *("bid", "bresp", "bvalid", "arid", "araddr", "arlen", "arvalid", "arready"),
    *("rid", "rdata", "rresp", "rlast", "rvalid", "rready"),
)
"""Signals of the bus that the memory looks at or drives."""
