# SPDX-License-Identifier: Apache-2.0
"""Fault reports: their pages, and the judgement of a run's output."""

import argparse

import pytest
from hwswap.guest.qemu import GuestError
from hwswap.kernel import fault_reports
from hwswap.kernel.fault_reports import FAILS, GONE, HOLDS, KNOWN, Outcome, Report, judge

REPORT = Report("one", "seen", ["where"], "what holds", checks=2)
KNOWN_REPORT = Report("two", "seen", ["where"], "what holds", checks=2, fault_of="7.3.4")
RIGHT = "holds: a\nnoise\nholds: b\n"
WRONG = "holds: a\nfails: b: 1, not 2\n"


@pytest.mark.parametrize("report", fault_reports.every(), ids=lambda report: report.name)
def test_each_report_is_whole(report: Report) -> None:
    assert report.seen and report.where and report.holds and report.checks > 0
    assert (report.folder / "run.sh").is_file()


@pytest.mark.parametrize(
    ("report", "output", "code", "beside", "status"),
    [
        (REPORT, RIGHT, 0, [], HOLDS),
        (REPORT, WRONG, 0, [], FAILS),
        (REPORT, "holds: a\n", 0, [], FAILS),
        (REPORT, RIGHT + "holds: c\n", 0, [], FAILS),
        (REPORT, RIGHT, 1, [], FAILS),
        (REPORT, RIGHT, 0, ["the guest's kernel complained"], FAILS),
        (KNOWN_REPORT, WRONG, 0, [], KNOWN),
        (KNOWN_REPORT, RIGHT, 0, [], GONE),
        (KNOWN_REPORT, WRONG, 0, ["the guest's kernel complained"], FAILS),
        (KNOWN_REPORT, "fails: a\n", 2, [], FAILS),
    ],
)
def test_what_a_run_comes_to(report: Report, output: str, code: int, beside: list[str], status: str) -> None:
    outcome = judge(report, output, code, beside)
    assert outcome.status == status
    assert bool(outcome.wrong) == (status != HOLDS)


@pytest.mark.parametrize("text", ["seen = 1", 'seen = "', "nonsense = 1", "seen = 'a'\nneeds = { cpu = 2 }"])
def test_a_report_that_is_not_whole_is_one_sentence(text: str) -> None:
    whole = "where = ['a']\nholds = 'b'\nchecks = 1\n"
    with pytest.raises(RuntimeError, match="tests/reports/three/report.toml: "):
        fault_reports.load("three", whole.replace("holds = 'b'\n", "") + text)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """The command on REPORT in two modes, with outcomes that the test gives in the place of guests."""
    monkeypatch.setattr(fault_reports, "OUTPUT", tmp_path)
    monkeypatch.setattr(fault_reports, "every", lambda: [REPORT])
    made = []

    def call(*arguments: str, status: str = HOLDS):
        """Call it; return its exit status, the attempts, and its output."""

        def attempt(report: Report, mode: str) -> Outcome:
            made.append(mode)
            return Outcome(status, ["holds: a"], [] if status == HOLDS else ["b: 1, not 2"], 1.0)

        monkeypatch.setattr(fault_reports, "attempt", attempt)
        made.clear()
        parser = argparse.ArgumentParser()
        parser.add_argument("--short", action="store_true")
        fault_reports.add_arguments(parser)
        code = fault_reports.run(parser.parse_args(["--modes", "off,hint", *arguments]))
        said = capsys.readouterr()
        return code, [*made], said.out + said.err

    return call


@pytest.mark.parametrize(("status", "code"), [(HOLDS, 0), (FAILS, 1), (GONE, 0), (KNOWN, 0)])
def test_outcomes_are_told(command, status: str, code: int) -> None:
    ended, made, said = command(status=status)
    assert (ended, made) == (code, ["off", "hint"])
    assert f"step 2 of 2: one, hint: {status}" in said
    assert ("one, hint: b: 1, not 2" in said) == (status in (FAILS, GONE))


def test_names_that_are_none_are_one_sentence(command) -> None:
    for arguments, name in ((["none-of-this"], "report 'none-of-this'"), (["--modes", "of"], "mode 'of'")):
        with pytest.raises(RuntimeError, match=f"there is no {name}: choose of "):
            command(*arguments)


def test_a_guest_that_dies_fails_its_report(tmp_path, monkeypatch) -> None:
    def guest(*_, **__):
        raise GuestError("QEMU ended")

    monkeypatch.setattr(fault_reports, "OUTPUT", tmp_path)
    monkeypatch.setattr(fault_reports, "files", lambda *_: {})
    monkeypatch.setattr(fault_reports, "Guest", guest)
    outcome = fault_reports.attempt(REPORT, "off")
    assert outcome.status == FAILS and outcome.wrong[0] == "QEMU ended"


@pytest.mark.parametrize(
    ("stock", "patched", "wrong"), [(100, 105, 0), (100, 106, 1), (100, 94, 1), (0, 0, 0), (0, 1, 1), (None, 1, 1)]
)
def test_figures_of_mode_off_are_those_of_the_unpatched_kernel(stock: int | None, patched: int, wrong: int) -> None:
    report = Report("one", "seen", ["where"], "what holds", checks=2, same={"split": 0.05})
    results = {
        "one, unpatched": Outcome(HOLDS, figures={} if stock is None else {"split": stock}),
        "one, off": Outcome(HOLDS, figures={"split": patched}),
    }
    assert len(fault_reports.compare([report], results)) == wrong
    assert not fault_reports.compare([report], {"one, off": Outcome(HOLDS)})


def test_a_guest_with_the_engine_has_no_more_cpus_than_that() -> None:
    report = Report("one", "seen", ["where"], "what holds", checks=2, needs={"cpus": 8})
    assert [fault_reports.machine(report, mode).cpus for mode in fault_reports.MODES] == [8, 8, 4]
