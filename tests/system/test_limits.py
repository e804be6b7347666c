# SPDX-License-Identifier: Apache-2.0
"""Engines that lie, engines that are too small, and swap that no engine can serve."""

from pathlib import Path

import pytest
from driver import DISKS, Driver, Load, swap_on, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

SMALL = "--processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2"


@pytest.mark.parametrize(
    ("lie", "message"),
    [("version", "another interface version"), ("ones", "all ones")],
)
def test_engine_that_cannot_be_used(folder: Path, kernel_log: Path, lie: str, message: str) -> None:
    engine = EngineServer(folder, arguments=("--bad", lie))
    with Guest(Machine(cpus=2), engine, log=kernel_log) as guest:
        driver = Driver(guest)
        swap_on(guest)
        driver.load("hint")
        assert message in driver.state()
        assert any("software goes on" in line for line in driver.messages(message))
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
            load = Load(guest, "--processes 2 --size 16m --limit 16m --folio 64k --access random")
            swapload(guest, SMALL)
            guest.run("sleep 1").check()
            load.stop()
            stats = driver.stats()
            refused = {why: max(number, stats[f"grants_refused_{why}"]) for why, number in refused.items()}
            attaches += 1
        print(f"grants refused: {refused}, in {attaches} attaches")
        assert all(refused.values()), refused
        # What the kernel stores does not come from grants.
        driver.assert_mirror()
        driver.unload()


def test_more_cpus_than_the_engine_has(folder: Path, kernel_log: Path) -> None:
    with Guest(Machine(cpus=6), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver(guest)
        swap_on(guest)
        driver.load("hint")
        assert "fewer CPUs" in driver.state()
        assert driver.messages("built for 4 CPUs")
        swapload(guest, SMALL)
        assert driver.stats()["grant_units"] == 0


def test_more_swap_devices_than_the_engine_has(folder: Path, kernel_log: Path) -> None:
    with Guest(Machine(cpus=2, disks=10, disk_mb=16), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver(guest)
        driver.load("hint")
        driver.wait_attached()
        swap_on(guest, *(f"/dev/ram{disk}" for disk in range(10)))
        for _ in range(2):
            swapload(guest, SMALL)
        driver.wait_messages("stays with software", 2)
        assert driver.stats()["grant_units"] > 0
        driver.assert_mirror()


def test_more_clusters_than_the_engine_has(folder: Path, kernel_log: Path) -> None:
    # 3 of these have 4,608 MB; the engine knows clusters of 4,096. A RAM disk takes memory only for what is written.
    with Guest(Machine(cpus=2, disk_mb=1536), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver(guest)
        driver.load("hint")
        driver.wait_attached()
        swap_on(guest, *DISKS[:3])
        swapload(guest, SMALL)
        assert guest.kernel_log().count("there is no room for its 768 clusters") == 1
        assert driver.stats()["grant_units"] > 0
        driver.assert_mirror()


def test_no_engine_at_all(kernel_log: Path) -> None:
    with Guest(Machine(cpus=2), log=kernel_log) as guest:
        driver = Driver(guest)
        swap_on(guest)
        driver.load("hint")
        assert driver.state().startswith("detached")
        swapload(guest, SMALL)
        assert driver.stats()["grant_units"] == 0


def test_swap_file(folder: Path, kernel_log: Path) -> None:
    with Guest(Machine(cpus=2, disks=5), EngineServer(folder), log=kernel_log) as guest:
        driver = Driver(guest)
        driver.load("hint")
        driver.wait_attached()
        guest.run("mkdir /tmp/disk && mke2fs /dev/ram4 >/dev/null && mount -t ext2 /dev/ram4 /tmp/disk").check()
        guest.run("swapctl make -s 96m /tmp/disk/swap && swapctl on /tmp/disk/swap").check()
        swapload(guest, SMALL)
        # Not with 64 kB folios, which Linux 7.3.4 itself reads wrong from a file (test_swap_file.py), unlike 2 MB.
        swapload(guest, "--size 24m --limit 16m --folio 2m --rounds 2")
        counters = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats"
        whole, fallbacks = guest.run(f"cat {counters}/swpout {counters}/swpout_fallback").check().split()
        assert int(whole) == 0 and int(fallbacks) > 0  # the kernel puts no large folio into a file
        stats = driver.stats()
        assert stats["grant_units"] > 0
        assert stats["grants_refused_flags"] == 0  # the engine grants nothing but single slots of a file
        driver.assert_mirror()
        guest.run("swapctl off /tmp/disk/swap").check()
