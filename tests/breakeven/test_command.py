# SPDX-License-Identifier: Apache-2.0
"""`hwswap break-even` as a user calls it, its page, and how points are put on record."""

import csv
import json
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from hwswap.breakeven import command, figures, page, plot, queueing, record, report
from hwswap.cli import main as cli

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made():
    known = figures.load()
    return report.make(known, known.links["pcie"], report.CPUS, 0)


def test_everything_is_written(tmp_path, capsys):
    extra = tmp_path / "extra.json"
    arguments = ["break-even", "-o", str(tmp_path / "out"), "--json", str(extra), "--cpus", "2", "--latency", "900"]
    assert cli.main([*arguments, "--link", "cxl", "--order", "4", "--points"]) == 0
    out = capsys.readouterr().out
    assert "On 4 harts, of " in out
    assert "held out" in out
    found = json.loads(extra.read_text())
    assert found == json.loads((tmp_path / "out/break-even.json").read_text())
    assert (found["link"], found["round_trip_ns"], found["order"], found["cpus"]) == ("cxl", 900, 4, [1, 2])
    for name in command.TABLES:
        with (tmp_path / f"out/{name.replace('_', '-')}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(found[name])
        assert set(rows[0]) == {column for row in found[name] for column in row}
    for name in plot.PICTURES:
        assert xml.parse(tmp_path / f"out/{name}.svg").getroot().tag.endswith("svg")
        assert (tmp_path / f"out/{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--link", "string"], "no link string: choose on-chip, cxl, pcie"),
        (["--latency", "-1"], "a round trip of -1 ns is nonsense"),
        (["--latency", "nan"], "is nonsense"),
        (["--cpus", "4", "0"], "0 CPUs are too few"),
        (["--order", "3"], "order 3 was not measured in a kernel"),
        (["--figures", "/nowhere.toml"], "/nowhere.toml cannot be read"),
        (["--record", "/nowhere.json"], "is not what `make bench-soc` writes"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, says, tmp_path, capsys):
    assert cli.main(["break-even", "-o", str(tmp_path), *arguments]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_the_page_has_the_tables_of_the_calculation(made):
    text = page.PAGE.read_text()
    assert page.written(text, made) == text, "run `./hwswap break-even --docs`, and look at the page's verdict"
    assert {name for _, name, _, _ in page.MARKED.findall(text)} <= set(page.parts(made))


@pytest.mark.parametrize("name", plot.DOCS)
def test_pictures_of_the_page_are_small_and_there(name):
    path = ROOT / f"docs/break-even-{name}.svg"
    assert path.stat().st_size < 100_000
    assert path.name in page.PAGE.read_text()


def test_a_page_without_marks_is_refused(made):
    with pytest.raises(figures.FigureError, match="no marks"):
        page.written("nothing", made)


def run(sweep: str | None, latency: int, ratio: float | None, mean: float) -> dict:
    """Return a run as the bench writes it."""
    cell = {"scheme": "stock", "state": "empty", "op": "alloc", "n": 4, "failures": 0, "mean": mean}
    cells = [cell | {"order": order} for order in (0, 4)]
    cells.append(cell | {"order": 9, "failures": 4})
    cells += [cell | {"order": 0, "scheme": scheme} for scheme in (figures.FLOOR, "trusted")]
    return {"sweeps": sweep, "latency": latency, "ratio": ratio, "cells": cells}


def written(path: Path, runs: list[dict]) -> Path:
    """Write what the bench would; return the path."""
    path.write_text(json.dumps({"commit": "1234567", "cpu": "rocket", "engine": {"build_hash": "0123"}, "runs": runs}))
    return path


def test_points_are_put_on_record(tmp_path):
    file = tmp_path / "figures.toml"
    file.write_text(figures.FILE.read_text())
    runs = [run(None, 16, None, 1), run("latency", 30, None, 200.25), run("latency", 8, None, 100)]
    runs += [run("ratio", 16, 2.0, 90), run("ratio", 16, 0.5, 150), run("gap", 16, None, 1)]
    record.record([written(tmp_path / "rocket.json", runs)], file)
    soc = figures.load(file).socs
    assert list(soc) == ["rocket"]
    assert soc["rocket"].latencies == (8, 30)
    measured = [("stock", 0), ("stock", 4), (figures.FLOOR, 0)]
    assert soc["rocket"].cycles == {(scheme, "empty", "alloc", order): (100, 200.2) for scheme, order in measured}
    assert soc["rocket"].ratios == (0.5, 2.0)
    assert soc["rocket"].by_ratio["stock", "empty", "alloc", 0] == (150, 90)
    assert figures.load(file).sources["bench-soc-rocket"]["command"] == 'make bench-soc CPU=rocket DRAM_LATENCY="8 30"'


def test_without_a_sweep_nothing_is_put_on_record(tmp_path):
    path = written(tmp_path / "rocket.json", [run(None, 16, None, 1)])
    with pytest.raises(figures.FigureError, match="no sweep of DRAM latencies"):
        record.part(path)
    file = tmp_path / "figures.toml"
    file.write_text("# nothing\n")
    with pytest.raises(figures.FigureError, match="has no line"):
        record.record([path], file)


def several_harts(path: Path) -> Path:
    """Write what the bench on several harts would; return the path."""
    measured, counted = [], []
    for scheme, cycles in (("stock", (1000, 1500, 1750)), ("register", (500, 500, 500)), ("tuned", (900, 900, 900))):
        key = {"scheme": scheme, "state": "empty", "load": "order0"}
        for harts, pair in zip((1, 2, 4), cycles, strict=True):
            calls = {op: {"n": 10, "sum": 5 * pair} for op in ("alloc", "free")}
            measured.append(key | {"harts": harts, "cycles": pair} | calls | {"locks": {"device": {"waited": 0}}})
        if scheme == "stock":
            counted.append(measured[-3] | {"locks": {"device": {"held": 200}}})
    data = {"cpu": "rocket4", "engine": {"build_hash": "0123"}, "runs": [{"commit": "1234567"}]}
    path.write_text(json.dumps(data | {"measured": measured, "locks counted": counted}))
    return path


def test_several_harts_are_put_on_record_where_locks_were_counted(tmp_path):
    file = tmp_path / "figures.toml"
    file.write_text(figures.FILE.read_text())
    before = figures.load(file).socs
    record.record([several_harts(tmp_path / "rocket4.json")], file)
    known = figures.load(file)
    # What is of one hart stays.
    assert known.socs == before
    runs = [run(None, 16, None, 1), run("latency", 30, None, 200.25), run("latency", 8, None, 100)]
    record.record([written(tmp_path / "rocket.json", runs)], file)
    assert figures.load(file).harts == known.harts
    # The lock is held for 200 cycles in 10 allocations and 10 frees.
    assert known.harts == {
        ("stock", "empty", "order0"): figures.Harts((1, 2, 4), (1000, 1500, 1750), 20),
        ("register", "empty", "order0"): figures.Harts((1, 2, 4), (500, 500, 500), 0),
    }
    rows = {(row["scheme"], row["harts"]): row for row in report.harts(queueing.points(known))}
    assert rows["register", 4]["queueing"] == rows["register", 4]["lines"] == 500
    # Two harts are what lines are fitted to, so it is met; a hart waits for a lock that is held for a fiftieth.
    assert rows["stock", 2]["lines"] == pytest.approx(1500, abs=1)
    assert 1000 < rows["stock", 4]["queueing"] < 1010
    assert rows["stock", 4]["lines"] == pytest.approx(1750, rel=0.01)


def linux_on_harts(path: Path) -> Path:
    """Write what Linux on several harts would; return the path."""
    rows = [
        {"mode": mode, "case": "any", "order": order, "full": full, "harts": harts, "cycles": cycles, "median": 1}
        for mode, order, full, found in (
            ("off", 0, False, (2000, 2510, 2700)),
            ("off", 0, True, (2500, 2600, 2800)),
            ("off", 4, False, (3000, 4000, 5000)),
            ("hint", 0, False, (3000, 4000, None)),
        )
        for harts, cycles in zip((1, 2, 4), found, strict=True)
    ]
    commits = {"hwswap": "1234567", "patches": "89abcdef"}
    path.write_text(json.dumps({"commits": commits, "engine": {"build_hash": "0123"}, "measured": rows}))
    return path


def test_linux_on_several_harts_is_held_against_bare_metal(tmp_path):
    file = tmp_path / "figures.toml"
    file.write_text(figures.FILE.read_text())
    record.record([several_harts(tmp_path / "rocket4.json"), linux_on_harts(tmp_path / "linux-smp.json")], file)
    known = figures.load(file)
    assert known.linux_harts == {
        ("stock", "empty", 0): {1: 2000, 2: 2510, 4: 2700},
    }
    rows = {(row["order"], row["harts"]): row for row in report.harts(queueing.linux_points(known))}
    # Bare metal went from 1,000 to 1,500 and 1,750: 500 and 750 cycles are expected in Linux, too.
    assert rows[0, 2]["lines"] == pytest.approx(2500, abs=2)
    assert rows[0, 4]["lines"] == pytest.approx(2750, rel=0.01)
    assert rows[0, 4]["growth"] == 1.35 and rows[0, 4]["bare_growth"] == 1.75
    assert 2000 < rows[0, 2]["queueing"] < 2010
    assert set(rows) == {(0, 2), (0, 4)}
    # What is recorded again takes its own place alone.
    record.record([several_harts(tmp_path / "rocket4.json")], file)
    assert figures.load(file) == known
