# SPDX-License-Identifier: Apache-2.0
"""Marks: where things are in host memory, which stores a change is, and what the scan clears and reads."""

from types import SimpleNamespace

from hwswap.model.marks import Arrays, Scanner, Summary, Word, change, largest_run, mark, summary
from hwswap.model.rows import ALL
from hwswap_map import Flag
from hypothesis import given
from hypothesis import strategies as st
from watched_grants import has_run


def index_of_all():
    """Keep what the scan tells, in order."""
    found, begun = {}, []
    return SimpleNamespace(found=found, begun=begun, scanned=found.__setitem__, scan_begins=begun.append)


def until(steps, name):
    """Do steps up to one of a name; return all of them."""
    seen = []
    while not seen or seen[-1] != name:
        seen.append(next(steps))
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
    assert arrays.quiet()
    assert list(mark(arrays, 129)) == ["DIRTY", "GROUP"]
    assert (arrays.dirty[129], list(arrays.group)) == (1, [0, 0, 1])


def test_the_scan_clears_then_reads():
    arrays, index = Arrays(130), index_of_all()
    for cluster in (65, 70):
        list(change(arrays, cluster, 0b10, Word(2, Flag.NONFULL, 3)))
        list(mark(arrays, cluster))
    arrays.dirty[3] = 1  # its group was not marked: nobody looks
    scanner = Scanner(arrays, index)
    assert until(scanner.steps(), "round") == [
        *("GROUP read", "GROUP cleared", "DIRTY read", "DIRTY cleared"),
        *(["WORD read"] + ["BITMAP read"] * 8) * 2,
        "round",
    ]
    assert index.begun == [65, 70]
    assert index.found == dict.fromkeys((65, 70), Summary(Word(2, Flag.NONFULL, 3), 8))
    assert arrays.dirty[3] == 1


def test_a_mark_behind_the_read_of_dirty_stays():
    arrays, index = Arrays(64), index_of_all()
    list(mark(arrays, 1))
    steps = Scanner(arrays, index).steps()
    until(steps, "DIRTY read")
    list(mark(arrays, 2))
    until(steps, "round")
    assert index.begun == [1]
    assert (arrays.dirty[2], arrays.group[0]) == (1, 1)
    until(steps, "round")
    assert index.begun == [1, 2]
    assert arrays.quiet()


def test_a_torn_bitmap_is_read_again():
    arrays, index = Arrays(64), index_of_all()
    list(mark(arrays, 0))
    steps = Scanner(arrays, index).steps()
    until(steps, "BITMAP read")
    list(change(arrays, 0, ALL, Word(0, Flag.FULL, 0)))
    list(mark(arrays, 0))
    until(steps, "round")
    assert index.found[0].run == 6  # the first word as it was
    until(steps, "round")
    assert index.found[0] == Summary(Word(0, Flag.FULL, 0), -1)


@given(st.integers(0, ALL))
def test_the_largest_run_is_the_largest(used):
    run = largest_run(used)
    assert run == -1 or has_run(used, run)
    assert run == 9 or not has_run(used, run + 1)
    assert summary(Word(1, Flag.FRAG, 2).pack(), used) == Summary(Word(1, Flag.FRAG, 2), run)
