# SPDX-License-Identifier: Apache-2.0
"""Running Yosys and ABC, both from the Python package pyosys: synthesis passes, and proofs about the result."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_CHILD = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    libyosys.run_pass(line.strip(), design)
"""


class YosysError(RuntimeError):
    """Yosys or ABC failed; the message is one sentence and the end of the log."""


class OutOfTimeError(RuntimeError):
    """A proof was ended by its time: nothing is known."""


def abc_program() -> Path:
    """Return the ABC that comes with pyosys."""
    found = importlib.util.find_spec("pyosys")
    if found is None or not found.submodule_search_locations:
        raise YosysError("pyosys is missing: run `make setup`")
    return Path(found.submodule_search_locations[0]) / "yosys-abc"


def run(commands: Iterable[str], log: Path, cwd: Path | None = None, timeout: float | None = None) -> str:
    """Run Yosys commands, one design through all, in a process of its own; return its output.

    File names in `commands` are relative to `cwd`. The log stays in `log`.
    """
    text = "\n".join(commands) + "\n"
    with log.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=text,
            text=True,
            stdout=output,
            stderr=output,
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
    said = log.read_text()
    if done.returncode or "\nERROR:" in said:
        errors = [line for line in said.splitlines() if "ERROR" in line]
        raise YosysError(f"Yosys failed, {log} has all of it: {' / '.join(errors[-3:]) or said[-300:]}")
    return said


def abc(commands: str, cwd: Path, timeout: float) -> str | None:
    """Run ABC commands (separated by semicolons); return its output, None if `timeout` seconds were not enough."""
    try:
        done = subprocess.run(
            [abc_program(), "-q", commands], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise YosysError(f"ABC ended with status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
