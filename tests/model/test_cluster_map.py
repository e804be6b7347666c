# SPDX-License-Identifier: Apache-2.0
"""Bitmaps and words: which stores a change is, and what the reader reads of it, and when."""

import pytest
from hwswap.model.cluster_map import Arrays, Reader, Summary, Word, change, largest_run
from hwswap.model.rows import ALL
from hwswap_map import Flag
from hypothesis import given
from hypothesis import strategies as st
from watched_grants import has_run


def arrays_of(clusters, **changed):
    """Make arrays in which some clusters, by `_number`, have a bitmap and a word."""
    arrays = Arrays(clusters)
    for name, (used, word) in changed.items():
        list(change(arrays, int(name[1:]), used, word))
    return arrays


def until(reader, name):
    """Let the reader do steps up to one of a name; return all of them."""
    seen = []
    while not seen or seen[-1] != name:
        seen.append(reader.step())
    return seen


def test_a_word_in_memory():
    assert Word(9, Flag.DISCARD, 0xA5).pack() == 9 | 5 << 4 | 0xA5 << 8
    assert Word.unpack(4 | 3 << 4 | 7 << 8) == Word(4, Flag.FRAG, 7)


@given(st.integers(0, 2**32 - 1))
def test_whatever_a_word_holds_it_is_read_as_one(value):
    word = Word.unpack(value)
    assert word.epoch == value >> 8 & 255
    if (value & 15) > 9 or (value >> 4 & 7) > 5:
        assert word.list == Flag.NONE
    else:
        assert word.pack() == value & 0xFF7F


def test_only_what_changes_is_stored():
    arrays = Arrays(130)
    word = Word(0, Flag.FRAG, 1)
    assert list(change(arrays, 129, 1 | 1 << 511, word)) == ["BITMAP", "BITMAP", "WORD"]
    assert list(change(arrays, 129, 1 | 1 << 511, word)) == []
    assert list(change(arrays, 129, 3 | 1 << 511, word)) == ["BITMAP"]
    assert arrays.used(129) == 3 | 1 << 511


def test_a_round_reads_all_words_and_the_bitmaps_that_matter():
    used, word = 0b10, Word(2, Flag.NONFULL, 3)
    arrays = arrays_of(40, _15=(used, word), _17=(used, word), _39=(used, word))
    reader = Reader(arrays)
    bitmap = ["BITMAP read"] * 8
    assert until(reader, "round") == ["WORD read", *bitmap, "WORD read", *bitmap, "WORD read", *bitmap, "round"]
    known = {cluster: found for cluster, found in enumerate(reader.summaries) if found != Summary()}
    assert known == dict.fromkeys((15, 17, 39), Summary(word, 8))
    assert reader.rounds == 1


@pytest.mark.parametrize(
    ("flag", "run"),
    [(Flag.NONE, -1), (Flag.FREE, 9), (Flag.NONFULL, 4), (Flag.FRAG, 4), (Flag.FULL, -1), (Flag.DISCARD, -1)],
)
def test_what_a_list_says_of_a_cluster(flag, run):
    reader = Reader(arrays_of(1, _0=(ALL ^ 0xFFFF, Word(0, flag, 7))))
    assert until(reader, "round").count("BITMAP read") == (8 if run == 4 else 0)
    assert reader.summaries == [Summary(Word(0, flag, 7), run)]


def test_a_word_that_makes_no_sense_grants_nothing():
    arrays = arrays_of(1, _0=(1, Word(0, Flag.FRAG, 7)))
    arrays.word[0] |= 10
    reader = Reader(arrays)
    assert until(reader, "round") == ["WORD read", "round"]
    assert reader.summaries == [Summary(Word(0, Flag.NONE, 7), -1)]


def test_a_change_after_the_reader_is_seen_in_the_next_round():
    word = Word(0, Flag.FRAG, 1)
    arrays = arrays_of(20, _3=(1, word))
    reader = Reader(arrays)
    until(reader, "BITMAP read")
    # Torn: the first word of the bitmap was read as it was.
    list(change(arrays, 3, ALL, Word(0, Flag.FULL, 1)))
    until(reader, "round")
    assert reader.summaries[3] == Summary(word, 5)
    until(reader, "round")
    assert reader.summaries[3] == Summary(Word(0, Flag.FULL, 1), -1)


def test_what_is_asked_for_comes_before_the_next_cluster():
    word = Word(0, Flag.FRAG, 1)
    arrays = arrays_of(40, _3=(1, word), _35=(1, word))
    reader = Reader(arrays)
    until(reader, "BITMAP read")
    list(change(arrays, 35, ALL ^ 1, Word(4, Flag.FRAG, 1)))
    seen = list(reader.again(35))
    assert seen == ["BITMAP read"] * 7 + ["WORD read"] + ["BITMAP read"] * 8 + ["again"]
    assert reader.summaries[35] == Summary(Word(4, Flag.FRAG, 1), 0)
    assert until(reader, "round").count("WORD read") == 2
    # Between two rounds, too.
    assert list(reader.again(35)) == ["WORD read"] + ["BITMAP read"] * 8 + ["again"]


@given(st.integers(0, ALL))
def test_the_largest_run_is_the_largest(used):
    run = largest_run(used)
    assert run == -1 or has_run(used, run)
    assert run == 9 or not has_run(used, run + 1)
