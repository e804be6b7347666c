# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb modules in tests/cocotb/cases, each in a simulation and a folder of its own.

Seeds are fixed and printed. HWSWAP_SEED=n runs all with another; WAVES=1 keeps a waveform in the case's folder.
"""

import os
import sys
from pathlib import Path

import pytest
import simulator
from cocotb_tools.runner import get_results

HERE = Path(__file__).parent
WAVES = os.environ.get("WAVES", "0") not in ("", "0")

MODULES = ("identity", "commands", "authoritative", "steps", "advisory", "hints", "faults")

# Without pauses, and with idle cycles or back-pressure or both on all channels of both buses.
PACES = ("none", "idle", "pressure", "both")
CASES = [(module, pace) for module in MODULES for pace in PACES]


@pytest.fixture(scope="session")
def runner():
    return simulator.build(WAVES)


@pytest.mark.parametrize(("module", "pace"), CASES, ids=lambda value: value)
def test_engine(runner, module, pace):
    seed = int(os.environ.get("HWSWAP_SEED", 100 + CASES.index((module, pace))))
    print(f"{module}, {pace}: seed {seed}")
    folder = simulator.BUILD / f"{module}-{pace}"
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {f"HWSWAP_{name}": os.environ.get(name, str(value)) for name, value in simulator.PARAMETERS.items()}
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    results = runner.test(
        test_module=f"cases.{module}",
        hdl_toplevel=simulator.TOP,
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        seed=seed,
        waves=WAVES,
        extra_env={"HWSWAP_SEED": str(seed), "HWSWAP_PACE": pace, "COCOTB_LOG_LEVEL": "INFO", **sizes},
        log_file=str(folder / "simulation.log"),
    )
    tests, failed = get_results(results)
    assert tests > 0
    assert failed == 0, (folder / "simulation.log").read_text()[-6000:]
