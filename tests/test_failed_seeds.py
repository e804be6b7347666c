# SPDX-License-Identifier: Apache-2.0
"""Tests that once failed with a seed (failed_seeds.toml), run first and with it."""

import os
import sys
import tomllib
from pathlib import Path
from subprocess import CompletedProcess

import programs
import pytest
from hwswap.project.paths import ROOT
from run_seed import VARIABLE

FILE = Path(__file__).with_name("failed_seeds.toml")
FAILED = tomllib.loads(FILE.read_text()).get("failed", [])


PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def run(test: str, seed: int, *options: str) -> CompletedProcess[str]:
    return programs.run(*PYTEST, "-q", *options, test, cwd=ROOT, env={**os.environ, VARIABLE: str(seed)}, timeout=1200)


def test_seeds_that_once_failed():
    """One after the other; a test that is not there any more is a failure, too."""
    for entry in FAILED:
        assert set(entry) == {"seed", "test", "why"}, entry
        done = run(entry["test"], entry["seed"])
        assert done.returncode == 0, f"{VARIABLE}={entry['seed']} {entry['test']}:\n{done.stdout}"


RANDOM = """
import random
from hypothesis import given, strategies as st
from run_seed import SEED

def test_own(): print("own", SEED)
def test_global(): print("global", random.random())
@given(st.integers(0, 2**64))
def test_hypothesis(number): print("drawn", number)
@given(st.integers(0, 2**64))
def test_fails(number): assert number < 1000
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with this one's conftest, and tests that draw in all ways."""
    for name in ("conftest.py", "run_seed.py"):
        (tmp_path / name).write_text(FILE.with_name(name).read_text())
    (tmp_path / "test_own.py").write_text(RANDOM)
    (tmp_path / "test_failed_seeds.py").write_text("def test_first(): print('first')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT / 'sim'}")
    return tmp_path


def outcome(project, **environment):
    """Run those tests; return their output."""
    clean = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "CI")}
    words = ("-s", "--rootdir", project, project)
    return programs.run(*PYTEST, *words, cwd=project, env={**clean, **environment}, timeout=300).stdout


def drawn(text):
    """Return the lines that were drawn, but for Hypothesis's tries of a failure."""
    return [line for line in text.splitlines() if line.lstrip(".").split(" ")[0] in ("own", "global", "drawn")]


def test_each_run_has_a_seed_of_its_own_which_is_printed_and_brings_it_back(project):
    """Also where the environment says CI, for which Hypothesis would not draw anew."""
    first, second = outcome(project), outcome(project, CI="1")
    seeds = [text.split(f"{VARIABLE}=")[1].split()[0] for text in (first, second)]
    assert seeds[0] != seeds[1]
    assert [f"own {seed}" in text for seed, text in zip(seeds, (first, second), strict=True)] == [True, True]
    assert drawn(first) != drawn(second)
    assert f"{VARIABLE}={seeds[0]} sim/setup/env python -m pytest" in first.split("again, with the same seed")[1]
    assert "@reproduce_failure" in first, "the blob is printed"
    assert first.index("first") < first.index("own ")
    again = outcome(project, **{VARIABLE: seeds[0]})
    assert drawn(again) == drawn(first)


def test_a_seed_that_is_none_is_refused(project):
    done = programs.run(*PYTEST, project, cwd=project, env={**os.environ, VARIABLE: "x"}, timeout=60)
    assert done.returncode == 4
    assert "HWSWAP_SEED is 'x': choose a number from 0 to" in done.stderr


def test_a_kept_seed_is_one_that_the_test_sees(project):
    """As the entries of the file are run."""
    done = run(f"{project}/test_own.py::test_own", 4711, "-s", "--rootdir", str(project))
    assert "own 4711" in done.stdout, done.stdout
