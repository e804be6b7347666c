# SPDX-License-Identifier: Apache-2.0
"""Mode scan: the engine searches the kernel's swap tables, on a guest with two CPUs."""

import pytest
from driver import (
    DEBUG,
    QUEUED,
    SMALL,
    Driver,
    Load,
    end_search,
    hold_half,
    off_and_on,
    search_for_ever,
    verify_half,
    wait_for,
)
from hwswap.guest.qemu import Guest


def tables(guest: Guest) -> dict[str, int]:
    """Return how many tables the engine knows, and how many of them the kernel has freed."""
    pairs = (line.split() for line in guest.run(f"grep -E '^(tables|quarantined)' {DEBUG}/engine").check().splitlines())
    return {name: int(value) for name, value in pairs}


def wait_no_tables(guest: Guest) -> None:
    """Wait until the engine knows no table any more, and none is held for it."""
    wait_for(lambda: tables(guest), lambda known: not any(known.values()), 30, "tables that the engine knows")


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return Driver.attached(guest, "scan")


@pytest.mark.parametrize("fixed", ["false", "true"])
def test_swapoff_half_full_under_load(guest: Guest, driver: Driver, fixed: str) -> None:
    guest.run(f"echo {fixed} >/sys/kernel/mm/swap/swapoff_ra_fixed").check()
    before = driver.stats()
    hold_half(guest, seed=5)
    load = Load(guest, SMALL)
    guest.run("sleep 1").check()
    off_and_on(guest, QUEUED[0])
    load.stop(300)
    verify_half(guest)
    seen = driver.since(before)
    assert seen["timeouts"] == seen["detaches"] == 0, seen
    driver.assert_mirror()


def test_searches_find_what_is_there(guest: Guest, driver: Driver) -> None:
    before = driver.stats()
    search_for_ever(guest, QUEUED[0])
    seen = driver.since(before)
    end_search(guest, QUEUED[0])
    assert seen["searches_used"] > seen["searches_nothing"], seen
    assert seen["used_right"] > 0, seen
    assert seen["used_wrong"] == 0, seen
    assert seen["searches_failed"] == 0, seen


def test_tables_are_given_back(guest: Guest, driver: Driver) -> None:
    """By a mode without use for them, while a swapoff searches; and by the end of that, which had them given again."""
    given = driver.stats()["tables_given"]
    search_for_ever(guest, QUEUED[0])
    driver.wait_beyond("tables_given", given)
    driver.set_mode("hint")
    wait_no_tables(guest)
    given = driver.stats()["tables_given"]
    driver.set_mode("scan")
    driver.wait_beyond("tables_given", given)
    end_search(guest, QUEUED[0])
    wait_no_tables(guest)
