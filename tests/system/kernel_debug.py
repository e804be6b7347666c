# SPDX-License-Identifier: Apache-2.0
"""The driver in every mode on a kernel that checks itself: `make test-debug`.

Lockdep, KASAN, UBSAN, DEBUG_VM and more look on (sw/driver/kernel-debug.config); what they say fails the run
(hwswap/guest/kernel_log.py), and so does a leak that kmemleak finds once the module is gone. The last tests do what no
kernel code may do, one thing each, and want to see the run fail. `make test` leaves this file out by its name: it takes
too long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from driver import (
    QUEUED,
    Driver,
    Load,
    hold_half,
    kernel_modules,
    off_and_on,
    swap_on_queued,
    swapload,
    unless_qemu_ends,
    verify_half,
    wait_for,
)
from hwswap.guest.kernel_log import troubles
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths
from hwswap.rtl.device_server import EngineServer

pytestmark = pytest.mark.timeout(3600)

MODES = ("off", "hint")
# Small, since every access to memory is checked: a tenth of a usual kernel's speed, or less.
SMALL = "--processes 2 --size 3m --limit 3m --folio 4k --access random"
MIXED = "--processes 2 --size 4m --limit 4m --folio 64k --access random"
LARGE = "--size 8m --limit 5m --folio 2m --access sequential"
HALF = "8m"
MEMORY_DISKS = ("/dev/ram0", "/dev/ram1")
PATIENCE = 10
"""How much longer than on a kernel without checks anything may take."""
WAIT = 300
"""Seconds for what the driver does on its own: it attaches, or is detached."""

OUTPUT = paths.BUILD / "test-debug"
MACHINE = Machine(cpus=2, memory_mb=1280, disks=2, disk_mb=64)

_EXPECTED = 1 << 12 | 1 << 13
"""Taints that say nothing bad: a module that is not part of the kernel, and has no signature
(Documentation/admin-guide/tainted-kernels.rst)."""
_KMEMLEAK = "/sys/kernel/debug/kmemleak"


CHECKS = ("PROVE_LOCKING", "KASAN", "UBSAN", "DEBUG_VM", "DEBUG_KMEMLEAK", "DMA_API_DEBUG")
"""Options of the kernel that these tests are of."""


def debug_guest(engine: EngineServer | None, name: str, arguments: str = "", checks: Sequence[str] = CHECKS) -> Guest:
    """Return a guest with that kernel; fails when it is another one."""
    config = (artifacts.KERNEL.path().parent / "config").read_text()
    for option in checks:
        assert f"CONFIG_{option}=y" in config, f"{artifacts.KERNEL.path()} has no {option}: use `make test-debug`"
    machine = replace(MACHINE, kernel_arguments=arguments)
    return Guest(machine, engine, files=kernel_modules(), log=OUTPUT / f"{name}.log", patience=PATIENCE)


def swap_on_all(guest: Guest) -> None:
    """Enable swap on two null_blk devices and two RAM disks, which are used in turn."""
    swap_on_queued(guest)
    disks = " ".join(MEMORY_DISKS)
    guest.run(f"swapctl make {disks} && swapctl on -p 5 {disks}").check()


def load_driver(guest: Guest, mode: str = "off") -> Driver:
    """Load the driver; whatever is allocated before counts as no leak of its."""
    guest.run(f"echo clear >{_KMEMLEAK}").check()
    driver = Driver(guest)
    driver.load(mode)
    return driver


def attach(driver: Driver, mode: str) -> None:
    """Switch to a mode, and wait until the engine takes part in it."""
    driver.set_mode(mode)
    if mode != "off":
        driver.wait_attached(WAIT)


def assert_sound(guest: Guest) -> None:
    """Fail unless the checks are still at work and have found nothing."""
    stats = guest.run("cat /proc/lockdep_stats").check()
    assert re.search(r"^ *debug_locks: +1$", stats, re.MULTILINE), "lockdep has switched itself off"
    tainted = int(guest.run("cat /proc/sys/kernel/tainted").check())
    assert not tainted & ~_EXPECTED, f"the kernel is tainted: {tainted:#x}"
    guest.check_log()


def assert_no_leak(guest: Guest) -> None:
    """Fail with kmemleak's report if nothing refers to some piece of memory any more."""
    # It leaves out what is younger than five seconds, and what has changed since the scan before; and a word left on
    # some stack may look like a reference in one scan, not in the next.
    guest.run(f"for i in 1 2 3; do sleep 6; echo scan >{_KMEMLEAK}; done", 300).check()
    report = guest.run(f"cat {_KMEMLEAK}").check()
    assert "unreferenced object" not in report, report[:6000]


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with debug_guest(engine, "modes") as guest:
        swap_on_all(guest)
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return load_driver(guest)


@pytest.mark.parametrize("mode", MODES)
def test_mode(guest: Guest, driver: Driver, mode: str) -> None:
    """Loads, a swapoff of a half-full device under load; every byte verified."""
    attach(driver, mode)
    before = driver.stats()
    for load in (SMALL, MIXED, LARGE):
        swapload(guest, f"{load} --rounds 1")
    hold_half(guest, 3, HALF)
    background = Load(guest, SMALL)
    for disk in (QUEUED[0], MEMORY_DISKS[0]):
        off_and_on(guest, disk)
    background.stop()
    verify_half(guest)
    seen = driver.since(before)
    if mode == "off":
        assert seen["grant_units"] == seen["grants_popped"] == 0, seen
    else:
        assert seen["grant_units"] > 0, seen
        driver.wait_attached(WAIT)
        driver.assert_bitmaps()
    assert_sound(guest)


def test_mode_changes_under_load(guest: Guest, driver: Driver) -> None:
    loads = [Load(guest, SMALL), Load(guest, MIXED)]
    for mode in ("hint", "off", "hint", "off", "hint"):
        driver.set_mode(mode)
        guest.run("sleep 1").check()
        for load in loads:
            load.assert_running()
    for load in loads:
        load.stop()
    driver.wait_attached(WAIT)
    driver.assert_bitmaps()
    assert_sound(guest)


def test_unload_under_load(guest: Guest, driver: Driver) -> None:
    """The module goes and comes back in each mode; at the end nothing of it is left in memory."""
    loads = [Load(guest, SMALL), Load(guest, MIXED)]
    for mode in MODES:
        attach(driver, mode)
        guest.run("sleep 2").check()
        driver.unload()
        for load in loads:
            load.assert_running()
        load_driver(guest)
    driver.unload()
    for load in loads:
        load.stop()
    assert_no_leak(guest)
    assert_sound(guest)


def kill_under_load(engine: EngineServer) -> None:
    with debug_guest(engine, "killed") as guest:
        swap_on_all(guest)
        driver = load_driver(guest, "hint")
        driver.wait_attached(WAIT)
        loads = [Load(guest, SMALL), Load(guest, MIXED)]
        driver.wait_grants(WAIT)
        guest.kill_engine()
        driver.wait_detached(WAIT)
        for load in loads:
            load.assert_running()
        assert len(driver.messages("detached:")) == 1, driver.messages("detached:")
        swapload(guest, f"{LARGE} --rounds 1")
        for load in loads:
            load.stop()
        for disk in (*QUEUED, *MEMORY_DISKS):
            guest.run(f"swapctl off {disk}").check()
        driver.unload()
        assert_no_leak(guest)
        assert_sound(guest)


def test_engine_killed(folder: Path) -> None:
    engine = EngineServer(folder)
    unless_qemu_ends(lambda: kill_under_load(engine), OUTPUT / "killed.log")


FAULTS = {
    "lock_order": "possible circular locking dependency detected",
    "sleep_in_atomic": "sleeping function called from invalid context",
    "use_after_free": "KASAN: slab-use-after-free in use_after_free",
    "out_of_bounds": "KASAN: vmalloc-out-of-bounds in out_of_bounds",
    "past_row": "UBSAN: array-index-out-of-bounds in .*testfault.c",
    "page_dump": "page dumped because: VM_WARN_ON_ONCE_PAGE",
    "warning": "WARNING: .*testfault.c",
}
"""Names of hwswap_testfault.ko's faults, and what the kernel says of each. Lockdep has to be first: any other complaint
may switch it off."""

_MARK = "the fault that follows: "


def test_faults_fail_the_run() -> None:
    """What no kernel code may do is found: a leak by kmemleak, the rest by what the kernel says of it."""
    guest = debug_guest(None, "faults", "kasan_multi_shot")
    # Outside of the guest, which looks at its log once more when it ends.
    with pytest.raises(GuestError, match=FAULTS["lock_order"]), guest:
        guest.run(f"echo clear >{_KMEMLEAK}").check()
        assert_no_leak(guest)
        guest.run("insmod /lib/modules/hwswap_testfault.ko fault=leak").check()
        with pytest.raises(AssertionError, match="unreferenced object"):
            assert_no_leak(guest)
        guest.run("rmmod hwswap_testfault").check()
        # All of them, before the guest is ended for the first.
        one = f"echo '{_MARK}'$fault >/dev/kmsg; insmod /lib/modules/hwswap_testfault.ko fault=$fault; sleep 1"
        script = f"(for fault in {' '.join(FAULTS)}; do {one}; rmmod hwswap_testfault; done; echo '{_MARK}' >/dev/kmsg)"
        try:
            guest.run(script)
        finally:
            wait_for(guest.kernel_log, lambda log: f"{_MARK}\n" in log, WAIT, "the last mark in the kernel log")
    log = guest.log.read_text(errors="replace").replace("\r", "") if guest.log else ""
    found = {}
    for section in log.split(_MARK)[1:-1]:
        fault, _, text = section.partition("\n")
        found[fault] = troubles(text)
    assert list(found) == list(FAULTS)
    for fault, pattern in FAULTS.items():
        assert re.search(pattern, "\n".join(found[fault])), f"{fault}: {found[fault]}"
