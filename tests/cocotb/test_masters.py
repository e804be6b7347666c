# SPDX-License-Identifier: Apache-2.0
"""Every DMA master of the engine x {ends of a window, bus error, stop, RESET}: the table of cases/masters.py."""

import pytest
import simulator
from run_seed import SEED

ENGINES = {"whole": simulator.WHOLE, "driver": simulator.DRIVER, "grants-only": simulator.GRANTS_ONLY}
RUNS = [("whole", "both"), ("driver", "none"), ("grants-only", "none")]
"""Each takes a minute or two; `both` has the pauses of the other paces."""


@pytest.mark.parametrize(("engine", "pace"), RUNS)
def test_masters(engine, pace):
    seed = SEED + 500 + RUNS.index((engine, pace))
    simulator.simulate("masters", ENGINES[engine], pace, seed, f"masters-{engine}-{pace}")
