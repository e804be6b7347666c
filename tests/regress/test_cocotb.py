# SPDX-License-Identifier: Apache-2.0
"""The cocotb cases with fresh seeds: every module at every pace of the buses."""

import shutil

import pytest
import simulator


@pytest.mark.parametrize("module", simulator.MODULES)
@pytest.mark.parametrize("pace", simulator.PACES)
def test_cocotb(module, pace, seed, waves, results):
    folder = results / f"cocotb-{module}-{pace}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    simulator.run(simulator.build(waves is not None), module, pace, seed, folder, waves is not None)
    if waves is not None:
        (folder / "dump.fst").replace(waves)
    shutil.rmtree(folder)
