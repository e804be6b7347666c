# SPDX-License-Identifier: Apache-2.0
"""Results of the engine's bench from the replays' reports."""

import pytest
from hwswap.bench.engine_cycles import Cycles, Measured, goals, together


def measured(usual: int = 2, move: int = 6, longest: int = 32, rings: int = 5) -> Measured:
    """Make up a trace of 200 operations."""
    return Measured("made", 200, 200 * rings, Cycles({usual: 99, longest: 1}), Cycles({usual: 98, move: 2}))


def test_percentiles_of_counted_numbers():
    cycles = Cycles({2: 98, 5: 1, 40: 1})
    assert [cycles.percentile(p) for p in (50, 98, 99, 100)] == [2, 2, 5, 40]
    assert cycles.said() == "p50 2, p99 5, max 40"
    assert Cycles().said() == "p50 0, p99 0, max 0"


def test_traces_add_up():
    both = together([measured(), measured(usual=3, rings=7)], "all")
    assert (both.operations, both.cycles, both.each) == (400, 2400, 6)
    assert both.allocs == {2: 99, 3: 99, 32: 2}


@pytest.mark.parametrize(("changed", "missed"), [("usual", 3), ("move", 7), ("rings", 7)])
def test_each_target_can_be_missed(changed, missed):
    """The slowest trace decides about the rings."""
    good, bad = measured(), measured(**{changed: missed})
    assert all(target.met for target in goals([good], [good]))
    assert [target.met for target in goals([bad, bad, good], [good])].count(False) == 1


def test_the_longest_allocation_is_that_of_the_indexed_placement():
    good, bad = measured(), measured(longest=33)
    assert goals([bad], [good])[-1].met
    assert not goals([good], [good, bad])[-1].met
