# SPDX-License-Identifier: Apache-2.0
"""Retries are counted, in every process, and printed at the end of pytest and of the command."""

import os
import sys
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap.project import retries
from programs import python, run

TESTS = Path(__file__).parents[1]


def test_a_collection_has_what_it_and_processes_count_and_hands_it_to_those_around_it():
    child = "from hwswap.project import retries; retries.count('kill', 3)"
    with retries.Collection(apart=True) as outer:
        with retries.Collection() as inner:
            assert inner.counts == {}
            retries.count("boot of a guest")
            retries.count("kill", 0)
            assert python("-c", child).returncode == 0
        retries.count("kill")
        with retries.Collection(apart=True) as apart:
            retries.count("kill", 100)
    assert inner.counts == {"boot of a guest": 1, "kill": 3}
    assert outer.counts == {"boot of a guest": 1, "kill": 4}
    assert apart.counts == {"kill": 100}


def test_counts_of_all_that_is_around_are_as_before():
    before = os.environ[retries.VARIABLE]
    with pytest.raises(RuntimeError), retries.Collection():
        assert os.environ[retries.VARIABLE].endswith(before) and os.environ[retries.VARIABLE] != before
        raise RuntimeError
    assert os.environ[retries.VARIABLE] == before


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    ("call", "line"),
    [("retries.count('boot')", "retries: boot 6"), ("pass", "retries: none")],
)
def test_a_run_of_pytest_says_what_was_tried_again(tmp_path, workers, call, line):
    for name in ("conftest.py", "run_seed.py"):
        (tmp_path / name).write_text((TESTS / name).read_text())
    imports = "import pytest\nfrom hwswap.project import retries\n"
    tests = f"@pytest.mark.parametrize('n', range(6))\ndef test(n): {call}\n"
    (tmp_path / "test_it.py").write_text(imports + tests)
    quiet = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != retries.VARIABLE}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    done = run(sys.executable, *quiet, *workers, ".", cwd=tmp_path, env=environment, timeout=120)
    assert done.returncode == 0 and "6 passed" in done.stdout, done.stdout + done.stderr
    assert [text for text in done.stdout.splitlines() if text.startswith("retries: ")] == [line]


def fails(_):
    retries.count("boot")
    raise RuntimeError("it does not boot")


@pytest.mark.parametrize(
    ("run", "status", "said"),
    [
        (lambda _: retries.count("boot", 2) or 0, 0, "retries: boot 2\n"),
        (lambda _: 0, 0, ""),
        (fails, 2, "hwswap: it does not boot\nretries: boot 1\n"),
    ],
)
def test_the_command_says_it_on_its_error_output(run, status, said, monkeypatch, capsys):
    monkeypatch.setattr("hwswap.kernel.witness.run", run)
    with retries.Collection(apart=True):
        assert cli.main(["witness"]) == status
    assert capsys.readouterr().err == said
