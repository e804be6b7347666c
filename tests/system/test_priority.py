# SPDX-License-Identifier: Apache-2.0
"""Grants do not overrule priorities: what has to go to an encrypted device does not end up on a plain one."""

from pathlib import Path

from driver import MIXED, Driver, Load, hold_half, swapload, used_of, verify_half
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

FIRST, SECOND = "/dev/ram0", "/dev/ram1"
LOAD = "--processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2"


def swap_on_both(guest: Guest, size: str) -> None:
    """Switch on a device of high priority and that size, then one of low priority: numbers 0 and 1."""
    guest.run(f"swapctl make -s {size} {FIRST} && swapctl on -p 10 {FIRST}").check()
    guest.run(f"swapctl make {SECOND} && swapctl on -p 1 {SECOND}").check()


def test_grants_of_a_lower_priority_are_refused(folder: Path, kernel_log: Path) -> None:
    """An engine that names the second device in each grant of the first, and the first in those of the second.

    The latter, of sizes that there is no room for on the first, may be taken: a search begins at the wrong place there.
    """
    engine = EngineServer(folder, arguments=("--bad", "device"))
    with Guest(Machine(cpus=2, disks=2), engine, log=kernel_log) as guest:
        swap_on_both(guest, "64m")
        driver = Driver.attached(guest)
        # Held in swap while we look: what was freed again would not be seen.
        hold_half(guest, seed=1)
        swapload(guest, LOAD)
        stats = driver.stats()
        assert used_of(guest)[FIRST] > 0
        assert used_of(guest)[SECOND] == 0, stats
        assert stats["grants_refused_priority"] > 0, stats
        verify_half(guest)


def test_a_full_device_is_no_reason(folder: Path, kernel_log: Path) -> None:
    """An honest engine: when the first device is full, grants of the second are taken."""
    with Guest(Machine(cpus=2, disks=2), EngineServer(folder), log=kernel_log) as guest:
        swap_on_both(guest, "4m")
        driver = Driver.attached(guest)
        hold_half(guest, seed=1, size="16m", free=0)
        assert used_of(guest)[FIRST] == 4092  # all but its header; and it stays so
        assert used_of(guest)[SECOND] > 0
        load = Load(guest, MIXED)
        driver.wait_grants()
        assert used_of(guest)[FIRST] == 4092
        load.stop()
        verify_half(guest)
        driver.assert_bitmaps()
