# SPDX-License-Identifier: Apache-2.0
"""The bench: how its runs are planned and read, and a short run of it on the simulated VexRiscv.

The run checks that everything is measured and that every scheme's work is right (the firmware checks that itself, and
ends with an error otherwise). How fast anything is, is not checked.
"""

import json
import subprocess

import pytest
from hwswap.project.paths import ROOT
from hwswap_litex import InputError
from hwswap_soc.bench import bench, bench_result, runs
from hwswap_soc.bench.bench import FULL, SHORT, SWEEP, Point
from hwswap_soc.bench.bench_result import OPS, STATES
from hwswap_soc.simulation.run import run
from rich.console import Console


@pytest.fixture(scope="module")
def engine():
    """What the engine in the model was built for."""
    return runs.engine_of(runs.model_folder("soc-model-vexriscv"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A short run."""
    point = Point(SHORT, 16, None)
    model = bench.models_for([point], "vexriscv")[False]
    return bench.measure(point, "vexriscv", model, tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def report(measured):
    """What it printed."""
    return measured["report"]


def test_all_cells_are_there(report, engine):
    assert report.orders == list(SHORT.orders)
    assert report.schemes == list(SHORT.schemes)
    keys = {(s, state, order, op) for s in SHORT.schemes for state in STATES for order in SHORT.orders for op in OPS}
    assert set(report.cells) == keys
    assert report.platform["build"] == engine["build_hash"]
    assert report.platform["timer_overhead"] > 0
    assert report.platform["layout_fits"] in (0, 1)


def test_numbers_agree_with_each_other(report):
    for key, cell in report.cells.items():
        if not cell.n:
            continue
        assert 0 < cell.p50 <= cell.p99 <= cell.max, key
        assert cell.p50 * (cell.n // 2) <= cell.sum - cell.extra <= cell.max * cell.n, key
        assert cell.failures <= cell.n, key


def test_what_is_allocated_is_freed_and_all_schemes_do_the_same_work(report):
    for scheme in SHORT.schemes:
        for state in STATES:
            for order in SHORT.orders:
                alloc, free = (report.cells[scheme, state, order, op] for op in OPS)
                assert free.n == alloc.n - alloc.failures
                assert free.failures == 0
                assert alloc.n == report.cells["stock", state, order, "alloc"].n
                # Half of all slots are free: order 0 never fails. No cluster is empty: order 9 always does.
                if state == "empty" or order == 0:
                    assert alloc.failures == 0
                elif order == 9:
                    assert alloc.failures == alloc.n


def test_grants_are_hit_and_every_allocation_is_accounted_for(report):
    for state in STATES:
        for order in SHORT.orders:
            cell = report.cells["grants", state, order, "alloc"]
            counts = cell.counts
            assert counts["hits"] + counts["strays"] + counts["misses"] >= cell.n
            assert counts["hits"] <= cell.n - cell.failures
            assert counts["no_run"] <= cell.failures
        alloc, free = (report.cells["grants", state, 0, op] for op in OPS)
        assert alloc.counts["hits"] > SHORT.count // 2
        assert alloc.counts["marks"] < alloc.n, "what is granted is not marked call by call"
        assert free.counts["marks"] >= free.n, "every free is marked"
        assert free.extra > 0, "letting grants go costs something"
    assert report.cells["grants", "fragmented", 9, "alloc"].counts["no_run"] > 0


def test_tables_and_json_are_made_of_it(measured, engine, tmp_path):
    sweep = measured | {"point": Point(SHORT, 30, None, "latency")}
    runs = [measured, sweep]
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    bench.show(runs, "vexriscv", console)
    text = console.export_text()
    for word in ("stock", "tuned", "register", "ring", "grants", "DRAM latency", "fragmented"):
        assert word in text
    facts = json.loads(json.dumps(bench.as_json("vexriscv", engine, runs)))
    assert facts["engine"]["build_hash"] == measured["report"].platform["build"]
    assert [entry["latency"] for entry in facts["runs"]] == [16, 30]
    assert len(facts["runs"][0]["cells"]) == len(measured["report"].cells)


def test_the_self_test_finds_the_engine(tmp_path, engine):
    model = runs.model_folder("soc-model-vexriscv")
    image = runs.build_firmware(model, "vexriscv", SHORT.defines(), tmp_path, "selftest")
    result = run(model, image, stop="^HWSWAP-DONE", max_cycles=1_000_000)
    assert result.lines[-1] == "HWSWAP-DONE 0"
    (line,) = (line for line in result.lines if line.startswith(bench_result.PREFIX))
    answer = json.loads(line.removeprefix(bench_result.PREFIX))
    assert {name: answer["build" if name == "build_hash" else name] for name in engine} == engine


# Without a run


def test_a_list_is_swept_and_a_single_value_is_used_throughout():
    points = bench.plan("vexriscv", [], [])
    assert (points[0].form, points[0].ratio, points[0].sweeps) == (FULL, None, None)
    assert {point.latency for point in points if point.sweeps == "latency"} == set(bench.LATENCIES)
    assert {point.ratio for point in points if point.sweeps == "ratio"} == set(bench.RATIOS)
    assert {point.form.gap for point in points if point.sweeps == "gap"} == set(bench.GAPS)
    points = bench.plan("vexriscv", [30], [0.5])
    assert {(point.latency, point.ratio) for point in points} == {(30, 0.5)}
    assert not [point for point in points if point.sweeps in ("latency", "ratio")]
    assert bench.plan("vexriscv", [8, 30], [2.0], ()) == [Point(FULL, bench.LATENCY, 2.0)]
    assert not [point for point in bench.plan("rocket", [], []) if point.ratio is not None]
    assert SWEEP.defines().split()[0] == f"-DBENCH_CLUSTERS={SWEEP.clusters}"


def cell_line(scheme, op, **values):
    numbers = {"n": 4, "failures": 0, "sum": 400, "extra": 0, "p50": 90, "p99": 120, "max": 130} | values
    key = {"kind": "cell", "scheme": scheme, "state": "empty", "order": 0, "op": op}
    return bench_result.PREFIX + json.dumps(key | numbers)


PLATFORM = bench_result.PREFIX + json.dumps({"kind": "platform", "cpu": "vexriscv"})


def test_a_run_that_went_wrong_is_no_result():
    good = [PLATFORM, cell_line("stock", "alloc"), "HWSWAP-DONE 0"]
    assert bench_result.parse(good).cell("stock", "empty", 0, "alloc").mean == 100
    for lines, message in (
        (["error: slots were given that are in use", "HWSWAP-DONE 1"], "slots were given that are in use"),
        ([], "nothing"),
        (good[:-1], "did not end well"),
        (["HWSWAP-DONE 0"], "without a measurement"),
        ([*good[:2], good[1], good[2]], "twice"),
        ([PLATFORM, bench_result.PREFIX + '{"kind": ', "HWSWAP-DONE 0"], "not JSON"),
    ):
        with pytest.raises(InputError, match=message):
            bench_result.parse(lines)


def test_calls_are_figures_and_so_are_pairs_by_what_is_swept():
    sums = {"stock": 400, "tuned": 200, "register": 100, "ring": 800, "grants": 300}
    lines = [PLATFORM]
    for scheme, cycles in sums.items():
        lines += [cell_line(scheme, "alloc", sum=cycles), cell_line(scheme, "free", sum=cycles)]
    report = bench_result.parse([*lines, "HWSWAP-DONE 0"])
    found = [(figure.what, figure.of, figure.value) for figure in bench.figures(report)]
    assert ("allocate order 0, empty", "register", 25) in found
    assert ("free order 0, empty", "ring", 200) in found
    assert len(found) == 2 * len(sums)
    swept = [(figure.what, figure.of, figure.value) for figure in bench.pairs([(8, report), (30, report)], "cycles")]
    assert ("order 0, empty, 30 cycles", "grants", 150) in swept
    assert len(swept) == 2 * len(sums)


def test_models_of_different_engines_are_not_compared(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "BUILD", tmp_path)
    points = [Point(SHORT, 16, None), Point(SHORT, 16, 2.0)]
    for name, build in (("soc-model-vexriscv", 7), ("soc-model-vexriscv-own", 7)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").write_text("{}")
        facts = {
            "devices": 4,
            "cpus": 1,
            "clusters": 64,
            "build_hash_hi": 1,
            "build_hash_lo": build,
        }
        text = json.dumps({"constants": {f"hwswap_{key}": value for key, value in facts.items()}})
        (tmp_path / name / "soc.json").write_text(text)
    models = bench.models_for(points, "vexriscv")
    assert models == {False: tmp_path / "soc-model-vexriscv", True: tmp_path / "soc-model-vexriscv-own"}
    assert runs.engine_of(models[True])["build_hash"] == "0000000100000007"
    (tmp_path / "soc-model-vexriscv" / "soc.json").write_text(text.replace(": 7", ": 8"))
    with pytest.raises(InputError, match="different engines"):
        bench.models_for(points, "vexriscv")


def test_results_of_another_variant_do_not_take_the_place_of_the_usual_ones(tmp_path):
    names = []
    for variant in ("linux", "full"):
        (tmp_path / "model.json").write_text(json.dumps({"variant": variant}))
        names.append(bench.full_name("rocket", tmp_path))
    assert names == ["rocket", "rocket-full"]


def test_what_cannot_be_run_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="could not be built"):
        runs.build_firmware(tmp_path, "vexriscv", SHORT.defines(), tmp_path, "bench")
    with pytest.raises(InputError, match="soc-model-"):
        runs.model_folder("soc-model-z80")


@pytest.mark.parametrize(
    ("words", "models"),
    [
        ([], ["soc-model-vexriscv", "soc-model-vexriscv-own"]),
        (["NO_SWEEP=1"], ["soc-model-vexriscv"]),
        (["SWEEP=latency"], ["soc-model-vexriscv"]),
        (["SWEEP=latency ratio"], ["soc-model-vexriscv", "soc-model-vexriscv-own"]),
        (["CPU=rocket"], ["soc-model-rocket"]),
        (["CPU=rocket", "ENGINE_RATIO=0.5"], ["soc-model-rocket", "soc-model-rocket-own"]),
        (["CPU=rocket4"], ["soc-model-rocket4"]),
    ],
)
def test_make_builds_the_models_that_are_measured(words, models):
    command = ["make", "-C", str(ROOT), "--no-print-directory", "--dry-run", "bench-soc", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    assert [word for word in said.split() if word.startswith("soc-model-")] == models
