# SPDX-License-Identifier: Apache-2.0
"""`make bench-tuned`: what swap tables that are written and searched by ranges save, in software alone.

Three kernels, no driver: Linux with nothing but the bench, the whole series as the guest has it, and the series with
CONFIG_SWAP_TABLE_RANGES. One guest CPU whose clock counts instructions.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.guest.qmp import QmpError
from hwswap.project import artifacts, paths, provenance

OUTPUT = paths.BUILD / "bench-tuned"
GUEST = paths.ROOT / "sim/guest"
KERNELS = {
    "unpatched": artifacts.KERNEL_UNPATCHED,
    "off": artifacts.KERNEL,
    "tuned": artifacts.KERNEL_TUNED,
}
STATES = {"empty": "empty", "50": "half full", "90": "90 % full"}

RUNS: Sequence[tuple[int, int, int]] = ((0, 2000, 130_900), (2, 800, 32_256), (4, 300, 8_064), (9, 16, 248))
"""Orders, how many folios of each are measured, and how many fill swap.

A large folio tries one device only, so the last cluster of each is left out.
"""

Entry = dict[str, Any]


def job(seed: int) -> str:
    """Returns the guest's script."""
    runs = "\n".join(" ".join(map(str, run)) for run in RUNS)
    return f"SEED={seed}\nRUNS='{runs}'\n. /bench-tuned\n"


def entries(kernel: str, output: str) -> list[Entry]:
    """Returns what the guest has printed; raises GuestError unless all of it is there."""
    found = []
    for line in output.splitlines():
        if line.startswith("@bench "):
            _, state, _, text = line.split(" ", 3)
            found.append({"kernel": kernel, "state": state, **json.loads(text)})
    if len(found) != 2 * len(RUNS) * len(STATES):
        raise GuestError(f"{kernel}: {len(found)} figures; the guest's last words:\n{output[-1500:]}")
    return found


def measure(seed: int) -> dict[str, Any]:
    """Runs the guests; returns the report."""
    commits = {"hwswap": provenance.commit(), "patches": provenance.patches()}
    files = {name: (GUEST / f"{name}.sh").read_bytes() for name in ("bench-tuned", "allocator-bench")}
    found: list[Entry] = []
    for name, kernel in KERNELS.items():
        print(f"bench-tuned: {name}", file=sys.stderr)
        machine = Machine(cpus=1, icount=True, disks=4, disk_mb=128)
        log = OUTPUT / f"{name}.kernel.log"
        with Guest(machine, files=files, job=job(seed), log=log, kernel=kernel, boot_timeout=300) as guest:
            result = guest.wait_job(1800)
            if result.code:
                raise GuestError(f"{name}: ended with code {result.code}:\n{result.output[-1500:]}")
            found += entries(name, result.output)
            release = guest.release
    return {"seed": seed, "commits": commits, "linux": release, "qemu": provenance.qemu(), "bench": found}


def table(report: dict[str, Any]) -> Table:
    """Instructions of a call, a row for each operation, order and state."""
    view = Table(title="Guest instructions a call, p50 / average / p99")
    for title in ("", *KERNELS, "tuned : unpatched, average"):
        view.add_column(title, justify="right" if title else "left")
    figures = {(e["kernel"], e["op"], e["order"], e["state"]): e for e in report["bench"]}
    for order, _, _ in RUNS:
        for op, verb in (("alloc", "allocate"), ("free", "free")):
            for state, words in STATES.items():
                row = [figures[kernel, op, order, state] for kernel in KERNELS]
                cells = [f"{e['p50']:,} / {e['avg']:,} / {e['p99']:,}" for e in row]
                view.add_row(f"{verb} order {order}, {words}", *cells, f"{row[-1]['avg'] / max(1, row[0]['avg']):.2f}")
    return view


def run(options: argparse.Namespace) -> int:
    """Measures; what stops it is said in one message. Returns the exit code."""
    started = time.monotonic()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    try:
        report = measure(options.seed)
    except (GuestError, QmpError, RuntimeError, ValueError, OSError) as error:
        print(f"bench-tuned: {error}", file=sys.stderr)
        return 1
    (OUTPUT / "tuned.json").write_text(json.dumps(report, indent=1) + "\n")
    Console(width=160).print(table(report))
    print(
        f"Linux {report['linux']}, {report['qemu']}, hwswap {report['commits']['hwswap']}, patches "
        f"{report['commits']['patches']}, seed {report['seed']}; {time.monotonic() - started:.0f} s."
    )
    return 0
