# SPDX-License-Identifier: Apache-2.0
"""Scripts of bus accesses on the Verilated engine (build/model/hwswap-play), all that is seen compared.

Commands, CPU pages, registers, interrupts, errors of the bus, swap tables, and the engine's own clusters, which DUMP
writes.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path

import hwswap_map as m
import pytest
from hwswap.project import paths
from hwswap.stimulus.registry import SCRIPTS
from hwswap.stimulus.script import DUMP
from run_seed import SEED


def play(path: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    path.write_text(text)
    program = paths.need(paths.BUILD / "model" / "hwswap-play")
    return subprocess.run([program, path, *options], capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize(
    "options", [(), ("--stall", "50", "--latency", "3", "--reorder"), ("--latency", "90")], ids=" ".join
)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_sees_what_it_expects(name, options, tmp_path):
    seed = SEED + 21 + 10 * list(SCRIPTS).index(name) + len(options)
    done = play(tmp_path / "script", SCRIPTS[name].text(seed), "--seed", str(seed + 1), *options)
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"


def test_scripts_do_enough():
    """Some scripts of operations allocate in many ways, free, and have clusters in use dumped: with seeds that do."""
    counts = Counter()
    for seed in range(21, 24):
        text = SCRIPTS["operations"].text(seed)
        for part in text.split("note statistics")[1:]:
            for address, value in re.findall(r"read (0x\w+) 0xf+ (0x\w+)", part):
                counts[int(address, 16)] += int(value, 16)
        counts[DUMP] += sum(
            int(at, 16) > DUMP and int(word, 16) != 0 for at, word in re.findall(r"expect (0x\w+) 0xf+ (0x\w+)", text)
        )
    for way, enough in (("FAST", 1000), ("NONFULL", 15), ("FREE", 100), ("FRAG", 15), ("FAIL", 300)):
        assert counts[getattr(m, f"STAT_ALLOC_{way}_OFFSET")] > enough, way
    assert counts[m.STAT_FREES_OFFSET] > 200
    assert counts[DUMP] > 1000


def test_what_differs_is_found(tmp_path):
    """A script that wants something else fails and says where."""
    lines = SCRIPTS["operations"].text(SEED + 31, 50).splitlines()
    at = max(i for i, line in enumerate(lines) if line.startswith("expect"))
    name, offset, mask, value = lines[at].split()
    lines[at] = f"{name} {offset} {mask} {int(value, 16) ^ 1:#x}"
    done = play(tmp_path / "script", "\n".join(lines) + "\n")
    assert done.returncode == 1
    assert f"line {at + 1} " in done.stderr


def test_a_simulation_that_does_not_end_hangs(tmp_path):
    """After --max-cycles cycles it is ended with one sentence; without the option it may take any number."""
    text = SCRIPTS["registers"].text(SEED + 21)
    done = play(tmp_path / "script", text, "--max-cycles", "100")
    assert done.returncode == 1
    assert "has not ended after 100 cycles: it hangs" in done.stderr
