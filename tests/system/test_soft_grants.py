# SPDX-License-Identifier: Apache-2.0
"""Grants in a kernel, with the engine in software: they steer, they lie, the engine comes and goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import BENCH, DISKS, LARGE, SMALL, Load, hold_half, judge, swap_on, swapload, used_of, verify_half
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import paths
from soft_grants import MODULE, Engine, page_out_64k

OPEN = "/sys/kernel/mm/swap/any_order"
ROUNDS = "--rounds 2"
LIES = {
    "beyond": "grants_refused_place",
    "order": "grants_refused_order",
    "taken": "",
    "device": "",
    "priority": "grants_refused_priority",
    "epoch": "grants_refused_epoch",
    "foreign": "",
    "noise": "",
    "full": "grants_no_run",
}
"""How the engine lies, and a counter that says that it was seen; none where that depends on what is random."""


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """Two CPUs and swap on four RAM disks."""
    with Guest(Machine(cpus=2, disks=4, disk_mb=64), log=paths.REPORTS / "kernel" / "grants.log") as guest:
        swap_on(guest)
        yield guest


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails leaves neither the engine nor loads to the next one."""
    yield
    if "guest" in request.fixturenames:
        request.getfixturevalue("guest").run(f"killall -q swapload swapfrag; rmmod {MODULE}")


@pytest.mark.parametrize("cpus", [1, 4])
def test_grants_steer(cpus: int, kernel_log: Path) -> None:
    """Every byte is right, nearly all folios are placed by grants, and the bitmaps are exact, under load too."""
    with Guest(Machine(cpus=cpus, disks=4, disk_mb=64), log=kernel_log, patience=3) as guest:
        swap_on(guest)
        engine = Engine(guest)
        before = engine.counters()
        swapload(guest, f"{SMALL} {ROUNDS}", 300)
        swapload(guest, f"{LARGE} {ROUNDS}", 300)
        swapload(guest, f"--size 24m --limit 16m --folio 2m --access sequential {ROUNDS}", 300)
        load = Load(guest, SMALL)
        engine.assert_bitmaps(quiet=False)
        load.stop(300)
        seen = engine.since(before)
        assert seen["grant_units"] > 1000, seen
        assert seen["grants_claimed"] > 0, seen
        assert not any(seen[f"grants_refused_{why}"] for why in ("device", "flags", "order", "place")), seen
        engine.assert_bitmaps()
        engine.unload()
        swapload(guest, f"{SMALL} {ROUNDS}", 300)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_costs_speed_alone(guest: Guest, lie: str) -> None:
    """Large and small folios, swap half full of what is held: all of it is right afterwards."""
    engine = Engine(guest, f"lie={lie}")
    before = engine.counters()
    if lie == "priority":
        guest.run(f"swapctl off {DISKS[3]} && swapctl on -p 1 {DISKS[3]}").check()
    hold_half(guest, seed=len(lie))
    load = Load(guest, SMALL)
    swapload(guest, f"{LARGE} {ROUNDS}", 600)
    load.stop(300)
    seen = engine.since(before)
    assert (seen["grants"] > 0) == (lie != "full"), seen
    if LIES[lie]:
        assert seen[LIES[lie]] > 0, seen
    engine.assert_bitmaps(quiet=False)
    # It mends its ways: all is as ever.
    engine.set("lie", "none")
    before = engine.counters()
    swapload(guest, f"{SMALL} {ROUNDS}", 300)
    assert engine.since(before)["grant_units"] > 0
    verify_half(guest)
    engine.unload()
    if lie == "priority":
        guest.run(f"swapctl off {DISKS[3]} && swapctl on {DISKS[3]}").check()


def test_open_placement(guest: Guest) -> None:
    """Orders of all kinds in one cluster, and frees of them."""
    guest.run(f"echo 1 >{OPEN}").check()
    engine = Engine(guest, "placement=open")
    hold_half(guest, seed=5)
    judge(guest.run("swapmix --fill 160m --churn 160m --seed 5", 900).check())
    assert engine.counters()["grant_units"] > 1000
    engine.assert_bitmaps(quiet=False)
    verify_half(guest)
    # Switched off in use: what is in the wrong cluster goes by and by.
    guest.run(f"echo 0 >{OPEN}").check()
    swapload(guest, f"{LARGE} {ROUNDS}", 300)
    engine.assert_bitmaps()
    engine.unload()


def test_free_clusters_are_not_granted_in_advance(guest: Guest) -> None:
    """Nothing but free clusters: a ring of a large order offers one of them, or four if the engine is not sparing."""
    # Pages that nobody has read since an earlier test keep clusters of their order.
    guest.run(f"swapctl off {' '.join(DISKS)} && swapctl on {' '.join(DISKS)}", 300).check()
    assert not any(used_of(guest).values())
    on_offer = {}
    for sparing in (1, 0):
        engine = Engine(guest, f"sparing={sparing}")
        before = engine.counters()
        # One call wants the ring, and the engine fills it; then it is quiet.
        guest.run(f"echo 5 2 1000000 >{BENCH}; sleep 1").check()
        seen = engine.since(before)
        on_offer[sparing] = seen["grants"] - seen["grants_popped"] - seen["grants_taken_back"]
        engine.assert_bitmaps()
        engine.unload()
    assert 0 < on_offer[1] < on_offer[0], on_offer
    assert on_offer[0] % 4 == 0, on_offer


def test_large_folios_stay_for_as_many_slots_as_a_cluster_has(kernel_log: Path) -> None:
    """The best device has single slots, and more of them than are asked for; the other one has room for large folios.

    Who came to the other one when the first was full stays for 512 slots, 32 folios; who did not is refused. What is
    left of the last grant, and of the cluster that the CPU is in, comes on top.
    """
    with Guest(Machine(cpus=1, disks=2, disk_mb=64), log=kernel_log) as guest:
        guest.run(f"swapctl make -s 16m {DISKS[0]} && swapctl on -p 9 {DISKS[0]}").check()
        guest.run(f"swapctl make {DISKS[1]} && swapctl on -p 1 {DISKS[1]}").check()
        hold_half(guest, seed=11, size="16m")
        engine = Engine(guest, "first=1 period_us=50")
        before = engine.counters()
        whole, split = page_out_64k(guest, 7)
        assert (whole, split) == (0, 113), engine.since(before)
        # Every single slot of the first device is taken for a while, and in that while the other one is the best.
        guest.run(
            "swapfrag --size 10m --free 0 --seed 12 >/tmp/all & echo $! >/tmp/all.pid; "
            "until grep -q ready /tmp/all; do kill -0 $(cat /tmp/all.pid) || exit 1; sleep 0.1; done",
            300,
        ).check()
        assert used_of(guest)[DISKS[0]] == 16 * 1024 - 4
        assert page_out_64k(guest, 1) == (17, 0)
        guest.run("kill $(cat /tmp/all.pid); while kill -0 $(cat /tmp/all.pid) 2>/dev/null; do sleep 0.1; done", 300)
        judge(guest.run("cat /tmp/all").check().strip().splitlines()[-1])
        before = engine.counters()
        whole, split = page_out_64k(guest, 7)
        assert 32 <= whole <= 3 * 32, (whole, engine.since(before))
        assert split == 113 - whole > 0
        assert engine.since(before)["grants_refused_priority"] > 0
        verify_half(guest)
        engine.assert_bitmaps()
        engine.unload()


def test_the_engine_comes_and_goes_under_load(guest: Guest) -> None:
    """Ten times; a lying one, too."""
    loads = [Load(guest, SMALL), Load(guest, LARGE)]
    for number in range(10):
        engine = Engine(guest, f"log2={number % 4} lie={'noise' if number % 3 == 2 else 'none'}")
        guest.run("sleep 0.3").check()
        engine.assert_bitmaps(quiet=False)
        engine.unload()
    for load in loads:
        load.stop(300)


def test_what_makes_no_sense_is_refused(guest: Guest) -> None:
    for arguments in ("clusters=0", "log2=13", "lie=truth", "placement=closed", "sparing=much"):
        assert guest.run(f"insmod /lib/modules/{MODULE}.ko {arguments}").code != 0
    # Memory for 64 clusters: two devices have 32 each, the others find no room and stay with software.
    engine = Engine(guest, "clusters=64")
    swapload(guest, f"{SMALL} {ROUNDS}", 300)
    assert 0 < engine.counters("verify")["clusters"] <= 64
    assert "there is no room for its" in guest.kernel_log()
    engine.unload()
