# SPDX-License-Identifier: Apache-2.0
"""Counting of collisions and runs by hand, the fragmented device, and the policies in small."""

import random

import pytest
from hwswap.experiments import offsets
from hwswap.experiments.offsets import FRAGMENTED, Seen, by_chance, device, fragment, measure
from hwswap.model.policy import TRUNK, Hint, Policy
from hwswap.model.rows import SLOTS

PAGES = TRUNK * SLOTS
"""Of a trunk."""


def test_rounds_are_counted():
    seen = Seen()
    seen.round([(0, 1), (1, 2), (2, PAGES - 1), (3, PAGES)])
    assert (seen.allocations, seen.in_trunk, seen.in_cluster, seen.in_line) == (4, 3, 2, 2)
    assert (seen.runs, seen.device_runs) == (4, 2)
    seen.round([(1, 3), (0, 4), (3, PAGES + 1), (2, 3 * PAGES)])
    assert (seen.in_trunk, seen.in_line) == (5, 3)
    assert seen.runs == 4 + 2  # CPUs 1 and 3 go on
    assert seen.device_runs == 2 + 3


def test_a_fragmented_device_is_one_that_the_model_finds_nothing_wrong_with():
    allocator = device(8, 2, Policy())
    fragment(allocator, random.Random(5))
    assert allocator.faults() == []
    own = allocator.devices[0]
    assert own.used == pytest.approx(0.75 * own.total, rel=0.05)
    assert not own.free and len(own.nonfull[0]) == 8


def test_as_much_is_freed_as_is_given():
    allocator = device(8, 4, Policy())
    fragment(allocator, random.Random(5))
    before = allocator.devices[0].used
    seen = []
    offsets.rounds(allocator, 4, 50, random.Random(1), seen.append, steady=True)
    assert allocator.devices[0].used == before
    assert [len(places) for places in seen] == [4] * 50
    assert all({cpu for cpu, _ in places} == {0, 1, 2, 3} for places in seen)
    assert allocator.faults() == []


def test_policies_in_small():
    """Shared, all meet in one cluster; by themselves, on an empty device, in one trunk but in no cluster."""
    shared, own, drawn = (measure(hint, offsets.EMPTY, 4, 8 * TRUNK, 512, seed=1) for hint in offsets.POLICIES.values())
    assert shared.cluster_share > 0.99
    assert shared.pages_a_device_run > 100 > shared.pages_a_run
    assert own.trunk_share == 1 and own.cluster_share == 0
    assert own.pages_a_run > 100
    assert drawn.trunk_share < 1


def test_on_a_fragmented_device_places_of_their_own_meet_less():
    shared, own = (measure(hint, FRAGMENTED, 4, 4 * TRUNK, 128, seed=1) for hint in (Hint.SHARED, Hint.PER_CPU))
    assert own.in_line < shared.in_line
    assert own.cluster_share < shared.cluster_share


def test_the_same_seed_is_the_same_run():
    first, again, other = (measure(Hint.RANDOM_TRUNK, FRAGMENTED, 4, 2 * TRUNK, 32, seed) for seed in (7, 7, 8))
    assert first == again != other


@pytest.mark.parametrize(("cpus", "trunks", "share"), [(2, 1, 1.0), (2, 4, 0.25), (3, 2, 0.75), (1, 4, 0.0)])
def test_by_chance(cpus, trunks, share):
    assert by_chance(cpus, trunks) == share
