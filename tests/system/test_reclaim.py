# SPDX-License-Identifier: Apache-2.0
"""Slots that only the swap cache holds: with grants they are reclaimed as they are without, as swap fills up.

One CPU, whose clock counts instructions, and the engine in software.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from driver import BENCH, judge, kernel_modules, swap_on_two
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts

SIZE_MB = 128
TOLERANCE = 0.1
RUNS = 5
POP = 300
"""Instructions: the most that taking the next grant, and a look for reclaimable slots, add to a call."""


@contextmanager
def two_queues(kernel_log: Path, grants: str | None, kernel: artifacts.Artifact = artifacts.KERNEL) -> Iterator[Guest]:
    """Boot a guest with swap on two devices that answer later; with grants, and so the parameters of their engine."""
    machine = Machine(cpus=1, icount=True, disks=0)
    with Guest(machine, files=kernel_modules(kernel), log=kernel_log, kernel=kernel, patience=4) as guest:
        swap_on_two(guest, "irqmode=2 completion_nsec=20000", f"{SIZE_MB // 2}m")
        if grants is not None:
            guest.run(f"insmod /lib/modules/hwswap_softgrants.ko {grants}").check()
        yield guest


def fill_up(kernel_log: Path, every: str, grants: str | None) -> list[dict[str, int]]:
    """Leave 50 MB that only the swap cache holds, page out 90 MB more; return what is used and cached after each 10."""
    with two_queues(kernel_log, grants) as guest:
        lines = guest.run(f"swapcached --first 100m --every {every} --more 10m --times 9", 300).check().splitlines()
        judge(lines[-1])
        if grants is not None:
            counted = guest.run("cat /sys/kernel/debug/hwswap_softgrants/stats").check().split()
            assert int(counted[counted.index("grant_units") + 1]) > 1000, counted
        return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize("every", ["4k", "256k"])
def test_what_only_the_swap_cache_holds_is_reclaimed_on_the_way(kernel_log: Path, every: str) -> None:
    """At any fill the swap cache holds about as much as without grants, and no page stays in memory."""
    off, grants = (fill_up(kernel_log, every, which) for which in (None, ""))
    assert max(report["used"] for report in off) > 0.75 * SIZE_MB * 1024, off
    for without, with_them in zip(off, grants, strict=True):
        assert abs(with_them["cached"] - without["cached"]) <= TOLERANCE * without["cached"], (off, grants)
        assert with_them["left"] == 0, grants


def slots_taken(kernel_log: Path, kernel: artifacts.Artifact, every: str) -> list[dict[str, Any]]:
    """Fill up devices that answer at once; return what is used and cached, and which slots were taken, each time."""
    machine = Machine(cpus=1, icount=True, disks=0)
    with Guest(machine, files=kernel_modules(kernel), log=kernel_log, kernel=kernel, patience=4) as guest:
        swap_on_two(guest, "irqmode=0", f"{SIZE_MB // 2}m")
        command = f"swapcached --first 90m --every {every} --more 2m --times 45"
        lines = guest.run(command, 600).check().splitlines()
        judge(lines[-1])
        return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize("every", ["4k", "64k"])
def test_tuned_software_takes_the_slots_of_the_unpatched_kernel(kernel_log: Path, every: str) -> None:
    """Where a search reclaims what only the swap cache holds, all slots and what stays cached are the same.

    On several CPUs two runs of one kernel differ.
    """
    unpatched, tuned = (
        slots_taken(kernel_log, kernel, every) for kernel in (artifacts.KERNEL_UNPATCHED, artifacts.KERNEL)
    )
    assert tuned == unpatched
    reclaimed = unpatched[0]["used"] + 45 * 2048 - unpatched[-1]["used"]
    assert reclaimed > 20_000, unpatched


def longest_call(kernel_log: Path, kernel: artifacts.Artifact, grants: str | None) -> tuple[int, int]:
    """Fill swap to 90 %; return the mean and the longest of the allocations then, in instructions.

    A tick of the timer may fall into a call, and not into one of every run: the least of several runs is without.
    """
    found = []
    with two_queues(kernel_log, None, kernel) as guest:
        guest.run(f"echo 'fill 32700 1 10' >{BENCH}", 300).check()
        if grants is not None:
            guest.run(f"insmod /lib/modules/hwswap_softgrants.ko {grants}").check()
        guest.run(f"echo 0 2 20000 >{BENCH} && sleep 0.1").check()
        for _ in range(RUNS):
            guest.run(f"echo 0 1000 20000 >{BENCH}").check()
            found.append(json.loads(guest.run(f"cat {BENCH}").check().splitlines()[0]))
        guest.run(f"echo drop >{BENCH}").check()
    assert not any(run["failed"] for run in found), found
    return min(run["avg"] for run in found), min(run["max"] for run in found)


def test_to_look_for_reclaimable_slots_costs_little(kernel_log: Path) -> None:
    """The mean is below that of tuned software; the longest call has one pop more than its longest, at most."""
    _, longest_unpatched = longest_call(kernel_log, artifacts.KERNEL_UNPATCHED, None)
    mean_off, longest_off = longest_call(kernel_log, artifacts.KERNEL, None)
    mean, longest = longest_call(kernel_log, artifacts.KERNEL, "period_us=0 sparing=0")
    assert mean < mean_off, (mean, mean_off)
    assert longest <= min(longest_unpatched, longest_off + POP), (longest, longest_off, longest_unpatched)
