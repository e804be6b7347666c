# SPDX-License-Identifier: Apache-2.0
"""An engine whose bus is frozen, or that is dead, is not touched: neither its registers nor its configuration."""

import time
from pathlib import Path

from driver import PCI_DRIVER, Driver, Load, swap_on
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer
from pci_errors import BUS_RESET, MALFORMED, accesses, inject, touched

MIXED = "--processes 2 --size 16m --limit 16m --folio 64k --access random"


def test_a_frozen_engine_is_not_touched(folder: Path, kernel_log: Path) -> None:
    """Between a fatal error and the reset of its link, under load."""
    with Guest(Machine(cpus=2), EngineServer(folder), log=kernel_log) as guest:
        swap_on(guest)
        driver = Driver.attached(guest, "hint")
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
        driver.assert_mirror()


def test_a_dead_engine_is_not_touched(folder: Path, kernel_log: Path) -> None:
    """The slot has another function, without a driver: the kernel gives both up after a fatal error."""
    with Guest(Machine(cpus=2), EngineServer(folder), beside=["pci-testdev"], log=kernel_log) as guest:
        swap_on(guest)
        driver = Driver.attached(guest, "hint")
        load = Load(guest, MIXED)
        driver.wait_grants()
        address = driver.address()

        def give_up() -> None:
            inject(driver, MALFORMED)
            deadline = time.monotonic() + 60
            while "device recovery failed" not in guest.kernel_log():
                assert time.monotonic() < deadline
                time.sleep(0.2)
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
