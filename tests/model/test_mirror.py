# SPDX-License-Identifier: Apache-2.0
"""The advisory rules: what a record does to a cluster, what a hint holds, and when it is given back."""

import pytest
from hwswap.model.golden import BLKDEV, SOLIDSTATE, Slots
from hwswap.model.mirror import NO_HINTS, Mirror, Record
from hwswap.model.rows import ALL, SLOTS
from hwswap_map import Flag, Status
from hypothesis import given
from hypothesis import strategies as st

SSD = BLKDEV | SOLIDSTATE
EPOCH = 3


@pytest.fixture
def mirror():
    """Make a mirror of one device of four clusters from engine cluster 2 on."""
    model = Mirror()
    assert model.prepare(1, 4 * SLOTS, 2, SSD, -1, EPOCH) == Status.OK
    assert model.swapon(1) == Status.OK
    return model


def record(bitmap=0, order=0, flag=Flag.FRAG, seq=1, epoch=EPOCH):
    return Record(bitmap, order, flag, seq, epoch)


def cluster(model, index):
    return model.devices[1].clusters[index]


def test_a_record_is_taken_over_and_dumped_again(mirror):
    told = record(0b1011, 4, Flag.NONFULL, 7)
    assert mirror.apply(3, told)
    assert mirror.dump(3) == told
    assert list(mirror.devices[1].nonfull[4]) == [1]
    assert mirror.faults() == []


def test_old_records_other_epochs_and_strangers_are_ignored(mirror):
    assert mirror.apply(3, record(1, seq=5))
    assert not mirror.apply(3, record(3, seq=5))
    assert not mirror.apply(3, record(3, seq=4))
    assert not mirror.apply(3, record(3, seq=6, epoch=EPOCH + 1))
    assert not mirror.apply(1, record(3))
    assert not mirror.apply(6, record(3))
    assert mirror.apply(3, record(3, seq=6))


def test_sequence_numbers_wrap(mirror):
    assert mirror.apply(3, record(1, seq=0xFFFFFFFF))
    assert mirror.apply(3, record(3, seq=0))
    assert not mirror.apply(3, record(1, seq=0xFFFFFFFF))


def test_a_hint_is_reserved_and_the_kernels_word_ends_it(mirror):
    slots = mirror.hint(0, 4)
    assert slots == Slots(1, SLOTS)
    assert mirror.hinted_slots() == 16
    assert mirror.dump(3).bitmap == 0
    mirror.apply(3, record(0xFFFF, 4))
    assert mirror.hinted_slots() == 0
    assert mirror.release(1, slots.offset, 4, EPOCH) == Status.OK
    assert cluster(mirror, 1).used == 0xFFFF


def test_a_released_hint_that_nobody_used_makes_the_cluster_free_again(mirror):
    slots = mirror.hint(0, 9)
    assert cluster(mirror, 1).flag == Flag.FULL
    mirror.release(1, slots.offset, 9, EPOCH)
    assert cluster(mirror, 1).flag == Flag.FREE
    assert list(mirror.devices[1].free) == [2, 3, 1]


def test_a_full_cluster_with_a_released_hint_goes_to_frag(mirror):
    mirror.apply(3, record(ALL ^ 0xF, 2, Flag.NONFULL))
    assert mirror.hint(0, 2) == Slots(1, SLOTS)
    assert cluster(mirror, 1).flag == Flag.FULL
    mirror.release(1, SLOTS, 2, EPOCH)
    assert (cluster(mirror, 1).flag, cluster(mirror, 1).order) == (Flag.FRAG, 2)


def test_a_release_of_another_epoch_is_ignored(mirror):
    slots = mirror.hint(0, 0)
    assert mirror.release(1, slots.offset, 0, EPOCH + 1) == Status.BAD_DEVICE
    assert mirror.hinted_slots() == 1


@pytest.mark.parametrize("flag", [Flag.NONE, Flag.DISCARD])
def test_no_hints_into_clusters_that_the_kernel_has_off_list_or_discards(mirror, flag):
    for number in range(2, 6):
        assert mirror.apply(number, record(0, 0, flag))
    assert mirror.hint(0, 0) is None
    assert mirror.hint(0, 4) is None


def test_an_off_list_record_leaves_a_cluster_with_hints_where_it_is(mirror):
    mirror.hint(0, 4)
    assert mirror.apply(3, record(0, 0, Flag.NONE))
    assert cluster(mirror, 1).flag == Flag.FRAG


def test_the_kernel_says_free_but_hints_are_out(mirror):
    mirror.hint(0, 9)
    assert cluster(mirror, 1).flag == Flag.FULL
    mirror.hint(1, 4)
    assert mirror.apply(4, record(0, 0, Flag.FREE))
    assert (cluster(mirror, 2).flag, cluster(mirror, 2).order) == (Flag.FRAG, 4)


def test_full_for_the_kernel_is_full_here(mirror):
    assert mirror.apply(3, record(ALL, 0, Flag.FULL))
    assert cluster(mirror, 1).flag == Flag.FULL


def test_a_record_on_the_same_list_keeps_its_place(mirror):
    for number, seq in ((3, 1), (4, 1), (3, 2)):
        mirror.apply(number, record(0b11, 1, Flag.FRAG, seq))
    assert list(mirror.devices[1].frag[1]) == [1, 2]
    mirror.apply(3, record(0b11, 1, Flag.NONFULL, 3))
    mirror.apply(3, record(0b11, 1, Flag.FRAG, 4))
    assert list(mirror.devices[1].frag[1]) == [2, 1]


@pytest.mark.parametrize("flags", [SSD | NO_HINTS, BLKDEV])
def test_devices_without_hints_are_mirrored_and_passed_over(mirror, flags):
    assert mirror.prepare(2, 2 * SLOTS, 10, flags, 100, EPOCH) == Status.OK
    assert mirror.swapon(2) == Status.OK
    assert mirror.apply(11, record(1))
    assert mirror.hint(0, 0).type == 1


@given(st.integers(0, ALL), st.integers(0, 9), st.sampled_from(Flag), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_records_survive_memory(bitmap, order, flag, seq, epoch):
    told = Record(bitmap, order, flag, seq, epoch)
    assert Record.unpack(told.pack()) == told
    with pytest.raises(ValueError, match="being written"):
        Record.unpack(told.pack(seq_begin=(seq + 1) % 2**32))


def test_a_record_whose_count_is_wrong_is_refused():
    data = bytearray(Record(3, 0, Flag.FRAG, 1, 0).pack())
    data[8] = 1
    with pytest.raises(ValueError, match="COUNT is 2"):
        Record.unpack(bytes(data))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 2**20)), max_size=60))
def test_hints_are_free_aligned_and_never_given_twice(steps):
    """Hints, records and releases in any order: no hint into slots that the kernel or another hint has."""
    model = Mirror()
    model.prepare(1, 4 * SLOTS, 2, SSD, -1, EPOCH)
    model.swapon(1)
    out: list[tuple[Slots, int]] = []
    held = 0
    truth = [c.used for c in model.devices[1].clusters]
    seq = 0
    for what, order, draw in steps:
        if what < 2:
            slots = model.hint(what, order)
            if slots is None:
                continue
            mask = ((1 << (1 << order)) - 1) << slots.offset
            assert slots.offset % (1 << order) == 0
            assert not mask & held
            assert not any(mask >> SLOTS * i & ALL & used for i, used in enumerate(truth))
            held |= mask
            out.append((slots, order))
        elif what == 2 and out:
            slots, order = out.pop(draw % len(out))
            model.release(1, slots.offset, order, EPOCH)
            held &= ~(((1 << (1 << order)) - 1) << slots.offset)
        else:
            index = draw % 4
            seq += 1
            kernel = draw * 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95 % 2**509
            kernel = 1 if draw % 5 == 0 else kernel | (1 if index == 0 else 0)
            truth[index] = kernel
            assert model.apply(2 + index, record(kernel, order, Flag.FRAG, seq))
            held &= ~(kernel << SLOTS * index)
        assert model.faults() == []
