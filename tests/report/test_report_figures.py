# SPDX-License-Identifier: Apache-2.0
"""Which figures the report takes: those of a run where there are any, and those on record where there are none."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import made_results
import plotly.graph_objects as go
import pytest
from hwswap.report import charts, comparison, gather, record, results, sections, verdict
from hwswap.report.figures import Calls, Source, Stat

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recorded():
    return record.read()


@pytest.fixture
def run(tmp_path):
    return made_results.write(tmp_path / "run")


def test_all_that_the_page_can_show_is_on_record(recorded):
    assert set(recorded.datasets) == set(sections.ABOUT)
    for name, dataset in recorded.datasets.items():
        assert dataset.source.kind == "record"
        assert dataset.source.commits, f"{name}: no commit is beside the table in {dataset.source.place}"
        assert (ROOT / dataset.source.place).is_file()
    assert {"lockstep", "formal", "mutate", "coverage"} <= set(recorded.checks)


def test_figures_on_record_are_those_of_the_pages(recorded):
    """Against the pages' own text, each by a row of it."""
    for name, call, column, line in (
        ("demo", ("alloc", 0, "fragmented"), "hint", "| allocate order 0 |"),
        ("soc-linux", ("free", 9, ""), "hint", "| free order 9 |"),
        ("offload", ("alloc", 4, "no room"), "engine", "| allocate order 4, no room |"),
        ("soc-rocket", ("alloc", 9, "empty"), "MMIO", "| allocate order 9, empty |"),
    ):
        dataset = recorded.datasets[name]
        value = dataset.rows[call][column].mean
        lines = [at for at in (ROOT / dataset.source.place).read_text().splitlines() if at.startswith(line)]
        assert any(f" {value:,.0f} " in at for at in lines), (name, value, lines)


def test_a_run_comes_before_the_record(run):
    gathered = gather.gather(run)
    demo = gathered.datasets["demo"]
    assert demo.source == Source("run", "demo/demo.json", {"hwswap": "abcdef123456", "patches": "fedcba654321"}, 7,
                                 {"linux": "7.3.4", "qemu": "QEMU 11"})  # fmt: skip
    assert isinstance(demo, Calls)
    assert demo.rows["alloc", 0, "after the loads"]["hint"] == Stat(4242, 4141, 4343)
    assert demo.rows["alloc", 4, "fragmented"]["hint"].failed
    assert gathered.datasets["tuned"].source.kind == "record"
    assert gathered.counted["run"] == 2
    assert gathered.unread == ["bench-new/new.json"]
    checks = {one.name: (of_run, of_record) for of_run, of_record in gathered.checks if (one := of_record or of_run)}
    of_run, of_record = checks["proofs"]
    assert of_run.figure == "3 properties: 2 unbounded, 1 bounded" and of_record.source.kind == "record"


def test_what_a_run_and_the_record_both_have_is_counted(run):
    gathered = gather.gather(run)
    assert "0 of the " in gathered.beside["demo"] and "docs/results.md" in gathered.beside["demo"]
    assert "a short form, is not compared with" in gathered.beside["offload"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "demo/demo.json is no JSON"),
        ("[]", "demo/demo.json is not what"),
        ("{}", "is not what its command writes today"),
    ],
)
def test_a_damaged_result_is_said_and_not_left_out(tmp_path, content, said):
    path = tmp_path / "demo/demo.json"
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(RuntimeError, match=rf"^[^\n]*{said}[^\n]*$"):
        results.read(tmp_path)


def test_results_are_read_as_they_are_kept_too(run, tmp_path):
    read = results.read(run)
    for path in run.glob("*/*.json"):
        kept = tmp_path / f"{path.relative_to(run)}.gz"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(gzip.compress(path.read_bytes()))
    again = results.read(tmp_path)
    assert (again.datasets, again.checks, again.unread) == (read.datasets, read.checks, read.unread)
    kept = tmp_path / "demo/demo.json.gz"
    kept.write_bytes(kept.read_bytes()[:-4])
    with pytest.raises(RuntimeError, match=r"demo/demo\.json is no JSON: run its command again"):
        results.read(tmp_path)


def test_the_verdict_counts_all_calls_and_chooses_none(run):
    judged = verdict.judge(results.read(run).datasets, "kernel")
    demo = next(one for one in judged if one.way.dataset == "demo")
    assert [point.call for point in demo.dearer] == [("alloc", 0, "after the loads")]
    assert [point.call for point in demo.cheaper] == [("alloc", 4, "fragmented")]
    assert demo.equal == 1 and len(demo.points) == 3
    html = sections.losses(judged, []).html
    assert "4,242" in html and "abcdef123456" in html


def resolved(value):
    """Return a chart with a colour in the place of each colour's name."""
    if isinstance(value, str):
        return "#123456" if value.startswith("@") else value
    if isinstance(value, dict):
        return {name: resolved(item) for name, item in value.items()}
    return [resolved(item) for item in value] if isinstance(value, list) else value


def test_all_charts_are_ones_that_plotly_knows(recorded):
    made = [sections.drawn(name, dataset) for name, dataset in recorded.datasets.items()]
    for against in ("kernel", "tuned"):
        made.append(charts.verdict(verdict.judge(recorded.datasets, against)))
    made.append(charts.ratios([("a", 1.0, 2.0), ("b", 1.0, 0.5)], "cycles"))
    for chart in made:
        assert chart is not None
        go.Figure(data=resolved(chart["data"]), layout=resolved(chart["layout"]))
        colours = json.dumps(chart).split('"@')[1:]
        css = (ROOT / "sim/hwswap/report/page.css").read_text()
        assert all(f"--{colour.partition(chr(34))[0]}:" in css for colour in colours)


def test_names_at_the_ends_of_lines_do_not_lie_on_each_other():
    ends = {"a": 5.0, "b": 5.1, "c": 100.0}
    shifts = charts.spread(ends, False)
    pixels = (charts.PLOT - 110) / 100
    places = sorted(value * pixels + shifts[name] for name, value in ends.items())
    assert all(after - before >= 13.9 for before, after in pairwise(places))


def test_two_runs_are_compared_by_their_changes(tmp_path):
    a, b = made_results.write(tmp_path / "a"), made_results.write(tmp_path / "b", factor=2)
    found = comparison.pairs(results.read(a).datasets["demo"], results.read(b).datasets["demo"])
    name, before, after = found[0]
    assert (name, before, after) == ("hint, allocate order 0, after the loads, mean", 4242, 8484)
    # Only what the engine's column has is doubled.
    assert comparison.counted(found) == (0, len(found) - 9, 9)
    parts = comparison.compare(results.read(a), results.read(b), ("a", "b"))
    assert "9 more" in next(part for part in parts if part.name == "demo").lede


def test_two_runs_without_a_figure_in_common_are_refused(tmp_path, run):
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match="have no figure in common"):
        comparison.compare(results.read(run), results.read(tmp_path / "empty"), ("a", "b"))
