# SPDX-License-Identifier: Apache-2.0
"""Another engine answers behind the same registers: memory that was allocated for the first does not fit it."""

from pathlib import Path

import pytest
from driver import DEBUG, PCI_DRIVER, Driver, swap_on, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

READS = 4000
"""Reads of registers before the engine changes: more than the driver needs to attach it, as it waits for each swap
device's entry. A look at debugfs takes more than 10."""
SMALL = "--processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2"


@pytest.mark.parametrize(("lie", "register"), [("larger", "CAPS"), ("build", "BUILD")])
def test_not_used_until_bound_anew(folder: Path, kernel_log: Path, lie: str, register: str) -> None:
    engine = EngineServer(folder, arguments=("--bad", lie, "--bad-after", str(READS)))
    with Guest(Machine(cpus=2), engine, log=kernel_log) as guest:
        swap_on(guest)
        driver = Driver.attached(guest, "hint")
        swapload(guest, SMALL)
        assert driver.stats()["grant_units"] > 0
        guest.run(f"for i in $(seq {READS // 10}); do cat {DEBUG}/engine; done >/dev/null").check()

        assert guest.run(f"echo 1 >{DEBUG}/reattach").code != 0
        assert f"another engine now, by its {register}" in driver.state()
        # It is not tried again, as it would be after a second where trouble may pass.
        guest.run("sleep 3").check()
        assert f"another engine now, by its {register}" in driver.state()
        assert len(driver.messages("another engine now")) == 1, driver.messages("another engine now")
        before = driver.stats()
        swapload(guest, SMALL)
        assert driver.since(before)["grant_units"] == 0

        if lie == "build":  # a larger engine that is none cannot be used
            address = driver.address()
            guest.run(f"echo {address} >{PCI_DRIVER}/unbind; echo {address} >{PCI_DRIVER}/bind").check()
            driver.wait_attached()
            swapload(guest, SMALL)
            assert driver.stats()["grant_units"] > 0
            driver.assert_mirror()
