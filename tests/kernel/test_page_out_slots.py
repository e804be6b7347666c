# SPDX-License-Identifier: Apache-2.0
"""The golden model's places for folios that are paged out."""

from hwswap.kernel import page_out_slots
from hwswap.stimulus import page_outs
from hwswap.stimulus.page_outs import Area, GiveBack, PageOut, Scene


def test_the_cluster_with_the_header_is_not_for_large_folios():
    outs = tuple(PageOut(0, order, entry) for entry, order in enumerate((2, 2, 0, 2)))
    made = page_out_slots.expect(Scene((Area(1024, None),), outs))
    assert made.lines == ["0:512+4", "0:516+4", "0:1+1", "0:520+4"]
    assert (made.whole, made.slots) == ({2: 3, 0: 1}, 13)


def test_a_folio_without_a_run_is_split_and_its_pages_go_out_from_the_last_but_for_the_first():
    made = page_out_slots.expect(Scene((Area(16, None, (4, 8, 12)),), (PageOut(0, 2, 0),)))
    assert made.split == {2: 1}
    assert made.lines == ["0:1+1 0:5+1 0:3+1 0:2+1"]
    assert (made.unplaced, made.slots) == (0, 4)


def test_what_finds_no_slot_stays_in_memory_and_can_be_given_back():
    outs = (PageOut(0, 2, 0), PageOut(0, 2, 1), PageOut(0, 0, 0), GiveBack(0, 2, 1, 0, 4), PageOut(0, 2, 1))
    made = page_out_slots.expect(Scene((Area(8, None, (6,)),), outs))
    assert made.lines == ["0:1+1 0:4+1 0:3+1 0:2+1", "0:5+1 -+2 0:7+1", "-+1", "0:5+1 -+2 0:7+1"]
    assert (made.unplaced, made.slots, made.split) == (5, 8, {2: 3})


def test_scenes_add_up():
    made = page_out_slots.Expected()
    scenes = list(page_outs.scenes(1, 2_000))
    parts = [page_out_slots.expect(scene) for scene in scenes]
    for part in parts:
        made.add(part)
    for name in ("slots", "unplaced"):
        assert getattr(made, name) == sum(getattr(part, name) for part in parts)
    for name in ("whole", "split", "paths"):
        assert getattr(made, name).total() == sum(getattr(part, name).total() for part in parts)
