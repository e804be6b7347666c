# SPDX-License-Identifier: Apache-2.0
"""`hwswap experiments` as a user calls it."""

import pytest
from hwswap.cli import main as cli
from hwswap.experiments import command, published
from hwswap.experiments.comparison import Result, Row
from hwswap.guest.qemu import GuestError
from hwswap.results import schema
from rich.console import Console

SOURCE = published.Source("On slots", "A. Nobody", "letter", "1970")


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "RUNS", tmp_path)
    return tmp_path


def test_one_experiment_is_printed_and_written(results, capsys):
    assert cli.main(["experiments", "swapoff", "--short", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    for said in ("ours : published", "Andrea Righi", "Not comparable: ", "experiments: 20 published"):
        assert said in out
    found = schema.read(results / "experiment-swapoff.json")
    assert (found.seed, found.short) == (5, True)
    assert [figure.of for figure in found.figures[:2]] == ["published", "ours"]
    assert [path.name for path in results.iterdir()] == ["experiment-swapoff.json"]


def test_all_are_done_unless_names_are_given(results, capsys, monkeypatch):
    def made(name: str) -> Result:
        return Result(name, [Row("a figure", 1.0)], [], ("all",))

    names = ("one", "two", "three")
    monkeypatch.setattr(command, "EXPERIMENTS", {name: lambda *_, name=name: made(name) for name in names})
    monkeypatch.setattr(command, "IN_GUESTS", ("three",))
    assert cli.main(["experiments"]) == 0
    assert {path.name for path in results.iterdir()} == {"experiment-one.json", "experiment-two.json"}
    assert "no figure was published" in capsys.readouterr().out
    assert cli.main(["experiments", "three"]) == 0
    assert (results / "experiment-three.json").exists()


def test_a_guest_that_fails_is_one_message(refused, monkeypatch):
    def fails(seed, short):
        raise GuestError("it did not boot")

    monkeypatch.setitem(command.EXPERIMENTS, "devices", fails)
    assert refused("experiments", "devices") == "hwswap: it did not boot\n"


def test_a_row_has_its_ratio_and_source():
    result = Result("x", [Row("one", 3.0, 2.0, SOURCE), Row("two", 1.0), Row("three", 1.0, 4.0, SOURCE)], [], ())
    assert [row.ratio for row in result.rows] == [1.5, None, 0.25]
    assert result.sources() == ['A. Nobody, "On slots", letter, 1970']
    named = [(figure.what, figure.of) for figure in result.figures()][:3]
    assert named == [("one", "published"), ("one", "ours"), ("two", "ours")]
    console = Console(record=True, width=100)
    result.show(console)
    text = console.export_text()
    assert "2.00 [1]" in text and "1.50" in text and '[1] A. Nobody, "On slots", letter, 1970.' in text
    assert "no figure was published" in text
