# SPDX-License-Identifier: Apache-2.0
"""The short form of `make fuzz`: fresh operations, their seed printed; HWSWAP_SEED=n asks for those of a seed."""

import os
import secrets

from hwswap.kernel import fuzz
from hwswap.model.golden import Allocator
from hwswap.stimulus import kernel_streams

OPERATIONS = 100_000


class Wrong(Allocator):
    """A model with a wrong rule: a cluster that gets empty comes to the head of FREE."""

    def free_cluster(self, device, cluster):
        """Put it there."""
        super().free_cluster(device, cluster)
        device.free.move_to_end(cluster.index, last=False)


def test_kernels_golden_model_and_rtl_give_the_same_answers(tmp_path, capsys):
    seed = int(os.environ.get("HWSWAP_SEED") or secrets.randbits(32))
    with capsys.disabled():
        print(f"\nfuzz: seed {seed}")
    tally, found = fuzz.compare(seed, OPERATIONS, tmp_path, lambda text: None)
    assert found is None, f"{found.who}: {found.said} HWSWAP_SEED={seed}"
    assert tally.operations == OPERATIONS
    # Each kernel and each engine had its share, each order was placed, and each kind of event was seen.
    assert set(tally.kernels) == set(fuzz.KERNELS)
    assert set(tally.engines) == {engine.build for engine in kernel_streams.ENGINES}
    assert all(tally.allocated[order] for order in range(10)), tally.allocated
    assert tally.events["swapons"] and tally.events["swapoffs"], tally.events


def test_a_wrong_rule_is_found_on_the_kernel_and_on_the_rtl(tmp_path):
    tally, found = fuzz.compare(1, 40_000, tmp_path, lambda text: None, Wrong)
    assert found is not None and found.who in fuzz.KERNELS and tally.operations < 40_000
    assert "the kernel has device" in found.said
    # The engine has the right rule too, so that it can stand for the kernel where the stream is cut down.
    assert fuzz.on_rtl(found.case, found.made)
    short = fuzz.shortest(fuzz.Difference("rtl", found.case, found.made, ""), lambda text: None, Wrong)
    assert len(short.records) < 100
    (said,) = fuzz.on_kernel("patched", [short], None)
    assert "answer" in said and "the golden model" in fuzz.answer(said, short)
