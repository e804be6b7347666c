# SPDX-License-Identifier: Apache-2.0
"""A script to measure the cycles of commands on swap tables, one at a time, each with the engine at rest.

Their answers and the words they leave in memory are compared with the golden model's.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Opcode, TableKind

from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import BAD, WORD_BYTES, folio_word, shadow_word
from hwswap.model.tables import Answer, Tables
from hwswap.stimulus.commands import SSD
from hwswap.stimulus.script import Script
from hwswap.stimulus.table_commands import PAGE, Bytes, Places
from hwswap.stimulus.table_host import TableHost

SLOT_COUNTS = (1, 4, 16, 64, 128, SLOTS)
"""Slots of a command on one cluster; among them the folios of orders 0, 2, 4, 7 and 9."""

CLUSTER_COUNTS = (1, 4, 16, 32)
"""Clusters of a command on many."""

CLUSTERS = 33
TYPE = 0

# Offsets in the script's memory, after the rings.
FIRST_TABLE, SOURCE, TARGET = 0x4000, 0x2A000, 0x2C000

COUNTERS = ("TABLE_BUSY_CYCLES", "TABLE_ENTRIES_READ", "TABLE_ENTRIES_WRITTEN")
BY_REGISTER = "LOOKUP (register)"


@dataclass(frozen=True)
class Extent:
    """The device, as far as its tables are concerned."""

    pages: int


@dataclass(frozen=True)
class Case:
    """A command that is measured."""

    name: str
    items: int
    unit: str
    result_words: int


class Load(TableHost):
    """A script that measures commands; `cases` are in the order in which hwswap-play prints them."""

    def __init__(self, seed: int) -> None:
        """Begin with a device whose clusters all have tables, of which every slot is swapped out."""
        s, memory, pages = Script(), Bytes(), CLUSTERS * SLOTS
        self.cases: list[Case] = []
        self.source, self.target = s.base + SOURCE, s.base + TARGET
        places = Places([], [self.source], [self.target])
        super().__init__(random.Random(seed), s, Tables(memory, {TYPE: Extent(pages)}), memory, places)
        s.after_reset()
        s.begin(m.CONTROL_ENABLE.put(1) | m.CONTROL_TABLE_WRITES.put(1))
        s.must(prepare(TYPE, pages, 0, SSD))
        s.must(Command(Opcode.SWAPON, TYPE))
        for cluster in range(CLUSTERS):
            self.put(self.table(cluster), [shadow_word(self.rng.getrandbits(58)) for _ in range(SLOTS)])
        self.put(self.table(0), [BAD])

    def table(self, cluster: int) -> int:
        """Return the bus address of a cluster's table."""
        return self.script.base + FIRST_TABLE + PAGE * cluster

    def counters(self) -> None:
        """Have the statistics printed."""
        for name in COUNTERS:
            self.script.add("show", getattr(m, f"STAT_{name}_OFFSET"))

    def around(self, name: str, items: int, unit: str, result_words: int, do: Callable[[], None]) -> None:
        """Measure the commands that `do` puts into the script."""
        self.cases.append(Case(name, items, unit, result_words))
        self.script.note(f"{name}, {items} {unit}")
        self.script.settle()
        self.counters()
        self.script.add("clock")
        do()
        self.script.add("clock")
        self.counters()

    def measure(self, command: Command, items: int, unit: str = "slots", name: str = "") -> None:
        """Measure a command, and compare its answer and its changes in memory."""
        before = dict(self.memory.words)
        bitmaps = (Opcode.TABLE_SCAN, Opcode.TABLE_FILL, Opcode.TABLE_CLEAR)
        of_result = dict.fromkeys(bitmaps, SLOTS // 8) if command.arg2 else {}
        of_result |= {Opcode.TABLE_RANGE: m.MEM_TABLE_RANGE_BYTES, Opcode.TABLE_COUNT: m.MEM_TABLE_COUNTS_BYTES}
        self.around(
            name or Opcode(command.opcode).name.removeprefix("TABLE_"),
            items,
            unit,
            of_result.get(Opcode(command.opcode), 0) // WORD_BYTES,
            lambda: self.same(command),
        )
        self.changed(before)

    def give_and_take(self) -> None:
        """TABLE_GIVE and TABLE_TAKE of 1 to 32 tables; in the end all clusters have theirs."""
        self.put(self.source, [self.table(cluster) for cluster in range(CLUSTERS)])
        for nr in CLUSTER_COUNTS:
            self.measure(Command(Opcode.TABLE_GIVE, TYPE, nr=nr, arg2=self.source), nr, "clusters")
            self.measure(Command(Opcode.TABLE_TAKE, TYPE, nr=nr), nr, "clusters")
        self.same(Command(Opcode.TABLE_GIVE, TYPE, nr=CLUSTERS, arg2=self.source))

    def tables_missing(self) -> None:
        """Commands that find no table, but in the last cluster: the directory is all they look at."""
        self.put(self.source, [self.table(CLUSTERS - 1)])
        last = (CLUSTERS - 1) * SLOTS
        self.same(Command(Opcode.TABLE_GIVE, TYPE, nr=1, arg0=last, arg2=self.source))
        self.measure(Command(Opcode.TABLE_LOOKUP, TYPE, arg0=3 * SLOTS), 1, name="LOOKUP, no table")
        kinds = 1 << TableKind.SHADOW
        for nr in CLUSTER_COUNTS:
            limit = nr * SLOTS
            count = Command(Opcode.TABLE_COUNT, TYPE, arg0=0, arg1=limit, arg2=self.target)
            self.measure(count, nr, "clusters", "COUNT, no tables")
            scan = Command(Opcode.TABLE_SCAN, TYPE, arg0=kinds << 32, arg1=limit)
            self.measure(scan, nr, "clusters", "SCAN, no tables")
        self.same(Command(Opcode.TABLE_TAKE, TYPE, nr=1, arg0=last))

    def lookups(self) -> None:
        """One word, by ring and by register."""
        slot = 3 * SLOTS + 77
        self.measure(Command(Opcode.TABLE_LOOKUP, TYPE, arg0=slot), 1)
        answer = self.tables.carry_out(Command(Opcode.TABLE_LOOKUP, TYPE, arg0=slot))
        self.around(BY_REGISTER, 1, "slots", 0, lambda: self.by_register(slot, answer))
        self.script.read(m.LOOKUP_ENTRY_OFFSET, answer.result)

    def by_register(self, slot: int, answer: Answer) -> None:
        """Write LOOKUP, and read LOOKUP_INFO until it is the answer."""
        s = self.script
        s.write(m.LOOKUP_OFFSET, m.LOOKUP_SLOT.put(slot) | m.LOOKUP_TYPE.put(TYPE) | m.LOOKUP_SEQ.put(1))
        mask = m.LOOKUP_INFO_BUSY.put(1) | m.LOOKUP_INFO_SEQ.put(0xFFFF) | m.LOOKUP_INFO_STATUS.put(127)
        value = m.LOOKUP_INFO_SEQ.put(1) | m.LOOKUP_INFO_STATUS.put(answer.status)
        s.add("poll", m.LOOKUP_INFO_OFFSET, mask, value, s.limit)

    def ranges(self) -> None:
        """Commands on slots of one cluster: a folio comes, moves and goes."""
        shadow, folio = 1 << TableKind.SHADOW, 1 << TableKind.CACHED
        for number, nr in enumerate(SLOT_COUNTS, 1):
            offset, pfn = number * SLOTS, 1000 * number
            self.measure(Command(Opcode.TABLE_RANGE, TYPE, nr=nr, arg0=offset, arg2=self.target), nr)
            self.measure(Command(Opcode.TABLE_FILL, TYPE, nr=nr, arg0=offset | shadow << 32, arg1=pfn), nr)
            self.measure(Command(Opcode.TABLE_REPLACE, TYPE, nr=nr, arg0=offset, arg1=7 * pfn, arg2=pfn), nr)
            self.measure(Command(Opcode.TABLE_CLEAR, TYPE, nr=nr, arg0=offset | folio << 32, arg1=pfn | 1), nr)

    def searches(self) -> None:
        """COUNT over whole clusters, and SCAN for a slot that is the last one looked at."""
        sought = 1 << TableKind.CACHED
        for nr in CLUSTER_COUNTS:
            limit = nr * SLOTS
            self.measure(Command(Opcode.TABLE_COUNT, TYPE, arg0=0, arg1=limit, arg2=self.target), nr, "clusters")
            last = self.table(nr - 1) + WORD_BYTES * (SLOTS - 1)
            self.put(last, [folio_word(nr)])
            self.measure(Command(Opcode.TABLE_SCAN, TYPE, arg0=sought << 32, arg1=limit), nr, "clusters")
            self.put(last, [shadow_word(nr)])

    def text(self) -> str:
        """Return the whole script."""
        self.tables_missing()
        self.give_and_take()
        self.lookups()
        self.ranges()
        self.searches()
        self.all_words()
        return self.script.text()
