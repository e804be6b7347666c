# SPDX-License-Identifier: Apache-2.0
"""A host with everything that an engine's masters read and write, each thing in a zone of its own, and work for each.

A work makes its master move the zone's first and last beat, and looks whether what comes of it is right: swap tables by
the golden model, grants one by one.
"""

from dataclasses import dataclass
from functools import partial

import hwswap_map as m
from cocotb.triggers import Lock
from cocotbext.axi.sparse_memory import SparseMemory
from hwswap.model.cluster_map import Word
from hwswap.model.golden import Allocator
from hwswap.model.grant_entries import DeviceEntry, Grant, ring_place
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import ALL, ORDERS, SLOTS, run
from hwswap.model.table_words import ANY, folio_word, kind_of, shadow_word
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.table_commands import Places
from hwswap_map import Flag, Opcode, Status

from cases.bench import ADDRESSES, SSD, Bench, Layout
from cases.tabled import BenchTables

PAGE = 4096
RING_LOG2 = 2
GIVEN = 9
"""Tables of one TABLE_GIVE: more than a multiple of its address's alignment."""

ALLOCATES, TABLED = 0, 3
"""The device that the core allocates of, and the one whose tables are searched."""

DUMPED = 8
"""Clusters of the first one: all are dumped."""

FIRST, LAST = 1, 2
"""Devices of grants: the first clusters, for order 0, and the last ones, for order 9; as many as a ring has entries."""


@dataclass(frozen=True)
class Zone:
    """A thing in host memory: its bytes, its alignment, the register that has its address."""

    size: int
    align: int = 64
    register: int | None = None


def zones(clusters: int, cpus: int, ring_log2: int) -> dict[str, Zone]:
    """Return all zones by their names; those of grants are of the engine's size."""
    grants = {
        "word": Zone(4 * clusters, register=m.GRANT_WORD_BASE_OFFSET),
        "bitmaps": Zone(SLOTS // 8 * clusters, register=m.GRANT_CHUNK_BASE),
        "line": Zone(m.MEM_GRANT_LINE_BYTES * cpus, register=m.GRANT_LINE_BASE_OFFSET),
        "no_run": Zone(8, register=m.GRANT_NO_RUN_BASE_OFFSET),
        "ring": Zone(ring_place(cpus, 0, 0, ring_log2), register=m.GRANT_RING_BASE_OFFSET),
    }
    return grants | {
        "commands": Zone(m.MEM_COMMAND_BYTES << RING_LOG2, register=m.CMD_BASE_OFFSET),
        "completions": Zone(m.MEM_COMPLETION_BYTES << RING_LOG2, register=m.CPL_BASE_OFFSET),
        "dump": Zone(DUMPED * m.MEM_CLUSTER_STATE_BYTES, 8),
        "source": Zone(8 * GIVEN),
        "table": Zone(PAGE, PAGE),
        "bitmap": Zone(SLOTS // 8),
        "range": Zone(m.MEM_TABLE_RANGE_BYTES),
        "counts": Zone(m.MEM_TABLE_COUNTS_BYTES),
    }


class World:
    """An engine after a reset, told of everything and at rest.

    Attributes:
        zones: all zones; `at` has the address of each.
        window: the DMA window that permits everything; the others permit nothing.
    """

    def __init__(self, bench: Bench, caps: int, ring_log2: int) -> None:
        """Choose places; nothing is told yet."""
        self.bench = bench
        self.has = {name for name in ("check", "grants") if getattr(m, f"CAPS_{name.upper()}").get(caps)}
        self.has |= set() if m.CAPS_GRANTS_ONLY.get(caps) else {"core"}
        self.clusters, self.cpus, self.ring_log2 = m.CAPS_CLUSTERS.get(caps), m.CAPS_CPUS.get(caps), ring_log2
        self.zones = zones(self.clusters, self.cpus, ring_log2)
        tops = bench.rng.sample(range(1 << 6), len(self.zones))
        self.at = {
            name: top << 58 | bench.rng.getrandbits(38) << 20 for name, top in zip(self.zones, tops, strict=True)
        }
        self.window = bench.rng.randrange(m.DMA_WINDOW_COUNT)
        self.asking, self.looking = Lock(), Lock()
        self.rings = {LAST: (self.cpus - 1, ORDERS - 1), FIRST: (0, 0)}  # CPU and order, by the device
        self.head = 0

    @classmethod
    async def of(cls, bench: Bench) -> "World":
        """Choose places for an engine."""
        state = await bench.read(m.GRANT_STATE_OFFSET)
        return cls(bench, await bench.read(m.CAPS_OFFSET), m.GRANT_STATE_RING_LOG2.get(state))

    @classmethod
    async def begin(cls, bench: Bench, low_bits: bool = False, **places: int) -> "World":
        """Tell an engine everything.

        Args:
            bench: of an engine after a reset.
            low_bits: registers get addresses with bits that the engine is to ignore.
            places: addresses of zones that do not lie anywhere.
        """
        world = await cls.of(bench)
        world.at |= places
        bench.memory.bytes = SparseMemory(1 << 64)
        bench.size_log2 = RING_LOG2
        bench.layout = Layout(*(world.at[name] for name in ("commands", "completions", "dump")))
        bench.new_rings()
        for name, zone in world.zones.items():
            if zone.register is not None:
                low = bench.rng.randrange(1, zone.align) if low_bits else 0
                await bench.write(zone.register, world.at[name] | low)
        await bench.window(world.window, 0, ADDRESSES - PAGE)
        await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
        if "core" in world.has:
            await bench.write(m.CMD_SIZE_OFFSET, RING_LOG2)
        await bench.enable()
        if "core" in world.has:
            await world.begin_tables()
        if "grants" in world.has:
            switches = m.GRANT_CONTROL_READ.put(1) | m.GRANT_CONTROL_GRANT.put(1) | m.GRANT_CONTROL_OPEN.put(1)
            await bench.write(m.GRANT_CONTROL_OFFSET, switches | m.GRANT_CONTROL_PAUSE.put(3))
            await world.no_run_is_above(-1)
        return world

    async def begin_tables(self) -> None:
        """Bring the core's devices on; the first cluster of one gets a table, with words of many kinds."""
        bench, rng, model = self.bench, self.bench.rng, Allocator()
        allocates, tabled = (ALLOCATES, DUMPED * SLOTS, 0, SSD), (TABLED, 10 * SLOTS, 16, SSD)
        bench.script.give(
            [
                Expected(prepare(*allocates), model.prepare(*allocates)),
                Expected(Command(Opcode.SWAPON, ALLOCATES), model.swapon(ALLOCATES)),
                Expected(prepare(*tabled), model.prepare(*tabled)),
            ]
        )
        await bench.play()
        self.model = model
        targets = [self.at[name] for name in ("bitmap", "range", "counts")]
        places = Places([self.at["table"]], [self.at["source"]], targets)
        self.tables = BenchTables(bench, model.devices, places, alone=False)
        draws = (lambda: shadow_word(rng.getrandbits(40)), lambda: folio_word(rng.getrandbits(40), rng.randrange(15)))
        words = [rng.choice((*draws, int))() for _ in range(SLOTS)]
        words[0], words[-1] = (draw() for draw in draws)
        self.tables.put(self.at["table"], words)
        self.tables.put(self.at["source"], [self.at["table"]])
        await self.table(Opcode.TABLE_GIVE, "source", nr=1)

    def load(self, zone: str, words: int) -> list[int]:
        """Return the first words of a zone."""
        return [self.bench.memory.word(self.at[zone] + 8 * i) for i in range(words)]

    # Commands

    async def commands(self) -> None:
        """Fill both rings once."""
        async with self.asking:
            await self.bench.must(*[Command(Opcode.NOP)] * (1 << RING_LOG2))

    async def dump(self) -> None:
        """Have the clusters of a device checked and dumped."""
        async with self.asking:
            engine_state.clusters(self.bench.script, self.model, [ALLOCATES])
            await self.bench.play()

    async def table(self, opcode: Opcode, target: str | None = None, **fields: int) -> None:
        """Do something with the table, while nobody else asks for anything; all is as the model has it."""
        target_at = {"arg2": self.at[target]} if target else {}
        async with self.asking:
            answers = await self.tables.run(Command(opcode, TABLED, **(target_at | fields)))
        assert answers[0].status == Status.OK

    async def lookups(self) -> None:
        """Look the table's first and last word up, by command."""
        for slot in (0, SLOTS - 1):
            await self.table(Opcode.TABLE_LOOKUP, arg0=slot)

    async def register_lookups(self) -> None:
        """Look them up by register."""
        async with self.looking:
            for slot in (0, SLOTS - 1):
                self.tables.lookup(TABLED, slot)
                await self.bench.play(commands=False)

    async def clear(self) -> None:
        """Let all words become shadows; their flags stay."""
        value = self.bench.rng.getrandbits(50) << 1 | 1
        await self.table(Opcode.TABLE_CLEAR, nr=SLOTS, arg0=ANY << 32, arg1=value)

    async def scan(self) -> None:
        """Find a kind of word, with the bitmap of all."""
        kind = kind_of(self.tables.tables.words(TABLED, 0)[0])
        await self.table(Opcode.TABLE_SCAN, "bitmap", arg0=1 << kind << 32, arg1=SLOTS)

    async def range(self) -> None:
        """Ask for the kind of each word."""
        await self.table(Opcode.TABLE_RANGE, "range", nr=SLOTS)

    async def count(self) -> None:
        """Count the words of each kind."""
        await self.table(Opcode.TABLE_COUNT, "counts", arg1=SLOTS)

    async def give(self) -> None:
        """Give clusters their tables, and take them away again."""
        self.tables.put(self.at["source"], [self.bench.rng.randrange(1, 1 << 50) << 12 for _ in range(GIVEN)])
        await self.table(Opcode.TABLE_GIVE, "source", nr=GIVEN, arg0=SLOTS)
        await self.table(Opcode.TABLE_TAKE, nr=GIVEN, arg0=SLOTS)

    # Grants

    async def grants(self) -> None:
        """Bring devices on, have their clusters read and grants made of them, and let the devices go."""
        bench, entries = self.bench, 1 << self.ring_log2
        clusters = {FIRST: range(entries), LAST: range(self.clusters - entries, self.clusters)}
        for device, numbers in clusters.items():
            for cluster in numbers:
                self.tell(cluster, Word(0, Flag.FULL, device))
            await bench.grant_device(DeviceEntry(device, numbers.start, entries, 0, device))
        # There is room in the first word of all bitmaps, and then in the last one, too.
        first, last = run(bench.rng.randrange(0, 64, 4), 4), run(SLOTS - 64 + bench.rng.randrange(0, 64, 16), 16)
        self.tell(0, Word(0, Flag.NONFULL, FIRST), ALL ^ first)
        await self.no_run_is_above(2)
        self.tell(self.clusters - 1, Word(0, Flag.NONFULL, LAST), ALL ^ last)
        await self.no_run_is_above(4)
        for cluster in clusters[FIRST][1:]:
            self.tell(cluster, Word(0, Flag.NONFULL, FIRST))
        for cluster in clusters[LAST]:
            self.tell(cluster, Word(0, Flag.FREE, LAST))
        await self.no_run_is_above(ORDERS - 1)
        # Order 9 first, which takes all clusters that are FREE.
        for device, (cpu, order) in self.rings.items():
            bench.memory.put_word(self.line(cpu) + m.MEM_GRANT_LINE_WANT_OFFSET, 1 << order)
            await bench.until(partial(self.granted, device), "a ring is not full")
        self.head += entries
        for device, (cpu, order) in self.rings.items():
            bench.memory.put_word(self.line(cpu) + m.MEM_GRANT_LINE_WANT_OFFSET, 0)
            await bench.grant_device(DeviceEntry(device, 0, 0, 0, device, live=False))
            head = self.line(cpu) + m.MEM_GRANT_LINE_HEAD_OFFSET + 4 * order
            bench.memory.put(head, self.head.to_bytes(4, "little"))
        await self.no_run_is_above(-1)

    def tell(self, cluster: int, word: Word, used: int = 0) -> None:
        """Store a cluster's bitmap and word."""
        self.bench.memory.put(self.at["bitmaps"] + SLOTS // 8 * cluster, used.to_bytes(SLOTS // 8, "little"))
        self.bench.memory.put(self.at["word"] + 4 * cluster, word.pack().to_bytes(4, "little"))

    async def no_run_is_above(self, most: int) -> None:
        """Wait until NO_RUN names the orders above one."""
        orders = (1 << ORDERS) - (1 << most + 1)

        async def said() -> bool:
            return self.load("no_run", 1) == [orders]

        await self.bench.until(said, f"NO_RUN does not become {orders:#x}")

    def line(self, cpu: int) -> int:
        """Return where a CPU's line is."""
        return self.at["line"] + m.MEM_GRANT_LINE_BYTES * cpu

    async def granted(self, device: int) -> bool:
        """Tell whether a device's ring is full; all that is in it is right."""
        cpu, order = self.rings[device]
        for number in range(1 << self.ring_log2):
            index = self.head + number
            place = self.at["ring"] + ring_place(cpu, order, index, self.ring_log2)
            grant = Grant.unpack(self.bench.memory.word(place), index, self.ring_log2)
            if grant is None:
                return False
            assert grant == Grant(number, device, order, device), f"CPU {cpu}, order {order}: {grant}, entry {number}"
        return True
