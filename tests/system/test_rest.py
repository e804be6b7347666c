# SPDX-License-Identifier: Apache-2.0
"""An engine of which nothing is asked: no DMA at all, until a ring is wanted again."""

import time

from driver import DEBUG, DISKS, SMALL, Driver, off_and_on, swap_on, swapload, wait_for
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

IDLE_S = 120
"""A ring is not wanted 10 to 20 seconds after its last use, by the guest's clock."""


def said(guest: Guest, name: str, base: int = 10) -> int:
    """Return a number of debugfs `engine`: its STATUS, or `beats`, the words that it has moved since its reset."""
    lines = guest.run(f"cat {DEBUG}/engine").check().splitlines()
    return next(int(line.split()[1], base) for line in lines if line.startswith(f"{name} "))


def test_an_engine_of_which_nothing_is_asked_moves_no_word_and_wakes(folder, kernel_log):
    engine = EngineServer(folder)
    with Guest(Machine(cpus=2, disks=2), engine, log=kernel_log) as guest:
        swap_on(guest, *DISKS[:2])
        driver = Driver.attached(guest)
        for rests in (1, 2):
            swapload(guest, f"{SMALL} --rounds 2", 300)
            driver.wait_beyond("grant_units")
            wait_for(lambda: driver.stats()["rests"], lambda seen, least=rests: seen >= least, IDLE_S, "to rest")
            # It ends what it is at; BUSY is 0 then.
            wait_for(lambda: said(guest, "status", 16), lambda status: not status, IDLE_S, "to end its round")
            moved = said(guest, "beats")
            assert moved > 0
            # Longer than an engine at work may be without a heartbeat.
            time.sleep(5)
            assert said(guest, "beats") == moved
            assert driver.state() == "attached"
        off_and_on(guest, DISKS[0])
        before = driver.stats()
        swapload(guest, f"{SMALL} --rounds 2", 300)
        assert driver.since(before)["grant_units"] > 0
        assert said(guest, "beats") > moved
        driver.assert_bitmaps()
        driver.unload()
    engine.stop()
