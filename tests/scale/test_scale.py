# SPDX-License-Identifier: Apache-2.0
"""The engine with its clusters in DRAM (build/model-scale), in the short form of `make bench-scale`."""

import json
from array import array

import pytest
from hwswap.bench import scale
from hwswap.bench.scale import percentile
from hwswap.cli import main as cli
from hwswap.stimulus import scale_load
from hwswap.stimulus.scale_load import Load, Maker
from hwswap.traces.records import Op, Record


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run the short form once: every decision is compared with the golden model's, and the self-test finds nothing."""
    folder = tmp_path_factory.mktemp("bench-scale")
    assert cli.main(["bench", "scale", "--short", "--output", str(folder)]) == 0
    assert (folder / "bench-scale.png").stat().st_size > 10_000
    return json.loads((folder / "bench-scale.json").read_text())["results"]


def find(results, **wanted):
    return [r for r in results if all(r[name] == value for name, value in wanted.items())]


def test_no_operation_waits_for_more_dependent_accesses_than_it_may(results):
    assert {r["beyond_bound"] for r in results} == {0}
    # Otherwise the bound would say nothing.
    assert 2 <= max(r["most_without_failed_scan"] for r in find(results, store="dram")) <= scale.BOUND


def test_the_last_line_has_the_mean_of_each_size(results):
    sentence = scale.figure(results)
    for gib in scale.SHORT_SIZES:
        slow = find(results, gib=gib, store="dram", phase="churn", latency=max(scale.SHORT_LATENCIES))[0]
        assert f"{slow['cycles']['mean']:.1f} at {gib} GiB" in sentence


def test_nothing_is_waited_for_on_chip(results):
    chip = find(results, store="on chip")
    assert chip
    assert {(r["dependent_accesses"]["max"], r["held_cycles"], r["misses"]) for r in chip} == {(0, 0, 0)}


def test_the_store_is_used_as_memory_is_slow(results):
    small, large = scale.SHORT_LATENCIES
    for gib in scale.SHORT_SIZES:
        fast, slow = (find(results, gib=gib, store="dram", phase="churn", latency=n)[0] for n in (small, large))
        assert slow["cycles"]["mean"] > fast["cycles"]["mean"] + (large - small) / 4
        assert 0.3 < fast["hit_rate"] < 1
        assert fast["write_backs"] > 0


def test_a_load_spreads_over_all_clusters():
    load = Load(512, fresh=200, churn=3000, scan=10)
    maker = Maker(load, lambda name: None)
    made = maker.make()
    names = [phase.name for phase in made.phases]
    assert sum(phase.operations for phase in made.phases) == len(made.records) == len(made.scans)
    begin = sum(phase.operations for phase in made.phases[: names.index("churn")])
    end = begin + sum(phase.operations for phase in made.phases if phase.name == "churn")
    touched = {r.a // 512 for r in made.records[begin:end] if r.type != 255}
    assert len(touched) > 400
    assert not maker.device.free
    assert made.records == scale_load.make(load).records


@pytest.mark.parametrize(("percent", "value"), [(50, 5), (99, 10), (1, 1), (100, 10)])
def test_percentiles(percent, value):
    assert percentile(range(1, 11), percent) == value


@pytest.mark.parametrize("wrong", [["--sizes", "3"], ["--latencies", "1"], ["--sizes", "2048"]])
def test_wrong_arguments_are_refused(wrong, capsys):
    assert cli.main(["bench", "scale", *wrong]) == 1
    assert "choose" in capsys.readouterr().err


def test_what_an_operation_leaves_over_counts_with_the_next():
    assert scale.beyond([4, 4, 7], [4, 4, 7]) == []
    assert scale.beyond([2, 6, 4], [4, 4, 4]) == []
    assert scale.beyond([2, 7, 4], [4, 4, 4]) == [1]
    # What the one before the last has not used up is gone.
    assert scale.beyond([0, 4, 5], [4, 4, 4]) == [2]


def test_what_is_left_over_counts_with_the_next_in_another_phase_as_well():
    """Operations wait for 2, 5 and 5: the first, of the phase before, has not used up what it may, the second has."""
    made = scale_load.Made(records=[Record(Op.FREE, 0, 0, 0)] * 3, scans=array("I", [0, 0, 0]))
    measured = scale.Measured({}, array("I", [9, 9, 9]), array("I", [2, 5, 5]))
    assert scale.over_bound(1, 3, made, measured) == [2]
    assert scale.over_bound(0, 1, made, measured) == []
    assert scale.over_bound(1, 2, made, measured) == []
    # Nothing is left over of what there is none before.
    behind = scale.Measured({}, array("I", [9, 9]), array("I", [5, 4]))
    assert scale.over_bound(0, 2, made, behind) == [0]
