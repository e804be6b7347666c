# SPDX-License-Identifier: Apache-2.0
"""The series and the driver on a kernel that looks for data races: a part of `make test-debug`.

KCSAN (sw/driver/kernel-races.config) stops at one access in 50 of the swap code and of the driver, and reports one
beside it that is not marked, or not ordered. Not all are ours: those reports count in which a function of the series or
of the driver takes part.
"""

import re
import time
from collections.abc import Iterator
from functools import cache

import pytest
from driver import BENCH, DEBUG, QUEUED, Driver, Load, swap_on_queued
from hwswap.guest.qemu import Guest
from hwswap.project import paths
from hwswap.rtl.device_server import EngineServer
from kernel_debug import SMALL, WAIT, debug_guest

pytestmark = pytest.mark.timeout(3600)

ROUNDS = 12
TRIES = 30
CHECKS = ("KCSAN_STRICT", "KCSAN_WEAK_MEMORY")
MIXED = "--processes 2 --size 4m --limit 3m --folio 64k --access random"
_OPEN = "/sys/kernel/mm/swap/any_order"
_REPORT = re.compile(r"BUG: KCSAN: data-race in (.*)")


@cache
def functions_of_the_series() -> frozenset[str]:
    """Return the names of all functions that the patches define, but for the allocator's bench."""
    names = set()
    for patch in sorted((paths.ROOT / "sw/driver/patches").glob("*.patch")):
        if "-bench-" not in patch.name:
            names |= set(re.findall(r"^\+[a-z][\w \t*]*?\b(\w+)\((?!.*;$)", patch.read_text(), re.MULTILINE))
    return frozenset(names)


def races(log: str) -> list[str]:
    """Return the titles of KCSAN's reports in which the series or one of the driver's modules takes part."""
    found = []
    for title in _REPORT.findall(log):
        sides = [side.strip() for side in title.split(" / ")]
        if any("[hwswap" in side or side.split(".")[0] in functions_of_the_series() for side in sides):
            found.append(title)
    return found


@pytest.fixture
def guest(engine: EngineServer) -> Iterator[Guest]:
    with debug_guest(engine, "races", checks=CHECKS) as guest:
        yield guest


def test_grants_while_all_that_they_read_changes_are_free_of_races(guest: Guest) -> None:
    """Devices come and go, the engine is attached and detached, `any_order` flips, all under loads and the bench."""
    guest.run("swapctl make /dev/ram0 && swapctl on -p 5 /dev/ram0").check()
    swap_on_queued(guest)
    driver = Driver(guest)
    guest.run("echo on >/sys/kernel/debug/kcsan").check()
    driver.load("hint")
    driver.wait_attached(WAIT)
    loads = [Load(guest, SMALL), Load(guest, MIXED)]
    driver.wait_grants(WAIT)
    again = (f"echo 0 400 0 >{BENCH}; echo 5 8 0 >{BENCH}", f"read -r line <{DEBUG}/stats")
    loops = [guest.run(f"(while :; do {what}; done) >/dev/null & echo $!").check().strip() for what in again]
    flip = f"for i in $(seq 200); do echo 1 >{_OPEN}; echo 0 >{_OPEN}; done"
    for _ in range(ROUNDS):
        guest.run(f"{flip} & swapctl off {QUEUED[0]} && swapctl on -p 5 {QUEUED[0]}; wait", WAIT).check()
        for mode in ("off", "hint"):
            driver.set_mode(mode)
            time.sleep(1)
        driver.wait_attached(WAIT)
    assert driver.stats()["grant_units"] > 0
    guest.run(f"kill {' '.join(loops)}").check()
    for load in loads:
        load.stop()
    driver.unload()
    guest.run("echo off >/sys/kernel/debug/kcsan").check()
    assert not races(guest.kernel_log())


def test_a_race_of_a_module_is_reported() -> None:
    """Two threads that add to one variable, unmarked, are found: the silence above says something."""
    with debug_guest(None, "race-fault", checks=CHECKS) as guest:
        guest.run("echo on >/sys/kernel/debug/kcsan").check()
        for _ in range(TRIES):
            guest.run("insmod /lib/modules/hwswap_testfault.ko fault=two_writers && rmmod hwswap_testfault").check()
            if races(guest.kernel_log()):
                break
        assert any("race_for_a_second" in title for title in races(guest.kernel_log()))
