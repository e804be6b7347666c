# SPDX-License-Identifier: Apache-2.0
"""The driver's part of `make bench-table`: large folios in each mode, swapoff's readahead, the memory of swap tables.

Guests whose clock counts instructions; the device that swapoff reads is null_blk with a modelled latency. What swapoff
takes by mode and threshold is a part of its own (mode_costs.py).
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from hwswap.bench import mode_costs
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.guest.qmp import QmpError
from hwswap.project import artifacts, markdown, paths, provenance
from hwswap.rtl.device_server import EngineError, EngineServer

OUTPUT = paths.BUILD / "bench-table"
GUEST = paths.ROOT / "sim/guest"
MODES = ("unpatched", "stock", "tuned", "hint", "trusted", "believed")
GRANTED = ("hint", "trusted", "believed")
"""Modes in which a grant places a folio; a call that finds none is software's."""

LEAST_GRANTED = 0.9
"""The share of folios that grants have to place for a figure to be one of grants."""

PUBLISHED = {
    1: (26.8, 21.3),
    2: (28.3, 12.7),
    3: (22.1, 8.8),
    4: (21.5, 7.6),
    5: (25.4, 7.8),
    6: (23.2, 8.3),
    7: (22.3, 9.4),
    8: (22.1, 8.9),
}
"""Seconds of a swapoff by page_cluster, adaptive and fixed, as measured for the patch of April 2020 elsewhere."""

Report = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    runs: Sequence[tuple[int, int]]
    """Orders, and how many folios of each."""
    fills: Sequence[int]
    """MB in swap, rising."""
    frees: Sequence[int]
    """Percentages of the largest of them that are freed again."""
    clusters: Sequence[int]
    """Values of vm.page-cluster."""
    swapoff_mb: int
    modes: mode_costs.Size


LONG = Size(
    ((0, 2000), (2, 800), (4, 300), (7, 64), (9, 32)),
    (4, 8, 16, 24, 32, 40, 48, 56, 60),
    (25, 50, 75, 90, 95, 99),
    range(1, 9),
    32,
    mode_costs.LONG,
)
SHORT = Size(((0, 200), (4, 40), (9, 8)), (4, 16), (50, 99), (1, 3, 5), 8, mode_costs.SHORT)

MEMORY_MB = 64
"""Of the device that fills and empties."""


@dataclass
class Collected:
    """What the guests printed."""

    bench: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    swapoff: list[dict[str, Any]] = field(default_factory=list)
    verified: list[dict[str, Any]] = field(default_factory=list)
    modes: mode_costs.Collected = field(default_factory=mode_costs.Collected)
    done: int = 0

    def feed(self, line: str) -> None:
        """Takes one line of a guest's output."""
        key, _, rest = line.partition(" ")
        if key == "@bench":
            mode, gap, text = rest.split(" ", 2)
            self.bench.append({"mode": mode, "gap_ns": int(gap), **json.loads(text)})
        elif key == "@looks":
            # Of the call's two lines.
            for entry in self.bench[-2:]:
                entry["looks"] = int(rest)
        elif key == "@tables":
            name, megabytes, percent, text = rest.split(" ", 3)
            self.tables.append({"phase": name, "mb": int(megabytes), "freed": int(percent), **json.loads(text)})
        elif key == "@swapoff":
            self._swapoff(rest.split())
        elif key == "@load":
            self.verified.append(json.loads(rest))
        elif key == "@done":
            self.done += 1
        elif key.startswith("@"):
            self.modes.feed(line)

    def _swapoff(self, words: list[str]) -> None:
        fixed, cluster, when, nsec, pages, *stat = words
        # Documentation/block/stat.rst: reads completed, reads merged, sectors read.
        values = {"nsec": int(nsec), "pages": int(pages), "reads": int(stat[0]), "sectors": int(stat[2])}
        if when == "before":
            self._before = values
            return
        seen = {name: value - self._before[name] for name, value in values.items()}
        self.swapoff.append({"fixed": fixed == "true", "page_cluster": int(cluster), **seen})


def run_guest(
    name: str,
    machine: Machine,
    job: str,
    files: dict[str, bytes],
    collected: Collected,
    folder: Path | None = None,
    kernel: artifacts.Artifact = artifacts.KERNEL,
) -> str:
    """Boots a guest, with an engine if there is a folder for one, and runs a job; returns the kernel's release.

    The kernel's log is kept under the name.
    """
    engine = EngineServer(folder, pace="guest", log=OUTPUT / "engine.log") if folder else None
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("booting Linux", total=None)

        def on_line(line: str) -> None:
            if line.startswith("@phase "):
                progress.update(task, description=line.split(" ", 2)[2])
            collected.feed(line)

        log = OUTPUT / f"{name}.kernel.log"
        with Guest(machine, engine, files=files, job=job, log=log, kernel=kernel, boot_timeout=300) as guest:
            before = collected.done
            result = guest.wait_job(3600, on_line)
            if result.code or collected.done == before:
                raise GuestError(
                    f"the guest's part ended with code {result.code}; its last words:\n{result.output[-1500:]}"
                )
            return guest.release


def measure(size: Size, nsec: int, seed: int) -> Report:
    """Runs the guests; returns the report."""
    collected = Collected()
    commits = {"hwswap": provenance.commit(), "patches": provenance.patches()}  # what is run, whatever comes meanwhile
    runs = "\n".join(f"{order} {count}" for order, count in size.runs)
    job = f"SEED={seed}\nRUNS='{runs}'\nMEMORY_MB={MEMORY_MB}\nFILLS='{' '.join(map(str, size.fills))}'\n"
    job += f"FREES='{' '.join(map(str, size.frees))}'\n. /bench-table\n"
    files = {name: (GUEST / f"{name}.sh").read_bytes() for name in ("bench-table", "allocator-bench")}
    machine = Machine(cpus=1, icount=True, disks=4, disk_mb=128)
    run_guest("unpatched", machine, "KERNEL=unpatched\n" + job, files, collected, kernel=artifacts.KERNEL_UNPATCHED)
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        release = run_guest("driver", machine, "KERNEL=patched\n" + job, files, collected, Path(folder))
    modules = artifacts.KERNEL.path().parent / "modules"
    files = {f"lib/modules/{path.name}": path.read_bytes() for path in sorted(modules.glob("*.ko"))}
    files |= {name: (GUEST / f"{name}.sh").read_bytes() for name in ("half-full", "bench-swapoff", "bench-modes")}
    machine = Machine(cpus=1, icount=True, disks=0)
    job = f"SEED={seed}\nNSEC={nsec}\nSIZE_MB={size.swapoff_mb}\nCLUSTERS='{' '.join(map(str, size.clusters))}'\n"
    run_guest("swapoff", machine, job + ". /bench-swapoff\n", files, collected)
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        run_guest("modes", machine, mode_costs.job(size.modes, seed), files, collected, Path(folder))
    if not collected.verified or any(load["mismatches"] for load in collected.verified):
        raise GuestError(f"bytes were wrong after a swapoff: {collected.verified}")
    return {
        "seed": seed,
        "short": size is SHORT,
        "commits": commits,
        "versions": {"linux": release, "qemu": provenance.qemu()},
        "engine": {"simulated": True, "clock_mhz": EngineServer.clock_mhz, "link_latency_cycles": EngineServer.latency},
        "device_nsec": nsec,
        "bench": with_shares(collected.bench),
        "tables": collected.tables,
        "swapoff": collected.swapoff,
        "modes_device": {"mb": size.modes.mb, "nsec": size.modes.nsec},
        "modes": collected.modes.modes,
        "searches": collected.modes.searches,
        "commands": mode_costs.searches(collected.modes.searches),
        "published_seconds": PUBLISHED,
    }


def with_shares(bench: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the entries with the share of folios that grants placed; what is freed was allocated just before."""
    # The bench of an unpatched kernel does not count them.
    shares = {(e["mode"], e["order"]): e.get("granted", 0) / e["n"] for e in bench if e["op"] == "alloc"}
    return [{**e, "granted_share": round(shares[e["mode"], e["order"]], 4)} for e in bench]


def fallbacks(report: Report) -> list[str]:
    """Returns which figures are of software, though their column is of grants; a sentence each."""
    return [
        f"mode {e['mode']}, order {e['order']}: {100 * e['granted_share']:.0f} % of the folios were placed by grants, "
        f"less than {100 * LEAST_GRANTED:.0f} %: these figures are software's"
        for e in report["bench"]
        if e["mode"] in GRANTED and e["op"] == "alloc" and e["granted_share"] < LEAST_GRANTED
    ]


def folio_table(report: Report) -> Table:
    """Instructions of one call, in each mode."""
    table = Table(
        title="Guest instructions a call, p50 / average; share placed by grants. Trusted: with the wait for the engine"
    )
    for title in ("", *MODES):
        table.add_column(title, justify="right" if title else "left")
    for order in sorted({entry["order"] for entry in report["bench"]}):
        for op, verb in (("alloc", "allocate"), ("free", "free")):
            cells = []
            for mode in MODES:
                entry = next(e for e in report["bench"] if (e["mode"], e["op"], e["order"]) == (mode, op, order))
                share = f"; {100 * entry['granted_share']:.0f} %" if mode in GRANTED else ""
                cells.append(f"{entry['p50']:,} / {entry['avg']:,}{share}")
            table.add_row(f"{verb} order {order}", *cells)
    return table


def swapoff_table(report: Report) -> Table:
    """Reads of a swapoff, adaptive beside fixed."""
    table = Table(title=f"swapoff of a half-full device, {report['device_nsec'] / 1000:g} µs a request")
    for title in ("page_cluster", "windows", "reads", "pages", "pages a read", "modelled ms", "published s"):
        table.add_column(title, justify="right")
    for run in report["swapoff"]:
        published = report["published_seconds"].get(run["page_cluster"])
        table.add_row(
            str(run["page_cluster"]),
            "fixed" if run["fixed"] else "adaptive",
            f"{run['reads']:,}",
            f"{run['pages']:,}",
            f"{run['pages'] / max(1, run['reads']):.2f}",
            f"{run['nsec'] / 1e6:.1f}",
            f"{published[run['fixed']]:.1f}" if published else "-",
        )
    return table


def memory_table(report: Report) -> Table:
    """Memory and lookups of swap tables and of a tree."""
    table = Table(title="Swap tables beside a tree with an entry for each slot in use")
    titles = (
        "in swap",
        "freed",
        "slots in use",
        "tables",
        "tables kB",
        "tree nodes",
        "tree kB",
        "lookup",
        "tree lookup",
    )
    for title in titles:
        table.add_column(title, justify="right")
    for run in report["tables"]:
        looked = max(1, run["lookups"])
        table.add_row(
            f"{run['mb']} MB",
            f"{run['freed']} %",
            f"{run['in_use']:,}",
            f"{run['tables']} of {run['clusters']}",
            f"{run['table_bytes'] / 1024:,.0f}",
            f"{run['tree_nodes']:,}",
            f"{run['tree_bytes'] / 1024:,.0f}",
            f"{(run['table'] - run['empty']) / looked:.1f}",
            f"{(run['tree'] - run['empty']) / looked:.1f}",
        )
    return table


def tables(report: Report) -> list[Table]:
    """All tables."""
    makers = (folio_table, swapoff_table, mode_costs.modes_table, mode_costs.commands_table, memory_table)
    return [make(report) for make in makers]


def notes(report: Report) -> tuple[str, ...]:
    """What the numbers are."""
    return (
        "One instruction takes one nanosecond of guest time: blind to cache misses, and to what DMA does to them.",
        (
            "unpatched: Linux as it is, but for the bench. stock: all patches, no backend. tuned: the kernel's "
            "placement, the words of a folio by memset64, not looked at again. "
            "hint: placed by the engine's grants. trusted: that, and the engine writes the words, which the kernel "
            "looks at; believed: which it does not."
        ),
        (
            "Waiting is in instructions of the loop that waits, at the pace of an engine of "
            f"{report['engine']['clock_mhz']} MHz on a link of {report['engine']['link_latency_cycles']} of its cycles."
        ),
        (
            "swapoff: guest time, instructions and the device's latency; published: seconds of another machine, other "
            "load and kernel, to compare ratios with."
        ),
        ("A search's follows from swapoffs that find the same slots again and again, with and without it."),
        "A lookup in instructions, of slots in use in random order. The tree has no counts.",
        (
            f"Linux {report['versions']['linux']}, {report['versions']['qemu']}, hwswap {report['commits']['hwswap']}, "
            f"patches {report['commits']['patches']}, seed {report['seed']}."
        ),
    )


def show(report: Report, console: Console) -> None:
    """Prints the tables, and what they are."""
    for table in tables(report):
        console.print(table)
    for note in notes(report):
        console.print(f"- {note}", highlight=False)


def nanoseconds(text: str) -> int:
    """Read a time."""
    if int(text) < 0:
        raise argparse.ArgumentTypeError("--nsec is a time: give 0 or more")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--nsec", type=nanoseconds, default=100_000, help="what a request of swapoff's device takes (default: 100000)"
    )


def run(options: argparse.Namespace) -> int:
    """Measures; what stops it is said in one message. Returns the exit code."""
    started = time.monotonic()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    try:
        report = measure(SHORT if options.short else LONG, options.nsec, options.seed)
    except (GuestError, EngineError, QmpError, RuntimeError, ValueError, OSError) as error:
        print(f"bench-table-driver: {error}", file=sys.stderr)
        return 1
    (OUTPUT / "driver.json").write_text(json.dumps(report, indent=1) + "\n")
    (OUTPUT / "driver.md").write_text(markdown.page(tables(report), notes(report)))
    show(report, Console(width=150 if not sys.stdout.isatty() else None))
    wrong = fallbacks(report)
    for sentence in wrong:
        print(f"bench-table-driver: {sentence}", file=sys.stderr)
    print(f"{OUTPUT / 'driver.json'}, .md: written; {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 1 if wrong else 0
