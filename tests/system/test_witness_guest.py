# SPDX-License-Identifier: Apache-2.0
"""The short form of `make witness`: a fresh script, its seed printed; HWSWAP_SEED=n asks for that of a seed."""

from hwswap.kernel import witness
from hwswap.stimulus import page_outs

OPERATIONS = 4_000


def test_unpatched_kernel_patched_kernel_and_golden_model_come_to_the_same_slots(tmp_path, fresh_seed):
    made = witness.work(fresh_seed, OPERATIONS, tmp_path, lambda text: None)
    accounts = made.accounts
    assert made.faults == [], f"HWSWAP_SEED={fresh_seed}"
    assert [each.kernel for each in accounts] == ["unpatched", "patched, mode off"]
    assert made.folios > OPERATIONS // 3
    assert accounts[0].lines == accounts[1].lines
    assert [len(lines) for lines in accounts[0].lines] == [
        scene.folios for scene in page_outs.scenes(fresh_seed, OPERATIONS)
    ]
