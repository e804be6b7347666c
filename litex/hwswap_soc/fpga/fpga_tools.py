# SPDX-License-Identifier: Apache-2.0
"""The open FPGA tools as commands: found in build/fpga, run with their output in a file, failures as one sentence.

Those that come as Python packages, whose names begin with yowasp, are in the Python environment.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from hwswap_litex import InputError

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "fpga" / "bin"
YOSYS_SHARE = ROOT / "build" / "fpga" / "root" / "usr" / "share" / "yosys"
"""The folder of Yosys's libraries of cells."""

# The version in a tool's description of itself.
_VERSION = re.compile(r"Yosys (\S+)|Version (?:nextpnr-)?(\S+?)\)")


def tool(name: str, folder: Path = FOLDER) -> str:
    """The path of a command.

    Args:
        name: of the command.
        folder: the folder of commands that are no Python packages.
    """
    packaged = name.startswith("yowasp-")
    path = (Path(sys.executable).parent if packaged else folder) / name
    if not os.access(path, os.X_OK):
        step = "sim/setup/setup" if packaged else "sim/setup/build fpga"
        raise InputError(f"{name} is missing in {path.parent}: run '{step}'")
    return str(path)


def versions(*names: str) -> dict[str, str]:
    """The versions of some tools, by name."""
    found = {}
    for name in names:
        option = "-V" if name == "yosys" else "--version"
        result = subprocess.run([tool(name), option], capture_output=True, text=True, check=False)
        match = _VERSION.search(result.stdout + result.stderr)
        found[name] = match[1] or match[2] if match else "unknown"
    return found


def start(command: list[str], log: Path, folder: Path) -> subprocess.Popen:
    """Start a command whose output goes to a file.

    Args:
        command: name of the tool and its arguments.
        log: file for standard output and standard error.
        folder: working directory.
    """
    with log.open("w") as output:
        return subprocess.Popen(
            [tool(command[0]), *command[1:]], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def check(process: subprocess.Popen, log: Path) -> None:
    """Raise the tool's own error message when a command that has ended failed.

    Args:
        process: from `start`; has ended.
        log: its output.
    """
    if process.returncode == 0:
        return
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|error|terminate|.*No space left)", line)]
    reason = (errors or lines or [f"it ended with status {process.returncode}"])[-1]
    if process.returncode < 0:
        reason = f"it was ended by signal {-process.returncode} (out of memory?)"
    name = Path(process.args[0]).name
    raise InputError(f"{name} failed: {reason} (all of its output: {log})")
