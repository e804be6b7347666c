# SPDX-License-Identifier: Apache-2.0
"""Commands on swap tables: each against a flat list of the words."""

import random
import re

import pytest
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import (
    ANY,
    BAD,
    IN_USE,
    count_of,
    folio_word,
    kind_of,
    pfn_of,
    shadow_word,
    zero_of,
)
from hwswap.model.tables import Answer
from hwswap.stimulus.table_contents import draw_table, draw_word
from hwswap_map import Opcode, Status, TableKind
from hypothesis import given, settings
from hypothesis import strategies as st
from run_seed import SEED
from tabled import RESULT, SOURCE, Machine

PAGES = 4 * SLOTS - 100
BY_BITS = {
    TableKind.FREE: "0{64}",
    TableKind.BAD: "1{61}000",
    TableKind.SHADOW: "[01]{63}1",
    TableKind.UNUSED: "0000[01]{58}10",
    TableKind.CACHED: "(?!0000)[01]{62}10",
    TableKind.POINTER: "[01]{61}100",
    TableKind.OTHER: "(?!1{61}|0{61})[01]{61}000",
}
"""The kinds once more, as patterns of binary digits: each word matches one."""

SHADOW, CACHED, UNUSED = (1 << kind for kind in (TableKind.SHADOW, TableKind.CACHED, TableKind.UNUSED))


def by_bits(word: int) -> TableKind:
    """Return a word's kind by its binary digits."""
    found = [kind for kind, pattern in BY_BITS.items() if re.fullmatch(pattern, f"{word:064b}")]
    assert len(found) == 1
    return found[0]


EDGES = [0, 1, 2, 3, 4, 8, 1 << 63, (1 << 60) + 2, (1 << 59) + 2] + [(1 << 64) - less for less in (4, 8, 16)]


@pytest.mark.parametrize("word", EDGES)
def test_words_at_the_edge_of_their_kind(word):
    assert kind_of(word) == by_bits(word)


@given(st.integers(0, (1 << 64) - 1))
@settings(max_examples=300)
def test_every_word_is_of_one_kind(word):
    assert kind_of(word) == by_bits(word)


@pytest.mark.parametrize("kind", list(TableKind))
def test_words_are_drawn_of_the_kind_asked_for(kind):
    rng = random.Random(SEED + kind)
    words = [draw_word(rng, kind) for _ in range(200)]
    assert {by_bits(word) for word in words} == {kind}
    assert len(set(words)) > (0 if kind in (TableKind.FREE, TableKind.BAD) else 50)


def test_what_a_word_is_made_of_comes_out_again():
    word = folio_word((1 << 57) - 1, 14, True)
    assert (count_of(word), zero_of(word), pfn_of(word)) == (14, True, (1 << 57) - 1)
    word = shadow_word((1 << 58) - 1, 15)
    assert (count_of(word), zero_of(word), word & (1 << 59) - 1) == (15, False, (1 << 59) - 1)


def test_tables_are_drawn_as_the_kernel_fills_them():
    """The header and the words past the end are BAD; all kinds come."""
    rng = random.Random(SEED + 1)
    seen = set()
    for _ in range(50):
        words = draw_table(rng, 0, 500)
        assert words[0] == BAD
        assert words[500:] == [BAD] * 12
        assert len(words) == SLOTS
        seen |= {kind_of(word) for word in words}
    assert seen == set(TableKind)


# Reading

offsets = st.one_of(st.integers(0, PAGES - 1), st.sampled_from((0, 1, 511, 512, 1023, PAGES - 1)))
seeds = st.integers(0, 1 << 32)
quick = settings(max_examples=40, deadline=None)


@given(seeds, offsets)
@quick
def test_lookup_is_the_word(seed, offset):
    machine = Machine(seed, PAGES)
    if machine.addresses[offset // SLOTS]:
        assert machine.do(Opcode.TABLE_LOOKUP, offset) == Answer(Status.OK, machine.words[offset])
    else:
        assert machine.do(Opcode.TABLE_LOOKUP, offset) == Answer(Status.NO_TABLE, 0)
    assert machine.memory.writes == []


@given(seeds, offsets, st.data())
@quick
def test_range_sorts_slots_by_kind(seed, offset, data):
    machine = Machine(seed, PAGES)
    nr = data.draw(st.integers(1, min(SLOTS - offset % SLOTS, PAGES - offset)))
    kinds = [kind_of(word) for word in machine.words[offset : offset + nr]]
    there = bool(machine.addresses[offset // SLOTS])
    answer = machine.do(Opcode.TABLE_RANGE, offset, nr=nr, arg2=RESULT)
    assert answer == (Status.OK if there else Status.NO_TABLE, sum(kind in IN_USE for kind in kinds))
    seen = {}
    for kind in TableKind:
        bitmap = machine.memory.bitmap(RESULT + 64 * kind)
        seen |= {slot: kind for slot in range(SLOTS) if bitmap >> slot & 1}
    assert seen == {offset % SLOTS + i: kind for i, kind in enumerate(kinds)}
    low, high, *rest = machine.memory.words(RESULT + 448, 8)
    numbers = [(low | high << 64) >> 16 * kind & 0xFFFF for kind in TableKind]
    assert numbers == [kinds.count(kind) for kind in TableKind]
    assert high >> 48 == there
    assert rest == [0] * 6
    assert sum(length for _, length in machine.memory.writes) == 512


@given(seeds, offsets, st.sampled_from((0, 1, 2, 511, 512, 513, 1500, 4_000_000_000)))
@quick
def test_count_is_of_the_whole_rest_or_so_many(seed, offset, limit):
    machine = Machine(seed, PAGES)
    end = min(PAGES, offset + limit) if limit else PAGES
    kinds = [kind_of(word) for word in machine.words[offset:end]]
    answer = machine.do(Opcode.TABLE_COUNT, offset, arg1=limit | 0xFF << 32, arg2=RESULT)
    assert answer == (Status.OK, sum(kind in IN_USE for kind in kinds))
    tables = sum(bool(at) for at in machine.addresses[offset // SLOTS : -(-end // SLOTS)])
    assert machine.memory.words(RESULT, 8) == [*(kinds.count(kind) for kind in TableKind), tables]


@given(seeds, offsets, st.sampled_from((0, 1, 3, 512, 700, 4_000_000_000)), st.integers(0, ANY), st.booleans())
@quick
def test_scan_finds_the_first_of_the_kinds(seed, offset, limit, kinds, bitmap):
    machine = Machine(seed, PAGES)
    end = min(PAGES, offset + limit) if limit else PAGES
    found = [slot for slot in range(offset, end) if kinds >> by_bits(machine.words[slot]) & 1]
    target = RESULT if bitmap else 0
    answer = machine.do(Opcode.TABLE_SCAN, offset, kinds, arg1=limit, arg2=target)
    assert answer == ((Status.OK, found[0]) if found else (Status.NO_SPACE, 0))
    assert machine.memory.writes == ([(RESULT, 64)] if found and bitmap else [])
    if found and bitmap:
        near = {slot % SLOTS for slot in found if slot // SLOTS == found[0] // SLOTS}
        assert machine.memory.bitmap(RESULT) == sum(1 << slot for slot in near)


# Writing


@given(seeds, offsets, st.integers(0, ANY), st.booleans(), st.data())
@quick
def test_fill_writes_all_or_nothing(seed, offset, kinds, bitmap, data):
    machine = Machine(seed, PAGES)
    nr = data.draw(st.integers(1, min(SLOTS - offset % SLOTS, PAGES - offset)))
    if data.draw(st.booleans()):  # else some slot is mostly of another kind
        kinds |= sum(1 << kind for kind in {kind_of(word) for word in machine.words[offset : offset + nr]})
    pfn = data.draw(st.integers(0, (1 << 58) - 1))
    before = machine.words
    wrong = [slot for slot in range(offset, offset + nr) if not kinds >> kind_of(before[slot]) & 1]
    answer = machine.do(Opcode.TABLE_FILL, offset, kinds, nr=nr, arg1=pfn, arg2=RESULT if bitmap else 0)
    after = list(before)
    if not machine.addresses[offset // SLOTS]:
        assert answer == Answer(Status.NO_TABLE)
        assert machine.memory.writes == []
    elif wrong:
        assert answer == Answer(Status.UNEXPECTED, wrong[0])
    else:
        assert answer == Answer(Status.OK, before[offset])
        for i in range(nr):
            flags = before[offset + i] // (1 << 59)
            after[offset + i] = flags * (1 << 59) + pfn % (1 << 57) * 4 + 2
    assert machine.now() == after
    if bitmap and answer.status != Status.NO_TABLE:
        assert machine.memory.bitmap(RESULT) == sum(1 << slot % SLOTS for slot in wrong)


@given(seeds, offsets, st.sampled_from((0, 1, 0x123_4567_89AB_CDEF, (1 << 64) - 1)), st.data())
@quick
def test_clear_frees_or_leaves_a_shadow(seed, offset, shadow, data):
    machine = Machine(seed, PAGES, share=1)
    nr = data.draw(st.integers(1, min(SLOTS - offset % SLOTS, PAGES - offset)))
    before = machine.words
    answer = machine.do(Opcode.TABLE_CLEAR, offset, ANY, nr=nr, arg1=shadow)
    assert answer == Answer(Status.OK, before[offset])
    after = [
        0 if not shadow else int(f"{word:064b}"[:5] + f"{shadow:064b}"[5:], 2) for word in before[offset : offset + nr]
    ]
    assert machine.now() == before[:offset] + after + before[offset + nr :]


def test_clear_expects_its_kinds():
    machine = Machine(3, SLOTS, share=1)
    machine.memory.put(machine.addresses[0] + 8 * 16, [folio_word(7), folio_word(8, 0), shadow_word(5), folio_word(9)])
    before = machine.now()
    answer = machine.do(Opcode.TABLE_CLEAR, 16, CACHED | UNUSED, nr=4, arg1=1, arg2=RESULT)
    assert answer == Answer(Status.UNEXPECTED, 18)
    assert machine.memory.bitmap(RESULT) == 1 << 18
    assert machine.now() == before
    assert machine.do(Opcode.TABLE_CLEAR, 16, CACHED | UNUSED, nr=2) == Answer(Status.OK, folio_word(7))
    assert machine.now()[15:19] == [before[15], 0, 0, before[18]]


def test_replace_wants_the_same_folio_everywhere():
    machine = Machine(4, 2 * SLOTS, share=1)
    words = [folio_word(1000, 3, True), folio_word(1000, 0), folio_word(1000, 15), folio_word(1000)]
    machine.memory.put(machine.addresses[1] + 8 * 64, words)
    assert machine.do(Opcode.TABLE_REPLACE, 576, nr=4, arg1=5, arg2=999) == Answer(Status.UNEXPECTED, 576)
    machine.memory.put(machine.addresses[1] + 8 * 66, [folio_word(1001, 15)])
    assert machine.do(Opcode.TABLE_REPLACE, 577, nr=2, arg1=5, arg2=1000) == Answer(Status.UNEXPECTED, 578)
    machine.memory.put(machine.addresses[1] + 8 * 66, [shadow_word(1000)])
    assert machine.do(Opcode.TABLE_REPLACE, 576, nr=4, arg1=5, arg2=1000) == Answer(Status.UNEXPECTED, 578)
    machine.memory.put(machine.addresses[1] + 8 * 66, [words[2]])
    assert machine.memory.writes == []
    assert machine.do(Opcode.TABLE_REPLACE, 576, nr=4, arg1=5, arg2=1000) == Answer(Status.OK, words[0])
    assert machine.now()[576:580] == [folio_word(5, 3, True), folio_word(5, 0), folio_word(5, 15), folio_word(5)]


# The directory


def test_tables_are_given_taken_and_given_anew():
    machine = Machine(5, PAGES, share=1)
    assert machine.do(Opcode.TABLE_TAKE, 700, nr=2) == Answer(Status.OK, 2)
    assert machine.do(Opcode.TABLE_TAKE, 0, nr=3) == Answer(Status.OK, 1)
    machine.memory.put(SOURCE, [machine.addresses[3], 0])
    assert machine.do(Opcode.TABLE_GIVE, 1000, nr=2, arg2=SOURCE) == Answer(Status.OK)
    assert machine.do(Opcode.TABLE_LOOKUP, 512 + 9) == Answer(Status.OK, machine.words[3 * 512 + 9])
    assert machine.do(Opcode.TABLE_LOOKUP, 1024).status == Status.NO_TABLE
    machine.memory.put(SOURCE, [0])
    assert machine.do(Opcode.TABLE_GIVE, 512, nr=1, arg2=SOURCE) == Answer(Status.OK)
    assert machine.do(Opcode.TABLE_LOOKUP, 512 + 9).status == Status.NO_TABLE
    machine.tables.forget(1)
    assert machine.tables.directory == {}


def test_tables_before_one_that_is_not_aligned_are_taken_over():
    machine = Machine(6, PAGES, share=0)
    machine.memory.put(SOURCE, [0x1000, 0x2000, 0x3008, 0x4000])
    assert machine.do(Opcode.TABLE_GIVE, 0, nr=4, arg2=SOURCE) == Answer(Status.BAD_RANGE)
    assert machine.tables.directory == {(1, 0): 0x1000, (1, 1): 0x2000}


# Refusals: hwswap.stimulus.table_refusals has them, each with its reason, which it compares with the model's.

COMMANDS = [opcode for opcode in Opcode if opcode >= Opcode.TABLE_GIVE]


@pytest.mark.parametrize("opcode", COMMANDS, ids=lambda opcode: opcode.name)
def test_an_error_of_the_bus_is_said(opcode):
    machine = Machine(10, PAGES, share=1)
    first = machine.addresses[0]
    machine.memory.denied = range(SOURCE, SOURCE + 8) if opcode == Opcode.TABLE_GIVE else range(first, first + 4096)
    arguments = {"nr": 4, "arg1": 3, "arg2": SOURCE if opcode == Opcode.TABLE_GIVE else RESULT}
    expected = Status.OK if opcode == Opcode.TABLE_TAKE else Status.BUS_ERROR
    assert machine.do(opcode, 8, ANY, **arguments).status == expected
    machine.memory.denied = range(0)
    assert machine.now() == machine.words
