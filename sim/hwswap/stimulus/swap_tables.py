# SPDX-License-Identifier: Apache-2.0
"""A script of commands on swap tables and of lookups by register; all random."""

import random
from collections import Counter

import hwswap_map as m
from hwswap_map import Opcode, Status, TableKind

from hwswap.model.golden import Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.model.observed_tables import ObservedTables, TableBin
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import ANY, BAD, WORD_BYTES, folio_word, pfn_of, shadow_word
from hwswap.model.tables import LINE, Answer, Memory, words_of
from hwswap.stimulus.commands import SSD, Expected, carry_out
from hwswap.stimulus.engine_state import device_table
from hwswap.stimulus.script import FAR_BASE, LIMIT, MEMORY_BASE, NOWHERE, WORD, Script, Sizes
from hwswap.stimulus.table_commands import PAGE, SOURCE_BYTES, TARGET_BYTES, Places
from hwswap.stimulus.table_host import TableHost, expected
from hwswap.stimulus.table_refusals import refusals

PAGES = {0: 6 * SLOTS - 17, 3: 4 * SLOTS, 2: 300}
"""Slots of the devices: with a partial last cluster, with whole ones, and with part of one."""

# Offsets in the script's memory, after the rings.
FIRST_TABLE, TABLES, SOURCES, TARGETS = 0x4000, 36, 0x2A000, 0x2C000

MOST = 1023
"""Clusters that one command can name."""

PAGE_NUMBER = 0x1AB_CDEF_0123_4567
"""A page number of 57 bits."""

EXAMPLES = {
    TableKind.FREE: 0,
    TableKind.SHADOW: shadow_word(0x2AB_CDEF_0123_4567, 14, zero=True),
    TableKind.CACHED: folio_word(PAGE_NUMBER, 15),
    TableKind.UNUSED: folio_word(5, 0, zero=True),
    TableKind.POINTER: 0xFFFF_8881_2345_6784,
    TableKind.BAD: BAD,
    TableKind.OTHER: 0xFFFF_8881_2345_6788,
}
"""A word of each kind."""

LOST = 0x5000
"""A bus address without memory where a table might be."""

CONTROL = m.CONTROL_ENABLE.put(1) | m.CONTROL_TABLE_WRITES.put(1)


class ScriptedHost(TableHost):
    """A host of an engine after reset, with random commands of its own seed."""

    def __init__(self, seed: int, script: Script, sizes: Sizes, seen: Counter[TableBin] | None = None) -> None:
        """Switch the engine on; `seen` counts the results of commands."""
        self.sizes = sizes
        self.model = Allocator(sizes.devices, sizes.cpus, sizes.clusters)
        memory = Memory()
        base = script.base
        places = Places(
            pages=[base + FIRST_TABLE + PAGE * i for i in range(TABLES)],
            sources=[base + SOURCES + SOURCE_BYTES * i for i in range(8)],
            # The second one lies across two pages.
            targets=[base + TARGETS + at for at in (0, PAGE - 64, 2 * PAGE - TARGET_BYTES)],
        )
        tables = ObservedTables(memory, self.model.devices, Counter() if seen is None else seen)
        super().__init__(random.Random(seed), script, tables, memory, places)
        script.begin(CONTROL)

    def bring(self) -> None:
        """Bring the devices on."""
        base = 0
        for type_, pages in PAGES.items():
            self.core(prepare(type_, pages, base, SSD), Command(Opcode.SWAPON, type_))
            base += -(-pages // SLOTS)

    def core(self, *commands: Command) -> None:
        """Give commands that are not about tables."""
        self.script.give([carry_out(self.model, command) for command in commands])


def tables(seed: int, rounds: int, sizes: Sizes, seen: Counter[TableBin] | None = None) -> str:
    """Return a script of so many batches of table commands, with errors of the bus and resets.

    `seen` counts what the commands come to.
    """
    seen = Counter() if seen is None else seen
    s = Script(FAR_BASE if seed % 2 else MEMORY_BASE)
    s.after_reset()
    host = ScriptedHost(seed, s, sizes, seen)
    host.bring()
    for number in range(rounds):
        s.note(f"table commands, round {number}")
        host.batch(host.rng.choice((1, 2, 5, 16, 32)))
        type_ = host.rng.choice((0, 2, 3, sizes.devices, 31))
        pages = PAGES.get(type_, 9)
        host.lookup(type_, host.rng.choice((0, 1, pages - 1, pages, 0xFFFF_FFFF, *[host.rng.randrange(pages)] * 6)))
    each_kind(s, host)
    refusals(host, (1, sizes.devices, 31))
    lines_of_a_table(s, host)
    one_word_among_others(s, host)
    not_aligned(s, host)
    swapoff_takes_tables(s, host)
    lookups_beside_commands(s, host, PAGES[0])
    host.all_words()
    device_table(s, host.model, sizes)
    s.settle()
    s.beats()
    errors(s, host)
    one_with_a_table(s, sizes, seen)
    far_away(s, sizes, seen)
    return s.text()


def alike(sizes: Sizes) -> str:
    """Return a script about a device of a quarter of the engine's clusters, all of whose words are the same.

    So counts are high. All clusters share one table, so few words have to be written.
    """
    clusters = sizes.clusters // 4
    s = Script(limit=SLOTS * clusters * 4)
    s.after_reset()
    host = ScriptedHost(0, s, sizes)
    pages = clusters * SLOTS
    host.core(prepare(0, pages, 0, SSD), Command(Opcode.SWAPON, 0))
    host.put(s.base + SOURCES, [s.base + FIRST_TABLE] * MOST)
    halves = [(first, min(MOST, clusters - first)) for first in range(0, clusters, MOST)]
    host.same(*(Command(Opcode.TABLE_GIVE, 0, nr=nr, arg0=SLOTS * at, arg2=s.base + SOURCES) for at, nr in halves))
    for kind, word in EXAMPLES.items():
        s.note(f"words of kind {kind.name} alone")
        host.put(s.base + FIRST_TABLE, [word] * SLOTS)
        host.same(
            Command(Opcode.TABLE_COUNT, 0, arg2=s.base + TARGETS),
            Command(Opcode.TABLE_SCAN, 0, arg0=pages - 1 | 1 << 32 + kind, arg2=s.base + TARGETS),
        )
        host.compare(s.base + TARGETS, LINE // WORD_BYTES)
    lookups_beside_commands(s, host, pages)
    host.same(*(Command(Opcode.TABLE_TAKE, 0, nr=nr, arg0=SLOTS * at) for at, nr in halves))
    host.same(Command(Opcode.TABLE_COUNT, 0, arg2=s.base + TARGETS))
    s.settle()
    return s.text()


def lookups_beside_commands(s: Script, host: TableHost, pages: int) -> None:
    """Look words up by register while commands wait and are carried out."""
    s.note("lookups beside commands")
    counted = Command(Opcode.TABLE_COUNT, 0, arg0=pages - 3 * SLOTS, arg2=s.base + TARGETS)
    for number in range(1, 25):
        lines = [expected(counted, host.tables.carry_out(counted)) for _ in range(1 + number % 3)]
        s.post(lines)
        s.add("pass", 60 * number)
        host.lookup(0, number)
        s.finish(s.tail - len(lines), lines)


def each_kind(s: Script, host: TableHost) -> None:
    """Let each command find each kind of word: as it is expected, and as it is not."""
    page = host.places.spare(host.tables)[0]
    source, target = host.places.sources[0], host.places.targets[0]
    host.put(source, [page])
    host.same(Command(Opcode.TABLE_GIVE, 3, nr=1, arg0=SLOTS, arg2=source))
    slot = SLOTS + 5
    for kind, word in EXAMPLES.items():
        s.note(f"a word of kind {kind.name}")
        this, others = slot | 1 << 32 + kind, slot | (ANY ^ 1 << kind) << 32
        host.put(page + WORD_BYTES * 5, [word])
        host.same(
            Command(Opcode.TABLE_LOOKUP, 3, arg0=slot),
            Command(Opcode.TABLE_RANGE, 3, nr=1, arg0=slot, arg2=target),
            Command(Opcode.TABLE_COUNT, 3, arg0=slot, arg1=1, arg2=target),
            Command(Opcode.TABLE_SCAN, 3, arg0=this, arg1=1),
            Command(Opcode.TABLE_FILL, 3, nr=1, arg0=others, arg1=77),
            Command(Opcode.TABLE_CLEAR, 3, nr=1, arg0=others),
            Command(Opcode.TABLE_REPLACE, 3, nr=1, arg0=slot, arg1=77, arg2=pfn_of(word) ^ 1),
            Command(Opcode.TABLE_REPLACE, 3, nr=1, arg0=slot, arg1=78, arg2=pfn_of(word)),
            Command(Opcode.TABLE_CLEAR, 3, nr=1, arg0=this, arg1=1 << 40 | 1),
        )
        host.put(page + WORD_BYTES * 5, [word])
        host.same(
            Command(Opcode.TABLE_FILL, 3, nr=1, arg0=this, arg1=PAGE_NUMBER),
            Command(Opcode.TABLE_LOOKUP, 3, arg0=slot),
        )
        host.put(page + WORD_BYTES * 5, [word])
        host.same(Command(Opcode.TABLE_CLEAR, 3, nr=1, arg0=this), Command(Opcode.TABLE_LOOKUP, 3, arg0=slot))
    s.note("every bit of a word, by register")
    for bit in range(64):
        for word in (1 << bit, WORD ^ 1 << bit):
            host.put(page + WORD_BYTES * 5, [word])
            host.lookup(3, slot)


def swapoff_takes_tables(s: Script, host: ScriptedHost) -> None:
    """Switch a device off, and claim it again: its tables are gone, those of others are not."""
    s.note("SWAPOFF takes tables")
    target = host.places.targets[0]
    host.give_all(0)
    host.same(Command(Opcode.TABLE_COUNT, 0, arg2=target))
    host.core(Command(Opcode.SWAPOFF_BEGIN, 0), Command(Opcode.SWAPOFF, 0))
    host.tables.forget(0)
    host.same(Command(Opcode.TABLE_LOOKUP, 0, arg0=1))
    host.core(prepare(0, PAGES[0], 0, SSD))
    host.same(
        *(Command(Opcode.TABLE_LOOKUP, 0, arg0=cluster * SLOTS) for cluster in range(6)),
        Command(Opcode.TABLE_COUNT, 0, arg0=0, arg2=target),
        Command(Opcode.TABLE_COUNT, 3, arg0=0, arg2=target),
        Command(Opcode.TABLE_TAKE, 0, nr=6, arg0=0),
    )
    host.core(Command(Opcode.SWAPON, 0))
    host.all_words()


def lines_of_a_table(s: Script, host: TableHost) -> None:
    """Read and write ranges that begin and end at each word of 64 bytes, up to a whole table."""
    s.note("ranges at all places of a line")
    target = host.places.targets[0]
    host.same(Command(Opcode.TABLE_TAKE, 3, nr=4), Command(Opcode.TABLE_TAKE, 0, nr=6))
    host.give_all(3)
    table = host.tables.directory[3, 1]
    for first in range(8):
        for nr in (1, 8, 9, SLOTS - first):
            offset = SLOTS + first
            answers = host.same(
                Command(Opcode.TABLE_RANGE, 3, nr=nr, arg0=offset, arg2=target),
                Command(Opcode.TABLE_FILL, 3, nr=nr, arg0=offset | ANY << 32, arg1=0x1000 * nr),
                Command(Opcode.TABLE_REPLACE, 3, nr=nr, arg0=offset, arg1=7, arg2=0x1000 * nr),
                Command(Opcode.TABLE_CLEAR, 3, nr=nr, arg0=offset | ANY << 32, arg1=first << 8 | 1),
            )
            assert [answer.status for answer in answers] == [Status.OK] * 4
            host.compare(table, SLOTS)
            host.compare(target, TARGET_BYTES // WORD_BYTES)


def one_word_among_others(s: Script, host: TableHost) -> None:
    """Let one word not be as expected, the first and the last of a table included: nothing is written."""
    s.note("one word that is not as expected")
    table, target = host.tables.directory[3, 2], host.places.targets[1]
    arg0 = 2 * SLOTS | (1 << TableKind.CACHED | 1 << TableKind.UNUSED) << 32
    for slot in (0, 1, 7, 8, 63, 64, 255, 256, 510, 511):
        host.put(table, [folio_word(100, i % 16) if i != slot else shadow_word(5) for i in range(SLOTS)])
        answers = host.same(
            Command(Opcode.TABLE_FILL, 3, nr=SLOTS, arg0=arg0, arg1=1, arg2=target),
            Command(Opcode.TABLE_CLEAR, 3, nr=SLOTS, arg0=arg0, arg1=1, arg2=target),
            Command(Opcode.TABLE_REPLACE, 3, nr=SLOTS, arg0=2 * SLOTS, arg1=1, arg2=100),
        )
        assert answers == [Answer(Status.UNEXPECTED, 2 * SLOTS + slot)] * 3
        assert host.memory.load(target, SLOTS // 64) == words_of(1 << slot)
        host.compare(table, SLOTS)
        host.compare(target, SLOTS // 64)


def not_aligned(s: Script, host: TableHost) -> None:
    """Give tables of which the third is not aligned: those before it are taken over."""
    s.note("a table that is not aligned")
    source, pages = host.places.sources[0], host.places.pages
    for bit in (0, 3, 11):
        host.put(source, [pages[0], pages[1], pages[2] | 1 << bit, pages[3]])
        for page in pages[:4]:
            host.put(page, [shadow_word(page >> 12)] * SLOTS)
        host.same(
            Command(Opcode.TABLE_TAKE, 3, nr=4, arg0=0),
            Command(Opcode.TABLE_GIVE, 3, nr=4, arg0=0, arg2=source),
            *(Command(Opcode.TABLE_LOOKUP, 3, arg0=cluster * SLOTS + 5) for cluster in range(4)),
        )


def far_away(s: Script, sizes: Sizes, seen: Counter[TableBin]) -> None:
    """Search and count a device whose clusters mostly have no table: a hit is far away."""
    s.reset_by_register()
    s.note("a large device, most of whose clusters have no table")
    s.limit = 8 * LIMIT  # the directory is read for each cluster, by a bus that may be slow
    host = ScriptedHost(5, s, sizes, seen)
    type_, clusters = 1, sizes.clusters * 5 // 8
    pages, last = clusters * SLOTS - 3, (clusters - 1) * SLOTS
    host.core(prepare(type_, pages, 0, SSD))
    with_table = sorted({0, 1, clusters - 1, *host.rng.sample(range(clusters), 12)})
    tables = dict(zip(with_table, host.places.pages, strict=False))
    for cluster in with_table:
        words = [BAD if cluster == clusters - 1 and slot >= SLOTS - 3 else 0 for slot in range(SLOTS)]
        words[0] = shadow_word(cluster) if cluster else BAD
        words[500] = folio_word(cluster, 0)
        host.put(tables[cluster], words)
    source, (target, other, _) = host.places.sources[0], host.places.targets
    host.put(source, [tables.get(cluster, 0) for cluster in range(clusters)])
    shadow, unused, bad = (1 << kind for kind in (TableKind.SHADOW, TableKind.UNUSED, TableKind.BAD))
    answers = host.same(
        Command(Opcode.TABLE_GIVE, type_, nr=clusters, arg0=0, arg2=source),
        Command(Opcode.TABLE_COUNT, type_, arg0=0, arg2=target),
        Command(Opcode.TABLE_COUNT, type_, arg0=777, arg1=clusters * SLOTS // 2, arg2=other),
        Command(Opcode.TABLE_SCAN, type_, arg0=SLOTS + 1 | shadow << 32, arg2=target + TARGET_BYTES // 2),
        Command(Opcode.TABLE_SCAN, type_, arg0=last + 1 | unused << 32),
        Command(Opcode.TABLE_SCAN, type_, arg0=1 | bad << 32),
        Command(Opcode.TABLE_SCAN, type_, arg0=last + 501 | (shadow | unused) << 32),
        Command(Opcode.TABLE_SCAN, type_, arg0=last - 1 | 1 << 32),
        Command(Opcode.TABLE_TAKE, type_, nr=clusters, arg0=0),
        Command(Opcode.TABLE_SCAN, type_, arg0=0 | ANY - 1 << 32),
    )
    assert [answer.status for answer in answers] == [*[Status.OK] * 5, *[Status.NO_SPACE] * 2, *[Status.OK] * 2, 1]
    assert answers[8].result == len(with_table)
    host.all_words()


def one_with_a_table(s: Script, sizes: Sizes, seen: Counter[TableBin]) -> None:
    """One device alone has a table, each in turn: words are found there, and nowhere else."""
    for only in range(sizes.devices):
        s.reset_by_register()
        s.note(f"a table of device {only} alone")
        host = ScriptedHost(only, s, sizes, seen)
        page, source = host.places.pages[only], host.places.sources[0]
        devices = ((prepare(type_, SLOTS, type_, SSD), Command(Opcode.SWAPON, type_)) for type_ in range(sizes.devices))
        host.core(*(command for device in devices for command in device))
        host.put(source, [page])
        host.put(page, [EXAMPLES[TableKind.SHADOW]] * SLOTS)
        host.same(Command(Opcode.TABLE_GIVE, only, nr=1, arg2=source))
        for type_ in range(sizes.devices):
            host.same(Command(Opcode.TABLE_LOOKUP, type_, arg0=7))
            host.lookup(type_, 8)


def errors(s: Script, host: TableHost) -> None:
    """Let each DMA of a table command fail, one after the other."""
    arg0 = SLOTS + 3 | ANY << 32
    lost = host.places.sources[0]
    for command in (
        Command(Opcode.TABLE_GIVE, 0, nr=2, arg0=0, arg2=NOWHERE),
        Command(Opcode.TABLE_LOOKUP, 0, arg0=arg0),
        Command(Opcode.TABLE_RANGE, 0, nr=9, arg0=arg0, arg2=host.places.targets[0]),
        Command(Opcode.TABLE_RANGE, 0, nr=9, arg0=3 * SLOTS, arg2=NOWHERE),
        Command(Opcode.TABLE_COUNT, 0, arg0=arg0, arg2=host.places.targets[0]),
        Command(Opcode.TABLE_SCAN, 0, arg0=arg0, arg2=host.places.targets[0]),
        Command(Opcode.TABLE_FILL, 0, nr=9, arg0=arg0),
        Command(Opcode.TABLE_CLEAR, 0, nr=9, arg0=arg0),
        Command(Opcode.TABLE_REPLACE, 0, nr=9, arg0=arg0),
    ):
        s.reset_by_register()
        s.note(f"no memory for {Opcode(command.opcode).name}")
        s.begin(CONTROL)
        s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
        s.put(lost - s.base, LOST)
        s.must(prepare(0, PAGES[0], 0, SSD), Command(Opcode.TABLE_GIVE, 0, nr=1, arg0=SLOTS, arg2=lost))
        s.post([Expected(command, Status.BUS_ERROR)])
        host.tables.seen[TableBin(Opcode(command.opcode).name, Status.BUS_ERROR.name, "")] += 1
        s.stopped(m.CONTROL_TABLE_WRITES.put(1))
