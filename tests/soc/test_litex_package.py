# SPDX-License-Identifier: Apache-2.0
"""The LiteX core as others have it: installed by pip in an environment of its own, and its example SoC in litex_sim.

`sim/setup/build litex-core litex-example` installs and builds; here it is used.
"""

import os
import pty
import re
import select
import subprocess
import time

import hwswap_map
import programs
import pytest
from hwswap.project.paths import BUILD

EXAMPLE = BUILD / "litex-example"
REGISTERS = 0xB000_0000
PATIENCE = 300
"""Seconds for the BIOS to start and to answer: a few on an idle machine."""


@pytest.fixture(scope="module", autouse=True)
def example():
    if not EXAMPLE.is_dir():
        pytest.fail(f"{EXAMPLE} is missing: run 'make litex-example'")


def python(code: str, cwd) -> subprocess.CompletedProcess:
    """Run Python of the package's environment, which knows nothing of this project's folders."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return programs.run(EXAMPLE / "venv/bin/python", "-c", code, cwd=cwd, env=environment)


def test_the_package_stands_alone(tmp_path):
    done = python(
        "import importlib.util, hwswap_litex, hwswap_map, sys\n"
        "assert not [name for name in ('hwswap', 'hwswap_soc') if importlib.util.find_spec(name)]\n"
        "for module in (hwswap_litex, hwswap_map): assert module.__file__.startswith(sys.prefix), module\n"
        "print(hwswap_litex.HwSwap.region_size == hwswap_map.BAR_SIZE)",
        tmp_path,
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("profile", ["full", "grants-only"])
def test_the_package_brings_verilog(profile, tmp_path):
    done = python(
        "from hwswap_litex import EngineInfo, prebuilt\n"
        f"folder = prebuilt('{profile}')\n"
        "print(EngineInfo.load(folder).profile, 'module HwSwap(' in (folder / 'HwSwap.sv').read_text())",
        tmp_path,
    )
    assert done.stdout == f"{profile} True\n", done.stderr


def test_a_profile_that_is_not_there_is_one_sentence(tmp_path):
    done = python("from hwswap_litex import prebuilt; prebuilt('lean')", tmp_path)
    last = done.stderr.strip().rpartition("\n")[2]
    assert last.startswith("hwswap_litex.core.InputError: ") and "full, grants-only" in last


def test_the_example_shows_the_engine():
    """Ask the BIOS for the engine's first register."""
    ours, theirs = pty.openpty()
    program = EXAMPLE / "soc/gateware/obj_dir/Vsim"
    process = subprocess.Popen([program], cwd=program.parents[1], stdin=theirs, stdout=theirs, stderr=theirs)
    seen = b""

    def until(pattern: bytes) -> re.Match:
        nonlocal seen
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, seen)):
            assert process.poll() is None and time.monotonic() < end, seen[-3000:].decode(errors="replace")
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 4096)
        return found

    try:
        until(rb"litex.{0,8}> ")
        seen = b""
        os.write(ours, f"mem_read {REGISTERS:#x} 8\n".encode())
        read = until(rb"0xb0000000 +((?:[0-9a-f]{2} +){8})")[1]
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    word = int.from_bytes(bytes.fromhex(read.decode()), "little")
    assert hwswap_map.ID_MAGIC.get(word) == hwswap_map.ID_MAGIC.reset
