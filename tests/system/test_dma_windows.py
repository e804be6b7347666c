# SPDX-License-Identifier: Apache-2.0
"""DMA windows: what the engine may reach in each mode, and what becomes of one that goes astray."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from driver import DEBUG, QUEUED, SMALL, Driver, Load, end_search, search_for_ever, swap_on, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer

TABLE_WRITES = 0x10
"""CONTROL lets the engine write to swap tables."""
_WINDOW = re.compile(r"^window\d ([0-9a-f]+)-([0-9a-f]+) read ([01]) write ([01])$", re.MULTILINE)
_CONTROL = re.compile(r"^control ([0-9a-f]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Window:
    """A window as the engine has it."""

    start: int
    end: int
    read: bool
    write: bool


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return Driver.attached(guest, "hint")


def reach(guest: Guest) -> tuple[list[Window], bool]:
    """Return the engine's windows, and whether it may write to swap tables."""
    text = guest.run(f"cat {DEBUG}/engine").check()
    found = [Window(int(a, 16), int(b, 16), r == "1", w == "1") for a, b, r, w in _WINDOW.findall(text)]
    control = _CONTROL.search(text)
    assert len(found) == 4 and control, text
    return found, bool(int(control.group(1), 16) & TABLE_WRITES)


def assert_own_memory(windows: list[Window]) -> None:
    """The first two are the driver's memory: what is written and then what is read, and it is not much."""
    written, read = windows[:2]
    assert written.write and not written.read, windows
    assert read.read and not read.write, windows
    assert written.start < written.end == read.start < read.end, windows
    assert read.end - written.start < 1 << 20, windows


def assert_no_tables(guest: Guest) -> None:
    windows, table_writes = reach(guest)
    assert_own_memory(windows)
    assert not any(window.read or window.write for window in windows[2:]), windows
    assert not table_writes


def memory(guest: Guest) -> tuple[int, int]:
    """Return where the guest's memory below 4 GiB begins and ends."""
    lines = guest.run("grep 'System RAM' /proc/iomem").check().splitlines()
    ends = [int(part, 16) for line in lines for part in line.split(" :")[0].split("-")]
    return min(ends), max(ends) + 1


def test_hint_reaches_the_drivers_memory_alone(guest: Guest, driver: Driver) -> None:
    load = Load(guest, SMALL)
    driver.wait_grants()
    assert_no_tables(guest)
    load.stop(300)
    assert_no_tables(guest)


def test_scan_reads_tables(guest: Guest, driver: Driver) -> None:
    driver.set_mode("scan")
    assert_no_tables(guest)  # it was given none yet
    before = driver.stats()
    search_for_ever(guest, QUEUED[0])
    driver.wait_beyond("searches_used", before["searches_used"])
    windows, table_writes = reach(guest)
    end_search(guest, QUEUED[0])
    assert_own_memory(windows)
    assert windows[2].read and not windows[2].write, windows
    begin, end = memory(guest)
    assert begin <= windows[2].start < windows[2].end <= end, windows
    assert not windows[3].read and not windows[3].write, windows  # the guest has no memory there
    assert not table_writes
    driver.set_mode("hint")
    assert_no_tables(guest)


def test_windows_come_back_with_the_engine(guest: Guest, driver: Driver) -> None:
    """A reset closes them all."""
    load = Load(guest, SMALL)
    guest.run(f"echo 1 >{DEBUG}/reattach").check()
    driver.wait_grants()
    load.stop(300)
    assert_no_tables(guest)
    driver.assert_mirror()


def test_engine_that_goes_astray(folder: Path, kernel_log: Path) -> None:
    """It reads words of clusters where there are none: that is refused, and the driver says so and lets go of it."""
    engine = EngineServer(folder, arguments=("--bad", "astray"))
    with Guest(Machine(cpus=2), engine, log=kernel_log) as guest:
        swap_on(guest)
        driver = Driver(guest)
        driver.load("hint")
        swapload(guest, f"{SMALL} --rounds 2")
        assert driver.wait_detached() == "detached: it wanted to use memory that it was not given"
        lines = driver.messages("was refused: that is in none of its windows")
        assert lines and "its DMA read at bus address" in lines[0], lines
        assert driver.stats()["grant_units"] == 0
