# SPDX-License-Identifier: Apache-2.0
"""Modes, on engines with a core and with grants alone: swap under load, two CPUs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import (
    DISKS,
    LARGE,
    SMALL,
    Driver,
    Load,
    change_devices,
    hold_half,
    swap_on,
    swapload,
    swapped_out,
    verify_half,
)
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts, paths
from hwswap.rtl.device_server import EngineServer

ROUNDS = "--rounds 2"
LOADS = (f"{SMALL} {ROUNDS}", f"{LARGE} {ROUNDS}", f"--size 24m --limit 16m --folio 2m --access sequential {ROUNDS}")
NEVER = tuple(f"grants_refused_{why}" for why in ("device", "flags", "order", "place", "empty", "epoch"))
"""Why a grant of an honest engine is never refused, as long as no device comes or goes."""

PROGRAMS = {"whole": artifacts.DEVICE_GRANTS, "no-core": artifacts.DEVICE_GRANTS_ONLY}


@pytest.fixture(scope="module", params=PROGRAMS.values(), ids=PROGRAMS)
def program(request: pytest.FixtureRequest) -> artifacts.Artifact:
    """An engine: with a core, and with grants alone."""
    return request.param


@pytest.fixture(scope="module")
def engine(folder: Path, program: artifacts.Artifact) -> Iterator[EngineServer]:
    server = EngineServer(folder, program=program)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def guest(engine: EngineServer, program: artifacts.Artifact) -> Iterator[Guest]:
    """Two CPUs and swap on four RAM disks."""
    log = paths.REPORTS / "kernel" / f"modes-{program.place.parent.name}.log"
    with Guest(Machine(cpus=2, disks=4, disk_mb=64), engine, log=log, patience=3) as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    driver = Driver(guest)
    driver.load()
    return driver


@pytest.mark.parametrize("mode", ["off", "hint"])
def test_swaps_and_verifies(guest: Guest, driver: Driver, mode: str) -> None:
    """Every byte is right; what became of grants is what the mode is for."""
    driver.set_mode(mode)
    if mode != "off":
        driver.wait_attached()
    before, pages = driver.stats(), swapped_out(guest)
    for arguments in LOADS:
        swapload(guest, arguments, 300)
    load = Load(guest, SMALL)
    if mode == "off":
        assert driver.state().startswith("detached")
    else:
        driver.wait_beyond("grants_popped", before["grants_popped"])
        driver.assert_bitmaps()
    load.stop(300)
    assert swapped_out(guest) > pages
    seen = driver.since(before)
    if mode == "off":
        assert not any(count for name, count in seen.items() if "grant" in name), seen
        return
    assert not any(seen[name] for name in NEVER), seen
    driver.assert_bitmaps()
    assert seen["grant_units"] > 0 and seen["grants_claimed"] > 0, seen
    assert "grants 0\n" not in guest.run("cat /sys/kernel/debug/hwswap/engine").check()


def test_modes_change_under_load(guest: Guest, driver: Driver) -> None:
    load = Load(guest, LARGE)
    for mode in ("hint", "off", "hint", "off", "hint"):
        driver.set_mode(mode)
        guest.run("sleep 0.5").check()
        load.assert_running()
    driver.wait_attached()
    driver.wait_grants()
    load.stop(300)
    driver.assert_bitmaps()


def test_devices_come_and_go_under_load(guest: Guest, driver: Driver) -> None:
    """Swapoff, swapon with other priorities; nothing of what went is granted."""
    driver.set_mode("hint")
    driver.wait_attached()
    hold_half(guest, seed=7)
    loads = [Load(guest, SMALL), Load(guest, LARGE)]
    for priority in (-1, 5, 1):
        change_devices(guest, DISKS[:2], priority)
        driver.assert_bitmaps()
    driver.wait_grants()
    for load in loads:
        load.stop(300)
    verify_half(guest)
    driver.assert_bitmaps()
    guest.run(f"swapctl off {DISKS[0]} {DISKS[1]} && swapctl on {DISKS[0]} {DISKS[1]}").check()
    assert driver.state() == "attached"


def test_bad_slots_and_discard_flag(guest: Guest, driver: Driver) -> None:
    disk = DISKS[3]
    guest.run(f"swapctl off {disk} && swapctl make -b 5,700,701,1023,1024 {disk} && swapctl on -p 9 -d {disk}").check()
    before = driver.stats()
    swapload(guest, f"{SMALL} {ROUNDS}", 300)
    assert driver.since(before)["grant_units"] > 0
    driver.assert_bitmaps()
    guest.run(f"swapctl off {disk} && swapctl make {disk} && swapctl on {disk}").check()


def test_a_cpu_comes_and_goes(guest: Guest, driver: Driver) -> None:
    load = Load(guest, LARGE)
    for _ in range(2):
        guest.run("echo 0 >/sys/devices/system/cpu/cpu1/online; sleep 0.5").check()
        driver.assert_bitmaps()
        guest.run("echo 1 >/sys/devices/system/cpu/cpu1/online; sleep 0.5").check()
    load.stop(300)
    assert driver.state() == "attached"


def test_rmmod_under_load(guest: Guest, driver: Driver) -> None:
    load = Load(guest, LARGE)
    for _ in range(2):
        guest.run("sleep 0.5").check()
        driver.unload()
        load.assert_running()
        driver.load("hint")
        driver.wait_attached()
    driver.wait_grants()
    load.stop(300)
    driver.assert_bitmaps()
