# SPDX-License-Identifier: Apache-2.0
"""Scripts of folios that are paged out, and where the golden model puts them."""

import pytest
from hwswap.model.golden import Allocator
from hwswap.stimulus import page_outs
from hwswap.stimulus.page_outs import Area, GiveBack, PageOut, Scene


def test_the_same_seed_gives_the_same_scenes_and_another_others():
    first = list(page_outs.scenes(1, 900))
    assert first == list(page_outs.scenes(1, 900))
    assert first != list(page_outs.scenes(2, 900))
    assert sum(len(scene.operations) for scene in first) == 900


@pytest.mark.parametrize("seed", range(5))
def test_a_script_gives_back_only_what_was_paged_out_and_uses_no_place_twice(seed):
    for scene in page_outs.scenes(seed, 2_000):
        live = {}
        for operation in scene.operations:
            place = operation.order, operation.entry
            if isinstance(operation, PageOut):
                assert not live.get(place)
                live[place] = set(range(1 << operation.order))
            else:
                given = set(range(operation.first, operation.first + operation.pages))
                assert given and given <= live[place]
                live[place] -= given


def test_each_order_comes_in_a_short_run():
    scenes = list(page_outs.scenes(3, 4_000))
    assert {operation.order for scene in scenes for operation in scene.operations} == set(page_outs.ORDERS)


def test_a_script_names_its_places_first():
    scene = Scene((Area(256, None),), (PageOut(0, 4, 2), PageOut(1, 0, 0), GiveBack(1, 4, 2, 3, 5)))
    assert scene.text() == "o 0 1\no 4 3\na 0 4 2\na 1 0 0\nf 1 4 2 3 5\n"
    assert (scene.folios, scene.cpus) == (2, 2)


def test_the_cluster_with_the_header_is_not_for_large_folios():
    outs = tuple(PageOut(0, order, entry) for entry, order in enumerate((2, 2, 0, 2)))
    made = page_outs.expect(Scene((Area(1024, None),), outs))
    assert made.lines == ["0:512+4", "0:516+4", "0:1+1", "0:520+4"]
    assert (made.whole, made.slots, made.folios) == ({2: 3, 0: 1}, 13, 4)


def test_a_folio_without_a_run_is_split_and_its_pages_go_out_from_the_last_but_for_the_first():
    made = page_outs.expect(Scene((Area(16, None, (4, 8, 12)),), (PageOut(0, 2, 0),)))
    assert made.split == {2: 1}
    assert made.lines == ["0:1+1 0:5+1 0:3+1 0:2+1"]
    assert (made.single, made.unplaced, made.slots) == (4, 0, 4)


def test_what_finds_no_slot_stays_in_memory_and_can_be_given_back():
    outs = (PageOut(0, 2, 0), PageOut(0, 2, 1), PageOut(0, 0, 0), GiveBack(0, 2, 1, 0, 4), PageOut(0, 2, 1))
    made = page_outs.expect(Scene((Area(8, None, (6,)),), outs))
    assert made.lines == ["0:1+1 0:4+1 0:3+1 0:2+1", "0:5+1 -+2 0:7+1", "-+1", "0:5+1 -+2 0:7+1"]
    assert (made.unplaced, made.unplaced_singles, made.folios) == (5, 1, 4)


def test_a_wrong_rule_changes_the_slots():
    class Wrong(Allocator):
        """A cluster of which something is freed comes to the head of its list."""

        def free(self, type_, offset, nr):
            status = super().free(type_, offset, nr)
            cluster = self.devices[type_].clusters[offset // 512]
            if cluster.count:
                self.devices[type_].list_of(cluster.flag, cluster.order).move_to_end(cluster.index, last=False)
            return status

    scenes = list(page_outs.scenes(1, 4_000))
    assert any(page_outs.expect(scene).lines != page_outs.expect(scene, Wrong).lines for scene in scenes)
