# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb modules about grants, alone and beside a core, each in a simulation and folder of its own.

Seeds are printed; HWSWAP_SEED=n moves them all by n. WAVES=1 keeps a waveform in the case's folder.
"""

import os

import pytest
import simulator
from run_seed import SEED

WAVES = os.environ.get("WAVES", "0") not in ("", "0")
PACES = ("none", "both")
"""A run takes minutes; `both` has the pauses of the other two."""


@pytest.mark.parametrize("pace", PACES)
def test_grants(pace):
    seed = SEED + 300 + simulator.PACES.index(pace)
    simulator.simulate("grants", simulator.GRANTS, pace, seed, f"grants-{pace}", waves=WAVES)


@pytest.mark.parametrize("pace", PACES)
def test_beside_a_core(pace):
    seed = SEED + 400 + simulator.PACES.index(pace)
    simulator.simulate("beside", simulator.DRIVER, pace, seed, f"beside-{pace}", waves=WAVES)
