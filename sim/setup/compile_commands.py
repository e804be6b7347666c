#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes build/compile_commands.json for clangd: how C++ of sim/verilator, and C of the driver, is compiled.

The commands are those that sim/verilator/Makefile would run. The headers that two of the sources need come from the
Verilated engine: Verilator writes them to build/clangd in seconds, and compiles nothing. The driver is in it if its
kernel is built (`make kernel`): it is compiled once for that, in build/clangd too.
"""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "sim/verilator"
OUT = ROOT / "build/clangd"


def harness() -> list[dict[str, Any]]:
    """Return the entry of each source of a build from nothing, without ccache and options that write dependencies.

    `make -n` prints the commands and runs none but Verilator, whose lines begin with `+`; its flags are replaced by
    such with which it writes C++ alone.
    """
    root = subprocess.run(["verilator", "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=True)
    variables = [
        f"RTL={(ROOT / 'build/rtl').resolve()}",
        f"OUT={OUT}",
        f"VERILATED_INCLUDE={root.stdout.strip()}/include",
    ]
    variables.append("VERILATOR_FLAGS=--cc --no-timing -Wno-fatal -Wno-lint")
    command = ["make", "-C", HARNESS, "--no-print-directory", "-nB", *variables, "all", OUT / "harness-test"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.findall(r"^(?:.* )?(\S*g\+\+ .*-c -o \S+ (\S+\.cpp))$", printed, re.MULTILINE)
    arguments = {file: [word for word in shlex.split(line) if word not in ("-MMD", "-MP")] for line, file in found}
    return [
        {"directory": str(HARNESS), "file": str(HARNESS / file), "arguments": arguments[file]}
        for file in sorted(arguments)
    ]


def driver() -> list[dict[str, Any]]:
    """Return the entries of the kernel's own list for the driver's module; none where there is no kernel."""
    tree, module, out = ROOT / "build/kernel/tree", ROOT / "sw/driver/module", OUT / "module"
    if not tree.exists():
        return []
    out.mkdir(parents=True, exist_ok=True)
    command = ["make", "-s", "-C", tree, f"M={module}", f"MO={out}", "compile_commands.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((out / "compile_commands.json").read_text())
    return [entry for entry in entries if Path(entry["file"]).is_relative_to(module)]


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    entries = harness() + driver()
    (ROOT / "build/compile_commands.json").write_text(json.dumps(entries, indent=1) + "\n")
    print(f"build/compile_commands.json: {len(entries)} sources")
