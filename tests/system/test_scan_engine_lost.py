# SPDX-License-Identifier: Apache-2.0
"""The engine dies while it searches swap tables."""

import time
from pathlib import Path

from driver import QUEUED, Driver, Load, hold_half, kernel_modules, swap_on_queued, verify_half
from hwswap.engine import EngineServer
from hwswap.guest import Guest, Machine

LOAD = "--processes 2 --size 12m --limit 8m --folio 4k --access random"


def test_engine_killed_while_it_searches(engine: EngineServer, kernel_log: Path) -> None:
    with Guest(Machine(cpus=2, disks=0), engine, files=kernel_modules(), log=kernel_log) as guest:
        swap_on_queued(guest)
        driver = Driver(guest)
        driver.load("scan")
        driver.wait_attached()
        hold_half(guest, seed=7)
        load = Load(guest, LOAD)
        deadline = time.monotonic() + 60
        while driver.stats()["windows"] == 0:
            assert time.monotonic() < deadline, driver.stats()
            time.sleep(0.1)
        # Windows, and the searches of one swapoff after the other, are under way when it dies.
        guest.run(
            f"(while :; do swapctl off {QUEUED[0]} && swapctl on -p 5 {QUEUED[0]} || exit; done) >/tmp/offs 2>&1 & "
            "echo $! >/tmp/offs.pid; sleep 1"
        ).check()
        guest.kill_engine()
        driver.wait_detached(60)
        guest.run("sleep 1; kill $(cat /tmp/offs.pid); sleep 1").check()
        load.assert_running()
        load.stop(300)
        verify_half(guest)
        for disk in QUEUED:
            guest.run(f"grep -q {disk} /proc/swaps && swapctl off {disk}; true", 300).check()
        assert "null" not in guest.run("cat /proc/swaps").check()
