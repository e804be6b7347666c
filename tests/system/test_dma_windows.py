# SPDX-License-Identifier: Apache-2.0
"""DMA windows: what the engine may reach, and what becomes of one that goes astray."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from driver import DEBUG, SMALL, Driver, Load, swap_on, swapload
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


def assert_no_more(guest: Guest) -> None:
    """The first two are the driver's memory: what is written and then what is read, and it is not much."""
    windows, table_writes = reach(guest)
    written, read = windows[:2]
    assert written.write and not written.read, windows
    assert read.read and not read.write, windows
    assert written.start < written.end == read.start < read.end, windows
    assert read.end - written.start < 1 << 20, windows
    assert not any(window.read or window.write for window in windows[2:]), windows
    assert not table_writes


def test_it_reaches_the_drivers_memory_alone(guest: Guest, driver: Driver) -> None:
    load = Load(guest, SMALL)
    driver.wait_grants()
    assert_no_more(guest)
    load.stop(300)
    assert_no_more(guest)


def test_windows_come_back_with_the_engine(guest: Guest, driver: Driver) -> None:
    """A reset closes them all."""
    load = Load(guest, SMALL)
    guest.run(f"echo 1 >{DEBUG}/reattach").check()
    driver.wait_grants()
    load.stop(300)
    assert_no_more(guest)
    driver.assert_bitmaps()


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
