# SPDX-License-Identifier: Apache-2.0
"""The engine dies while it writes to a swap table."""

from pathlib import Path

import pytest
from driver import BENCH, Driver, Load, swap_on, swapload, unless_qemu_ends
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import retries
from hwswap.rtl.device_server import EngineServer

LATENCY = 4000
"""Engine clock cycles that a transfer takes: writing a table takes most of the time, so that is when it dies."""
LOAD = "--processes 2 --size 4m --limit 3m --folio 64k --access random"


ATTEMPTS = 4
"""On a busy host it may be another command that the engine leaves unanswered, or none."""


def kill_while_it_writes(engine: EngineServer, kernel_log: Path) -> bool:
    """Kill the engine under load; return whether it left a table perhaps half written."""
    with Guest(Machine(cpus=2, disks=2, disk_mb=64), engine, log=kernel_log) as guest:
        swap_on(guest, "/dev/ram0", "/dev/ram1")
        driver = Driver.attached(guest, "trusted", 60)
        driver.set_parameter("trusted_timeout_us", "1000000")
        driver.set_parameter("trusted_min_order", "4")
        # QEMU 11.1 ends when the engine dies during an access to a register: look at one when it must be dead.
        driver.set_parameter("trusted_looks", "1000000")
        load = Load(guest, LOAD)
        again = f"sh -c 'while echo \"4 256 0\" >{BENCH}; do :; done' >/dev/null 2>&1"
        guest.run(f"{again} & echo $! >/tmp/bench.pid").check()
        guest.run("sleep 3").check()
        driver.wait_beyond("fills")
        guest.kill_engine()
        driver.wait_detached(60)
        load.assert_running()
        guest.run("kill $(cat /tmp/bench.pid); while kill -0 $(cat /tmp/bench.pid) 2>/dev/null; do sleep 0.1; done")
        load.stop(300)
        stats = driver.stats()
        # Somebody waited for an answer, nearly always that of a FILL or a CLEAR: each needs several transfers, and
        # tables are given once for many; a table that was not given yet was not written to, which is no failed fill.
        # Or nobody waited, and the watch saw that the engine is gone. What the engine had not written, the kernel did.
        messages = driver.messages("detached:")
        assert len(messages) == 1, messages
        assert stats["timeouts"] == ("does not answer a command" in messages[0]), (messages, stats)
        assert stats["fills_failed"] <= 1, (messages, stats)
        waited = "on a swap table" in messages[0]
        assert not waited or stats["fills_failed"] + stats["fills_refused"] > 0, (messages, stats)
        assert stats["entries_repaired"] == 0, stats
        swapload(guest, "--size 24m --limit 12m --folio 2m --access sequential --rounds 2", 300)
        guest.run("swapctl off /dev/ram0 /dev/ram1", 300).check()
    return stats["fills_failed"] == 1


def test_engine_killed_while_it_writes(folder: Path, kernel_log: Path) -> None:
    engine = EngineServer(folder, latency=LATENCY)
    died_writing = []

    def attempt() -> None:
        died_writing.append(kill_while_it_writes(engine, kernel_log))

    for number in range(ATTEMPTS):
        if number:
            retries.count("kill that found the engine at other work than a swap table")
        unless_qemu_ends(attempt, kernel_log)
        if died_writing[-1]:
            return
    pytest.fail(f"the engine was killed {ATTEMPTS} times, and never while it worked on a swap table")
