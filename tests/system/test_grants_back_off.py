# SPDX-License-Identifier: Apache-2.0
"""Where grants are of no use: rings that stay empty, grants that are refused, a device that is not served."""

import json
from pathlib import Path

import pytest
from driver import BENCH, Load, attached, insert_null_blk, kernel_modules, swapload
from hwswap.guest.qemu import Guest, Machine
from hwswap.rtl.device_server import EngineServer
from soft_grants import Engine, page_out_64k

RAM = "/dev/ram0"
ROTATING = "/dev/nullb0"
CALLS, RUNS = 600, 4
"""Of the allocator's bench, for each figure."""

REFUSED = "most of its grants are refused"
"""Why an engine is detached."""


def add_ram(guest: Guest, megabytes: int) -> None:
    guest.run(f"swapctl make -s {megabytes}m {RAM} && swapctl on -p 1 {RAM}").check()


def test_no_run_is_not_believed_for_ever(kernel_log: Path) -> None:
    """The engine is wrong to say that there is no room: now and then a folio sees for itself, on empty swap too."""
    with Guest(Machine(cpus=1, disks=1, disk_mb=128), log=kernel_log) as guest:
        add_ram(guest, 128)
        engine = Engine(guest, "lie=full")
        whole, split = page_out_64k(guest, 40)
        assert whole >= 2 * 32 and split, (whole, split, engine.counters())
        assert engine.counters()["grants_no_run"] == split
        engine.unload()


def calls(guest: Guest, order: int = 0) -> tuple[float, float]:
    """Return how many instructions an allocation and a free take on average, without what the first calls ask for.

    It is the least of several averages: a tick of the timer may fall into a call.
    """
    averages = []
    for _ in range(RUNS):
        guest.run(f"echo {order} {CALLS} 0 >{BENCH}").check()
        found = {entry["op"]: entry for entry in map(json.loads, guest.run(f"cat {BENCH}").check().splitlines())}
        assert found["alloc"]["failed"] == 0, found
        averages.append((found["alloc"]["avg"], found["free"]["avg"]))
    alloc, free = zip(*averages[1:], strict=True)
    return min(alloc), min(free)


@pytest.mark.parametrize(("order", "most"), [(0, 1.02), (4, 1.03)])
def test_a_device_that_is_not_served_costs_what_it_does_without_an_engine(
    kernel_log: Path, order: int, most: float
) -> None:
    """It rotates, above a RAM disk: within 2 or 3 % of what allocations and frees take with no backend."""
    with Guest(Machine(cpus=1, icount=True, disks=1, disk_mb=64), files=kernel_modules(), log=kernel_log) as guest:
        add_ram(guest, 64)
        insert_null_blk(guest, "nr_devices=1 gb=1 rotational=1 irqmode=2 completion_nsec=20000")
        guest.run(f"swapctl make -s 256m {ROTATING} && swapctl on -p 9 {ROTATING}").check()
        off = calls(guest, order)
        engine = Engine(guest, "period_us=0")
        hint = calls(guest, order)
        print(f"order {order}: allocate, free: {off} with no backend, {hint} with one")
        assert engine.counters()["grants_popped"] == 0
        assert hint[0] <= most * off[0] and hint[1] <= most * off[1], (off, hint)
        engine.unload()


@pytest.mark.parametrize("lie", ["beyond", "order", "epoch", "phase"])
def test_useless_grants_cost_no_more_than_none(kernel_log: Path, lie: str) -> None:
    """An allocation takes what it does while the rings stay empty, within 2 %, however many grants are on offer.

    Those of another phase are never seen: the ring stalls. The kernel's own way serves, and all bytes are right.
    """
    with Guest(Machine(cpus=1, icount=True, disks=1, disk_mb=64), log=kernel_log) as guest:
        add_ram(guest, 64)
        engine = Engine(guest, "period_us=0 lie=full")
        empty, _ = calls(guest)
        engine.set("lie", lie)
        before = engine.counters()
        useless, _ = calls(guest)
        if lie == "phase":
            swapload(guest, "--processes 1 --size 8m --limit 6m --folio 4k --access random --rounds 2", 600)
        seen = engine.since(before)
        print(f"{lie}: {empty} with empty rings, {useless} with grants of no use; {seen}")
        refused = {name for name, number in seen.items() if name.startswith("grants_refused") and number}
        if lie == "phase":
            assert seen["grants"] > 0 and seen["grant_units"] == 0 and not refused, seen
        else:
            assert {"beyond": "grants_refused_place"}.get(lie, f"grants_refused_{lie}") in refused, seen
        assert seen["grants_popped"] == 0, seen
        assert useless <= 1.02 * empty, (empty, useless)
        # It mends its ways: within as many folios as go without at most grants are taken again.
        engine.set("lie", "none")
        if lie == "phase":
            # A ring that was not used for a while is not wanted: its grants are taken back, and it runs.
            engine.set("period_us", "100")
            guest.run("sleep 30", 600).check()
        before = engine.counters()
        calls(guest)
        assert engine.since(before)["grant_units"] > CALLS
        engine.unload()


def test_an_engine_whose_grants_are_refused_is_detached(folder: Path, kernel_log: Path) -> None:
    """All grants of the only device name another, which there is not: one line, software goes on, all bytes right."""
    engine = EngineServer(folder, arguments=("--bad", "device"))
    with attached(kernel_log, engine, Machine(cpus=2, disks=1, disk_mb=64)) as driver:
        load = Load(driver.guest, "--processes 2 --size 16m --limit 8m --folio 4k --access random")
        # Attached again soon, it is detached again, after a longer rest each time.
        assert driver.wait_detached(120) == f"detached: {REFUSED}"
        driver.set_mode("off")
        stats = driver.stats()
        assert len(driver.messages(f"detached: {REFUSED}; software goes on")) == stats["detaches"] > 0, stats
        assert stats["grants_refused_device"] > 0, stats
        assert stats["grants_popped"] == stats["grant_units"] == 0, stats
        load.stop()
        driver.unload()


def test_the_search_and_grants_in_one_cluster(kernel_log: Path) -> None:
    """The engine is late, and the search goes on where it grants: a grant strays once, not with each place."""
    with Guest(Machine(cpus=1, icount=True, disks=1, disk_mb=128), log=kernel_log) as guest:
        add_ram(guest, 128)
        engine = Engine(guest, "period_us=2000")
        before = engine.counters()
        swapload(guest, "--processes 1 --size 96m --limit 16m --folio 4k --access sequential --rounds 1", 600)
        seen = engine.since(before)
        assert seen["grant_units"] > 5000, seen
        assert seen["grants_stray"] <= seen["grants_popped"], seen
        engine.unload()
