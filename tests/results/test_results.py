# SPDX-License-Identifier: Apache-2.0
"""Results as data: checks of a file, two folders beside each other and tables of pages."""

import re

import pytest
from hwswap.cli import main as cli
from hwswap.results import compare, schema, tables
from hwswap.results.schema import Figure, ResultError
from rich.console import Console


def saved(folder, *figures, **more):
    facts = {"title": "Calls", "command": "make calls", "platform": "a guest", "leaves_out": "waiting"} | more
    schema.save("calls", figures, folder=folder, **facts)
    return schema.folder(folder)


ALLOC = Figure("allocate order 0", "kernel", 465.0, "instructions", {"p99": 700}, 0.03)
FREE = Figure("free order 0", "kernel", 329, "instructions", {}, 0.03, "less")


def test_what_is_written_is_read(tmp_path):
    found = saved(tmp_path, ALLOC, FREE, seed=7, kernel=True)["calls"]
    assert found.figures == (ALLOC, FREE)
    assert found.seed == 7 and re.fullmatch("[0-9a-f]{12}", found.patches) and found.commit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is damaged"),
        ("[]", "is no result"),
        ('{"name": "x", "more": 1}', "is no result"),
        ('{"name": "x", "figures": [{"what": "y"}]}', "missing"),
    ],
)
def test_a_file_that_is_no_result_is_named(tmp_path, text, said):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ResultError, match=f"x.json: .*{said}"):
        schema.folder(tmp_path)


def test_a_figure_that_nobody_could_use_is_not_written(tmp_path):
    for figures in ((ALLOC, ALLOC), (), (Figure("a", "b", 1, "s", better="most"),)):
        with pytest.raises(ResultError):
            saved(tmp_path, *figures)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("figure", "other", "holds"),
    [
        (ALLOC, 465 * 1.029, True),
        (ALLOC, 465 * 1.031, False),
        (ALLOC, 465 * 0.969, False),
        (FREE, 100, True),
        (FREE, 340, False),
        (Figure("bytes wrong", "", 0, "bytes", {}, 0.0), 1, False),
        (Figure("time", "", 5, "s"), 500, True),
    ],
)
def test_a_figure_has_a_tolerance(figure, other, holds):
    assert figure.holds(other) is holds


def test_two_folders_beside_each_other(tmp_path, capsys):
    other = Figure("allocate order 0", "kernel", 500, "instructions")
    a = saved(tmp_path / "a", ALLOC, FREE)
    b = saved(tmp_path / "b", other)
    assert [(pair.holds, pair.after) for pair in compare.pairs(a, b)] == [(False, other)]
    assert compare.lost(a, b) == ["calls: free order 0 (kernel)"]
    assert cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    assert cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "DIFFERS" in capsys.readouterr().out
    saved(tmp_path / "c", ALLOC, short=True)
    assert cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "c")]) == 2


def test_tables(tmp_path):
    found = saved(tmp_path, ALLOC, Figure("allocate order 0", "engine", 2.449, "instructions"), FREE)
    assert "| allocate order 0 | instructions | 465 (p99 700) | 2.45 |" in tables.markdown(found["calls"])
    assert "| free order 0 | instructions | 329 | - |" in tables.markdown(found["calls"])
    rows = [["calls", "A call takes {allocate order 0 kernel}, or {allocate order 0 engine}"]]
    assert "- A call takes 465, or 2.45 (" in tables.checks(found, rows)
    with pytest.raises(ResultError, match="allocate order 1"):
        tables.checks(found, [["calls", "A call takes {allocate order 1}"]])


@pytest.mark.parametrize(
    ("tuned", "engine", "box", "ratio"),
    [
        (400, 300, "**pays**", "0.75"),
        (300, 300, "even", "1.00"),
        (250, 300, "**loses**", "1.20"),
        (900, 700, "**loses**", "1.51"),
        (0, 0, "even", "-"),
        (0, 3, "**loses**", "-"),
    ],
)
def test_verdict_is_by_the_best_software(tmp_path, tuned, engine, box, ratio):
    columns = {"kernel": 465, "tuned": tuned, "grants": engine}
    found = saved(tmp_path, *(Figure("alloc", name, value, "instructions") for name, value in columns.items()))
    row = {"result": "calls", "what": "alloc", "label": "A call", "software": "kernel", "tuned": "tuned"}
    row["engine"] = "grants"
    line = tables.verdict(found, [row]).splitlines()[-1]
    assert line.startswith(f"| {box} | A call |")
    assert line.endswith(f"| {ratio} |")
    with pytest.raises(ResultError, match="no column oracle"):
        tables.verdict(found, [row | {"engine": "oracle"}])


def test_pages_are_those_of_the_record():
    for path, text in tables.pages(schema.folder(schema.RECORD)).items():
        assert path.read_text() == text, f"{path.name} is not what results/ says: run `make docs`"


def test_a_table_has_ratios_to_its_first_column(capsys):
    figures = [Figure("free", of, value, "cycles", {"p50": 3}) for of, value in (("off", 2000), ("hint", 1500))]
    figures += [Figure("no room", "hint", 7, "cycles")]
    Console(width=100).print(tables.view("Cycles", figures))
    rows = [[cell.strip() for cell in row.split("│")] for row in capsys.readouterr().out.splitlines()]
    assert ["", "free", "2,000 (p50 3)", "1,500 (p50 3) (0.75)", ""] in rows
    assert ["", "no room", "-", "7", ""] in rows
