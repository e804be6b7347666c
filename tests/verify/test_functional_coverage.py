# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest
from hwswap.model.observed_tables import TableBin
from hwswap.stimulus import swap_tables
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream
from hwswap.traces.stream import EVERYTHING, Shape
from hwswap.verify.functional_coverage import POLICIES, Bin, Functional, goals


def test_every_choice_of_every_policy_has_its_bins():
    bins = [bin_ for bin_ in goals() if isinstance(bin_, Bin)]
    assert len(bins) == len(set(bins))
    assert len(POLICIES) == 10
    # Per choice: 10 failures, 9 x 3 + 1 allocations, 9 x 3 + 1 frees.
    assert Counter(bin_.policy for bin_ in bins) == dict.fromkeys(POLICIES, 66)


def test_streams_hit_bins_of_every_operation_state_and_kind_of_policy_and_no_other():
    functional = Functional()
    for seed in range(1, 7):
        functional.add(stream.generate(Shape(seed, ops=20_000, span=4, features=EVERYTHING)))
    assert functional.impossible() == []
    hit = functional.hits.keys()
    assert {bin_.operation for bin_ in hit} == {"alloc", "fail", "free"}
    assert {bin_.state for bin_ in hit if bin_.operation == "alloc"} == {"FREE", "NONFULL", "FRAG"}
    assert {bin_.policy for bin_ in hit} == set(POLICIES)


def test_what_did_not_happen_is_missed():
    functional = Functional()
    functional.add(stream.generate(Shape(3, ops=300, span=3)))
    functional.tables[TableBin("TABLE_TAKE", "NO_TABLE", "")] += 1
    missed = functional.missed()
    assert all(bin_ in missed for bin_ in goals() if isinstance(bin_, TableBin) or bin_.policy == "scan=FREE_FIRST")
    assert Bin("alloc", 0, "FRAG", "scan=LINUX") not in missed
    assert functional.impossible() == [TableBin("TABLE_TAKE", "NO_TABLE", "")]


def test_a_script_of_swap_tables_hits_every_bin_of_its_commands():
    functional = Functional()
    text = swap_tables.tables(5, 10, Sizes(), functional.tables)
    assert functional.impossible() == []
    assert [bin_ for bin_ in functional.missed() if isinstance(bin_, TableBin)] == []
    # Counting changes nothing.
    assert text == swap_tables.tables(5, 10, Sizes())


def test_a_trace_that_the_model_contradicts_is_not_counted():
    made = stream.generate(Shape(4, ops=300, span=3))
    at = next(i for i, record in enumerate(made.records) if record.op == 6 and record.type != 255)
    made.records[at] = made.records[at]._replace(a=made.records[at].a + 1)
    with pytest.raises(ValueError, match="does not agree"):
        Functional().add(made)
