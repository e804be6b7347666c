# SPDX-License-Identifier: Apache-2.0
"""The bench: how its runs are planned and read, and a short run of it on the simulated VexRiscv.

The run checks that everything is measured and that every scheme's work is right (the firmware checks that itself, and
ends with an error otherwise). How fast anything is, is not checked.
"""

import json

import programs
import pytest
from hwswap.project.paths import BUILD, ROOT
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.bench import bench, bench_result, runs
from hwswap_soc.bench.bench import SHORT
from hwswap_soc.bench.bench_result import OPS, STATES
from hwswap_soc.simulation.run import run


def machine(program: str) -> runs.Machine:
    """Return the machine for a program of the firmware."""
    return runs.Machine(runs.model_folder("vexriscv"), "vexriscv", program, 16)


@pytest.fixture(scope="module")
def report():
    [lines] = runs.together([SHORT], machine("bench"), 1)
    return bench_result.parse(lines)


def test_all_cells_are_there(report):
    keys = {(s, state, order, op) for s in SHORT.schemes for state in STATES for order in SHORT.orders for op in OPS}
    assert set(report.cells) == keys
    assert report.platform["build"] == EngineInfo.load(BUILD / "rtl-soc").build_hash
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
            assert counts["hits"] + counts["misses"] == cell.n
            assert counts["hits"] <= cell.n - cell.failures
            assert counts["no_run"] <= cell.failures
        assert report.cells["grants", state, 0, "alloc"].counts["hits"] > SHORT.count // 2
        assert report.cells["grants", state, 0, "free"].extra > 0, "letting grants go costs something"
    assert report.cells["grants", "fragmented", 9, "alloc"].counts["no_run"] > 0


def test_the_self_test_finds_the_engine(tmp_path):
    image = runs.build_firmware(machine("selftest"), SHORT.defines(), tmp_path)
    result = run(runs.model_folder("vexriscv"), image, stop="^HWSWAP-DONE", max_cycles=1_000_000)
    assert result.lines[-1] == "HWSWAP-DONE 0"
    (line,) = (line for line in result.lines if line.startswith(bench_result.PREFIX))
    answer, engine = json.loads(line.removeprefix(bench_result.PREFIX)), EngineInfo.load(BUILD / "rtl-soc")
    sizes = {"devices": engine.devices, "cpus": engine.cpus, "clusters": engine.clusters}
    assert answer | sizes | {"build": engine.build_hash} == answer


# Without a run


def cell_line(scheme, op, **values):
    numbers = {"n": 4, "failures": 0, "sum": 400, "extra": 0, "p50": 90, "p99": 120, "max": 130} | values
    key = {"kind": "cell", "scheme": scheme, "state": "empty", "order": 0, "op": op}
    return bench_result.PREFIX + json.dumps(key | numbers)


PLATFORM = bench_result.PREFIX + json.dumps({"kind": "platform", "cpu": "vexriscv"})


def test_a_run_that_went_wrong_is_no_result():
    good = [PLATFORM, cell_line("stock", "alloc"), "HWSWAP-DONE 0"]
    assert bench_result.parse(good).cells["stock", "empty", 0, "alloc"].mean == 100
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


def test_calls_are_figures():
    lines = [cell_line("register", "alloc", sum=100), cell_line("register", "free", sum=800)]
    report = bench_result.parse([PLATFORM, *lines, "HWSWAP-DONE 0"])
    found = [(figure.what, figure.of, figure.value) for figure in bench.figures(report)]
    assert found == [("allocate order 0, empty", "register", 25), ("free order 0, empty", "register", 200)]


def test_results_of_another_variant_do_not_take_the_place_of_the_usual_ones(tmp_path):
    names = []
    for variant in ("linux", "full"):
        (tmp_path / "model.json").write_text(json.dumps({"variant": variant}))
        names.append(bench.full_name("rocket", tmp_path))
    assert names == ["rocket", "rocket-full"]


def test_what_cannot_be_run_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="could not be built"):
        runs.build_firmware(runs.Machine(tmp_path, "vexriscv", "bench", 16), SHORT.defines(), tmp_path)
    with pytest.raises(InputError, match="soc-model-z80"):
        runs.model_folder("z80")


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ([], "soc-model-vexriscv"),
        (["CPU=rocket", "ENGINE_RATIO=0.5"], "soc-model-rocket-own"),
        (["CPU=rocket4"], "soc-model-rocket4"),
    ],
)
def test_make_builds_the_model_that_is_measured(words, model):
    said = programs.run("make", "-C", ROOT, "--no-print-directory", "--dry-run", "bench-soc", *words, check=True)
    assert [word for word in said.stdout.split() if word.startswith("soc-model-")] == [model]
