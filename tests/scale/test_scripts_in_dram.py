# SPDX-License-Identifier: Apache-2.0
"""Scripts of bus accesses on the engine that has its clusters in DRAM (build/model-scale), all that is seen compared.

HWSWAP_SEED=n moves all random seeds by n.
"""

import random
import subprocess

import pytest
from hwswap.project import paths
from hwswap.stimulus.dram_store import StoreHost
from hwswap.stimulus.registry import DRAM_SCRIPTS, SCALE
from hwswap.stimulus.script import Script
from run_seed import SEED

# How many rounds, of those that have any. The others take their time with an engine whose time-out is a million cycles,
# or are about what an engine with its clusters on chip has as well.
ROUNDS = {
    "operations": 300,
    "registers": None,
    "steps": 30,
    "tables": 12,
    "corners": None,
    "lists": 8,
    "store": 1,
}


def play(path, text, *options):
    """Play a script; return how it ended."""
    path.write_text(text)
    program = paths.need(paths.BUILD / "model-scale" / "hwswap-play")
    return subprocess.run([program, path, *options], capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_script_sees_what_it_expects(name, tmp_path):
    number = list(ROUNDS).index(name)
    seed = SEED + 31 + 10 * number
    options = [("--latency", "40"), ("--stall", "30", "--reorder"), ()][number % 3]
    done = play(tmp_path / "script", DRAM_SCRIPTS[name].text(seed, ROUNDS[name]), *options)
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"


def test_what_the_engine_writes_where_nothing_is_expected_is_found(tmp_path):
    """A device of more clusters than the caches hold has some in the store: nobody says so, so that is one too many."""
    script = Script(limit=200_000, store=SCALE.store)
    script.after_reset()
    StoreHost(script, random.Random(SEED), SCALE).used()
    script.settle()
    lines = script.text().splitlines()
    said = [line for line in lines if not (line.startswith("expect") and line.endswith(" 0x0 0x0"))]
    assert len(said) < len(lines)
    done = play(tmp_path / "script", "\n".join(said) + "\n")
    assert done.returncode == 1
    assert "nobody has written it but the engine" in done.stderr
