# SPDX-License-Identifier: Apache-2.0
"""The bus resets the engine, or reports an error of it, while swap is in use; Relaxed Ordering stays off.

An engine whose bus is frozen, or that is dead, is not touched: neither its registers nor its configuration.
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driver import MIXED, PCI_DEVICES, PCI_DRIVER, Driver, Load, attached, wait_for
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer

COMPLETION_TIMEOUT = 0x4000
"""An uncorrectable error that is not fatal, in Uncorrectable Error Status."""
MALFORMED = 0x40000
"""A fatal one: the link is reset."""
WRITES = ("vfio_region_write", "vfio_pci_write_config", "pci_cfg_write")
"""Events of QEMU: the engine's registers, its configuration, that of QEMU's own devices."""
BUS_RESET = re.compile(r"^pci_cfg_write pcie-root-port .*@0x3e <- 0x[0-9a-f]*[4-7c-f][0-9a-f]$")
"""Secondary Bus Reset, bit 6 of Bridge Control."""
DEVICE_CONTROL = 0x58
"""Offset of Device Control in the simulated device's configuration space (sim/verilator/src/device/pci_config.cpp)."""
RELAXED_ORDERING = 0x10


@pytest.fixture(scope="module")
def driver(engine: EngineServer) -> Iterator[Driver]:
    with attached(paths.REPORTS / "kernel" / "pci.log", engine, Machine(cpus=2, disk_mb=64)) as driver:
        yield driver


def inject(driver: Driver, error: int) -> None:
    """Have the kernel's own injector report an error of the engine through the root port."""
    domain, bus, place = driver.address().split(":")
    slot, function = place.split(".")
    where = struct.pack("BBBx", int(bus, 16), int(slot, 16), int(function))
    message = where + struct.pack("IIIIIII", error, 0, 0, 0, 0, 0, int(domain, 16))
    text = "".join(f"\\x{byte:02x}" for byte in message)
    driver.guest.run(f"printf '{text}' >/dev/aer_inject").check()


def accesses(guest: Guest, act: Callable[[], None]) -> list[str]:
    """Return what QEMU saw of registers and configuration being written meanwhile, in order."""
    log = guest.folder / "qemu.log"
    begin = log.stat().st_size
    guest.trace(WRITES, True)
    act()
    guest.trace(WRITES, False)
    return [line for line in log.read_text(errors="replace")[begin:].splitlines() if line.startswith(WRITES)]


def touched(lines: list[str]) -> list[str]:
    """Return the writes among them to the engine's registers, or to its Command."""
    return [
        line for line in lines if re.search(r"^vfio_region_write .*:region0\+|^vfio_pci_write_config .*@0x4,", line)
    ]


def assert_ordered(driver: Driver) -> None:
    """Fail if the engine may ask for Relaxed Ordering."""
    config = f"{PCI_DEVICES}/{driver.address()}/config"
    word = driver.guest.run(f"od -An -tu2 -j{DEVICE_CONTROL} -N2 {config}").check()
    assert int(word) and not int(word) & RELAXED_ORDERING, f"Device Control is {int(word):#x}"


def assert_came_back(driver: Driver, before: dict[str, int], times: int) -> None:
    """Fail unless the engine was detached and attached so many times since `before`."""
    seen = driver.since(before)
    assert seen["detaches"] == seen["attaches"] == times, seen


def test_relaxed_ordering_is_off(driver: Driver) -> None:
    assert_ordered(driver)


@pytest.mark.parametrize("method", ["flr", "bus"])
def test_reset_under_load(driver: Driver, method: str) -> None:
    guest, device = driver.guest, f"{PCI_DEVICES}/{driver.address()}"
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
    assert_came_back(driver, before, 3)
    assert len(driver.messages("PCI function is being reset")) == said + 3
    assert_ordered(driver)
    driver.assert_bitmaps()


@pytest.mark.parametrize("error", [COMPLETION_TIMEOUT, MALFORMED])
def test_reported_error_under_load(driver: Driver, error: int) -> None:
    guest = driver.guest
    before, recovered = driver.stats(), guest.kernel_log().count("device recovery successful")
    load = Load(guest, MIXED)
    driver.wait_grants()
    inject(driver, error)
    driver.wait_beyond("detaches", before["detaches"])
    driver.wait_attached()
    driver.wait_grants()
    load.stop()
    assert_came_back(driver, before, 1)
    assert driver.messages("a PCI error was reported")
    assert guest.kernel_log().count("device recovery successful") == recovered + 1
    assert_ordered(driver)
    driver.assert_bitmaps()


def test_reset_while_nothing_is_attached(driver: Driver) -> None:
    """The mode decides what happens after a reset."""
    driver.set_mode("off")
    guest, device = driver.guest, f"{PCI_DEVICES}/{driver.address()}"
    guest.run(f"echo flr >{device}/reset_method && echo 1 >{device}/reset").check()
    assert driver.state() == "detached: mode is off"
    driver.set_mode("hint")
    driver.wait_attached()
    driver.assert_bitmaps()


def test_a_frozen_engine_is_not_touched(folder: Path, kernel_log: Path) -> None:
    """Between a fatal error and the reset of its link, under load."""
    with attached(kernel_log, EngineServer(folder)) as driver:
        guest = driver.guest
        load = Load(guest, MIXED)
        driver.wait_grants()
        before = driver.stats()["detaches"]

        def fail() -> None:
            inject(driver, MALFORMED)
            driver.wait_beyond("detaches", before)
            driver.wait_attached()

        lines = accesses(guest, fail)
        reset = next(number for number, line in enumerate(lines) if BUS_RESET.search(line))
        assert touched(lines[reset:]), lines  # it is attached again by registers
        assert not touched(lines[:reset]), lines[:reset]
        driver.wait_grants()
        load.stop()
        driver.assert_bitmaps()


def test_a_dead_engine_is_not_touched(folder: Path, kernel_log: Path) -> None:
    """The slot has another function, without a driver: the kernel gives both up after a fatal error."""
    with attached(kernel_log, EngineServer(folder), beside=["pci-testdev"]) as driver:
        guest = driver.guest
        load = Load(guest, MIXED)
        driver.wait_grants()
        address = driver.address()

        def give_up() -> None:
            inject(driver, MALFORMED)
            wait_for(guest.kernel_log, lambda log: "device recovery failed" in log, 60, "a recovery that fails")
            driver.wait_detached()
            driver.set_mode("off")
            driver.set_mode("hint")
            guest.run(f"echo {address} >{PCI_DRIVER}/unbind; sleep 1").check()

        lines = accesses(guest, give_up)
        reset = next(number for number, line in enumerate(lines) if BUS_RESET.search(line))
        assert not touched(lines[:reset]), lines[:reset]
        # Behind the driver, the bus itself clears Command.
        assert not [line for line in touched(lines) if "region0" in line], lines
        assert not driver.messages("stay allocated")
        assert driver.state().startswith("detached")
        load.stop()
        driver.unload()
