# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb module of the engine of marks and grants, each time in a simulation and a folder of its own.

Seeds are printed; HWSWAP_SEED=n moves them all by n. WAVES=1 keeps a waveform in the case's folder.
"""

import os

import pytest
import simulator
from run_seed import SEED

WAVES = os.environ.get("WAVES", "0") not in ("", "0")
PACES = ("none", "both")
"""A run takes minutes; `both` has the pauses of the other two."""


@pytest.fixture(scope="module")
def runner():
    return simulator.build(WAVES, engine=simulator.GRANTS)


@pytest.mark.parametrize("pace", PACES)
def test_grants(runner, pace):
    seed = SEED + 300 + simulator.PACES.index(pace)
    print(f"grants, {pace}: seed {seed}")
    folder = simulator.BUILD / f"grants-{pace}"
    simulator.run(runner, "grants", pace, seed, folder, WAVES, engine=simulator.GRANTS)
