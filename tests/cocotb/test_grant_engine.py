# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb modules about marks and grants, alone and beside a core, each in a simulation and folder of its own.

Seeds are printed; HWSWAP_SEED=n moves them all by n. WAVES=1 keeps a waveform in the case's folder.
"""

import os

import pytest
import simulator
from run_seed import SEED

WAVES = os.environ.get("WAVES", "0") not in ("", "0")
PACES = ("none", "both")
"""A run takes minutes; `both` has the pauses of the other two."""


def simulate(module: str, engine: simulator.Engine, first_seed: int, pace: str) -> None:
    """Run a module on an engine, which is built once."""
    seed = SEED + first_seed + simulator.PACES.index(pace)
    print(f"{module}, {pace}: seed {seed}")
    runner = simulator.build(WAVES, engine=engine)
    simulator.run(runner, module, pace, seed, simulator.BUILD / f"{module}-{pace}", WAVES, engine=engine)


@pytest.mark.parametrize("pace", [PACES[0], PACES[1]])
def test_grants(pace):
    simulate("grants", simulator.GRANTS, 300, pace)


@pytest.mark.parametrize("pace", PACES)
def test_beside_a_core(pace):
    simulate("beside", simulator.DRIVER, 400, pace)
