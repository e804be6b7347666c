# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb modules in tests/cocotb/cases, each in a simulation and a folder of its own.

WAVES=1 keeps a waveform in the case's folder, HWSWAP_COVERAGE=1 line and toggle coverage (`make coverage`).
"""

import os

import pytest
import simulator
from run_seed import SEED

COVERAGE = os.environ.get("HWSWAP_COVERAGE", "0") not in ("", "0")
CASES = [(module, pace) for module in simulator.MODULES for pace in simulator.PACES]


@pytest.mark.parametrize(("module", "pace"), CASES, ids=lambda value: value)
def test_engine(module, pace):
    seed = SEED + 100 + CASES.index((module, pace))
    simulator.simulate(module, simulator.WHOLE, pace, seed, f"{module}-{pace}", coverage=COVERAGE)
