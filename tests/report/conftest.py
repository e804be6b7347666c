# SPDX-License-Identifier: Apache-2.0
"""Tests of sweeps and of the report: they run in the environment of their own, or not at all."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = ("dask", "distributed", "dask_jobqueue", "playwright", "plotly", "pyarrow")


def pytest_configure() -> None:
    """Say what to do where a library is missing: a test that is left out would hide it."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(f"tests/report needs {', '.join(missing)}: run `make test-report`")


@pytest.fixture
def hwswap():
    """Return what runs the command as a user does."""

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hwswap", *map(str, words)],
            env=os.environ | environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run
