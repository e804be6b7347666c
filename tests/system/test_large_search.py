# SPDX-License-Identifier: Apache-2.0
"""Large folios that look further (patch 0005), and places known beforehand (patch 0012)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import BENCH, DISKS, judge, swap_on, used_of
from hwswap.guest.qemu import Guest, Machine

SWAP = "/sys/kernel/mm/swap"
SLOTS = 16384
"""Of a disk of 64 MB, header included."""


@pytest.fixture
def guest(kernel_log: Path) -> Iterator[Guest]:
    """One CPU, and swap on two devices of one priority."""
    with Guest(Machine(disks=2, disk_mb=64), log=kernel_log) as guest:
        swap_on(guest, *DISKS[:2])
        yield guest


def failed(guest: Guest, command: str) -> int:
    """Return how many allocations found no room."""
    lines = guest.run(f"echo '{command}' >{BENCH} && cat {BENCH}").check().splitlines()
    return json.loads(lines[0])["failed"]


def wide(guest: Guest, clusters: int, any_order: bool) -> None:
    guest.run(f"echo {clusters} >{SWAP}/large_search && echo {int(any_order)} >{SWAP}/any_order").check()


def test_a_large_folio_finds_holes_of_larger_ones_only_where_any_order_may(guest: Guest) -> None:
    """All clusters but the first are of 64 kB folios, every tenth of which is free; those of 16 kB have no cluster."""
    guest.run(f"swapctl off {DISKS[1]} && echo 'fill {(SLOTS - 512) // 16} 7 10 4' >{BENCH}").check()
    assert failed(guest, "2 64 0") == 64
    wide(guest, 32, any_order=False)
    assert failed(guest, "2 64 0") == 64
    wide(guest, 32, any_order=True)
    assert failed(guest, "2 64 0") == 0
    wide(guest, 0, any_order=False)
    assert failed(guest, "2 64 0") == 64


def test_a_large_folio_looks_at_the_other_device_before_it_looks_further(guest: Guest) -> None:
    """One device is full of pages, every second of which is free; the other one is empty."""
    guest.run(f"swapctl off {DISKS[1]} && echo 'fill {SLOTS - 1} 7 50' >{BENCH}").check()
    guest.run(f"swapctl make {DISKS[1]} && swapctl on {DISKS[1]}").check()
    assert failed(guest, "4 64 0") > 0, "devices take turns, and one of them has no room"
    # Four clusters of the full device would use up the search.
    wide(guest, 4, any_order=True)
    assert failed(guest, "4 64 0") == 0


def test_bytes_are_right_where_folios_of_all_sizes_share_clusters(guest: Guest) -> None:
    wide(guest, 32, any_order=True)
    judge(guest.run("swapmix --fill 118m --churn 60m --seed 5", 900).check())
    wide(guest, 0, any_order=False)
    judge(guest.run("swapmix --fill 100m --churn 20m --seed 6", 900).check())


@pytest.mark.parametrize("most", ["513", "-1", "many"])
def test_a_search_without_a_bound_is_refused(guest: Guest, most: str) -> None:
    assert guest.run(f"echo {most} >{SWAP}/large_search").code
    assert guest.run(f"cat {SWAP}/large_search").check() == "0\n"


def test_known_places_are_taken_and_given_back(guest: Guest) -> None:
    """Folios of all orders go to places that were free; of more than there is room for nothing is kept."""
    guest.run(f"echo 'fill {SLOTS} 7 30' >{BENCH}").check()
    used = used_of(guest)
    for order in (0, 2, 4, 9):
        assert failed(guest, f"known {order} 8 0 3") == 0
        assert used_of(guest) == used
    assert guest.run(f"echo 'known 9 64 0' >{BENCH}").code
    assert failed(guest, "9 8 0") == 0
    assert used_of(guest) == used
