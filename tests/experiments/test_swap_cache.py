# SPDX-License-Identifier: Apache-2.0
"""Loads and memory of tables and trees in small."""

import pytest
from hwswap.experiments import cache
from hwswap.experiments.cache import ORDERLY, RANDOM, Cache, Memory, at, look, mean_ratio, measure


@pytest.fixture(scope="module")
def measured():
    return {drain: measure(drain, 16, 64, seed=1) for drain in cache.DRAINS}


def test_a_table_takes_two_loads_and_a_free_cluster_one():
    memory = Memory(4)
    offset = next(memory.fill())
    assert offset == 1
    assert list(memory.table_loads(1)) == [cache.TABLE_AT, cache.TABLES + 8]
    assert len(list(memory.table_loads(3 * 512))) == 1
    assert len(list(memory.tree_loads(1))) == 3


def test_a_cache_lets_the_least_recently_used_line_go():
    held = Cache(2)
    assert [at for at, address in enumerate((0, 63, 64, 8, 128, 0, 64)) if held.misses(address)] == [0, 2, 4, 6]


def test_look_ups_are_averaged():
    looked = look("", "", iter([iter([0, 8, 64]), iter([0])]))
    assert (looked.loads, looked.lines, looked.misses) == (2, 1.5, 1)


def test_a_full_tree_has_three_levels(measured):
    by = {(of.stream, of.kind): of for of in measured[ORDERLY][1] + measured[RANDOM][1]}
    for stream in ("full, neighbours", "full, random slots", "a tenth left, random slots"):
        assert by[stream, "table"].loads == 2
        assert by[stream, "tree"].loads == 7
        assert by[stream, "table"].lines == 2 < by[stream, "tree"].lines
        assert by[stream, "table"].misses < by[stream, "tree"].misses or stream == "full, neighbours"


def test_tables_stay_where_slots_leave_at_random(measured):
    orderly, at_random = (at(measured[drain][0], drain, False, 0.1) for drain in cache.DRAINS)
    assert at_random.table_bytes == 16 * 4096
    assert orderly.table_bytes <= 3 * 4096
    for drain in cache.DRAINS:
        last = measured[drain][0][-1]
        assert mean_ratio(measured[drain][0], drain, 0) < mean_ratio(measured[drain][0], drain, 1)
        assert (last.used, last.tree_bytes, last.table_bytes) == (0, 0, 4096)
