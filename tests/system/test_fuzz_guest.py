# SPDX-License-Identifier: Apache-2.0
"""The short form of `make fuzz`: fresh operations, their seed printed; HWSWAP_SEED=n asks for those of a seed."""

import pytest
from hwswap.kernel import fuzz, fuzz_tally
from hwswap.stimulus import kernel_streams
from wrong_models import DiscardsToHead, FreesToHead

OPERATIONS = 100_000


def test_kernels_golden_model_and_rtl_give_the_same_answers(tmp_path, fresh_seed):
    tally, found = fuzz.compare(fresh_seed, OPERATIONS, tmp_path, lambda text: None)
    assert found is None, f"{found.who}: {found.said} HWSWAP_SEED={fresh_seed}"
    assert tally.operations == OPERATIONS
    assert fuzz_tally.unlike(tally) == []
    # Each kernel and each engine had its share, each order was placed, and each kind of event was seen.
    assert set(tally.kernels) == set(fuzz.KERNELS)
    assert set(tally.engines) == {engine.build for engine in kernel_streams.ENGINES}
    assert all(tally.allocated[order] for order in range(10)), tally.allocated
    assert tally.events["swapons"] and tally.events["swapoffs"], tally.events
    # Kernels with tracepoints counted what they took off lists.
    assert 0 < tally.traced < OPERATIONS and all(tally.taken[name] for name in fuzz_tally.LEAST_TAKEN), tally.taken


@pytest.mark.parametrize(("kind", "seed"), [(FreesToHead, 1), (DiscardsToHead, 5)])
def test_a_wrong_rule_is_found_on_the_kernel_and_on_the_rtl(tmp_path, kind, seed):
    tally, found = fuzz.compare(seed, 40_000, tmp_path, lambda text: None, kind)
    assert found is not None and found.who in fuzz.KERNELS and tally.operations < 40_000
    assert "the kernel has device" in found.said
    assert fuzz.on_rtl(found.case, found.made)
