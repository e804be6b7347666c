# SPDX-License-Identifier: Apache-2.0
"""Use of a run's seed (run_seed.py): it is printed, and Hypothesis and Python's generator begin at it.

It is printed in the header, and with each failure as the command that runs the test again with it. Tests and seeds that
once failed are in failed_seeds.toml; they run first (test_failed_seeds.py).
"""

import os
import random
from collections.abc import Callable

import pytest
from hwswap.results import schema
from hypothesis import settings
from run_seed import HIGHEST, SEED, VARIABLE

FIRST = "test_failed_seeds.py"

settings.register_profile("hwswap", derandomize=False, print_blob=True, deadline=None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Look at the seed, and hand it to Hypothesis."""
    if not 0 <= SEED <= HIGHEST:
        raise pytest.UsageError(f"{VARIABLE} is {os.environ[VARIABLE]!r}: choose a number from 0 to {HIGHEST}")
    # Against the environment's choice (CI=1): another profile would draw the same each time.
    settings.load_profile("hwswap")
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = SEED


def pytest_report_header() -> str:
    """Say the seed."""
    return f"{VARIABLE}={SEED}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that once failed first."""
    items.sort(key=lambda item: item.path.name != FIRST)


@pytest.fixture(autouse=True)
def results_of_tests(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep made-up figures out of build/results."""
    monkeypatch.setattr(schema, "RUNS", tmp_path_factory.getbasetemp() / "results")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Have `hwswap` called with words that it refuses, with status 2 and one sentence; return the sentence."""

    def call(*words: object) -> str:
        from hwswap.cli import main  # not where a test runs pytest with this file alone

        capsys.readouterr()
        try:
            status = main.main([str(word) for word in words])
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr().err
        assert status == 2 and said.count("\n") == 1 and said.startswith("hwswap: "), said
        return said

    return call


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have Python's own generator, which some tests draw from, begin at the run's seed."""
    random.seed(f"{SEED} {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> object:
    """Say with a failure how to run it again, and where to keep it."""
    report = yield
    if report.failed:
        lines = (
            f"{VARIABLE}={SEED} sim/setup/env python -m pytest '{item.nodeid}'",
            "If it does not fail with other seeds, keep it in tests/failed_seeds.toml:",
            f'[[failed]]\nseed = {SEED}\ntest = "{item.nodeid}"\nwhy = ""',
        )
        report.sections.append(("again, with the same seed", "\n".join(lines)))
    return report
