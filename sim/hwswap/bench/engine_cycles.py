# SPDX-License-Identifier: Apache-2.0
"""The engine's speed in its own clock cycles: recorded traces through the command ring, every decision compared.

The cycles of an operation are the core's own: from when it took it, or answered the one before it, until its answer
(INFO.CYCLES). The same operations are done once more under policy PLACEMENT: INDEXED. An operation's cycles while the
core's input is kept full are tested without a ring (CorePipelineSpec).
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from hwswap.bench import targets
from hwswap.bench.targets import Target
from hwswap.compare.redo import redo
from hwswap.kernel import convert
from hwswap.model.policy import Placement, Policy
from hwswap.project import paths, printed
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.traces import trace

DATA = paths.ROOT / "tests/data"

USUAL, MOVE = 2, 6
"""The targets: cycles of most operations, and of a free with a list move (99th percentile)."""

INDEXED = 32
"""The target of policy PLACEMENT: INDEXED: the most cycles an allocation takes, one that fails included."""

RINGS, LATENCY = 6, 16
"""The target of the whole engine: cycles per operation through the rings, with memory of so many cycles latency."""


class Cycles(Counter[int]):
    """Occurrences of each number of cycles."""

    def percentile(self, percent: int) -> int:
        """Return the smallest number that so many per cent of all are not above; 0 when there is none."""
        ordered = sorted(self.elements())
        return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else 0

    def said(self) -> str:
        """Return median, 99th percentile and the most."""
        return f"p50 {self.percentile(50)}, p99 {self.percentile(99)}, max {max(self, default=0)}"


@dataclass
class Measured:
    """A trace, or several together, through the rings.

    Attributes:
        cycles: of all, waiting for memory included.
        allocs: the core's own of each allocation, those that failed included.
        frees: the core's own of each free.
    """

    name: str
    operations: int
    cycles: int
    allocs: Cycles
    frees: Cycles

    @property
    def each(self) -> float:
        """Cycles an operation."""
        return self.cycles / max(self.operations, 1)


def measure(operations: trace.Trace, name: str) -> Measured:
    """Run operations on the engine."""
    outcome = replay.replay(operations, ["--latency", str(LATENCY)])
    if not outcome.equal:
        raise RuntimeError(f"{name}: {outcome.output}")
    report = outcome.report
    allocs, frees = Cycles(), Cycles()
    for order in report["alloc_cycles_by_order"].values():
        allocs.update(dict(order["all"]))
    if "free" in report["cycles_by_kind"]:
        frees.update(dict(report["cycles_by_kind"]["free"]["all"]))
    return Measured(name, report["ops"], report["cycles"], allocs, frees)


def measure_file(path: Path) -> tuple[Measured, Measured]:
    """Measure a trace, as it is and with the indexed placement."""
    loaded = trace.read(path)
    try:
        operations = convert.for_engine(loaded)
    except trace.TraceError as error:
        raise RuntimeError(f"{path}: {error}") from error
    name = path.name.partition(".")[0]
    done = redo(operations, Policy(placement=Placement.INDEXED))
    return measure(operations, name), measure(trace.Trace(operations.header, done), f"{name}, indexed")


def together(found: Iterable[Measured], name: str) -> Measured:
    """Add traces up."""
    sum_ = Measured(name, 0, 0, Cycles(), Cycles())
    for each in found:
        sum_.operations += each.operations
        sum_.cycles += each.cycles
        sum_.allocs.update(each.allocs)
        sum_.frees.update(each.frees)
    return sum_


def goals(linux: Sequence[Measured], indexed: Sequence[Measured]) -> list[Target]:
    """Return the targets beside the figures."""
    all_, slowest = together(linux, "all"), max(linux, key=lambda each: each.each)
    usual = max(all_.allocs.percentile(50), all_.frees.percentile(50))
    moves, worst = all_.frees.percentile(99), max(together(indexed, "all").allocs, default=0)
    return [
        Target("median of an allocation or free", f"{usual}", f"at most {USUAL}", usual <= USUAL),
        Target("99th percentile of a free", f"{moves}", f"at most {MOVE}", moves <= MOVE),
        Target(
            f"through the rings, {LATENCY} cycles latency, slowest trace",
            f"{slowest.each:.2f}",
            f"at most {RINGS}",
            slowest.each <= RINGS,
        ),
        Target("allocation under INDEXED", f"max {worst}", f"at most {INDEXED}", worst <= INDEXED),
    ]


def show(measured: Iterable[Measured], goals_: Sequence[Target], console: Console) -> None:
    """Print one row per trace, and the targets."""
    heads = ("trace", "operations", "cycles an operation", "an allocation in the core", "a free")
    rows = (
        (each.name, f"{each.operations:,}", f"{each.each:.2f}", each.allocs.said(), each.frees.said())
        for each in measured
    )
    console.print(printed.table("Cycles through the rings, and in the core", heads, rows))
    console.print(targets.table(goals_))


def save(linux: Measured, indexed: Measured) -> None:
    """Write the result: the engine's cycles are the same in each run."""
    cycles = {
        f"an operation through the rings, memory of {LATENCY} cycles": round(linux.each, 4),
        "an allocation in the core, median": linux.allocs.percentile(50),
        "a free in the core, median": linux.frees.percentile(50),
        "longest allocation, placement linux": max(linux.allocs),
        "longest allocation, placement indexed": max(indexed.allocs),
    }
    schema.save(
        "engine-cycles",
        [
            *(schema.exact(what, value, "cycles") for what, value in cycles.items()),
            schema.exact("operations", linux.operations, "operations"),
        ],
        title="The engine's cycles on recorded traces",
        command="make bench-engine",
        platform="Verilated engine, its own clock; each decision is the kernel's",
        leaves_out="the host",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="traces of one CPU (default: all such in tests/data)")


def run(options: argparse.Namespace) -> int:
    """Measure the traces that were named, or all that are recorded; return the exit status, 1 if a target is missed."""
    files = options.files or trace.of_one_cpu(DATA)
    with ProcessPoolExecutor(options.jobs) as pool:
        console, measured = Console(stderr=True), pool.map(measure_file, files)
        found = list(track(measured, "measuring", len(files), console=console, transient=True))
    linux, indexed = ([pair[at] for pair in found] for at in (0, 1))
    sums = together(linux, "all"), together(indexed, "all, indexed")
    if not options.files:
        save(*sums)
    met = goals(linux, indexed)
    show([*linux, *indexed, *sums], met, Console(soft_wrap=True))
    return 0 if all(target.met for target in met) else 1
