# SPDX-License-Identifier: Apache-2.0
"""Swap devices that the engine does not serve: large folios find room there as they do in mode off."""

from pathlib import Path

import pytest
from driver import BENCH, Driver, insert_null_blk, kernel_modules, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer
from soft_grants import page_out_64k

QUEUE = "nr_devices=1 irqmode=2 completion_nsec=20000"
"""/dev/nullb0, whose requests take 20 us."""
ROTATING = "gb=1 rotational=1"
TOO_LARGE = "gb=16"
"""8,192 clusters; the engine knows 2,048."""
DEVICES = 8
"""As many as the engine has entries for."""
SLOTS = 1023
"""Of a device of 4 MB, without its header."""
MEGABYTES, CHURN = 40, "20m"


def assert_as_in_mode_off(guest: Guest, driver: Driver) -> None:
    """Page out large folios in mode hint, then in mode off, which is the yardstick."""
    driver.wait_attached()
    whole, split = page_out_64k(guest, MEGABYTES, CHURN)
    stats = driver.stats()
    driver.set_mode("off")
    whole_off, split_off = page_out_64k(guest, MEGABYTES, CHURN)
    assert whole_off > split_off
    assert split <= split_off, f"hint {whole}, {split} split; off {whole_off}, {split_off} split: {stats}"


@pytest.mark.parametrize(
    ("arguments", "size", "served"),
    [
        (ROTATING, "64m", 0),
        (TOO_LARGE, "16g", 0),
        (ROTATING, "64m", 1),
        (TOO_LARGE, "16g", 1),
        ("gb=1", "64m", DEVICES),
    ],
    ids=["rotating-alone", "too-large-alone", "rotating", "too-large", "no-entry"],
)
def test_an_unserved_device(folder: Path, kernel_log: Path, arguments: str, size: str, served: int) -> None:
    """It is alone, or below it are served ones without room for a large folio: about every other slot is in use."""
    machine = Machine(cpus=2, disks=served, disk_mb=64)
    with Guest(machine, EngineServer(folder), files=kernel_modules(), log=kernel_log) as guest:
        driver = Driver.attached(guest)
        for number in range(served):
            guest.run(f"swapctl make -s 4m /dev/ram{number} && swapctl on -p 1 /dev/ram{number}").check()
        if served:
            guest.run(f"echo 'fill {SLOTS * served} 1' >{BENCH}").check()
        driver.wait_messages("stays with software", 0)
        insert_null_blk(guest, f"{QUEUE} {arguments}")
        guest.run(f"swapctl make -s {size} /dev/nullb0 && swapctl on -p 9 /dev/nullb0").check()
        driver.wait_messages("stays with software", int(served == DEVICES))
        assert_as_in_mode_off(guest, driver)


def test_an_unserved_device_comes_and_goes(folder: Path, kernel_log: Path) -> None:
    """The engine's word that there is no room counts again when all devices are served."""
    with Guest(Machine(cpus=2, disks=1), EngineServer(folder), files=kernel_modules(), log=kernel_log) as guest:
        driver = Driver.attached(guest)
        insert_null_blk(guest, f"{QUEUE} {ROTATING}")
        guest.run("swapctl make -s 4m /dev/ram0 && swapctl on -p 1 /dev/ram0").check()
        guest.run("swapctl make -s 64m /dev/nullb0 && swapctl on -p 9 /dev/nullb0 && swapctl off /dev/nullb0").check()
        guest.run(f"echo 'fill {SLOTS} 1' >{BENCH}; sleep 1").check()
        page_out_64k(guest, 1)
        assert driver.stats()["grants_no_run"] > 0
        guest.run(f"echo drop >{BENCH}").check()
        driver.assert_bitmaps()


LAST_PAGE = 4294966784
"""Then a device has 2^32 - 511 slots: rounded up to whole clusters in 32 bits they are none."""


def test_a_device_of_nearly_all_numbers(folder: Path, kernel_log: Path) -> None:
    """It stays with software, and takes the engine from no other device."""
    machine = Machine(cpus=2, memory_mb=2048, disks=1)
    with Guest(machine, EngineServer(folder), files=kernel_modules(), log=kernel_log, patience=3) as guest:
        driver = Driver.attached(guest)
        guest.run("swapctl make /dev/ram0 && swapctl on -p 9 /dev/ram0").check()
        insert_null_blk(guest, f"{QUEUE} gb=16384")
        guest.run(f"swapctl make -s {(LAST_PAGE + 1) * 4096} /dev/nullb0 && swapctl on -p 1 /dev/nullb0", 600).check()
        assert f"there is no room for its {(LAST_PAGE + 512) // 512} clusters" in guest.kernel_log()
        swapload(guest, "--processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2")
        assert driver.stats()["grant_units"] > 0
        assert not driver.messages("detached")
        driver.assert_bitmaps()
        guest.run("swapctl off /dev/nullb0", 600).check()
