# SPDX-License-Identifier: Apache-2.0
"""Child processes that never outlive this one, however it ends."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the one that started it, `parent`, ends for any reason."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the request was made
        os._exit(1)


def start(command: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own, its output appended to `log`.

    The kernel kills it when our process ends, by whatever cause. The request is tied to the thread that starts
    it: call this from a thread that lives as long as the process shall.
    """
    parent = os.getpid()
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: die_with(parent),  # noqa: PLW1509 - it calls nothing but prctl, getppid and _exit
        )


def stop(process: subprocess.Popen[bytes], patience: float = 10.0) -> int:
    """End a process: SIGTERM, and SIGKILL when `patience` seconds were not enough. Return its exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def tail(log: Path, lines: int = 20) -> str:
    """The last lines of a log, for error messages."""
    if not log.exists():
        return "(no output)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
