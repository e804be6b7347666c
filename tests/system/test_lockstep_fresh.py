# SPDX-License-Identifier: Apache-2.0
"""A fresh recording of two CPUs in lock-step with golden model and RTL; HWSWAP_SEED=n moves its seed."""

import run_seed
from hwswap.kernel import lockstep
from hwswap.kernel.record import record

SEED = 71 + run_seed.SEED


def test_a_fresh_recording_is_decided_the_same_by_all_three(tmp_path):
    path = tmp_path / "brief.hwst.gz"
    record("brief", path, SEED, timeout=600, quiet=True)
    row = lockstep.run_trace(path, f"brief-{SEED}", tmp_path)
    assert row.difference == ""
    assert row.cpus == 2
    assert row.decisions > 1_000
    assert row.compared + row.forced == row.decisions
    assert lockstep.faults([row], {}) == []
