# SPDX-License-Identifier: Apache-2.0
"""The engine with 32 devices and 64 CPUs (build/model-wide), the most it can have, in step with the golden model."""

import json
import subprocess
from pathlib import Path

import pytest
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.stimulus import player
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream
from hwswap.traces.stream import Shape
from hwswap.traces.trace import Op
from run_seed import SEED

MODEL = paths.BUILD / "model-wide"


@pytest.fixture(scope="module")
def sizes() -> Sizes:
    """Return the sizes of the engine, which is as large as it can be."""
    sizes = Sizes(**json.loads(paths.need(MODEL / "engine.json").read_text()))
    assert (sizes.devices, sizes.cpus) == (32, 64)
    return sizes


@pytest.mark.parametrize("features", [frozenset(), stream.EVERYTHING], ids=["linux", "everything"])
def test_streams_of_all_devices_and_cpus(features, sizes):
    there, freed, cpus = set(), set(), set()
    # The first three come to enough of all; of others, half do not.
    for seed in (*range(81, 84), SEED + 84):
        shape = Shape(seed + len(features), 8_000, sizes.devices, sizes.cpus, sizes.clusters, 12, features)
        print(shape)
        made = stream.generate(shape)
        there |= {record.type for record in made.records if record.op == Op.PREPARE}
        freed |= {record.type for record in made.records if record.op == Op.FREE}
        cpus |= {record.cpu for record in made.records if record.op == Op.ALLOC}
        outcome = replay.replay(made, ["--stall", "20"], timeout=600, build=MODEL / "hwswap-replay")
        assert outcome.equal, outcome.output
        assert outcome.report["ops"] == shape.ops
    assert (len(there) > 25, len(freed) > 8, len(cpus)) == (True, True, sizes.cpus), (there, freed, cpus)


def test_clusters_in_all_states_and_dumps_with_all_cpus(sizes, tmp_path):
    path: Path = tmp_path / "script"
    path.write_text(player.lists(SEED + 91, 8, sizes))
    program = paths.need(MODEL / "hwswap-play")
    done = subprocess.run([program, path], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"seed {SEED + 91}: {done.stderr}"
