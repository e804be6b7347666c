# SPDX-License-Identifier: Apache-2.0
"""The Verilated engine as a PCI device: starts, kills and stops `hwswap-device`."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Literal

from hwswap.project import artifacts, processes

CLOCK_MHZ = 100
"""Of the engine."""


class EngineError(RuntimeError):
    """The device server could not be started, or ended by itself."""


@dataclass
class EngineServer:
    """One `hwswap-device` process at a time, at a Unix socket that QEMU connects to."""

    folder: Path
    """The folder for socket and log; its name must be short, as a socket's address holds 107 bytes."""
    pace: Literal["free", "guest"] = "free"
    latency: int = 50
    """Engine clock cycles that the link adds to each DMA transfer."""
    arguments: Sequence[str] = ()
    program: artifacts.Artifact = artifacts.DEVICE_GRANTS
    """The engine: artifacts.DEVICE_GRANTS_ONLY is one without a core."""
    log: Path | None = None
    """The file for the server's output; by default in the folder."""
    process: Popen[bytes] | None = field(default=None, init=False)

    @property
    def socket(self) -> Path:
        """The socket's path."""
        return self.folder / "engine.sock"

    def __post_init__(self) -> None:
        """Choose the file for the log."""
        self.log_file = self.log or self.folder / "engine.log"
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self.log_file.unlink(missing_ok=True)

    def start(self) -> None:
        """Start the server and wait until its socket is there."""
        self.socket.unlink(missing_ok=True)
        command = [self.program.path(), "--socket", self.socket, "--pace", self.pace, "--clock-mhz", str(CLOCK_MHZ)]
        command += ["--latency", str(self.latency), *self.arguments]
        self.process = processes.start(command, self.log_file)
        deadline = time.monotonic() + 30
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise EngineError(f"the engine's device server did not start:\n{processes.tail(self.log_file)}")
            time.sleep(0.02)

    def check(self) -> None:
        """Raise EngineError when the server ended without having been told to."""
        if self.process and self.process.poll() is not None:
            code, last = self.process.returncode, processes.tail(self.log_file)
            raise EngineError(f"the engine's device server ended with code {code}:\n{last}")

    def kill(self) -> None:
        """Send SIGKILL, as if the engine were pulled out."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """End the server in good order and return its exit code, 0 when none runs."""
        if not self.process:
            return 0
        code = processes.stop(self.process)
        self.process = None
        return code


@contextmanager
def clocked_by_guest(log: Path, program: artifacts.Artifact = artifacts.DEVICE_GRANTS) -> Iterator[EngineServer]:
    """Have an engine at hand, in a folder of its own, that runs in the guest's time; a guest starts it."""
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        yield EngineServer(Path(folder), pace="guest", log=log, program=program)
