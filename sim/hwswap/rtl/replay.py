# SPDX-License-Identifier: Apache-2.0
"""Replaying a trace on the Verilated RTL, through the C++ program hwswap-replay."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.project import paths
from hwswap.traces.trace import Trace, write


@dataclass(frozen=True)
class Outcome:
    """The end of a replay: whether every decision was equal, the program's output, and its report.

    The report is empty when the trace could not be replayed at all.
    """

    equal: bool
    output: str
    report: dict[str, Any]


def program(build: Path = paths.REPLAY) -> Path:
    """Return the replay program of one build; HWSWAP_REPLAY names another than the usual one."""
    path = Path(os.environ.get("HWSWAP_REPLAY", build)) if build == paths.REPLAY else build
    if not path.is_file():
        way = "make model" if build == paths.REPLAY else f"sim/setup/build {path.parent.name}"
        raise RuntimeError(f"{path} is not there: run `{way}` first")
    return path


def replay(
    trace: Path | Trace, options: Sequence[str] = (), timeout: float | None = None, build: Path = paths.REPLAY
) -> Outcome:
    """Run a trace, or the file of one, on the RTL.

    `options` go to the program, `timeout` is in seconds, `build` is which program.
    """
    with tempfile.TemporaryDirectory(prefix="hwswap-replay-") as folder:
        file, report = Path(folder) / "operations.hwst", Path(folder) / "report.json"
        if isinstance(trace, Trace):
            write(file, trace.header, trace.records)
        else:
            file = trace
        command = [str(program(build)), str(file), "--json", str(report), *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"the replay of {file} did not end within {timeout:.0f} s") from error
        output = (done.stdout + done.stderr).strip()
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{command[0]} ended with status {done.returncode}: {output or 'no output'}")
        text = report.read_text() if report.exists() else ""
        return Outcome(done.returncode == 0, output, json.loads(text or "{}"))
