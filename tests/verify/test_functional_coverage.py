# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest
from hwswap.model.observed_tables import TableBin, table_goals
from hwswap.stimulus import swap_tables
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream
from hwswap.traces.stream import EVERYTHING, Shape
from hwswap.verify.functional_coverage import Bin, Functional, choices, goals

POLICIES = choices()


def test_every_choice_of_every_policy_has_its_bins():
    bins = list(goals(POLICIES))
    assert len(bins) == len(set(bins))
    assert len(POLICIES) == 10
    # Per choice: 10 failures, 9 x 3 + 1 allocations, 9 x 3 + 1 frees.
    assert Counter(bin_.policy for bin_ in bins) == dict.fromkeys(POLICIES, 66)


@pytest.fixture(scope="module")
def counted():
    functional = Functional()
    for seed in range(1, 7):
        functional.add(stream.generate(Shape(seed, ops=20_000, span=4, features=EVERYTHING)))
    return functional


def test_nothing_happens_that_is_no_goal(counted):
    assert counted.impossible(POLICIES) == []


def test_streams_hit_bins_of_every_operation_state_and_kind_of_policy(counted):
    hit = counted.hits.keys()
    assert {bin_.operation for bin_ in hit} == {"alloc", "fail", "free"}
    assert {bin_.state for bin_ in hit if bin_.operation == "alloc"} == {"FREE", "NONFULL", "FRAG"}
    assert {bin_.policy for bin_ in hit} == set(POLICIES)


def test_what_did_not_happen_is_missed():
    functional = Functional()
    functional.add(stream.generate(Shape(3, ops=300, span=3)))
    missed = functional.missed(["scan=LINUX", "scan=FREE_FIRST"])
    assert all(bin_ in missed for bin_ in goals(["scan=FREE_FIRST"]))
    assert Bin("alloc", 0, "FRAG", "scan=LINUX") not in missed


def test_a_script_of_swap_tables_hits_every_bin_of_its_commands():
    functional = Functional()
    text = swap_tables.tables(5, 10, Sizes(), functional.tables)
    assert functional.impossible(POLICIES) == []
    assert [bin_ for bin_ in functional.missed(POLICIES) if isinstance(bin_, TableBin)] == []
    # Counting changes nothing.
    assert text == swap_tables.tables(5, 10, Sizes())


def test_what_swap_tables_did_not_come_to_is_missed():
    assert set(table_goals()) <= set(Functional().missed(POLICIES))
    functional = Functional()
    functional.tables[TableBin("TABLE_TAKE", "NO_TABLE", "")] += 1
    assert functional.impossible(POLICIES) == [TableBin("TABLE_TAKE", "NO_TABLE", "")]


def test_a_trace_that_the_model_contradicts_is_not_counted():
    made = stream.generate(Shape(4, ops=300, span=3))
    at = next(i for i, record in enumerate(made.records) if record.op == 6 and record.type != 255)
    made.records[at] = made.records[at]._replace(a=made.records[at].a + 1)
    with pytest.raises(ValueError, match="does not agree"):
        Functional().add(made)
