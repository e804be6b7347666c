# SPDX-License-Identifier: Apache-2.0
"""The kernel's side of marks and grants behind the master of an engine that has registers for them."""

from collections.abc import Iterator, MutableSequence
from typing import Any

import cocotb
import hwswap_map as m
from cocotb.triggers import ClockCycles
from hwswap.model.grants import LISTED, TOP_ORDER, DeviceEntry, Lines
from hwswap.model.marks import WORDS, Arrays, bitmap_place
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.steering import Host, HostCluster, fit
from hwswap_map import Flag

from cases.bench import TIMEOUT_CYCLES, Bench, Shown
from cases.grants_work import USED_ORDERS, Work, finish

LIES = {"device gone", "epoch", "flags", "order", "place", "empty"}
"""Why no grant of an honest engine is refused, while no device changes."""

DEVICES = {0: (0, 20), 3: (53, 30), 6: (130, 40)}
"""Base and clusters of the devices by their number: of one priority, and with room for each CPU and order; one lies in
two groups."""

BYTES = 1 << 18
"""Between the places of what is shared, at least."""


def stored(array: MutableSequence[int], size: int) -> bytes:
    """Return little-endian numbers of `size` bytes."""
    return b"".join(value.to_bytes(size, "little") for value in array)


class Kernel:
    """A host that allocates with grants and marks what it changes, and its memory.

    Attributes:
        places: where each part lies, by its name.
        load: chance that an idle CPU begins something when it is looked at.
    """

    def __init__(self, bench: Bench, clusters: int, cpus: int, ring_log2: int) -> None:
        """Make a host without devices; its memory takes the place of that of another before it."""
        self.bench = bench
        self.arrays, self.lines = Arrays(clusters), Lines(cpus, ring_log2)
        self.host = Host(self.arrays, self.lines, stash=1000)
        self.work = Work(self.host, bench.rng)
        self.operations: dict[int, tuple[int, Iterator[str]]] = {}
        self.load = 0.0
        parts = {
            "group": self.part(self.arrays.group),
            "dirty": self.part(self.arrays.dirty),
            "word": (self.words, self.refused),
            "bitmap": (self.bitmaps, self.refused),
            "line": (self.cpu_lines, self.refused),
            "no_run": (self.refuses_load, self.set_no_run),
            "ring": (self.refuses_load, self.set_entry),
        }
        tops = bench.rng.sample(range(1 << 6), len(parts))
        self.places = {
            name: top << 58 | bench.rng.getrandbits(40) << 18 | 0xFC0 * (name != "bitmap")
            for name, top in zip(parts, tops, strict=True)
        }
        bench.memory.shown[:] = [
            Shown(range(self.places[name], self.places[name] + BYTES), load, store)
            for name, (load, store) in parts.items()
        ]

    # What the engine reads and writes

    @staticmethod
    def part(array: bytearray) -> tuple[Any, Any]:
        """Return how a byte a cluster or group is read, and cleared."""

        def load(at: int, length: int) -> bytes:
            return bytes(array[at : at + length]).ljust(length, b"\0")

        def store(at: int, data: bytes) -> None:
            assert not any(data), "a mark is set by the engine"
            assert all(array[at : at + len(data)]), "a byte is cleared that was 0"
            array[at : at + len(data)] = data

        return load, store

    def refused(self, at: int, data: bytes) -> None:
        """The engine may not write here."""
        raise AssertionError(f"the engine writes {data.hex()} at {at:#x} of what is the kernel's")

    def refuses_load(self, at: int, length: int) -> bytes:
        """Nor read there."""
        raise AssertionError(f"the engine reads {length} bytes at {at:#x} of what is its own")

    def words(self, at: int, length: int) -> bytes:
        """Return words of clusters."""
        return stored(self.arrays.word[at // 4 : (at + length) // 4], 4).ljust(length, b"\0")

    def bitmaps(self, at: int, length: int) -> bytes:
        """Return words of bitmaps; each is read by itself."""
        cluster, number = divmod(at // 8, WORDS)
        assert length == 8
        assert bitmap_place(cluster) == (0, at - 8 * number)
        return self.arrays.bitmap[cluster][number].to_bytes(8, "little")

    def cpu_lines(self, at: int, length: int) -> bytes:
        """Return words of CPU lines."""
        cpu, inside = divmod(at, m.MEM_GRANT_LINE_BYTES)
        heads = self.lines.head[cpu]
        pairs = (low | high << 32 for low, high in zip(heads[::2], heads[1::2], strict=True))
        line = stored([0, self.lines.want[cpu], *pairs, 0], 8)
        return line[inside : inside + length]

    def set_no_run(self, at: int, data: bytes) -> None:
        """The engine says for which orders there is no run."""
        assert (at, len(data)) == (0, 8)
        self.lines.no_run = int.from_bytes(data, "little")

    def set_entry(self, at: int, data: bytes) -> None:
        """The engine writes a word of an entry."""
        assert len(data) == 8
        self.lines.words[at] = int.from_bytes(data, "little")

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

    async def rest(self) -> None:
        """Let the engine look for no marks and make no grants, and wait until it does neither."""
        await self.switch(on=False)
        for _ in range(TIMEOUT_CYCLES // 50):
            state = await self.bench.read(m.GRANT_STATE_OFFSET)
            if m.GRANT_STATE_SCAN_IDLE.get(state) and m.GRANT_STATE_GRANT_IDLE.get(state):
                return
            await self.bench.cycles(50)
        raise AssertionError("the engine does not rest")

    async def swapon(self, entry: DeviceEntry) -> None:
        """Tell the engine of a device, and then of all its clusters."""
        bench = self.bench
        await bench.write(
            m.GRANT_RANGE_OFFSET, m.GRANT_RANGE_BASE.put(entry.base) | m.GRANT_RANGE_CLUSTERS.put(entry.clusters)
        )
        await bench.write(
            m.GRANT_DEVICE_OFFSET,
            m.GRANT_DEVICE_TYPE.put(entry.type)
            | m.GRANT_DEVICE_LIVE.put(entry.live)
            | m.GRANT_DEVICE_EPOCH.put(entry.epoch)
            | m.GRANT_DEVICE_PRIORITY.put(entry.priority & 0xFFFF),
        )
        for _ in range(TIMEOUT_CYCLES // 50):
            if not m.GRANT_STATE_DEVICE_BUSY.get(await bench.read(m.GRANT_STATE_OFFSET)):
                break
            await bench.cycles(50)
        else:
            raise AssertionError(f"the engine does not take over {entry}")
        finish(self.host.swapon(entry, entry.clusters * SLOTS - bench.rng.choice((0, 3, 300))))

    async def switch(self, on: bool) -> None:
        """Let the engine look for marks and make grants, or not."""
        value = m.GRANT_CONTROL_SCAN.put(on) | m.GRANT_CONTROL_GRANT.put(on) | m.GRANT_CONTROL_PAUSE.put(3)
        await self.bench.write(m.GRANT_CONTROL_OFFSET, value)

    # At work

    def begin(self, load: float) -> None:
        """Let all CPUs be at work from now on."""
        self.load = load
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Carry out steps of all CPUs, as long as there is work."""
        rng = self.bench.rng
        favourite = 0
        while self.load or self.operations:
            await ClockCycles(self.bench.dut.clock, rng.choice((1, 1, 3, 20)))
            if rng.random() < 0.01:
                favourite = rng.choice(USED_ORDERS)
            cpu = rng.randrange(self.lines.cpus)
            if cpu not in self.operations:
                if rng.random() < self.load:
                    order = favourite if rng.random() < 0.7 else rng.choice(USED_ORDERS)
                    self.operations[cpu] = self.work.begin(cpu, order)
                continue
            order, steps = self.operations[cpu]
            try:
                next(steps)
            except StopIteration as end:
                del self.operations[cpu]
                self.work.ended(order, end.value)

    async def stop(self) -> None:
        """Let the CPUs finish what they are at."""
        self.load = 0.0
        for _ in range(TIMEOUT_CYCLES // 20):
            if not self.operations:
                return
            await self.bench.cycles(20)
        raise AssertionError("an operation does not end")

    async def rounds(self, count: int = 2) -> None:
        """Wait until marks that are there now are served, and the engine is idle."""
        dut = self.bench.dut
        start = int(dut.round.value)
        for _ in range(TIMEOUT_CYCLES // 20):
            if (int(dut.round.value) - start) % (1 << 32) >= count and dut.idle.value == 1:
                return
            await self.bench.cycles(20)
        raise AssertionError("the engine does not go round, or does not get idle")

    async def expect_right(self) -> None:
        """When all is quiet, no mark is left and NO_RUN is right; grants were of use, and none was refused."""
        await self.stop()
        finish(self.host.drop_masks(lambda *_: True))
        await self.rounds()
        assert self.arrays.quiet(), "a mark is left"
        assert self.lines.no_run == sum(1 << order for order in range(ORDERS) if not self.has_run(order))
        counts = self.host.counts
        assert not LIES & counts.keys(), counts
        assert counts["hit"] > 0, counts

    def has_run(self, order: int) -> bool:
        """Tell whether a cluster has a place for an order, in one that it may use."""
        return any(
            self.may_use(cluster, order) and fit(cluster.used, order, 0) >= 0
            for device in self.host.devices.values()
            for cluster in device.clusters
        )

    @staticmethod
    def may_use(cluster: HostCluster, order: int) -> bool:
        """Tell whether an order may go into a cluster."""
        if cluster.list == Flag.FREE:
            return True
        return cluster.list in LISTED and order != TOP_ORDER and order in (0, cluster.order)
