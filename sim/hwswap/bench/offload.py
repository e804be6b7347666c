# SPDX-License-Identifier: Apache-2.0
"""`make bench-offload`: what marks and grants cost and save the CPU, beside the kernel without them.

Four columns: Linux with nothing but the bench; the whole series with nothing registered, which is its faster software
(tuned); with grants; and with grants of the Verilated engine, by the driver in mode hint. One guest CPU whose clock
counts instructions. Then how many large folios are split under a churn of all sizes
(hwswap.bench.fallbacks).

But for the last column the engine is hwswap_softgrants, software of ours. It runs between the calls that are measured,
so what it takes is in no figure: a figure is the kernel's side alone, with an engine that is always in time. The
Verilated one is clocked by the guest's time, and is late at times; the interrupts that clock it count, in fewer than
one call of a hundred.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from hwswap.bench import fallbacks, lines, offload_targets, targets
from hwswap.bench.offload_targets import FAIL, STATES, Figures
from hwswap.bench.targets import Target
from hwswap.guest import mirror
from hwswap.guest.machine import counting
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths, printed
from hwswap.results import schema
from hwswap.rtl.device_server import CLOCK_MHZ, EngineServer, clocked_by_guest

OUTPUT = paths.BUILD / "bench-offload"
GUEST = paths.ROOT / "sim/guest"
Backend = Literal["none", "software", "engine"]
"""Who gives grants: nobody, hwswap_softgrants, or the Verilated engine."""

COLUMNS: dict[str, tuple[artifacts.Artifact, Backend]] = {
    "unpatched": (artifacts.KERNEL_UNPATCHED, "none"),
    "tuned": (artifacts.KERNEL, "none"),
    "grants": (artifacts.KERNEL, "software"),
    "engine": (artifacts.KERNEL, "engine"),
}
"""Name -> kernel, and who gives grants."""

RUNS: Sequence[tuple[int, int, int]] = ((0, 2000, 130_900), (2, 800, 32_256), (4, 300, 8_064), (9, 16, 248))
"""Orders, how many folios of each are measured, and how many fill swap.

A large folio tries one device only, so the last cluster of each is left out.
"""

SHORT_RUNS: Sequence[tuple[int, int, int]] = ((0, 600, 130_900), (4, 150, 8_064))
FAILS: Sequence[tuple[int, int]] = ((2, 300), (4, 200), (9, 32))
"""Orders that find no room, and how many folios of each try."""

SHORT_FAILS: Sequence[tuple[int, int]] = ((4, 100),)

Entry = dict[str, Any]


def job(seed: int, backend: Backend, short: bool) -> str:
    """Returns the guest's script."""
    runs = "\n".join(" ".join(map(str, run)) for run in (SHORT_RUNS if short else RUNS))
    fails = "\n".join(" ".join(map(str, run)) for run in (SHORT_FAILS if short else FAILS))
    return f"SEED={seed}\nGRANTS={backend}\nRUNS='{runs}'\nFAILS='{fails}'\n. /bench-offload\n"


def entries(column: str, output: str, short: bool) -> list[Entry]:
    """Returns what the guest has printed; raises GuestError unless all of it is there, and as it should be."""
    found: list[Entry] = []
    for line in output.splitlines():
        words = line.split(" ", 3)
        if words[0] == "@bench":
            entry = json.loads(words[3])
            # Where all fail nothing is freed.
            if words[1] != FAIL or entry["op"] == "alloc":
                found.append({"column": column, "state": words[1], **entry})
        elif (wrong := mirror.differences(line.removeprefix("@verify "))) > 0:
            raise GuestError(f"{column}: {wrong} words of the mirror are not what the kernel's tables say")
    runs, fails = (SHORT_RUNS, SHORT_FAILS) if short else (RUNS, FAILS)
    if len(found) != 2 * len(runs) * len(STATES) + len(fails):
        raise GuestError(f"{column}: {len(found)} figures; the guest's last words:\n{output[-1500:]}")
    for entry in found:
        failed = entry["failed"] if entry["op"] == "alloc" else 0
        if failed != (entry["n"] if entry["state"] == FAIL else 0):
            raise GuestError(f"{column}: {failed} of {entry['n']} folios of order {entry['order']} found no room")
    return found


def measure(seed: int, short: bool) -> dict[str, Any]:
    """Runs a guest for each column; returns the report."""
    files = {name: (GUEST / f"{name}.sh").read_bytes() for name in ("bench-offload", "allocator-bench")}
    found: list[Entry] = []
    for column, (kernel, backend) in COLUMNS.items():
        print(f"bench-offload: {column}", file=sys.stderr)
        machine = Machine(cpus=1, icount=True, disks=4, disk_mb=128)
        log = OUTPUT / f"{column.replace(' ', '')}.kernel.log"
        script = job(seed, backend, short)
        engine = clocked_by_guest(OUTPUT / "engine.log")
        with (
            engine if backend == "engine" else nullcontext() as server,
            Guest(machine, server, files=files, job=script, log=log, kernel=kernel, boot_timeout=600) as guest,
        ):
            found += entries(column, guest.wait_job(3600).check(), short)
            release = guest.release
    return {"seed": seed, "short": short, "linux": release, "bench": found}


def figures(report: dict[str, Any]) -> Figures:
    """Returns the entries by column, operation, order and state."""
    return {(e["column"], e["op"], e["order"], e["state"]): e for e in report["bench"]}


def table(report: dict[str, Any]) -> Table:
    """Instructions of a call, a row for each operation, order and state."""
    title = "Guest instructions a call, p50 / average / p99; the engine's own are not in them"
    view = printed.table(title, ("", *COLUMNS))
    found = figures(report)
    for op, order, state in dict.fromkeys((e["op"], e["order"], e["state"]) for e in report["bench"]):
        row = [found[column, op, order, state] for column in COLUMNS]
        cells = [f"{e['p50']:,} / {e['avg']:,} / {e['p99']:,}" for e in row]
        verb = "allocate" if op == "alloc" else "free"
        words = "no room" if state == FAIL else STATES[state]
        view.add_row(f"{verb} order {order}, {words}", *cells)
    return view


def save(report: dict[str, Any]) -> None:
    """Write the results of the parts that were measured."""
    if found := report.get("calls"):
        states = STATES | {FAIL: "no room"}
        schema.save(
            "calls",
            lines.figures((line["column"], states[line["state"]], line) for line in found["bench"]),
            title="Calls of the allocator",
            command="make bench-offload PART=calls" + " SHORT=1" * found["short"],
            platform=f"{counting(found['linux'])}; four RAM disks of 128 MB; engine: the RTL as a PCI device, "
            f"{CLOCK_MHZ} MHz, {EngineServer.latency} cycles a transfer; grants: an engine in "
            "software between the calls",
            leaves_out="waiting, cache misses, what the engine does itself",
            kernel=True,
            seed=found["seed"],
            short=found["short"],
        )
    if found := report.get("fallbacks"):
        sizes, seeds = (", ".join(map(str, values)) for values in (fallbacks.SIZES, fallbacks.SEEDS))
        schema.save(
            "fall-backs",
            fallbacks.figures(found),
            title="Large folios that are split",
            command="make bench-offload PART=fall-backs",
            platform=f"{counting(found['linux'])}; RAM disks; folios of {sizes} kB, mix changes; mean of seeds {seeds}",
            leaves_out="other loads, other sizes of swap",
            kernel=True,
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command alone."""
    parser.add_argument(
        "--part",
        choices=("all", "calls", "fall-backs"),
        default="all",
        help="what is measured (default: all)",
    )


def run(options: argparse.Namespace) -> int:
    """Measure and judge; return 1 if a target is missed."""
    started = time.monotonic()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {}
    if options.part != "fall-backs":
        report["calls"] = measure(options.seed, options.short)
    if options.part != "calls":
        report["fallbacks"] = fallbacks.measure(OUTPUT)
    save(report)
    tables: list[Table] = []
    wanted: list[Target] = []
    if "calls" in report:
        tables.append(table(report["calls"]))
        wanted += offload_targets.calls(figures(report["calls"]))
    if "fallbacks" in report:
        tables.append(fallbacks.table(report["fallbacks"]))
        wanted += offload_targets.fallbacks(fallbacks.rates(report["fallbacks"]))
    tables.append(targets.table(wanted))
    console = Console(width=170)
    for view in tables:
        console.print(view)
    missed = [target.name for target in wanted if not target.met]
    for name in missed:
        print(f"bench-offload: missed: {name}", file=sys.stderr)
    print(
        "The engine is software that runs outside of the calls measured; in column engine it is the Verilated one, of "
        f"{CLOCK_MHZ} MHz, {EngineServer.latency} cycles away."
    )
    print(f"{len(wanted) - len(missed)} of {len(wanted)} targets met; {time.monotonic() - started:.0f} s")
    return 1 if missed else 0
