# SPDX-License-Identifier: Apache-2.0
"""Mode trusted: the engine writes the words of large folios into the kernel's swap tables; a guest with two CPUs."""

from collections.abc import Iterator

import pytest
from driver import BENCH, DISKS, Driver, Load, swap_on, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer

MIXED = (
    "--processes 2 --size 6m --limit 4m --folio 4k --access random",
    "--processes 2 --size 12m --limit 8m --folio 64k --access random",
    "--size 24m --limit 12m --folio 2m --access sequential",
)

TIMES = 5
"""Runs of the bench, at most, until the engine has written and taken back words."""


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with Guest(Machine(cpus=2), engine, log=paths.REPORTS / "kernel" / "trusted.log") as guest:
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    swap_on(guest)
    return Driver.attached(guest, "trusted")


def assert_orderly(seen: dict[str, int]) -> None:
    """The engine has written words, all of them right, and nothing went wrong."""
    assert seen["fills"] > 0, seen
    assert seen["clears"] > 0, seen
    assert seen["entries_repaired"] == seen["fills_failed"] == seen["timeouts"] == seen["detaches"] == 0, seen


@pytest.mark.parametrize("verify", ["y", "n"])
def test_folios_of_mixed_orders(guest: Guest, driver: Driver, verify: str) -> None:
    driver.set_parameter("trusted_min_order", "2")
    driver.set_parameter("trusted_verify", verify)
    before = driver.stats()
    loads = [Load(guest, arguments) for arguments in MIXED]
    guest.run("sleep 4").check()
    for load in loads:
        load.stop(300)
    assert_orderly(driver.since(before))
    driver.assert_mirror()


@pytest.mark.parametrize("order", [0, 2, 4, 7, 9])
def test_every_order(guest: Guest, driver: Driver, order: int) -> None:
    driver.set_parameter("trusted_min_order", str(order))
    driver.set_parameter("trusted_verify", "y")
    before = driver.stats()
    # The waits let others have the command ring between two calls. While somebody has it, a folio's words are the
    # kernel's; on a busy host one command of another may last as long as all frees.
    runs, seen = 0, {"fills": 0, "clears": 0}
    while runs < TIMES and not (seen["fills"] and seen["clears"]):
        guest.run(f"echo '{order} 32 500000' >{BENCH}", 300).check()
        runs, seen = runs + 1, driver.since(before)
    print(f"order {order}: words written and taken back, runs of 32 folios: {runs}; ring busy: {seen['fills_busy']}")
    assert_orderly(seen)
    driver.assert_mirror()


def test_below_the_order_software_writes(guest: Guest, driver: Driver) -> None:
    driver.set_parameter("trusted_min_order", "9")
    before = driver.stats()
    swapload(guest, "--size 4m --limit 2m --folio 64k --access random", 300)
    seen = driver.since(before)
    assert seen["fills"] == seen["clears"] == seen["fills_busy"] == seen["fills_refused"] == 0, seen


def test_swapoff_under_load(guest: Guest, driver: Driver) -> None:
    driver.set_parameter("trusted_min_order", "2")
    before = driver.stats()
    loads = [Load(guest, arguments) for arguments in MIXED[:2]]
    guest.run("sleep 1").check()
    for disk in DISKS[:2]:
        guest.run(f"swapctl off {disk}", 300).check()
        assert disk not in guest.run("cat /proc/swaps").check()
        guest.run(f"swapctl on {disk}").check()
    for load in loads:
        load.stop(300)
    assert_orderly(driver.since(before))
    driver.assert_mirror()


def test_mode_changes_under_load(guest: Guest, driver: Driver) -> None:
    loads = [Load(guest, arguments) for arguments in MIXED[:2]]
    for mode in ("scan", "trusted", "hint", "trusted", "off", "trusted", "shadow", "trusted"):
        driver.set_mode(mode)
        guest.run("sleep 0.5").check()
        for load in loads:
            load.assert_running()
    for load in loads:
        load.stop(300)
    driver.wait_attached()
    driver.assert_mirror()
