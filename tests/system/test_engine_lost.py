# SPDX-License-Identifier: Apache-2.0
"""The engine goes and comes back; the guest goes and comes back."""

from pathlib import Path

import pytest
from driver import MIXED, Driver, Load, attached, swap_on, swapload, unless_qemu_ends
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts
from hwswap.rtl.device_server import EngineServer

MACHINE = Machine(cpus=2, disk_mb=64)


def kill_and_attach_again(engine: EngineServer, kernel_log: Path) -> None:
    with attached(kernel_log, engine, MACHINE) as driver:
        guest = driver.guest
        load = Load(guest, MIXED)
        driver.wait_grants()
        load.assert_running()

        guest.kill_engine()
        driver.wait_detached()
        guest.run("sleep 1").check()
        load.assert_running()
        assert len(driver.messages("detached:")) == 1, driver.messages("detached:")
        assert "software goes on" in driver.messages("detached:")[0]
        swapload(guest, "--size 8m --limit 4m --rounds 2")

        guest.restart_engine()
        driver.wait_attached(60)
        driver.wait_grants()
        load.stop()
        driver.assert_bitmaps()


@pytest.mark.parametrize("program", [artifacts.DEVICE_GRANTS, artifacts.DEVICE_GRANTS_ONLY], ids=["whole", "no-core"])
def test_killed_and_attached_again(folder: Path, kernel_log: Path, program: artifacts.Artifact) -> None:
    def scenario() -> None:
        server = EngineServer(folder, program=program)
        try:
            kill_and_attach_again(server, kernel_log)
        finally:
            server.stop()

    unless_qemu_ends(scenario, kernel_log)


def test_reset_reboot_and_a_second_guest(engine: EngineServer, kernel_log: Path) -> None:
    engine.stop()
    engine.start()

    def use(guest: Guest) -> None:
        swap_on(guest)
        driver = Driver.attached(guest)
        load = Load(guest, MIXED)
        driver.wait_grants()
        load.stop()
        driver.assert_bitmaps()

    with Guest(MACHINE, engine, log=kernel_log) as guest:
        use(guest)
        Load(guest, MIXED)  # the reset comes while grants are out
        guest.reset()
        use(guest)
        guest.reboot()
        use(guest)
    engine.check()
    with Guest(MACHINE, engine, log=kernel_log.with_suffix(".second.log")) as guest:
        use(guest)
    engine.check()
