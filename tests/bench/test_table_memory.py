# SPDX-License-Identifier: Apache-2.0
"""The memory of swap tables and of trees, in small."""

import pytest
from hwswap.bench import swap_tables, table_memory
from hwswap.bench.table_memory import LOADS, Filling, Load, at, nodes_of, trees_of
from hwswap.model.rows import ALL, SLOTS


@pytest.mark.parametrize(
    ("used", "nodes"),
    [([], 0), ([0], 0), ([1], 1), ([0, 63], 1), ([64], 2), ([0, 64], 3), ([4095], 2), ([4096], 3), ([63, 4096], 5)],
)
def test_a_tree_has_the_nodes_that_its_entries_need(used, nodes):
    """By hand: a node for 64 entries, another for 64 of those, and a third level from index 4096 on."""
    assert nodes_of(used) == nodes


def test_a_full_tree_has_a_node_for_each_64_entries_below_and_above():
    assert nodes_of(range(1 << 14)) == 256 + 4 + 1
    assert trees_of([ALL] * 64) == 2 * (256 + 4 + 1)
    assert trees_of([0] * 32 + [1 << 1] + [0] * 31) == 1


def test_tables_are_there_for_clusters_in_use():
    samples = Filling(Load("", (0,), shuffled=False), clusters=4, seed=1).run()
    full = max(samples, key=lambda sample: sample.used)
    assert full.used == 4 * SLOTS - 1  # without the header
    assert full.table_bytes == 4 * 4096
    assert (samples[-1].used, samples[-1].tables) == (0, 1)  # the header's cluster is never free
    for sample in samples:
        assert sample.tables >= -(-sample.used // SLOTS)


def test_what_leaves_at_random_keeps_tables():
    """Of single slots, nearly all tables stay to the end; of whole clusters, as many go as folios do."""
    single, whole = (Filling(load, clusters=16, seed=1).run() for load in (LOADS[1], LOADS[3]))
    assert at(single, LOADS[1].name, False, 0.1).tables == 16
    assert at(whole, LOADS[3].name, False, 0.5).tables <= 9


def test_the_table_has_a_row_a_load():
    samples = table_memory.run(2, 1, lambda name: None)
    assert swap_tables.memory_table(samples).row_count == len(LOADS)
