# SPDX-License-Identifier: Apache-2.0
"""Four equal devices: the golden model's choices by hand, a guest's output, and the results from it."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from hwswap.experiments import devices, kernels, published
from hwswap.experiments.devices import CASES, DEVICES, IN_TURN, NODE_FIRST, NODES, SEQUENTIAL, Usage
from hwswap.guest.qemu import GuestError, Machine
from hwswap.model.policy import DeviceOrder

MB = 1024
"""kB."""


def test_one_after_the_other_the_next_device_is_used_when_one_is_full():
    usage = devices.modelled(SEQUENTIAL, disk_mb=32, seed=3)
    first, second, *others = usage.used
    assert first == 32 * MB - 4  # all but the header
    assert second == NODES * devices.share_mb(SEQUENTIAL, 32) * MB - first
    assert others == [0, 0]


def test_node_first_the_cpus_without_a_device_go_to_the_first_one():
    """Five of eight CPUs have the first device: its own node's, and those of the four nodes that have none."""
    usage = devices.modelled(NODE_FIRST, disk_mb=32, seed=3)
    share = devices.share_mb(NODE_FIRST, 32) * MB
    assert usage.used == [5 * share, share, share, share]


def test_in_turn_each_device_has_as_much_but_for_the_clusters_in_use():
    usage = devices.modelled(IN_TURN, disk_mb=32, seed=3)
    assert max(usage.used) - min(usage.used) <= NODES * 2 * MB
    assert sum(usage.used) == NODES * devices.share_mb(IN_TURN, 32) * MB


def test_as_much_is_in_use_as_in_the_published_tables():
    for policy, gb in published.DEVICES_USED.items():
        part = NODES * devices.share_mb(policy, 128) / (DEVICES * 128)
        assert part == pytest.approx(sum(gb) / 64, abs=0.01)


def said(*used_kb, mismatches=0, nodes=NODES):
    """Return an output of the guest's script."""
    lines = [["nodes", str(nodes)]]
    lines += [["swaps", f"/dev/ram{at}", "partition", "32764", str(kb), str(-2 - at)] for at, kb in enumerate(used_kb)]
    return lines + [["held", f'{{"tool":"swapfrag","mismatches":{mismatches}}}']] * NODES


FALLING, ON_NODES = CASES[0], CASES[1]
FULL = (32764, 2052, 0, 0)


def test_the_tables_of_a_guest_are_read():
    usage = devices.usage(FALLING, said(*FULL), disk_mb=32)
    assert usage.system == "Linux 6.12" and usage.policy == SEQUENTIAL
    assert usage.used == list(FULL)
    assert usage.share(0) == pytest.approx(32764 / 34816)


@pytest.mark.parametrize(
    ("case", "lines", "complaint"),
    [
        (FALLING, said(*FULL, mismatches=1), "of the 8 loads"),
        (FALLING, said(*FULL)[:-1], "of the 8 loads"),
        (FALLING, said(*FULL[:3]), "3 devices"),
        (FALLING, said(30000, 2052, 0, 0), "less is in use"),
        (ON_NODES, said(*FULL, nodes=1), "has 1 nodes"),
    ],
)
def test_what_a_guest_says_is_checked(case, lines, complaint):
    with pytest.raises(GuestError, match=complaint):
        devices.usage(case, lines, disk_mb=32)


def test_the_result_has_published_and_ours_of_each_system(monkeypatch):
    def measured(case, disk_mb, seed):
        return Usage(case.system, case.policy, [1000] * 4)

    monkeypatch.setattr(devices, "measured", measured)
    result = devices.run(seed=1, short=True)
    assert len(result.rows) == DEVICES * (len(CASES) + len(DeviceOrder))
    assert result.rows[0].figure == "% of what is in use, one after the other, device 0: Linux 6.12"
    assert (result.rows[0].ours, result.rows[0].published) == (25.0, pytest.approx(94.4, abs=0.1))


def test_a_guest_with_another_kernel_is_refused(monkeypatch):
    other = SimpleNamespace(release="7.3.4")
    monkeypatch.setattr(kernels, "Guest", lambda *_, **__: nullcontext(other))
    monkeypatch.setattr(kernels.artifacts.Artifact, "path", lambda self: self.place)
    with pytest.raises(GuestError, match="is Linux 7.3.4, not Linux 6.12"):
        kernels.run(kernels.LINUX_6_12, Machine(), "devices.sh", {})


def test_nodes_share_the_cpus_and_the_first_has_all_memory():
    words = "-numa node,nodeid=0,cpus=0-1,memdev=ram -numa node,nodeid=1,cpus=2-3"
    assert Machine(cpus=4, nodes=2).node_arguments() == words.split()
    assert Machine(cpus=4).node_arguments() == []
    with pytest.raises(ValueError, match="as many CPUs"):
        Machine(cpus=3, nodes=2)
