# SPDX-License-Identifier: Apache-2.0
"""Swapoff reads in windows of a fixed size, if that is asked for (patch 0001)."""

import re
from collections.abc import Iterator

import pytest
from driver import QUEUED, hold_half, queued_guest, verify_half
from hwswap.guest.qemu import Guest
from hwswap.project import paths

_EVENT = re.compile(r"swap_readahead: (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """Two devices behind a queue, which the cluster readahead reads, and no engine."""
    with queued_guest(paths.REPORTS / "kernel" / "swapoff-reads.log") as guest:
        yield guest


def windows_of_swapoff(guest: Guest, fixed: bool, cluster: int) -> list[dict[str, int]]:
    """Switch a half-full device off; return the readahead windows of that."""
    guest.run(f"echo {'true' if fixed else 'false'} >/sys/kernel/mm/swap/swapoff_ra_fixed").check()
    guest.run(f"echo {cluster} >/proc/sys/vm/page-cluster").check()
    guest.run(f"swapctl off {QUEUED[1]}", 300).check()
    hold_half(guest, seed=cluster)
    trace = "/sys/kernel/tracing"
    guest.run(f"echo >{trace}/trace; echo 1 >{trace}/events/swap/swap_readahead/enable").check()
    guest.run(f"swapctl off {QUEUED[0]}", 300).check()
    guest.run(f"echo 0 >{trace}/events/swap/swap_readahead/enable; cp {trace}/trace /tmp/trace").check()
    events = [
        {key: int(value) for key, value in (pair.split("=") for pair in text.split())}
        for text in _EVENT.findall(guest.fetch("/tmp/trace").decode())
    ]
    for disk in QUEUED:
        guest.run(f"swapctl on -p 5 {disk}").check()
    verify_half(guest)
    return events


@pytest.mark.parametrize("cluster", [1, 3, 5])
def test_fixed_windows_during_swapoff(guest: Guest, cluster: int) -> None:
    adaptive = windows_of_swapoff(guest, False, cluster)
    fixed = windows_of_swapoff(guest, True, cluster)
    assert adaptive
    assert fixed
    assert not any(event["fixed"] for event in adaptive)
    size = 1 << cluster
    for event in fixed:
        assert event["fixed"]
        start = event["offset"] // size * size
        assert event["start"] == max(start, 1), event
        assert event["start"] + event["nr"] <= start + size, event
        # The state of the adaptive windows is as the first of these windows found it.
        assert event["prev_offset"] == fixed[0]["prev_offset"], event
        assert event["prev_pages"] == fixed[0]["prev_pages"], event
    assert len(fixed) < len(adaptive)
    guest.run("echo false >/sys/kernel/mm/swap/swapoff_ra_fixed").check()
