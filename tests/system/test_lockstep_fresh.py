# SPDX-License-Identifier: Apache-2.0
"""Fresh recordings in lock-step: of two CPUs with the golden model, of one with the RTL too.

HWSWAP_SEED=n moves their seed.
"""

import pytest
import run_seed
from hwswap.kernel import lockstep, lockstep_report
from hwswap.kernel.record import record

SEED = 71 + run_seed.SEED


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_fresh_recording_is_decided_the_same(cpus, tmp_path):
    path = tmp_path / "brief.hwst.gz"
    record("brief", path, SEED, cpus, timeout=600, quiet=True)
    row = lockstep.run_trace(path, f"brief-{SEED}", tmp_path)
    assert row.difference == ""
    assert row.cpus == cpus
    assert row.decisions > 1_000
    assert row.compared == (row.decisions if cpus == 1 else 0)
    assert lockstep_report.faults([row], {}) == []
