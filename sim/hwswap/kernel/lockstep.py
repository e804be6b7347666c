# SPDX-License-Identifier: Apache-2.0
"""Kernel, golden model and RTL in lock-step: fresh recordings, every decision compared.

Each recording is replayed on the golden model step by step; what only the kernel could know is forced from the trace,
and counted. One of a single CPU is one operation after the other: its operations alone are carried out by the RTL as
well, which runs free. How often the rarer turns were taken is counted from what the kernel says of itself
(hwswap.traces.turns).

Recordings are chosen one after the other: first each workload once, then the one that brings most of what is missing.
They are kept (recordings.py), so a run that was interrupted goes on where it was; a fresh run makes all of them anew.
"""

import argparse
import json
import os
import secrets
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hwswap.compare import check
from hwswap.kernel import convert, recordings
from hwswap.kernel.lockstep_report import (
    Row,
    faults,
    figure,
    missing,
    sentence,
    tables,
    total,
)
from hwswap.kernel.record import workloads
from hwswap.project import paths, processes, provenance
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.traces import trace
from hwswap.traces.turns import DECISIONS, MINIMUM, coverage

NOT_RECORDED = ("brief", "readahead")
"""Workloads that no run records: one for quick checks alone, and one of another subject."""

LONG = 10_000_000
"""Decisions of a long run."""

DECIDED = ("alloc", "discard_take")
"""Operations that decide, by their names in a replay's report."""


TIMEOUT = 3600.0
"""Seconds for each step of one recording; a machine under load takes its time."""

OUTPUT = paths.BUILD / "lockstep"


def run_trace(path: Path, name: str, keep: Path | None = None, build: Path = paths.REPLAY) -> Row:
    """Replay one trace on the golden model and, if it is of one CPU, on the RTL.

    Operations that differ are kept in the folder `keep`. `build` is the replay program of the engine they run on, which
    has to have as many devices.
    """
    began = time.monotonic()
    loaded = trace.read(path)
    row = Row(name, loaded.header.cpus, coverage=dict(coverage(loaded.records)))
    row.decisions = row.coverage[DECISIONS]
    stepped = check.replay(loaded)
    row.causes = dict(stepped.forced)
    row.difference = str(stepped.difference or "")
    row.seconds["golden model"] = time.monotonic() - began
    if row.difference or row.cpus > 1:
        return row
    operations = convert.plain(loaded)
    if free := check.check(operations):
        # What is reclaimed on the way is no operation, and may have made room.
        row.difference = "" if convert.lost(loaded) else str(free)
        return row
    outcome = replay.replay(operations, build=build)
    row.compared = equal_decisions(outcome.report)
    row.difference = outcome.output if not outcome.equal else too_few(outcome.report, row.decisions)
    if row.difference and keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        trace.write(keep / f"{name}.hwst.gz", operations.header, operations.records)
        row.difference += f" (kept: {keep / name}.hwst.gz)"
    row.operations, row.cycles = outcome.report.get("ops", 0), outcome.report.get("cycles", 0)
    row.seconds["RTL"] = time.monotonic() - began - row.seconds["golden model"]
    return row


def equal_decisions(report: dict[str, Any]) -> int:
    """Return how many decisions the RTL has come to, all equal, from the report of its replay."""
    kinds = report.get("cycles_by_kind", {})
    return sum(kinds[name]["count"] for kind in DECIDED for name in (kind, f"{kind}_failed") if name in kinds)


def too_few(report: dict[str, Any], decisions: int) -> str:
    """Say what the RTL has not done of what it was given, by the replay's report and its own counters; or nothing."""
    if (equal := equal_decisions(report)) != decisions:
        return f"the RTL was given {decisions:,} decisions, and its replay reports {equal:,}"
    kinds, counters = report["cycles_by_kind"], report["statistics"]
    taken = sum(kinds[name]["count"] for name in ("discard_take", "discard_take_failed") if name in kinds)
    counted = sum(number for name, number in counters.items() if name.startswith("alloc_"))
    if counted + taken != decisions:
        return f"the RTL was given {decisions - taken:,} allocations, and its own counters have {counted:,}"
    return ""


def worker(parent: int) -> None:
    """Prepare a worker process: it ends with its parent, and when that says so, which is who hears Ctrl-C."""
    processes.die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one without work ends as its pool does


def stop_once(number: int, frame: FrameType | None) -> NoReturn:
    """Handle SIGTERM: end the work under way in good order, and let nothing interrupt that."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run_workload(workload: str, seed: int, fresh: bool) -> Row:
    """Record a workload, unless the cache has it and it need not be fresh, and replay it; SIGTERM ends both."""
    signal.signal(signal.SIGTERM, stop_once)
    try:
        return record_and_replay(workload, seed, fresh)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def record_and_replay(workload: str, seed: int, fresh: bool) -> Row:
    """Do what `run_workload` says."""
    began = time.monotonic()
    recording = recordings.recorded(workload, seed, TIMEOUT, fresh)
    seconds = time.monotonic() - began
    row = run_trace(recording.path, f"{workload}-{seed}", OUTPUT)
    row.seconds["recording"] = seconds
    row.cached = recording.cached
    return row


def best(rows: Sequence[Row], lacking: dict[str, int]) -> str:
    """Return the workload whose next recording brings most of what is missing, for its decisions' worth of time."""
    yields: dict[str, Counter[str]] = {}
    for row in rows:
        of = yields.setdefault(row.name.rpartition("-")[0], Counter())
        of.update(row.coverage)
        of["recordings"] += 1

    def worth(workload: str) -> float:
        of = yields[workload]
        share = sum(min(of[name] / of["recordings"] / number, 1.0) for name, number in lacking.items())
        return share / (20_000 + of[DECISIONS] / of["recordings"])  # booting takes as long as so many decisions

    return max(sorted(yields), key=worth)


def record_all(seed: int, minimum: dict[str, int], jobs: int, names: Sequence[str], fresh: bool = False) -> list[Row]:
    """Record and replay until there is enough of everything, or a difference; Ctrl-C ends it, recordings are kept."""
    rows: list[Row] = []
    seeds: Counter[str] = Counter()
    waiting = list(names)
    with (
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        ) as progress,
        ProcessPoolExecutor(jobs, initializer=worker, initargs=(os.getpid(),)) as pool,
    ):
        bars = {name: progress.add_task(name, total=least) for name, least in minimum.items()}
        under_way: dict[Future[Row], str] = {}
        try:
            while not any(row.difference for row in rows):
                lacking = missing(rows, minimum)
                while len(under_way) < jobs and (waiting or (lacking and rows)):
                    workload = waiting.pop(0) if waiting else best(rows, lacking)
                    future = pool.submit(run_workload, workload, seed + seeds[workload], fresh)
                    progress.console.print(
                        f"{workload}-{seed + seeds[workload]} begins", highlight=False, soft_wrap=True
                    )
                    seeds[workload] += 1
                    under_way[future] = workload
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    del under_way[future]
                    row = future.result()
                    rows.append(row)
                    progress.console.print(sentence(row), highlight=False, soft_wrap=True)
                counts = total(rows)
                for name, bar in bars.items():
                    progress.update(bar, completed=counts[name])
        finally:
            if under_way:
                for process in list(getattr(pool, "_processes", {}).values()):
                    process.terminate()
                pool.shutdown(wait=True, cancel_futures=True)
    return rows


def report(rows: Sequence[Row], seed: int | None, minimum: dict[str, int]) -> dict[str, Any]:
    """Return the figures of a run."""
    return {
        "commit": provenance.commit(),
        "patches": provenance.patches(),
        "seed": seed,
        "minimum": minimum,
        "coverage": dict(total(rows)),
        "traces": [asdict(row) for row in sorted(rows, key=lambda row: row.name)],
        "faults": faults(rows, minimum),
    }


def finish(rows: Sequence[Row], seed: int | None, minimum: dict[str, int], output: Path) -> int:
    """Write the figures, print the tables and what is wrong; return the exit status."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(report(rows, seed, minimum), indent=2, sort_keys=True) + "\n")
    schema.save(
        "lockstep",
        [
            schema.Figure("decisions", "", sum(row.decisions for row in rows), "decisions"),
            schema.Figure("decisions of one CPU, on the RTL too", "", sum(row.compared for row in rows), "decisions"),
            schema.Figure("forced", "", sum(sum(row.causes.values()) for row in rows), "steps"),
            schema.exact("recordings with a difference", sum(bool(row.difference) for row in rows), "traces"),
        ],
        title="Kernel, golden model and RTL in lock-step",
        command="make lockstep",
        platform="recordings of Linux 7.3.4 on 1 to 4 CPUs; golden model, and for those of one CPU the RTL",
        leaves_out="what CPUs do at the same moment",
        kernel=True,
        seed=seed,
    )
    console = Console(soft_wrap=True)
    for table in tables(rows, minimum):
        console.print(table)
    console.print(f"figures: {output}", highlight=False)
    found = faults(rows, minimum)
    for fault in found:
        console.print(f"hwswap: {fault}", highlight=False)
    console.print(figure(rows), highlight=False)
    return 1 if found else 0


def short(files: Sequence[Path], jobs: int, say: Callable[[str], None]) -> list[Row]:
    """Replay recorded traces that are there already."""
    rows = []
    with ProcessPoolExecutor(jobs) as pool:
        names = [path.name.removesuffix(".gz").removesuffix(".hwst") for path in files]
        for row in pool.map(run_trace, files, names, [OUTPUT] * len(files)):
            say(sentence(row))
            rows.append(row)
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="traces to replay instead; there is no minimum then")
    default = MINIMUM[DECISIONS]
    parser.add_argument(
        "--decisions",
        type=int,
        default=default,
        metavar="N",
        help=f"decisions at least (default: {default})",
    )
    parser.add_argument(
        "--fresh",
        action=argparse.BooleanOptionalAction,
        help=f"record all anew, from a new seed unless --seed names one (default: with {LONG} decisions or more)",
    )


def run(options: argparse.Namespace) -> int:
    """Compare fresh recordings, or the traces that were named; return the exit status."""
    if options.files:
        console = Console(stderr=True, highlight=False)
        rows = short(options.files, options.jobs, lambda text: console.print(text, soft_wrap=True))
        return finish(rows, options.seed, {}, OUTPUT / "short.json")
    minimum = {**MINIMUM, DECISIONS: options.decisions}
    fresh = options.decisions >= LONG if options.fresh is None else options.fresh
    seed = options.seed
    if seed is None:
        seed = secrets.randbits(31) if fresh else 1
    print(f"lockstep: recordings from seed {seed} on, {'all made anew' if fresh else 'the cache allowed'}", flush=True)
    names = [name for name in workloads() if name not in NOT_RECORDED]
    rows = record_all(seed, minimum, options.jobs, names, fresh=fresh)
    return finish(rows, seed, minimum, OUTPUT / "lockstep.json")
