# SPDX-License-Identifier: Apache-2.0
"""The patches while nothing is registered: what they add to the configuration, and what they cost a call."""

import itertools
from pathlib import Path

from hwswap.bench import demo
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts
from hwswap.rtl.device_server import EngineServer
from rich.console import Console


def test_a_call_in_mode_off_takes_less_than_without_patches(folder: Path, kernel_log: Path) -> None:
    """Mode off of the demo, after a recording whose events are off again: one that is on costs some 200."""
    collected, engine = demo.Collected(), EngineServer(folder, pace="guest")
    demo.run_guest("short", 1, itertools.count(1), Console(quiet=True), collected, folder, engine)
    machine = Machine(cpus=1, icount=True, disk_mb=64)
    files = {"allocator-bench": (demo.GUEST / "allocator-bench.sh").read_bytes()}
    job = ". /allocator-bench\nswap_on 0 1 2 3 && allocator_bench unpatched 0 2000\n"
    with Guest(machine, files=files, job=job, log=kernel_log, kernel=artifacts.KERNEL_UNPATCHED) as guest:
        result = guest.wait_job(900, collected.feed)
    assert result.code == 0, result.output
    off, unpatched = (
        {call["op"]: call["p50"] for call in collected.benches[name] if call["order"] == 0}
        for name in ("off", "unpatched")
    )
    assert set(unpatched) == {"alloc", "free"}
    assert all(off[op] < unpatched[op] for op in unpatched), (off, unpatched)


def test_what_is_unpatched_lacks_our_options_and_nothing_else() -> None:
    patched, unpatched = (
        set((kernel.path().parent / "config").read_text().splitlines())
        for kernel in (artifacts.KERNEL, artifacts.KERNEL_UNPATCHED)
    )
    assert patched - unpatched == {"CONFIG_SWAP_GRANTS=y"}
    assert unpatched - patched == set()
    # What costs nothing but a NOP while it is switched off, and what a hook costs that is called, hangs on these.
    assert {"CONFIG_JUMP_LABEL=y", "CONFIG_HAVE_STATIC_CALL_INLINE=y"} <= patched
