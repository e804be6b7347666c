# SPDX-License-Identifier: Apache-2.0
"""The kernel's side of marks and grants behind the master of an engine that has registers for them."""

from functools import partial

import cocotb
import hwswap_map as m
from cocotb.triggers import ClockCycles
from hwswap.model.grant_entries import DeviceEntry, Lines, Placement
from hwswap.model.grant_memory import GrantMemory
from hwswap.model.grant_rules import orders_with_room
from hwswap.model.marks import Arrays
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.steering import Host
from hwswap.stimulus.grant_work import USED_ORDERS, Work, finish

from cases.bench import Bench
from cases.memory import Shown

LIES = {"device gone", "epoch", "flags", "order", "place", "empty"}
"""Why no grant of an honest engine is refused, while no device changes."""

DEVICES = {0: (0, 20), 3: (53, 30), 6: (130, 40)}
"""Base and clusters of the devices by their number: of one priority, and with room for each CPU and order; one lies in
two groups."""

BYTES = 1 << 18
"""Between the places of what is shared, at least."""

PARTS = ("group", "dirty", "word", "bitmap", "line", "no_run", "ring")


class Kernel:
    """A host that allocates with grants and marks what it changes, and its memory.

    Attributes:
        places: where each part lies, by its name.
    """

    def __init__(self, bench: Bench, clusters: int, cpus: int, ring_log2: int) -> None:
        """Make a host without devices; its memory takes the place of that of another before it."""
        self.bench = bench
        self.arrays, self.lines = Arrays(clusters), Lines(cpus, ring_log2)
        self.host = Host(self.arrays, self.lines, stash=1000)
        self.work = Work(self.host, bench.rng)
        memory = GrantMemory(self.arrays, self.lines)
        tops = bench.rng.sample(range(1 << 6), len(PARTS))
        self.places = {
            name: top << 58 | bench.rng.getrandbits(40) << 18 | 0xFC0 * (name != "bitmap")
            for name, top in zip(PARTS, tops, strict=True)
        }
        bench.memory.shown[:] = [
            Shown(range(place, place + BYTES), partial(memory.load, name), partial(memory.store, name))
            for name, place in self.places.items()
        ]

    # Set-up

    @classmethod
    async def start(cls, bench: Bench) -> "Kernel":
        """Tell an engine behind a reset where all is, switch it on, and bring devices on."""
        caps = await bench.read(m.CAPS_OFFSET)
        state = await bench.read(m.GRANT_STATE_OFFSET)
        kernel = cls(bench, m.CAPS_CLUSTERS.get(caps), m.CAPS_CPUS.get(caps), m.GRANT_STATE_RING_LOG2.get(state))
        for name in ("group", "dirty", "word", "line", "no_run", "ring"):
            await bench.write(getattr(m, f"GRANT_{name.upper()}_BASE_OFFSET"), kernel.places[name])
        await bench.write(m.GRANT_CHUNK_BASE, kernel.places["bitmap"])
        await bench.setup()
        for type_, (base, clusters) in DEVICES.items():
            await kernel.swapon(DeviceEntry(type_, base, clusters, -1, bench.rng.randrange(256)))
        await kernel.switch(on=True)
        return kernel

    async def swapon(self, entry: DeviceEntry) -> None:
        """Tell the engine of a device, and then of all its clusters."""
        await self.bench.grant_device(entry)
        finish(self.host.swapon(entry, entry.clusters * SLOTS - self.bench.rng.choice((0, 3, 300))))

    async def switch(self, on: bool) -> None:
        """Let the engine look for marks and make grants, or not."""
        value = m.GRANT_CONTROL_SCAN.put(on) | m.GRANT_CONTROL_GRANT.put(on) | m.GRANT_CONTROL_PAUSE.put(3)
        await self.bench.write(m.GRANT_CONTROL_OFFSET, value)

    # At work

    def begin(self, load: float) -> None:
        """Let all CPUs be at work from now on."""
        self.work.load = load
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Carry out steps of all CPUs, as long as there is work."""
        rng = self.bench.rng
        while self.work.load or self.work.operations:
            await ClockCycles(self.bench.dut.clock, rng.choice((1, 1, 3, 20)))
            if rng.random() < 0.01:
                self.work.favourite = rng.choice(USED_ORDERS)
            self.work.step(rng.randrange(self.lines.cpus))

    async def stop(self) -> None:
        """Let the CPUs finish what they are at."""
        self.work.load = 0.0

        async def ended() -> bool:
            return not self.work.operations

        await self.bench.until(ended, "an operation does not end")

    async def rounds(self, count: int = 2) -> None:
        """Wait until marks that are there now are served, and the engine is idle."""
        dut = self.bench.dut
        start = int(dut.round.value)

        async def went() -> bool:
            return (int(dut.round.value) - start) % (1 << 32) >= count and dut.idle.value == 1

        await self.bench.until(went, "the engine does not go round, or does not get idle")

    async def expect_right(self) -> None:
        """When all is quiet, no mark is left and NO_RUN is right; grants were of use, and none was refused."""
        await self.stop()
        finish(self.host.drop_masks(lambda *_: True))
        await self.rounds()
        assert self.arrays.quiet(), "a mark is left"
        found = orders_with_room(self.host, Placement.INDEXED)
        assert self.lines.no_run == sum(1 << order for order in range(ORDERS) if order not in found)
        counts = self.host.counts
        assert not LIES & counts.keys(), counts
        assert counts["hit"] > 0, counts
