# SPDX-License-Identifier: Apache-2.0
"""Mode scan: the engine searches the kernel's swap tables and chooses readahead windows, on a guest with two CPUs."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import DEBUG, Driver, Load, judge, swapload
from hwswap import paths
from hwswap.engine import EngineServer
from hwswap.guest import Guest, Machine

MACHINE = Machine(cpus=2, disks=0)
DISKS = ("/dev/nullb0", "/dev/nullb1")
LOAD = "--processes 2 --size 12m --limit 8m --folio 4k --access random"
FULL = "--size 44m --limit 16m --folio 64k --access random"


def prepare(guest: Guest) -> Driver:
    """Two devices behind a queue, read by the cluster readahead, and the driver in mode scan."""
    guest.run("insmod /lib/modules/null_blk.ko nr_devices=2 gb=1 memory_backed=1").check()
    guest.run("echo false >/sys/kernel/mm/swap/vma_ra_enabled").check()
    for disk in DISKS:
        guest.run(f"swapctl make -s 48m {disk} && swapctl on -p 5 {disk}").check()
    driver = Driver(guest)
    driver.load("scan")
    driver.wait_attached()
    return driver


def tables(guest: Guest) -> dict[str, int]:
    """Return what the driver says of the tables that the engine knows."""
    pairs = (line.split() for line in guest.run(f"cat {DEBUG}/tables").check().splitlines() if line)
    return {name: int(value) for name, value in pairs}


def wait_no_tables(guest: Guest, timeout: float = 30.0) -> None:
    """Wait until the engine knows no table any more, and none is held for it."""
    deadline = time.monotonic() + timeout
    while (state := tables(guest))["given"] or state["quarantined"]:
        assert time.monotonic() < deadline, f"still {state} after {timeout} s"
        time.sleep(0.2)


def hold_half(guest: Guest, seed: int) -> None:
    """Hold half of 32 MB in swap, at random."""
    guest.run(f"swapfrag --size 32m --free 50 --seed {seed} >/tmp/frag & echo $! >/tmp/frag.pid").check()
    guest.run("until grep -q ready /tmp/frag; do kill -0 $(cat /tmp/frag.pid) || exit 1; sleep 0.1; done", 300).check()


def verify_half(guest: Guest) -> None:
    """Let go of it; every byte has to be right."""
    release = (
        "kill $(cat /tmp/frag.pid); while kill -0 $(cat /tmp/frag.pid) 2>/dev/null; do sleep 0.1; done; cat /tmp/frag"
    )
    judge(guest.run(release, 300).check().strip().splitlines()[-1])


@pytest.fixture(scope="module")
def guest(engine: EngineServer) -> Iterator[Guest]:
    with Guest(MACHINE, engine, log=paths.REPORTS / "kernel" / "scan.log") as guest:
        yield guest


@pytest.fixture(scope="module")
def driver(guest: Guest) -> Driver:
    return prepare(guest)


@pytest.mark.parametrize("fixed", ["false", "true"])
def test_swapoff_half_full_under_load(guest: Guest, driver: Driver, fixed: str) -> None:
    guest.run(f"echo {fixed} >/sys/kernel/mm/swap/swapoff_ra_fixed").check()
    before = driver.stats()
    hold_half(guest, seed=5)
    load = Load(guest, LOAD)
    guest.run("sleep 1").check()
    guest.run(f"swapctl off {DISKS[0]}", 300).check()
    assert DISKS[0] not in guest.run("cat /proc/swaps").check()
    guest.run(f"swapctl on -p 5 {DISKS[0]}").check()
    load.stop(300)
    verify_half(guest)
    seen = {name: value - before[name] for name, value in driver.stats().items()}
    assert seen["windows_same"] > 0, seen
    assert seen["tables_given"] > 0, seen
    assert seen["timeouts"] == seen["detaches"] == 0, seen
    driver.assert_quiet_mirror()


def test_searches_find_what_is_there(guest: Guest, driver: Driver) -> None:
    # What only the swap cache holds: pages that were read back, on devices that are more than half full.
    before = driver.stats()
    for seed in range(3):
        swapload(guest, f"{FULL} --rounds 2 --seed {seed}", 300)
    # What swapoff has to search for: processes come and go while it reads.
    for _ in range(10):
        load = Load(guest, f"{LOAD} --rounds 0")
        guest.run("sleep 0.3").check()
        guest.run(f"swapctl off {DISKS[1]}", 300).check()
        guest.run(f"swapctl on -p 5 {DISKS[1]}").check()
        load.stop(300)
        if driver.stats()["searches_used"] > before["searches_used"]:
            break
    seen = {name: value - before[name] for name, value in driver.stats().items()}
    assert seen["searches_used"] + seen["searches_cache_only"] > 0, seen
    assert seen["searches_failed"] == 0, seen


def test_tables_are_given_back(guest: Guest, driver: Driver) -> None:
    swapload(guest, f"{LOAD} --rounds 1", 300)
    assert tables(guest)["given"] > 0
    driver.set_mode("hint")
    wait_no_tables(guest)
    driver.set_mode("scan")
    swapload(guest, f"{LOAD} --rounds 1", 300)
    assert tables(guest)["given"] > 0
    for disk in DISKS:
        guest.run(f"swapctl off {disk}", 300).check()
    wait_no_tables(guest)
    for disk in DISKS:
        guest.run(f"swapctl on -p 5 {disk}").check()


def test_mode_changes_under_load(guest: Guest, driver: Driver) -> None:
    load = Load(guest, LOAD)
    for mode in ("scan", "hint", "scan", "off", "scan", "shadow", "scan"):
        driver.set_mode(mode)
        guest.run("sleep 0.5").check()
        load.assert_running()
    load.stop(300)
    driver.wait_attached()
    driver.assert_quiet_mirror()


def test_engine_killed_while_it_searches(engine: EngineServer, kernel_log: Path) -> None:
    engine.stop()
    with Guest(MACHINE, engine, log=kernel_log) as guest:
        driver = prepare(guest)
        hold_half(guest, seed=7)
        load = Load(guest, LOAD)
        deadline = time.monotonic() + 60
        while driver.stats()["windows"] == 0:
            assert time.monotonic() < deadline, driver.stats()
            time.sleep(0.1)
        # Windows, and the searches of one swapoff after the other, are under way when it dies.
        guest.run(
            f"(while :; do swapctl off {DISKS[0]} && swapctl on -p 5 {DISKS[0]} || exit; done) >/tmp/offs 2>&1 & "
            "echo $! >/tmp/offs.pid; sleep 1"
        ).check()
        guest.kill_engine()
        driver.wait_detached(60)
        guest.run("sleep 1; kill $(cat /tmp/offs.pid); sleep 1").check()
        load.assert_running()
        load.stop(300)
        verify_half(guest)
        for disk in DISKS:
            guest.run(f"grep -q {disk} /proc/swaps && swapctl off {disk}; true", 300).check()
        assert "null" not in guest.run("cat /proc/swaps").check()
