# SPDX-License-Identifier: Apache-2.0
"""Engine servers and folders for the full-system tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import queued_guest
from hwswap.guest.qemu import Guest
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer
from run_seed import SEED, VARIABLE


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder with a short name, for sockets."""
    with tempfile.TemporaryDirectory(prefix="hwswap-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[EngineServer]:
    """Return a free-running engine that the guest starts, and that is stopped at the end."""
    server = EngineServer(folder)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, engine: EngineServer) -> Iterator[Guest]:
    """Boot a guest with two CPUs, swap on two devices with queues, and that engine."""
    with queued_guest(paths.REPORTS / "kernel" / f"{request.module.__name__}.log", engine) as guest:
        yield guest


@pytest.fixture
def kernel_log(request: pytest.FixtureRequest) -> Path:
    """Return where the test's kernel log is kept for people who look for what went wrong."""
    return paths.REPORTS / "kernel" / f"{request.node.name}.log"


@pytest.fixture
def fresh_seed(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> int:
    """Return the run's seed, and print it with the test's name, as its output is long."""
    with capsys.disabled():
        print(f"\n{request.node.name}: {VARIABLE}={SEED}")
    return SEED
