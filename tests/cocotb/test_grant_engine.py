# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb modules about grants, alone and beside a core, each in a simulation and folder of its own."""

import pytest
import simulator
from run_seed import SEED

PACES = ("none", "both")
"""A run takes minutes; `both` has the pauses of the other two."""


@pytest.mark.parametrize("pace", PACES)
def test_grants(pace):
    seed = SEED + 300 + simulator.PACES.index(pace)
    simulator.simulate("grants", simulator.GRANTS, pace, seed, f"grants-{pace}")


@pytest.mark.parametrize("pace", PACES)
def test_beside_a_core(pace):
    seed = SEED + 400 + simulator.PACES.index(pace)
    simulator.simulate("beside", simulator.DRIVER, pace, seed, f"beside-{pace}")
