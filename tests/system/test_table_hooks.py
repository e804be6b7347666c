# SPDX-License-Identifier: Apache-2.0
"""The kernel's hooks for searches believe nothing, and the fixed windows of swapoff."""

import re
from collections.abc import Iterator

import pytest
from driver import (
    BENCH,
    QUEUED,
    SMALL,
    Load,
    end_search,
    hold_half,
    off_and_on,
    queued_guest,
    search_for_ever,
    swapload,
    verify_half,
)
from hwswap.guest.qemu import Guest
from hwswap.project import paths

MODULE = "hwswap_testbackend"
LIE = f"/sys/module/{MODULE}/parameters/lie"
COUNTERS = ("searches", "right", "wrong")
_EVENT = re.compile(r"swap_readahead: (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """Two devices behind a queue, which the cluster readahead reads, and no engine."""
    with queued_guest(paths.REPORTS / "kernel" / "table-hooks.log") as guest:
        yield guest


@pytest.fixture(scope="module")
def backend(guest: Guest) -> None:
    guest.run(f"insmod /lib/modules/{MODULE}.ko").check()


def counters(guest: Guest) -> dict[str, int]:
    """Return what the backend has counted."""
    return {name: int(guest.run(f"cat /sys/module/{MODULE}/parameters/{name}").check()) for name in COUNTERS}


@pytest.mark.parametrize("lie", ["none", "nothing", "skip", "noise", "outside", "silent"])
def test_swapoff_whatever_the_backend_says(guest: Guest, backend: None, lie: str) -> None:
    guest.run(f"echo {lie} >{LIE}").check()
    before = counters(guest)
    hold_half(guest, seed=len(lie))
    load = Load(guest, SMALL)
    guest.run("sleep 1").check()
    off_and_on(guest, QUEUED[0])
    load.stop(300)
    swapload(guest, "--size 16m --limit 8m --folio 64k --access strided --rounds 2", 300)
    verify_half(guest)
    if lie == "silent":
        assert counters(guest)["searches"] == before["searches"]


@pytest.mark.parametrize("lie", ["none", "nothing", "skip", "noise", "outside"])
def test_search_of_swapoff(guest: Guest, backend: None, lie: str) -> None:
    """Slots that belong to nobody, so that swapoff searches for them, round after round, until they are freed."""
    guest.run(f"echo {lie} >{LIE}").check()
    before = counters(guest)
    search_for_ever(guest, QUEUED[0])
    seen = {name: value - before[name] for name, value in counters(guest).items()}
    end_search(guest, QUEUED[0])
    assert seen["searches"] > 0, seen
    if lie in ("nothing", "outside"):
        assert seen["right"] == 0, seen
    else:
        assert seen["right"] > 0, seen
    if lie in ("none", "skip"):
        assert seen["wrong"] == 0, seen


def test_reclaim_of_full_clusters(guest: Guest, backend: None) -> None:
    """A device that gets full has its worker look for slots that only the swap cache holds."""
    guest.run(f"echo none >{LIE}").check()
    guest.run(f"swapctl off {QUEUED[0]} && swapctl make -s 16m {QUEUED[0]} && swapctl on -p 9 {QUEUED[0]}").check()
    before = counters(guest)
    for _ in range(6):
        load = Load(guest, "--size 28m --limit 16m --folio 4k --access random")
        guest.run("sleep 3").check()
        # It takes all there is, and then fails.
        guest.run(f"echo 'fill 14500 1' >{BENCH}; sleep 0.3; echo drop >{BENCH}").check()
        load.stop(300)
        seen = {name: value - before[name] for name, value in counters(guest).items()}
        if seen["right"]:
            break
    assert seen["right"] > 0, seen
    guest.run(f"swapctl off {QUEUED[0]} && swapctl make -s 48m {QUEUED[0]} && swapctl on -p 5 {QUEUED[0]}").check()


def test_backend_comes_and_goes_under_load(guest: Guest, backend: None) -> None:
    guest.run(f"echo noise >{LIE}").check()
    load = Load(guest, SMALL)
    for _ in range(3):
        guest.run(f"sleep 0.5; rmmod {MODULE} && insmod /lib/modules/{MODULE}.ko").check()
        load.assert_running()
        off_and_on(guest, QUEUED[1])
    load.stop(300)


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
    guest.run(f"rmmod {MODULE} 2>/dev/null; true").check()
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
