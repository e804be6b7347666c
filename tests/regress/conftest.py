# SPDX-License-Identifier: Apache-2.0
"""All simulation regressions with fresh seeds: `make regress`.

Each test runs once for each of `--seeds` seeds, counted up from a base seed that is drawn anew each time and printed;
`--base-seed` chooses it. In a run of all tests, without `--seeds`, the random streams alone run, short and with the
run's seed (tests/conftest.py): their other forms are in tests/cocotb and tests/rtl.

A test that fails prints the command that runs it again with waves. They land in build/regress; engine.gtkw is a view of
them.
"""

import os
import secrets
from collections import defaultdict
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from run_seed import SEED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "build/regress"
VIEW = HERE / "engine.gtkw"

BASE_SEED = "HWSWAP_BASE_SEED"
"""Environment variable that tells the worker processes the base seed."""

HIGHEST_SEED = 2**31 - 2
"""What the replayer and cocotb both take."""


def pytest_addoption(parser):
    group = parser.getgroup("regressions")
    group.addoption("--seeds", type=int, help="run each regression with so many seeds")
    group.addoption("--base-seed", type=int, help="the first seed (default: a fresh one)")
    group.addoption("--waves", action="store_true", help="keep waves in build/regress")


def pytest_configure(config):
    seeds, base = config.getoption("--seeds"), config.getoption("--base-seed")
    if seeds is not None and seeds < 1:
        raise pytest.UsageError(f"--seeds is {seeds}: choose at least 1")
    if base is not None and not 1 <= base <= HIGHEST_SEED:
        raise pytest.UsageError(f"--base-seed is {base}: choose 1 to {HIGHEST_SEED}")
    if seeds is None:
        os.environ[BASE_SEED] = str(SEED + 1)
    elif not hasattr(config, "workerinput"):
        os.environ[BASE_SEED] = str(base or secrets.randbelow(HIGHEST_SEED - seeds) + 1)


def pytest_report_header(config):
    if config.getoption("--seeds"):
        return f"regressions: {config.getoption('--seeds')} seeds from {os.environ[BASE_SEED]}"
    return None


def pytest_ignore_collect(collection_path, config):
    if collection_path.name in ("test_cocotb.py", "test_traces.py") and not config.getoption("--seeds"):
        return True
    return None


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        base = int(os.environ[BASE_SEED])
        metafunc.parametrize("seed", [base + i for i in range(metafunc.config.getoption("--seeds") or 1)])


@pytest.fixture
def short(request):
    """A run of all tests: little of everything."""
    return not request.config.getoption("--seeds")


@pytest.fixture
def results():
    """The folder for what a run leaves."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS


@pytest.fixture
def waves(request, results):
    """Where waves go, or None."""
    if not request.config.getoption("--waves"):
        return None
    return results / (request.node.name.replace("[", "-").rstrip("]") + ".fst")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    callspec = getattr(item, "callspec", None)
    if report.failed and callspec and "seed" in callspec.params:
        seed = callspec.params["seed"]
        run = f"make regress SEED={seed} SEEDS=1 CASE='{item.name}' WAVES=1"
        show = f"gtkwave build/regress/*{seed}*.fst {VIEW.relative_to(ROOT)}"
        report.sections.append(("again, with waves", f"{run}\n{show}"))
    return report


def pytest_terminal_summary(terminalreporter, config):
    """One line for each kind of regression."""
    if not config.getoption("--seeds"):
        return
    kinds = defaultdict(lambda: {"passed": 0, "failed": 0, "seconds": 0.0, "operations": 0})
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            kind = kinds[Path(report.location[0]).stem.removeprefix("test_")]
            kind["passed" if outcome == "passed" else "failed"] += 1
            kind["seconds"] += report.duration
            kind["operations"] += dict(report.user_properties).get("operations", 0)
    table = Table(title=f"regressions, {config.getoption('--seeds')} seeds from {os.environ[BASE_SEED]}")
    for name in ("kind", "passed", "failed", "operations", "seconds of simulation"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for name, kind in sorted(kinds.items()):
        operations = f"{kind['operations']:,}" if kind["operations"] else ""
        table.add_row(name, str(kind["passed"]), str(kind["failed"]), operations, f"{kind['seconds']:,.0f}")
    Console(file=terminalreporter._tw._file).print(table)
