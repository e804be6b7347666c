# SPDX-License-Identifier: Apache-2.0
"""Results of the engine's bench from the core's reports."""

import pytest
from hwswap.bench.engine_cycles import Cycles, Figures, core_targets, figure, goals, placement, unmet


def group(kind: str, order: int, path: str, list_move: bool, cycles: list, latency: list = ()) -> dict:
    said = {"kind": kind, "order": order, "path": path, "list_move": list_move}
    return said | {"cycles": cycles, "latency": latency}


def once_more(worst: int) -> dict:
    """Return one of the program's reports, of a trace under a policy."""
    groups = [group("alloc", 4, "fail", False, [[2, 99], [worst, 1]]), group("free", 0, "free", False, [[100, 1]])]
    return {"operations": 101, "cycles": 298 + worst, "groups": groups}


def report(fast: int = 2, scan: int = 3, indexed: int = 32, rings: int = 5) -> dict:
    """Return a report of the program: hits and frees of `fast` cycles, failures that scan 1 to 6 clusters."""
    return {
        "name": "made",
        "operations": 210,
        "cycles": 900,
        "ring_cycles": 210 * rings,
        "placements": {"linux": once_more(90), "indexed": once_more(indexed)},
        "groups": [
            group("alloc", 0, "hint", False, [[fast, 100]], [[6, 100]]),
            group("free", 0, "free", False, [[fast, 98]]),
            group("free", 0, "free", True, [[5, 2]]),
            group("alloc", 4, "fail", True, [[30, 10]], [[34, 10]]),
        ],
        "by_scans": [{"path": "fail", "order": 4, "scans": n, "cycles": [[20 + scan * n, 10]]} for n in (1, 3, 4, 6)],
        "stalls": {"list move": 6, "slow path: scanned clusters": 60},
    }


def figures(*reports: dict) -> Figures:
    together = Figures()
    for one in reports:
        together.add(one)
    return together


def test_percentiles_of_counted_numbers():
    cycles = Cycles({2: 98, 5: 1, 40: 1})
    assert [cycles.percentile(p) for p in (50, 98, 99, 100)] == [2, 2, 5, 40]
    assert cycles.mean == pytest.approx((196 + 45) / 100)
    assert cycles.share(5) == pytest.approx(0.99)
    assert Cycles().summary() == {"count": 0, "mean": 0, "p50": 0, "p99": 0, "max": 0}


def test_reports_add_up():
    both = figures(report(), report(fast=3))
    assert (both.operations, both.cycles) == (420, 1800)
    hits = both.groups["alloc", 0, "hint", False][0]
    assert hits == {2: 100, 3: 100}
    assert both.stalls["list move"] == 12


def test_what_a_scanned_cluster_costs_is_the_slope():
    assert figures(report()).scanned() == pytest.approx(3)
    assert figures(report(scan=4)).scanned() == pytest.approx(4)
    assert Figures().scanned() is None


def test_targets_are_met_or_not():
    assert [target.met for target in core_targets(figures(report()))] == [True, True, True, True]
    assert [target.met for target in core_targets(figures(report(fast=3, scan=4)))] == [False, True, False, True]


@pytest.mark.parametrize("named", [False, True])
def test_named_traces_miss_what_they_measure(named):
    """A trace without long walks says nothing of a scanned cluster; a hit of 3 cycles is one too many anywhere."""
    short = report(fast=3) | {"by_scans": []}
    missed = [target.name for target in unmet(core_targets(figures(short)), named)]
    assert missed == ["hit or free without list move", *([] if named else ["one more scanned cluster"])]


def test_the_last_line_has_the_figure_and_what_was_missed():
    assert figure(figures(report()), []) == "bench-engine: 210 operations, 900 cycles, 4.29 each; every target met"
    missed = [target for target in core_targets(figures(report(scan=4))) if not target.met]
    assert figure(figures(report(scan=4)), missed).endswith("missed: one more scanned cluster, 4.00")


def test_the_placements_are_compared_by_the_same_operations():
    reports = [report(), report(indexed=33)]
    of = placement(reports, "indexed")
    assert (of["operations"], of["cycles"]) == (202, 661)
    assert (of["alloc"]["count"], of["alloc"]["p50"], of["alloc"]["max"]) == (200, 2, 33)
    assert [goals(figures(one), [one])[-1].met for one in reports] == [True, False]


def test_the_slowest_trace_decides_about_the_rings():
    reports = [report(), report(rings=7)]
    assert [goals(figures(one), [one])[-2].met for one in reports] == [True, False]
    both = goals(figures(*reports), reports)[-2]
    assert (both.measured, both.met) == ("7.00", False)
