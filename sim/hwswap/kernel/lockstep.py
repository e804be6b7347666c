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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hwswap.compare import check
from hwswap.compare.forced import GONE, RECLAIMED_CLUSTER, RECLAIMED_SLOTS, SKIPPED
from hwswap.kernel import convert, recordings
from hwswap.kernel.record import workloads
from hwswap.project import paths, printed, processes, provenance
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

MOST_FORCED = 0.0001
"""Share of the decisions that may be forced: of a whole run by all causes, of one trace alone by others than a lock."""

MOST_LOCKED = 0.005
"""Share of one trace that may be forced as a cluster's lock was taken.

How long a lock is held is the host's doing: where it takes the processor from a CPU of the guest that holds one, the
others pass that cluster over until it goes on. Twice what was measured beside builds on all of the host's processors:
76 of 30,354 (0.25 %), 75 of these while one CPU held one lock. In a whole run locks count as all other causes do.
"""

BUSY = (
    "where the host takes processors from the guest, locks are held for long: "
    "run it again with FRESH=1 on a host with free processors, or with more decisions"
)
"""What to do where it is the locks that are too many."""

RECLAIMS = (RECLAIMED_SLOTS, RECLAIMED_CLUSTER)
"""Causes that the trace alone can tell of: nobody else knows which slots only the swap cache held."""

FEW_FORCED = 6
"""Steps that may be forced in any case: of a short trace a share says little."""

TIMEOUT = 3600.0
"""Seconds for each step of one recording; a machine under load takes its time."""

OUTPUT = paths.BUILD / "lockstep"


@dataclass
class Row:
    """What one trace came to."""

    name: str
    cpus: int
    decisions: int = 0
    """The kernel's, all compared with the golden model's."""
    compared: int = 0
    """Those that the RTL made, all equal, as its replay reports: all of one CPU, none of several."""
    causes: dict[str, int] = field(default_factory=dict)
    """Steps that were forced from the trace, by cause."""
    coverage: dict[str, int] = field(default_factory=dict)
    operations: int = 0
    cycles: int = 0
    difference: str = ""
    """The first difference, in one sentence; empty when all is equal."""
    seconds: dict[str, float] = field(default_factory=dict)
    cached: bool = False
    """The recording came out of the cache."""

    @property
    def forced(self) -> int:
        """Steps that were forced from the trace, but for reclaims, which the trace alone can tell of."""
        return sum(number for cause, number in self.causes.items() if cause not in RECLAIMS)

    @property
    def locked(self) -> int:
        """Those of them that passed over a cluster whose lock was taken."""
        return self.causes.get(SKIPPED, 0)


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


def total(rows: Iterable[Row]) -> Counter[str]:
    """Add up what the traces cover."""
    counts: Counter[str] = Counter(dict.fromkeys(MINIMUM, 0))
    for row in rows:
        counts.update(row.coverage)
    return counts


def missing(rows: Iterable[Row], minimum: dict[str, int]) -> dict[str, int]:
    """Return of what there is too little, and how much."""
    counts = total(rows)
    return {name: least - counts[name] for name, least in minimum.items() if counts[name] < least}


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


def sentence(row: Row) -> str:
    """Say what a trace came to."""
    if row.difference:
        return f"{row.name}: DIFFERS: {row.difference}"
    seconds = ", ".join(f"{what} {number:.0f} s" for what, number in sorted(row.seconds.items()))
    forced = sum(row.causes.values())
    equal = f"{row.decisions:,} decisions equal, {row.compared:,} on the RTL too"
    return f"{row.name}: {equal}, {forced:,} steps forced; {seconds}"


def tables(rows: Sequence[Row], minimum: dict[str, int]) -> list[Table]:
    """Return the traces, the forced decisions by cause, and the coverage as tables."""
    heads = ("trace", "CPUs", "decisions", "equal on the model", "equal on the RTL", "steps forced")
    traces = printed.table("Kernel, golden model and RTL in lock-step", heads)
    for row in sorted(rows, key=lambda row: row.name):
        model = "DIFFERS" if row.difference and "RTL" not in row.seconds else f"{row.decisions:,}"
        equal = "DIFFERS" if row.difference else f"{row.compared:,}" if row.compared else "-"
        forced = f"{sum(row.causes.values()):,}"
        traces.add_row(row.name, str(row.cpus), f"{row.decisions:,}", model, equal, forced)
    counts, causes = total(rows), Counter[str]()
    for row in rows:
        causes.update(row.causes)
    every = counts[DECISIONS]
    traces.add_section()
    compared = f"{sum(row.compared for row in rows):,}"
    traces.add_row("all", "", f"{every:,}", f"{every:,}", compared, f"{causes.total():,}")
    shares = ((cause, f"{number:,}", f"{100 * number / max(every, 1):.4f}") for cause, number in causes.most_common())
    by_cause = printed.table("Forced, by cause", ("cause", "times", "%"), shares)
    turns = ((name, f"{counts[name]:,}", f"{minimum[name]:,}" if name in minimum else "-") for name in MINIMUM)
    return [
        traces,
        by_cause,
        printed.table("Covered, as the kernel's details tell", ("what", "number", "at least"), turns),
    ]


def too_many(where: str, forced: int, every: int, how: str, share: float) -> list[str]:
    """Say that more steps are forced than may be for so many decisions, if so."""
    if forced <= max(share * every, FEW_FORCED):
        return []
    bound = f"{100 * share:g} % and more than {FEW_FORCED}"
    return [f"{where}{forced:,} steps are forced{how} in {every:,} decisions, more than {bound}"]


def too_many_in_all(rows: Sequence[Row]) -> list[str]:
    """Say that more decisions of a whole run are forced than may be, by whatever cause; and what to do if it is locks.

    One trace alone is no run: a single lock that is held for long says nothing of it, so locks have MOST_LOCKED there.
    """
    forced, locked = sum(row.forced for row in rows), sum(row.locked for row in rows)
    every = total(rows)[DECISIONS]
    others = too_many("", forced - locked, every, " by other causes than a lock", MOST_FORCED)
    if len(rows) == 1 or others:
        return others
    found = too_many("", forced, every, f" ({locked:,} of them by a lock that was taken)", MOST_FORCED)
    return [f"{fault}; {BUSY}" for fault in found]


def faults(rows: Sequence[Row], minimum: dict[str, int]) -> list[str]:
    """Say what is wrong with a run, one sentence each."""
    found = [f"{row.name}: {row.difference}" for row in rows if row.difference]
    found += [f"{number:,} too few: {name}" for name, number in missing(rows, minimum).items()]
    found += too_many_in_all(rows)
    for row in rows:
        found += too_many(f"{row.name}: ", row.locked, row.decisions, " by a lock that was taken", MOST_LOCKED)
    for row in rows:
        causes = sorted(set(row.causes) - {GONE, *RECLAIMS}) if row.cpus == 1 else []
        if causes:
            found.append(f"{row.name}: forced, though there is one CPU: {', '.join(causes)}")
    return found


def figure(rows: Sequence[Row]) -> str:
    """Return what a run came to in one sentence."""
    every, forced = total(rows)[DECISIONS], sum(sum(row.causes.values()) for row in rows)
    differ = sum(bool(row.difference) for row in rows)
    if differ:
        return f"lockstep: {differ} of {len(rows)} traces differ"
    free = sum(row.compared for row in rows)
    return (
        f"lockstep: {every:,} decisions equal on the golden model, {free:,} of one CPU on the RTL too; "
        f"{forced:,} steps forced; {origin(rows)}"
    )


def origin(rows: Sequence[Row]) -> str:
    """Say which recordings are no fresh ones."""
    if not any("recording" in row.seconds for row in rows):
        return "traces that were there"
    cached = sorted(row.name for row in rows if row.cached)
    if not cached:
        return f"all {len(rows)} recordings fresh"
    return f"{len(cached)} of {len(rows)} recordings out of the cache: {', '.join(cached)}"


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
