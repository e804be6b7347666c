# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb module about marks and grants beside a core, each time in a simulation and a folder of its own.

Seeds are printed; HWSWAP_SEED=n moves them all by n. WAVES=1 keeps a waveform in the case's folder.
"""

import os

import pytest
import simulator
from run_seed import SEED

WAVES = os.environ.get("WAVES", "0") not in ("", "0")
PACES = ("none", "both")
"""`both` has the pauses of the other two."""


@pytest.fixture(scope="module")
def runner():
    return simulator.build(WAVES, engine=simulator.DRIVER)


@pytest.mark.parametrize("pace", PACES)
def test_marks_and_grants_beside_a_core(runner, pace):
    seed = SEED + 400 + simulator.PACES.index(pace)
    print(f"beside, {pace}: seed {seed}")
    folder = simulator.BUILD / f"beside-{pace}"
    simulator.run(runner, "beside", pace, seed, folder, WAVES, engine=simulator.DRIVER)
