# SPDX-License-Identifier: Apache-2.0
"""The engine dies while it searches swap tables."""

import time
from pathlib import Path

from driver import (
    QUEUED,
    Driver,
    Load,
    end_search,
    hold_half,
    queued_guest,
    search_for_ever,
    unless_qemu_ends,
    verify_half,
)
from hwswap.rtl.device_server import EngineServer

LOAD = "--processes 2 --size 3m --limit 4m --folio 4k --access random"


def kill_while_it_searches(engine: EngineServer, kernel_log: Path) -> None:
    with queued_guest(kernel_log, engine) as guest:
        driver = Driver.attached(guest, "scan")
        hold_half(guest, seed=7)
        load = Load(guest, LOAD)
        search_for_ever(guest, QUEUED[0])
        # First swapoff reads what belongs to processes.
        deadline = time.monotonic() + 120
        while not driver.stats()["searches_used"]:
            assert time.monotonic() < deadline, driver.stats()
            time.sleep(0.2)
        guest.kill_engine()
        driver.wait_detached(60)
        load.assert_running()
        end_search(guest, QUEUED[0])
        load.stop(300)
        verify_half(guest)
        assert len(driver.messages("detached:")) == 1, driver.messages("detached:")
        guest.run(f"swapctl off {QUEUED[1]}", 300).check()


def test_engine_killed_while_it_searches(engine: EngineServer, kernel_log: Path) -> None:
    unless_qemu_ends(lambda: kill_while_it_searches(engine, kernel_log), kernel_log)
