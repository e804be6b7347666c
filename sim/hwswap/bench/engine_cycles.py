# SPDX-License-Identifier: Apache-2.0
"""The engine's speed in its own clock cycles: recorded traces on the Verilated core, its input kept full.

The core is driven without rings and registers around it (hwswap-bench): a request is offered in every cycle, answers
are taken at once. The *cycles* of an operation are those from the answer before it to its own; its *latency* is that
from its acceptance to its answer. Every decision is compared as in any replay. Figures are added up over all traces and
put beside the targets. The same operations are measured under policy PLACEMENT: INDEXED, too, and as commands of the
ring, by the whole engine (hwswap-replay).
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hwswap.bench import targets
from hwswap.bench.engine_figures import Cycles, Figures, Key
from hwswap.bench.targets import Target
from hwswap.compare import fallback
from hwswap.kernel import convert
from hwswap.project import paths, printed
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.traces import trace

DATA = paths.ROOT / "tests/data"

FAST, MOVE, SCAN, MEDIAN = 2, 6, 3, 8
"""The targets: cycles of a hit or free, of one with a list move, of a scanned cluster, and the median latency."""

INDEXED = 32
"""The target of policy PLACEMENT: INDEXED: the most cycles an allocation takes, one that fails included."""

RINGS, LATENCY = 6, 16
"""The target of the whole engine: cycles an operation through the rings, with memory of so many cycles latency."""

PLACEMENTS = ("linux", "indexed")
"""The policies under which all operations of a trace are done once more (fallback.py), to be compared."""


def fast(key: Key) -> bool:
    """Tell whether a group is of hits and frees, none of which the host was asked about."""
    return key[0] == "free" or (key[0] == "alloc" and key[2] == "hint")


def unmet(found: Iterable[Target], named: bool) -> list[Target]:
    """Return the targets that are missed.

    All recorded traces together have something of everything; traces that were named may have nothing of what a target
    is about, and do not miss it then.
    """
    return [target for target in found if not target.met and (target.there or not named)]


def core_targets(figures: Figures) -> list[Target]:
    """Return the targets beside the figures."""
    plain = figures.merged(lambda key: fast(key) and not key[3])
    moved = figures.merged(lambda key: fast(key) and key[3])
    latency = figures.merged(lambda key: key[0] == "alloc", 1)
    scan = figures.scanned()

    def within(cycles: Cycles, limit: int) -> str:
        return (
            f"p50 {cycles.percentile(50)}, p99 {cycles.percentile(99)}, max {max(cycles, default=0)}; "
            f"{100 * cycles.share(limit):.2f} % within"
        )

    return [
        Target(
            "hit or free without list move",
            within(plain, FAST),
            f"at most {FAST} cycles",
            plain.percentile(99) <= FAST,
        ),
        Target("hit or free with list move", within(moved, MOVE), f"at most {MOVE}", moved.percentile(99) <= MOVE),
        Target(
            "one more scanned cluster",
            "there was none" if scan is None else f"{scan:.2f}",
            f"at most {SCAN}",
            scan is not None and scan <= SCAN,
            scan is not None,
        ),
        Target(
            "latency of an allocation",
            f"p50 {latency.percentile(50)}, p99 {latency.percentile(99)}",
            f"median at most {MEDIAN}",
            latency.percentile(50) <= MEDIAN,
        ),
    ]


def measure(operations: trace.Trace, name: str) -> dict[str, Any]:
    """Run operations on the core; return the program's report."""
    with tempfile.TemporaryDirectory(prefix="hwswap-bench-") as folder:
        file, report = Path(folder) / f"{name}.hwst", Path(folder) / "report.json"
        trace.write(file, operations.header, operations.records)
        command = [paths.need(paths.REPLAY.with_name("hwswap-bench")), file, "--json", report]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {(done.stdout + done.stderr).strip() or 'the bench ended without a word'}")
        return json.loads(report.read_text())


def through_rings(operations: trace.Trace, name: str) -> int:
    """Return the cycles that operations take as commands of the ring, waiting for memory included."""
    outcome = replay.replay(operations, ["--latency", str(LATENCY)])
    if not outcome.equal:
        raise RuntimeError(f"{name}, through the rings: {outcome.output}")
    return outcome.report["cycles"]


def measure_file(path: Path) -> dict[str, Any]:
    """Measure a trace, as it is and under both placements."""
    try:
        operations = convert.for_engine(trace.read(path))
    except trace.TraceError as error:
        raise RuntimeError(f"{path}: {error}") from error
    name = path.name.partition(".")[0]
    report = measure(operations, name)
    report["name"] = name
    report["ring_cycles"] = through_rings(operations, name)
    report["placements"] = {}
    for policy in PLACEMENTS:
        _, done = fallback.redo(operations, fallback.POLICIES[policy])
        report["placements"][policy] = measure(trace.Trace(operations.header, done), f"{name}-{policy}")
    return report


def placement(reports: Iterable[dict[str, Any]], policy: str) -> dict[str, Any]:
    """Return the cost of all traces under a policy, done once more: in all, and of each allocation."""
    operations = cycles = 0
    allocations = Cycles()
    for report in reports:
        again = report["placements"][policy]
        operations += again["operations"]
        cycles += again["cycles"]
        for group in again["groups"]:
            if group["kind"] == "alloc":
                allocations.update(dict(group["cycles"]))
    return {"operations": operations, "cycles": cycles, "alloc": allocations.summary()}


def placement_table(reports: Sequence[dict[str, Any]]) -> Table:
    """Return the cost of the kernel's placement and of the indexed one, over all traces."""
    heads = ("placement", "operations", "cycles an operation", "an allocation: mean", "p50", "p99", "max")
    table = printed.table("The same operations under both placements", heads)
    for policy in PLACEMENTS:
        of = placement(reports, policy)
        per = f"{of['cycles'] / max(of['operations'], 1):.2f}"
        alloc = (f"{of['alloc'][name]:g}" for name in ("mean", "p50", "p99", "max"))
        table.add_row(policy, f"{of['operations']:,}", per, *alloc)
    return table


def groups_table(figures: Figures) -> Table:
    """Return the cycles by operation, order, path and list move."""
    heads = ("operation", "order", "path", "list move", "number", "mean", "p50", "p99", "max", "latency p50")
    table = printed.table("Cycles of an operation (from the answer before it), input kept full", heads, left=(0, 2))
    for (kind, order, path, move), (cycles, latency) in sorted(figures.groups.items()):
        s = cycles.summary()
        table.add_row(
            kind,
            str(order) if kind == "alloc" else "",
            path,
            "yes" if move else "no",
            f"{s['count']:,}",
            f"{s['mean']:.2f}",
            *(str(s[name]) for name in ("p50", "p99", "max")),
            str(latency.percentile(50)),
        )
    return table


def goals(figures: Figures, reports: Sequence[dict[str, Any]]) -> list[Target]:
    """Return all targets beside the figures, that of the indexed placement last."""
    worst = placement(reports, "indexed")["alloc"]["max"]
    slowest = max(report["ring_cycles"] / max(report["operations"], 1) for report in reports)
    return [
        *core_targets(figures),
        Target(
            f"through the rings, {LATENCY} cycles latency, slowest trace",
            f"{slowest:.2f}",
            f"at most {RINGS}",
            slowest <= RINGS,
        ),
        Target("allocation under INDEXED", f"max {worst}", f"at most {INDEXED}", worst <= INDEXED),
    ]


def show(figures: Figures, reports: Sequence[dict[str, Any]], console: Console) -> None:
    """Print all tables, the targets last."""
    console.print(groups_table(figures))
    heads = ("trace", "operations", "cycles", "cycles an operation", "through the rings")
    traces = printed.table("All cycles", heads)

    def row(name: str, operations: int, core: int, rings: int) -> None:
        per = (f"{cycles / max(operations, 1):.2f}" for cycles in (core, rings))
        traces.add_row(name, f"{operations:,}", f"{core:,}", *per)

    for report in reports:
        row(report["name"], report["operations"], report["cycles"], report["ring_cycles"])
    row("all", figures.operations, figures.cycles, sum(report["ring_cycles"] for report in reports))
    console.print(traces)
    title, each = f"Stalls: cycles beyond {FAST} an operation, by cause", max(figures.operations, 1)
    rows = ((cause, f"{cycles:,}", f"{cycles / each:.3f}") for cause, cycles in figures.stalls.most_common())
    console.print(printed.table(title, ("cause", "cycles", "an operation"), rows))
    console.print(placement_table(reports))
    console.print(targets.table(goals(figures, reports)))


def save(figures: Figures, reports: Sequence[dict[str, Any]]) -> None:
    """Write the result: the engine's cycles are the same in each run."""
    operations = max(figures.operations, 1)
    rings = sum(report["ring_cycles"] for report in reports)
    cycles = {
        "an operation, core alone, its input kept full": round(figures.cycles / operations, 4),
        f"an operation through the rings, memory of {LATENCY} cycles": round(rings / operations, 4),
    }
    for name in PLACEMENTS:
        cycles[f"longest allocation, placement {name}"] = placement(reports, name)["alloc"]["max"]
    schema.save(
        "engine-cycles",
        [
            *(schema.exact(what, value, "cycles") for what, value in cycles.items()),
            schema.exact("operations", figures.operations, "operations"),
        ],
        title="The engine's cycles on recorded traces",
        command="make bench-engine",
        platform="Verilated core, its own clock; each decision is the kernel's",
        leaves_out="bus and host",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="traces of one CPU (default: all such in tests/data)")


def run(options: argparse.Namespace) -> int:
    """Measure the traces that were named, or all that are recorded; return the exit status, 1 if a target is missed."""
    files = options.files or trace.of_one_cpu(DATA)
    figures, reports = Figures(), []
    with Progress(console=Console(stderr=True), transient=True) as progress, ProcessPoolExecutor(options.jobs) as pool:
        task = progress.add_task("measuring", total=len(files))
        for report in pool.map(measure_file, files):
            reports.append(report)
            figures.add(report)
            progress.advance(task)
    if not options.files:
        save(figures, reports)
    console = Console(soft_wrap=True)
    show(figures, reports, console)
    missed = unmet(goals(figures, reports), bool(options.files))
    console.print(figure(figures, missed), highlight=False)
    return 1 if missed else 0


def figure(figures: Figures, missed: Sequence[Target]) -> str:
    """Return the result of a run in one sentence."""
    met = "; ".join(f"missed: {target.name}, {target.measured}" for target in missed) or "every target met"
    return (
        f"bench-engine: {figures.operations:,} operations, {figures.cycles:,} cycles, "
        f"{figures.cycles / max(figures.operations, 1):.2f} each; {met}"
    )
