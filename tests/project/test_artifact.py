# SPDX-License-Identifier: Apache-2.0
"""`hwswap artifact`: what it reads, what it runs, and what it says of results that are wrong, old or missing."""

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hwswap.artifact import claims, keep, page, selection, verdicts
from hwswap.project import paths
from rich.console import Console

RESULT = {
    "cycles": 245,
    "operations": 100,
    "bench": {"hint": [{"op": "alloc", "order": 0, "avg": 467}, {"op": "alloc", "order": 4, "avg": 844}]},
    "runs": [
        {"kind": "a", "split": {"16": 2, "32": 3}, "done": True},
        {"kind": "b", "split": {"16": 1}, "done": False},
    ],
}


@pytest.mark.parametrize(
    ("path", "how", "per", "number"),
    [
        ("cycles", "one", None, 245),
        ("cycles", "one", "operations", 2.45),
        ("bench.hint[op=alloc,order=4].avg", "one", None, 844),
        ("bench.hint[].avg", "least", None, 467),
        ("runs[kind=a].split", "sum", None, 5),
        ("runs[].split", "sum", None, 6),
        ("runs[done=false]", "count", None, 1),
        ("runs[kind=c]", "count", None, 0),
    ],
)
def test_a_path_leads_to_its_number(path, how, per, number):
    assert selection.number(RESULT, path, how=how, per=per) == pytest.approx(number)


@pytest.mark.parametrize(
    ("path", "how", "said"),
    [
        ("bench.off", "one", "there is no 'off', but hint"),
        ("bench.hint[order=9].avg", "one", "leads to nothing"),
        ("bench.hint[op=alloc].avg", "one", "leads to 2 numbers"),
        ("cycles[op=alloc]", "count", "is no list of records"),
        ("runs[kind=a].kind", "one", "no number"),
        ("runs[].done", "sum", "no number"),
        ("runs[kind].split", "sum", "no list of KEY=VALUE"),
        ("runs[kind=a", "one", "cannot be read at its character 1"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path, how, said):
    with pytest.raises(selection.SelectionError, match=re.escape(said)):
        selection.number(RESULT, path, how=how)


COMMAND = """[[command]]
name = "{name}"
run = {run}
form = "short"
minutes = 1
cores = 1

[[command.figure]]
name = "cycles an operation"
unit = "cycles"
file = "build/result.json"
at = "cycles"
per = "operations"
value = 2.45
commit = "0123456"
{bound}
"""


def command_list(
    folder: Path, *, run: str, name: str = "bench", bound: str = "within = 0.01", misses: bool = False
) -> Path:
    """Write a list of one command; return its path."""
    path = folder / f"{name}.toml"
    text = COMMAND.format(name=name, run=json.dumps(run), bound=bound)
    path.write_text(text.replace("form = ", "misses = true\nform = ", 1) if misses else text)
    return path


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("", "say either 'within' or a bound"),
        ("within = 0.01\nat_least = 2", "say either 'within' or a bound"),
        ("at_most = 2", "what is on record, 2.45, is itself not at most 2"),
        ('within = 0.01\nhow = "mean"', "'how' is 'mean': choose one of one, sum"),
        ("within = 0.01\ncolour = 1", "unexpected keyword argument 'colour'"),
    ],
)
def test_a_list_that_is_wrong_says_where(tmp_path, bound, said):
    with pytest.raises(claims.ClaimError, match=re.escape(said)) as caught:
        claims.load(command_list(tmp_path, run="true", bound=bound))
    assert "cycles an operation" in str(caught.value)


def test_a_name_that_is_not_in_the_list_says_which_are(tmp_path):
    commands = claims.load(command_list(tmp_path, run="true"))
    with pytest.raises(claims.ClaimError, match="no command 'demo': choose from bench"):
        claims.chosen(commands, full=False, only=["demo"])


def judged(folder: Path, run: str, **options) -> dict:
    """Carry out a list of one command below `folder`."""
    (folder / "build").mkdir(exist_ok=True)
    (command,) = claims.load(command_list(folder, run=run, **options))
    return verdicts.judge(command, folder, folder)


def leaves(result: dict) -> str:
    """Return a command that leaves a result."""
    return f"echo '{json.dumps(result)}' > build/result.json"


def test_a_run_within_its_tolerance_passes(tmp_path):
    entry = judged(tmp_path, leaves({"cycles": 247, "operations": 100}))
    assert entry["passed"] and entry["figures"][0]["measured"] == pytest.approx(2.47)


def test_a_run_beyond_its_tolerance_fails(tmp_path):
    entry = judged(tmp_path, leaves({"cycles": 250, "operations": 100}))
    assert not entry["passed"]
    assert entry["figures"][0]["said"] == "is not within 1 %"


def test_a_command_that_fails_does_not_pass_with_a_good_result(tmp_path):
    entry = judged(tmp_path, leaves(RESULT) + "; echo 'no disk'; exit 3")
    assert not entry["passed"]
    assert "ended with status 3" in entry["said"] and "no disk" in entry["said"]


def test_a_command_that_misses_targets_is_judged_by_its_figures(tmp_path):
    entry = judged(tmp_path, leaves(RESULT) + "; exit 2", misses=True)
    assert (entry["passed"], entry["status"], entry["said"]) == (True, 2, "")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("true", "is missing: 'true' leaves it"),
        ("echo '{' > build/result.json", "build/result.json: "),
        (leaves({"cycles": 1}), "there is no 'operations', but cycles"),
        (leaves({"cycles": 1, "operations": 0}), "'operations' is 0"),
    ],
)
def test_a_result_that_cannot_be_used_is_said(tmp_path, run, said):
    entry = judged(tmp_path, run)
    assert not entry["passed"]
    assert said in entry["figures"][0]["said"]


def test_a_result_of_an_earlier_run_does_not_count(tmp_path):
    judged(tmp_path, leaves(RESULT))
    hour_ago = time.time() - 3600
    os.utime(tmp_path / "build/result.json", (hour_ago, hour_ago))
    entry = judged(tmp_path, "true")
    assert not entry["passed"]
    assert "earlier run" in entry["figures"][0]["said"]


def options(folder: Path, **changed) -> argparse.Namespace:
    """Return what the command line would."""
    return argparse.Namespace(**({"output": folder / "out", "fresh": False, "no_run": False} | changed))


def test_what_passed_is_not_run_again_at_the_same_commit(tmp_path, monkeypatch):
    (tmp_path / "build").mkdir()
    counted = f"echo x >> ran; {leaves(RESULT)}"
    commands = [
        *claims.load(command_list(tmp_path, run=counted, name="one")),
        *claims.load(command_list(tmp_path, run="echo y >> ran; false", name="two")),
    ]
    console = Console(quiet=True)

    def run(**changed) -> str:
        (tmp_path / "ran").write_text("")
        assert verdicts.work(commands, options(tmp_path, **changed), tmp_path, console) == 1
        return (tmp_path / "ran").read_text().replace("\n", "")

    monkeypatch.setattr(verdicts.provenance, "commit", lambda: "0123456789ab")
    assert run() == "xy"
    assert run() == "y", "what failed is run again, what passed is not"
    assert run(fresh=True) == "xy"
    assert verdicts.work(commands, options(tmp_path, no_run=True), tmp_path, console) == 0, "there is a result for both"
    assert run() == "y", "what was only compared has not passed"
    monkeypatch.setattr(verdicts.provenance, "commit", lambda: "ba9876543210")
    assert run() == "xy", "another commit"
    monkeypatch.setattr(verdicts.provenance, "commit", lambda: "ba9876543210-dirty")
    assert run() == "xy", "files that differ from the commit"


def gone(pid: int, seconds: float) -> bool:
    """Return whether a process is gone, or is so soon: who has lost its parent is waited for by another one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_an_interrupted_run_ends_what_it_began_and_keeps_what_it_had(tmp_path):
    (tmp_path / "build").mkdir()
    command_list(tmp_path, run=leaves(RESULT), name="one")
    command_list(tmp_path, run="echo $$ > started; sleep 600", name="two")
    program = tmp_path / "program.py"
    program.write_text(
        "import argparse, pathlib, signal, sys\n"
        # Where the tests run in the background it would be ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from rich.console import Console\n"
        "from hwswap.artifact import claims, verdicts\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "commands = [command for name in ('one', 'two') for command in claims.load(folder / f'{name}.toml')]\n"
        "options = argparse.Namespace(output=folder / 'out', fresh=False, no_run=False)\n"
        "try:\n"
        "    verdicts.work(commands, options, folder, Console(quiet=True))\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    process = subprocess.Popen([sys.executable, program, tmp_path], env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
    started = tmp_path / "started"
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert gone(int(started.read_text()), 30)
    kept = json.loads((tmp_path / "out" / verdicts.RESULT).read_text())
    assert [entry["command"] for entry in kept["commands"]] == ["one"]


def test_the_projects_own_list_names_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+)(?=[^=\n]*:(?!=))", (paths.ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = claims.load()
    assert {command.run.split()[1] for command in commands} <= targets
    assert {command.form for command in commands} == set(claims.FORMS)


def test_the_page_has_the_projects_list(monkeypatch, tmp_path):
    commands = claims.load()
    assert page.document(commands, check=True) == 0
    other = tmp_path / "artifact.md"
    other.write_text(page.PAGE.read_text().replace("2.45", "2.54"))
    monkeypatch.setattr(page, "PAGE", other)
    with pytest.raises(page.PageError, match="run 'hwswap artifact --docs write'"):
        page.document(commands, check=True)
    other.write_text("no place\n")
    with pytest.raises(page.PageError, match="has no line"):
        page.document(commands, check=False)


def result(build: Path, place: str, **content) -> None:
    """Write a result."""
    (build / place).parent.mkdir(parents=True, exist_ok=True)
    (build / place).write_text(json.dumps(content))


def test_results_are_kept_compressed_and_the_same_result_is_the_same_file(tmp_path):
    build, target = tmp_path / "build", tmp_path / "measured"
    result(build, "bench-loads/loads.json", commits={"hwswap": "0123456789ab"}, loads={"a": 1})
    result(build, "other/other.json", commit="0123456789ab")
    first = keep.keep((), build, target)
    assert [(copy.place, copy.fault) for copy in first] == [("bench-loads/loads.json", "")]
    file = target / "bench-loads/loads.json.gz"
    content = file.read_bytes()
    assert json.loads(gzip.decompress(content))["loads"] == {"a": 1}
    assert first[0].size == len(content)
    assert keep.keep((), build, target) == first
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"commit": "0123456789ab-dirty"}, "run its command again in a clean clone"),
        ({"runs": [{"commits": {"hwswap": "unknown"}}]}, "run its command again in a clean clone"),
        ({"cycles": 1}, "does not say which commit"),
        ({"commit": "0123456789ab", "log": "{root}/build/log"}, "a path of this machine"),
    ],
)
def test_a_result_that_nobody_could_make_again_is_not_kept(tmp_path, content, said):
    build, target = tmp_path / "build", tmp_path / "measured"
    whole = json.loads(json.dumps(content).replace("{root}", str(tmp_path)))
    result(build, "experiments/cache.json", **whole)
    (copy,) = keep.keep((), build, target)
    assert said in copy.fault
    assert not target.exists()


def test_what_the_list_has_figures_of_is_kept_as_well(tmp_path):
    build = tmp_path / "build"
    result(build, "demo/demo.json", commit="0123456789ab")
    assert keep.places(claims.load(), build) == ["demo/demo.json"]
