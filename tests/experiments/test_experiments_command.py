# SPDX-License-Identifier: Apache-2.0
"""`hwswap experiments` as a user calls it."""

import json

import pytest
from hwswap.cli import main as cli
from hwswap.experiments import command, comparison, published, show
from hwswap.experiments.comparison import Result, Row
from hwswap.guest.qemu import GuestError
from rich.console import Console

SOURCE = published.Source("On slots", "A. Nobody", "letter", "1970")


def test_one_experiment_is_printed_and_written(tmp_path, capsys):
    everything = tmp_path / "all.json"
    arguments = ["experiments", "swapoff", "--short", "--seed", "5", "-o", str(tmp_path), "--json", str(everything)]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    for said in (
        "ours : published",
        "Andrea Righi",
        "Why they differ: ",
        "Not comparable: ",
        "experiments: 20 published",
    ):
        assert said in out
    found = json.loads((tmp_path / "swapoff.json").read_text())
    assert (found["seed"], found["short"]) == (5, True)
    assert found["rows"][0]["ratio"] == pytest.approx(
        found["rows"][0]["ours"] / found["rows"][0]["published"], abs=1e-3
    )
    assert found["rows"] == json.loads(everything.read_text())["experiments"]["swapoff"]["rows"]
    assert not (tmp_path / "cache.json").exists()


def test_all_are_done_unless_names_are_given(tmp_path, capsys, monkeypatch):
    def made(name: str) -> Result:
        return Result(name, name, [Row("a figure", 1.0)], [], ("because",), ("all",))

    names = ("one", "two", "three")
    monkeypatch.setattr(command, "EXPERIMENTS", {name: lambda *_, name=name: made(name) for name in names})
    monkeypatch.setattr(command, "IN_GUESTS", ("three",))
    assert cli.main(["experiments", "-o", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"one.json", "two.json"}
    assert "no figure was published" in capsys.readouterr().out
    assert cli.main(["experiments", "three", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "three.json").exists()


def test_a_guest_that_fails_is_one_message(tmp_path, capsys, monkeypatch):
    def fails(seed, short):
        raise GuestError("it did not boot")

    monkeypatch.setitem(command.EXPERIMENTS, "devices", fails)
    assert cli.main(["experiments", "devices", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "experiments: devices: it did not boot\n"


def test_what_boots_guests_is_an_experiment():
    assert set(command.IN_GUESTS) < command.EXPERIMENTS.keys()


def test_a_wrong_name_is_one_sentence(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["experiments", "zoned"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "there is no experiment zoned: choose swapoff, offsets, cache, devices, fallbacks" in said
    assert said.count("\n") == 1


def test_a_row_has_its_ratio_and_source():
    result = Result(
        "x", "x", [Row("one", 3.0, 2.0, SOURCE), Row("two", 1.0), Row("three", 1.0, 4.0, SOURCE)], [], (), ()
    )
    assert [row.ratio for row in result.rows] == [1.5, None, 0.25]
    assert show.sources(result) == ['A. Nobody, "On slots", letter, 1970']
    console = Console(record=True, width=100)
    show.show(result, console)
    text = console.export_text()
    assert "2.00 [1]" in text and "1.50" in text and '[1] A. Nobody, "On slots", letter, 1970.' in text
    assert "no figure was published" in text


def test_json_has_no_ratio_without_a_published_figure():
    found = comparison.Result("x", "x", [Row("two", 1.0)], [], ("a",), ("b",)).json()
    assert found["rows"] == [{"figure": "two", "published": None, "source": None, "ours": 1.0, "ratio": None}]
    assert (found["differs"], found["incomparable"], found["points"]) == (["a"], ["b"], [])
