# SPDX-License-Identifier: Apache-2.0
"""The tree beside a computation of it from the slots in use alone, and the loads of its look-ups."""

import random

import pytest
from hwswap.experiments.radix_tree import ROOT_BYTES, SLOTS_AT, Tree, Trees
from hwswap.model.rows import SLOTS


def nodes_of(used):
    """Return how many nodes a tree has with entries at these indices: one for each 64 in use, level by level."""
    nodes, places = 0, set(used)
    while places and max(places):  # index 0 alone is kept in the root
        places = {place >> 6 for place in places}
        nodes += len(places)
    return nodes


def test_the_number_of_nodes_is_that_of_the_slots_in_use():
    tree, used = Tree(), set()
    for step in range(1500):
        if used and random.random() < (0.3 if step < 700 else 0.7):
            index = random.choice(sorted(used))
            used.discard(index)
            tree.erase(index)
        else:
            index = random.randrange(1 << random.choice((1, 6, 7, 12, 13, 14)))
            used.add(index)
            tree.store(index)
        assert tree.nodes == nodes_of(used), sorted(used)
    for index in sorted(used, key=lambda _: random.random()):
        tree.erase(index)
    assert tree.nodes == 0


def test_a_device_has_a_tree_for_each_64_mib():
    trees = Trees(33 * SLOTS)
    used = random.sample(range(33 * SLOTS), 2000)
    for slot in used:
        trees.store(slot)
    assert len(trees.trees) == 2
    assert trees.nodes == sum(nodes_of(slot % 16384 for slot in used if slot // 16384 == tree) for tree in (0, 1))


@pytest.mark.parametrize(
    ("used", "index", "loads"), [([], 7, 1), ([0], 0, 1), ([5], 5, 3), ([64], 64, 5), ([4096], 4096, 7)]
)
def test_a_look_up_loads_the_root_and_two_words_a_level(used, index, loads):
    tree = Tree()
    for at in used:
        tree.store(at)
    assert len(list(tree.loads(index))) == loads


def test_a_look_up_ends_where_nothing_is_below():
    tree = Tree()
    tree.store(4096)
    assert len(list(tree.loads(1 << 13))) == 3  # the top node's slot is empty
    assert len(list(tree.loads(1 << 18))) == 2  # the top node does not reach so far
    root, node, slot, *_ = tree.loads(4096)
    assert (root, slot - node) == (-ROOT_BYTES, SLOTS_AT + 8)


@pytest.mark.parametrize("index", [0, 1, 64, 5000])
def test_what_is_not_there_cannot_be_erased(index):
    tree = Tree()
    with pytest.raises(KeyError):
        tree.erase(index)
    tree.store(2)
    with pytest.raises(KeyError):
        tree.erase(index)
