# SPDX-License-Identifier: Apache-2.0
"""Modes on a guest with two CPUs, and what happens to swap and driver under load."""

from collections.abc import Iterator

import pytest
from driver import DISKS, Driver, Load, change_devices, change_modes, swap_on, swapload, swapped_out
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer

SMALL = "--processes 2 --size 8m --limit 6m --folio 4k --access random"
MIXED = "--processes 2 --size 16m --limit 16m --folio 64k --access random"


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with Guest(Machine(cpus=2, disk_mb=64), engine, log=paths.REPORTS / "kernel" / "modes.log") as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    driver = Driver(guest)
    driver.load()
    return driver


@pytest.mark.parametrize("mode", ["off", "shadow", "hint"])
def test_swaps_and_verifies(guest: Guest, driver: Driver, mode: str) -> None:
    driver.set_mode(mode)
    if mode != "off":
        driver.wait_attached()
    before, pages = driver.stats(), swapped_out(guest)
    for load in (SMALL, MIXED, "--size 24m --limit 16m --folio 2m"):
        swapload(guest, f"{load} --rounds 2")
    after = driver.stats()
    assert swapped_out(guest) > pages
    by_engine = after["slots_engine"] - before["slots_engine"]
    by_software = after["slots_software"] - before["slots_software"]
    if mode == "hint":
        assert by_engine > 0
        taken = after["hints_taken"] - before["hints_taken"]
        refused = after["hints_refused"] - before["hints_refused"]
        # How stale hints are depends here on how busy the host is; the demo, in guest time, asks for at most 2 %.
        assert refused < taken, f"{refused} of {taken + refused} hints were refused"
    else:
        assert by_engine == 0
    if mode == "shadow":
        assert by_software > 0
    if mode == "off":
        assert driver.state().startswith("detached")
        assert by_software == 0  # the hooks are off, nothing is counted
    else:
        driver.assert_quiet_mirror()


def test_mode_changes_under_load(guest: Guest, driver: Driver) -> None:
    load = Load(guest, MIXED)
    change_modes(guest, driver, load, ("hint", "off", "shadow", "hint", "shadow", "off", "hint"))
    load.stop()
    driver.wait_attached()
    driver.assert_quiet_mirror()


def test_swapoff_under_load(guest: Guest, driver: Driver) -> None:
    driver.set_mode("hint")
    driver.wait_attached()
    loads = [Load(guest, SMALL), Load(guest, MIXED)]
    for disk in DISKS[:3]:
        guest.run("sleep 0.5").check()
        change_devices(guest, [disk], priority=5)
    for load in loads:
        load.stop()
    driver.assert_quiet_mirror()


def test_bad_slots_and_discard_flag(guest: Guest, driver: Driver) -> None:
    driver.set_mode("hint")
    driver.wait_attached()
    disk = DISKS[3]
    guest.run(f"swapctl off {disk} && swapctl make -b 5,700,701,1023,1024 {disk} && swapctl on -p 9 -d {disk}").check()
    swapload(guest, f"{SMALL} --rounds 2")
    driver.assert_quiet_mirror()


def test_rmmod_under_load(guest: Guest, driver: Driver) -> None:
    driver.set_mode("hint")
    driver.wait_attached()
    load = Load(guest, MIXED)
    for _ in range(3):
        guest.run("sleep 0.5").check()
        driver.unload()
        load.assert_running()
        driver.load("hint")
        driver.wait_attached()
    load.stop()
    driver.assert_quiet_mirror()
    assert driver.stats()["slots_engine"] > 0
