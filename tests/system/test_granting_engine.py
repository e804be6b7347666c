# SPDX-License-Identifier: Apache-2.0
"""Marks and grants between a kernel and the Verilated engine: mode hint of the driver."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import (
    DISKS,
    Driver,
    Load,
    blink_cpu,
    change_devices,
    change_modes,
    hold_half,
    swap_on,
    swapload,
    unless_qemu_ends,
    verify_half,
)
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts, paths
from hwswap.rtl.device_server import EngineServer

SMALL = "--processes 2 --size 12m --limit 8m --folio 4k --access random"
LARGE = "--processes 2 --size 16m --limit 12m --folio 64k --access random"
ROUNDS = "--rounds 2"
REFUSED = ("device", "flags", "order", "place", "empty", "epoch")
"""Why a grant of an honest engine is never refused, but for the epoch of a device that went."""


PROGRAMS = {"whole": artifacts.DEVICE_GRANTS, "no-core": artifacts.DEVICE_GRANTS_ONLY}


@pytest.fixture(scope="module", params=PROGRAMS.values(), ids=PROGRAMS)
def program(request: pytest.FixtureRequest) -> artifacts.Artifact:
    """An engine with marks and grants: with all else, and with nothing else."""
    return request.param


@pytest.fixture(scope="module")
def granting(folder: Path, program: artifacts.Artifact) -> Iterator[EngineServer]:
    """That engine."""
    server = EngineServer(folder, program=program)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def guest(granting: EngineServer, program: artifacts.Artifact) -> Iterator[Guest]:
    """Two CPUs and swap on four RAM disks."""
    log = paths.REPORTS / "kernel" / f"granting-{program.place.parent.name}.log"
    with Guest(Machine(cpus=2, disks=4, disk_mb=64), granting, log=log, patience=3) as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return Driver.attached(guest, "hint")


def placed(driver: Driver, before: dict[str, int]) -> dict[str, int]:
    """Wait until grants have placed something since; return what the counters have risen by."""
    driver.wait_beyond("grant_units", before["grant_units"])
    return driver.since(before)


def test_grants_steer(guest: Guest, driver: Driver) -> None:
    """Every byte is right, the engine's grants are taken, and what the kernel stores for it is right, always."""
    assert "attached by grants" in "\n".join(driver.messages("attached"))
    before = driver.stats()
    swapload(guest, f"{SMALL} {ROUNDS}", 300)
    swapload(guest, f"{LARGE} {ROUNDS}", 300)
    swapload(guest, f"--size 24m --limit 16m --folio 2m --access sequential {ROUNDS}", 300)
    load = Load(guest, SMALL)
    driver.assert_quiet_mirror()
    load.stop(300)
    seen = placed(driver, before)
    assert seen["grants_claimed"] > 0, seen
    assert not any(seen[f"grants_refused_{why}"] for why in REFUSED), seen
    assert seen["slots_engine"] == seen["slots_software"] == 0, "no hook is called"
    assert "grants 0\n" not in guest.run("cat /sys/kernel/debug/hwswap/engine").check()


def test_devices_come_and_go_under_load(guest: Guest, driver: Driver) -> None:
    """Swapoff, swapon with other priorities; nothing of what went is granted."""
    before = driver.stats()
    hold_half(guest, seed=7)
    loads = [Load(guest, SMALL), Load(guest, LARGE)]
    for priority in (-1, 5, 1):
        change_devices(guest, DISKS[:2], priority)
        driver.assert_quiet_mirror()
    for load in loads:
        load.stop(300)
    placed(driver, before)
    verify_half(guest)
    driver.assert_quiet_mirror()
    guest.run(f"swapctl off {DISKS[0]} {DISKS[1]} && swapctl on {DISKS[0]} {DISKS[1]}").check()
    assert driver.state() == "attached"


def test_modes_change_under_load(guest: Guest, driver: Driver, program: artifacts.Artifact) -> None:
    """Grants where the mode is hint, hooks in shadow, which takes a core, neither when it is off."""
    load = Load(guest, LARGE)
    change_modes(guest, driver, load, ("hint", "off", "hint", "hint"))
    guest.run("echo 4 > /sys/module/hwswap/parameters/trusted_min_order").check()
    assert driver.state() == "attached", "what is not of grants does not touch them"
    change_modes(guest, driver, load, ("shadow",))
    if program is artifacts.DEVICE_GRANTS_ONLY:
        assert "marks and grants alone" in driver.wait_detached()
        assert driver.messages("they take mode hint and CONFIG_SWAP_GRANTS")
    change_modes(guest, driver, load, ("hint", "off", "shadow", "hint"))
    driver.wait_attached()
    placed(driver, driver.stats())
    load.stop(300)
    driver.assert_quiet_mirror()


def test_a_cpu_comes_and_goes(guest: Guest, driver: Driver) -> None:
    load = Load(guest, LARGE)
    blink_cpu(guest, 2, driver.assert_quiet_mirror)
    load.stop(300)
    assert driver.state() == "attached"


def test_the_engine_dies_under_load(kernel_log: Path, folder: Path, program: artifacts.Artifact) -> None:
    """Software goes on, and it is found out."""

    def scenario() -> None:
        server = EngineServer(folder, program=program)
        try:
            with Guest(Machine(cpus=2, disks=4, disk_mb=64), server, log=kernel_log, patience=3) as guest:
                swap_on(guest)
                driver = Driver.attached(guest, "hint")
                load = Load(guest, LARGE)
                placed(driver, dict.fromkeys(driver.stats(), 0))
                server.kill()
                driver.wait_detached(120)
                load.stop(300)
                swapload(guest, f"{SMALL} {ROUNDS}", 300)
        finally:
            server.stop()

    unless_qemu_ends(scenario, kernel_log)
