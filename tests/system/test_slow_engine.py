# SPDX-License-Identifier: Apache-2.0
"""Nobody waits for a slow engine in swapon and swapoff, where mutexes of the kernel are held."""

from pathlib import Path

from driver import DISKS, Driver, Load, change_devices, swap_on
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

LATENCY = 3000
"""Cycles of each DMA transfer: a pass over the rings takes a good part of a second, and so does a device's entry."""
WAIT = 1.0
"""Seconds; three devices that come and go, six entries, take several times as long in the engine."""


def seconds(guest: Guest) -> float:
    return float(guest.run("cut -d' ' -f1 /proc/uptime").check())


def time_devices(guest: Guest) -> float:
    """Return how long it takes to take three devices off and on again, at best: the host has other work."""
    took = []
    for _ in range(3):
        begin = seconds(guest)
        change_devices(guest, DISKS[:3])
        took.append(seconds(guest) - begin)
    return min(took)


def test_swapon_and_swapoff_do_not_wait(folder: Path, kernel_log: Path) -> None:
    """They take as long as in mode off; later the engine knows the devices, and serves them."""
    with Guest(Machine(cpus=2), EngineServer(folder, latency=LATENCY), log=kernel_log) as guest:
        swap_on(guest)
        driver = Driver(guest)
        driver.load("off")
        off = time_devices(guest)
        driver.set_mode("hint")
        driver.wait_attached(120)
        hint = time_devices(guest)
        print(f"three devices off and on: {off:.2f} s in mode off, {hint:.2f} s with the engine")
        assert hint < off + WAIT
        load = Load(guest, "--processes 2 --size 8m --limit 6m --folio 4k --access random")
        driver.wait_grants(120)
        load.stop()
        driver.assert_bitmaps()
        assert not driver.messages("detached")
