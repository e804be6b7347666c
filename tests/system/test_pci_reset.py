# SPDX-License-Identifier: Apache-2.0
"""The bus resets the engine, or reports an error of it, while swap is in use; Relaxed Ordering stays off."""

from collections.abc import Iterator

import pytest
from driver import PCI_DEVICES, Driver, Load, swap_on
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer
from pci_errors import COMPLETION_TIMEOUT, MALFORMED, inject

MIXED = "--processes 2 --size 16m --limit 16m --folio 64k --access random"
DEVICE_CONTROL = 0x58
"""Offset of Device Control in the simulated device's configuration space (sim/verilator/src/device/pci_config.cpp)."""
RELAXED_ORDERING = 0x10


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with Guest(Machine(cpus=2, disk_mb=64), engine, log=paths.REPORTS / "kernel" / "pci-reset.log") as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return Driver.attached(guest, "hint")


def assert_ordered(driver: Driver) -> None:
    """Fail if the engine may ask for Relaxed Ordering."""
    config = f"{PCI_DEVICES}/{driver.address()}/config"
    word = driver.guest.run(f"od -An -tu2 -j{DEVICE_CONTROL} -N2 {config}").check()
    assert int(word) and not int(word) & RELAXED_ORDERING, f"Device Control is {int(word):#x}"


def test_relaxed_ordering_is_off(driver: Driver) -> None:
    assert_ordered(driver)


@pytest.mark.parametrize("method", ["flr", "bus"])
def test_reset_under_load(guest: Guest, driver: Driver, method: str) -> None:
    device = f"{PCI_DEVICES}/{driver.address()}"
    guest.run(f"echo {method} >{device}/reset_method").check()
    before, said = driver.stats(), len(driver.messages("PCI function is being reset"))
    load = Load(guest, MIXED)
    for _ in range(3):
        driver.wait_grants()
        guest.run(f"echo 1 >{device}/reset").check()
        load.assert_running()
        driver.wait_attached()
    driver.wait_grants()
    load.stop()
    seen = driver.since(before)
    assert seen["detaches"] == seen["attaches"] == 3, seen
    assert seen["timeouts"] == 0, seen
    assert len(driver.messages("PCI function is being reset")) == said + 3
    assert_ordered(driver)
    driver.assert_mirror()


@pytest.mark.parametrize("error", [COMPLETION_TIMEOUT, MALFORMED])
def test_reported_error_under_load(guest: Guest, driver: Driver, error: int) -> None:
    before, recovered = driver.stats(), guest.kernel_log().count("device recovery successful")
    load = Load(guest, MIXED)
    driver.wait_grants()
    inject(driver, error)
    driver.wait_beyond("detaches", before["detaches"])
    driver.wait_attached()
    driver.wait_grants()
    load.stop()
    seen = driver.since(before)
    assert seen["detaches"] == seen["attaches"] == 1, seen
    assert seen["timeouts"] == 0, seen
    assert driver.messages("a PCI error was reported")
    assert guest.kernel_log().count("device recovery successful") == recovered + 1
    assert_ordered(driver)
    driver.assert_mirror()


def test_reset_while_nothing_is_attached(guest: Guest, driver: Driver) -> None:
    """The mode decides what happens after a reset."""
    driver.set_mode("off")
    device = f"{PCI_DEVICES}/{driver.address()}"
    guest.run(f"echo flr >{device}/reset_method && echo 1 >{device}/reset").check()
    assert driver.state() == "detached: mode is off"
    driver.set_mode("hint")
    driver.wait_attached()
    driver.assert_mirror()
