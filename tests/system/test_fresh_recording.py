# SPDX-License-Identifier: Apache-2.0
"""Fresh recordings: golden model and, for one CPU, RTL decide as the kernel did. HWSWAP_SEED=n moves their seed."""

import pytest
import run_seed
import same_decisions
from hwswap.kernel.record import record

SEED = 71 + run_seed.SEED


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_fresh_recording_is_decided_the_same(cpus, tmp_path):
    path = tmp_path / "brief.hwst.gz"
    record("brief", path, SEED, cpus, timeout=600, quiet=True)
    loaded = same_decisions.check_decisions(path)
    assert loaded.header.cpus == cpus
    assert same_decisions.decisions(loaded) > 1_000
