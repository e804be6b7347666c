# SPDX-License-Identifier: Apache-2.0
"""The short form of `make witness`: a fresh script, its seed printed; HWSWAP_SEED=n asks for that of a seed."""

import os
import secrets

from hwswap.kernel import page_out_slots, witness
from hwswap.model.golden import Allocator
from hwswap.stimulus import page_outs

OPERATIONS = 4_000


class Wrong(Allocator):
    """A model with a wrong rule: of equal devices the first one is never moved behind the others."""

    def requeue(self, device):
        """Leave it where it is."""


class AlsoWrong(Allocator):
    """Another one: a cluster that gets empty comes to the head of FREE."""

    def free_cluster(self, device, cluster):
        """Put it there."""
        super().free_cluster(device, cluster)
        device.free.move_to_end(cluster.index, last=False)


def test_unpatched_kernel_patched_kernel_and_golden_model_come_to_the_same_slots(tmp_path, capsys):
    seed = int(os.environ.get("HWSWAP_SEED") or secrets.randbits(32))
    with capsys.disabled():
        print(f"\nwitness: seed {seed}")
    report, accounts = witness.work(seed, OPERATIONS, tmp_path, lambda text: None)
    assert report["faults"] == [], f"HWSWAP_SEED={seed}"
    assert [each.kernel for each in accounts] == ["unpatched", "patched, mode off"]
    assert all(each.thrown_away < 0.01 * report["folios"] for each in accounts)
    assert report["folios"] > OPERATIONS // 3
    assert accounts[0].lines == accounts[1].lines
    assert [len(lines) for lines in accounts[0].lines] == [scene.folios for scene in page_outs.scenes(seed, OPERATIONS)]

    # What the kernels did tells a wrong rule from the right one.
    scenes = list(page_outs.scenes(seed, OPERATIONS))
    for kind in (Wrong, AlsoWrong):
        expected = [page_out_slots.expect(scene, kind) for scene in scenes]
        found = [
            witness.difference(scene, model, lines)
            for scene, model, lines in zip(scenes, expected, accounts[0].lines, strict=True)
        ]
        assert any("the kernel has" in text for text in found), f"{kind.__doc__} HWSWAP_SEED={seed}"
