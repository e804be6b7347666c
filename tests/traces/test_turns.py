# SPDX-License-Identifier: Apache-2.0
"""What a trace covers, counted record by record."""

from hwswap.traces.records import FAILED, NO_CLUSTER, Op, Record
from hwswap.traces.turns import (
    DECISIONS,
    DISCARDS,
    FRAG_SCANS,
    RECLAIMS,
    RETURNS,
    STEALS,
    TOP_FAILURES,
    TURNS,
    WALKS,
    coverage,
)
from hwswap_map import Flag


def allocation(order: int, *inner: tuple[Op, int, int, int, int], result: tuple[int, int] = (0, 512)) -> list[Record]:
    """Return an allocation; `inner` are op, order, device, a, b."""
    between = [Record(op, 0, order_, type_, a, b, 1) for op, order_, type_, a, b in inner]
    return [
        Record(Op.BEGIN, 0, order, 0, c=1),
        *between,
        Record(Op.ALLOC, 0, order, *result, c=1),
        Record(Op.END, 0, order, 0, c=1),
    ]


def counted(records: list[Record]) -> dict[str, int]:
    """Return what is there at least once, but for decisions."""
    return {name: number for name, number in coverage(records).items() if number and name != DECISIONS}


def test_nothing_covers_nothing_and_names_everything():
    assert coverage([]) == dict.fromkeys(TURNS, 0)


def test_every_outcome_is_a_decision_and_so_is_every_discard_taken():
    records = [
        *allocation(0),
        *allocation(4, result=(FAILED, 0)),
        Record(Op.DISCARD_TAKE, 0, 0, 0, 512),
        Record(Op.DISCARD_DONE, 0, 0, 0, 512),
    ]
    assert coverage(records)[DECISIONS] == 3
    assert counted(records) == {DISCARDS: 1}


def test_a_walk_over_nonfull_counts_once_from_its_second_cluster_on():
    def look(order: int, device: int, cluster: int) -> tuple[Op, int, int, int, int]:
        return Op.ISOLATE, order, device, cluster, Flag.NONFULL

    assert counted(allocation(4, look(4, 0, 3))) == {}
    assert counted(allocation(4, look(4, 0, 3), look(4, 0, NO_CLUSTER))) == {}
    assert counted(allocation(4, look(4, 0, 3), look(4, 1, 5))) == {}, "one on each of two devices"
    assert counted(allocation(4, look(4, 0, 3), look(4, 0, 5), look(4, 0, 6))) == {WALKS: 1}


def test_a_steal_ends_in_the_cluster_of_another_orders_list():
    frag = (Op.ISOLATE, 3, 0, 1, Flag.FRAG)
    assert counted(allocation(0, frag)) == {STEALS: 1}
    assert counted(allocation(0, frag, result=(0, 1024))) == {}, "it was found elsewhere"
    assert counted(allocation(0, frag, result=(FAILED, 0))) == {}


def test_a_frag_scan_is_of_the_allocations_own_order():
    assert counted(allocation(3, (Op.ISOLATE, 3, 0, 1, Flag.FRAG))) == {FRAG_SCANS: 1}


def test_failures_of_the_top_order_only():
    assert counted(allocation(9, result=(FAILED, 0))) == {TOP_FAILURES: 1}
    assert counted(allocation(8, result=(FAILED, 0))) == {}


def test_a_device_returns_only_if_it_was_full():
    left, back = Record(Op.AVAILABLE, 0, 0, 0, b=0), Record(Op.AVAILABLE, 0, 0, 0, b=1)
    going, on = Record(Op.SWAPOFF_BEGIN, 0, 0, 0), Record(Op.SWAPON, 0, 0, 0)
    assert counted([on, back, left, back]) == {RETURNS: 1}
    assert counted([on, back, going, left, on, back]) == {}


def test_reclaims_in_scans_and_of_full_clusters():
    assert counted(allocation(0, (Op.RECLAIM, 0, 0, 512, 0), (Op.RECLAIMED, 0, 0, 512, 3))) == {RECLAIMS: 1}
    full = (Op.ISOLATE, 0, 0, 1, Flag.FULL)
    assert counted(allocation(0, full)) == {}
    freed = (Op.FREE, 0, 0, 512, 1)
    assert counted(allocation(0, full, freed, freed)) == {RECLAIMS: 1}
