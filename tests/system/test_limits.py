# SPDX-License-Identifier: Apache-2.0
"""Engines that lie, engines that are too small, engines that change, and swap that no engine can serve."""

from pathlib import Path

import pytest
from driver import DEBUG, DISKS, MIXED, PCI_DRIVER, Driver, Load, attached, swap_on, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

SMALL = "--processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2"


@pytest.mark.parametrize(
    ("arguments", "cpus", "message"),
    [
        (["--bad", "version"], 2, "another interface version"),
        (["--bad", "ones"], 2, "all ones"),
        ([], 6, "fewer CPUs"),
        (None, 2, "detached"),
    ],
)
def test_engine_that_cannot_be_used(
    folder: Path, kernel_log: Path, arguments: list[str] | None, cpus: int, message: str
) -> None:
    """It lies, has fewer CPUs than the machine, or is not there: software goes on."""
    engine = None if arguments is None else EngineServer(folder, arguments=arguments)
    with Guest(Machine(cpus=cpus), engine, log=kernel_log) as guest:
        driver = Driver(guest)
        swap_on(guest)
        driver.load("hint")
        assert message in driver.state()
        assert not engine or any("software goes on" in line for line in driver.messages(message))
        swapload(guest, SMALL)
        assert driver.stats()["grant_units"] == 0
        driver.unload()


ATTACHES = 10
"""At most, until a grant of each bad kind was seen."""


def test_engine_that_gives_random_grants(folder: Path, kernel_log: Path) -> None:
    engine = EngineServer(folder, arguments=("--bad", "garbage"))
    with Guest(Machine(cpus=2), engine, log=kernel_log) as guest:
        driver = Driver(guest)
        swap_on(guest)
        driver.load("hint")
        # The kernel's checks catch it at it, of each kind that can be seen without knowing the device. They look at few
        # grants between two attaches, so it takes several.
        attaches, refused = 0, dict.fromkeys(("epoch", "order", "place"), 0)
        while attaches < ATTACHES and not all(refused.values()):
            driver.set_mode("off")
            driver.set_mode("hint")
            load = Load(guest, MIXED)
            swapload(guest, SMALL)
            guest.run("sleep 1").check()
            load.stop()
            stats = driver.stats()
            refused = {why: max(number, stats[f"grants_refused_{why}"]) for why, number in refused.items()}
            attaches += 1
        print(f"grants refused: {refused}, in {attaches} attaches")
        assert all(refused.values()), refused
        # What the kernel stores does not come from grants.
        driver.assert_bitmaps()
        driver.unload()


def test_more_swap_devices_than_the_engine_has(folder: Path, kernel_log: Path) -> None:
    with Guest(Machine(cpus=2, disks=10, disk_mb=16), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver.attached(guest)
        swap_on(guest, *(f"/dev/ram{disk}" for disk in range(10)))
        for _ in range(2):
            swapload(guest, SMALL)
        driver.wait_messages("stays with software", 2)
        assert driver.stats()["grant_units"] > 0
        driver.assert_bitmaps()


def test_more_clusters_than_the_engine_has(folder: Path, kernel_log: Path) -> None:
    # 3 of these have 4,608 MB; the engine knows clusters of 4,096. A RAM disk takes memory only for what is written.
    with Guest(Machine(cpus=2, disk_mb=1536), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver.attached(guest)
        swap_on(guest, *DISKS[:3])
        swapload(guest, SMALL)
        assert guest.kernel_log().count("there is no room for its 768 clusters") == 1
        assert driver.stats()["grant_units"] > 0
        driver.assert_bitmaps()


def test_swap_file(folder: Path, kernel_log: Path) -> None:
    with Guest(Machine(cpus=2, disks=5), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver.attached(guest)
        guest.run("mkdir /tmp/disk && mke2fs /dev/ram4 >/dev/null && mount -t ext2 /dev/ram4 /tmp/disk").check()
        guest.run("swapctl make -s 96m /tmp/disk/swap && swapctl on /tmp/disk/swap").check()
        swapload(guest, SMALL)
        # Not with 64 kB folios, which Linux 7.3.4 itself reads wrong from a file (docs/wrong-read.md), unlike 2 MB.
        swapload(guest, "--size 24m --limit 16m --folio 2m --rounds 2")
        counters = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats"
        whole, fallbacks = guest.run(f"cat {counters}/swpout {counters}/swpout_fallback").check().split()
        assert int(whole) == 0 and int(fallbacks) > 0  # the kernel puts no large folio into a file
        stats = driver.stats()
        assert stats["grant_units"] > 0
        assert stats["grants_refused_flags"] == 0  # the engine grants nothing but single slots of a file
        driver.assert_bitmaps()
        guest.run("swapctl off /tmp/disk/swap").check()


READS = 4000
"""Reads of registers before the engine changes: more than the driver needs to attach it, as it waits for each swap
device's entry. A look at debugfs takes more than 10."""


@pytest.mark.parametrize(("lie", "register"), [("larger", "CAPS"), ("build", "BUILD")])
def test_not_used_until_bound_anew(folder: Path, kernel_log: Path, lie: str, register: str) -> None:
    engine = EngineServer(folder, arguments=("--bad", lie, "--bad-after", str(READS)))
    with attached(kernel_log, engine) as driver:
        guest = driver.guest
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
            driver.assert_bitmaps()
