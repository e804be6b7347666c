# SPDX-License-Identifier: Apache-2.0
"""`make bench-offload`: the allocator's instructions, from the unpatched kernel to the most that hardware can save.

Six columns, of one guest CPU whose clock counts instructions:

- unpatched: Linux with nothing but the bench
- tuned: the whole series with nothing registered, which is its faster software
- wide: tuned, and large folios may look into LARGE_SEARCH more clusters, of any order
- grants: by hwswap_softgrants, a thread in the engine's place. It runs between the calls that are measured, as if it
  had a CPU of its own and were always in time; its own instructions are counted apart
- engine: grants by the Verilated engine and the driver in mode hint, with fewer calls of one seed. It is clocked by the
  guest's time, and is late at times; the interrupts that clock it count, in fewer than one call of a hundred
- oracle: tuned, with the place known beforehand: no help of the search can save more

Then the longest calls (hwswap.bench.walk), and how many large folios are split under a churn of all sizes
(hwswap.bench.fallbacks).
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal

from rich.console import Console

from hwswap.bench import fallbacks, lines, offload_targets, targets, walk
from hwswap.bench.offload_targets import FAIL, STATES, Figures
from hwswap.bench.targets import Target
from hwswap.guest import bitmaps
from hwswap.guest.machine import counting
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths
from hwswap.results import schema, tables
from hwswap.results.schema import Figure, Result
from hwswap.rtl.device_server import CLOCK_MHZ, EngineServer, clocked_by_guest

OUTPUT = paths.BUILD / "bench-offload"
GUEST = paths.ROOT / "sim/guest"


@dataclass(frozen=True)
class Column:
    """A kernel, its backend of grants, and its way to find a place without one."""

    kernel: artifacts.Artifact = artifacts.KERNEL
    backend: Literal["none", "software", "engine"] = "none"
    """The source of grants: none, hwswap_softgrants, or the Verilated engine."""
    large_search: int = 0
    known: bool = False


COLUMNS: dict[str, Column] = {
    "unpatched": Column(artifacts.KERNEL_UNPATCHED),
    "tuned": Column(),
    "wide": Column(large_search=fallbacks.LARGE_SEARCH),
    "grants": Column(backend="software"),
    "engine": Column(backend="engine"),
    "oracle": Column(known=True),
}

RUNS: Sequence[tuple[int, int, int, int]] = (
    (0, 2000, 1, 130_900),
    (2, 500, 4, 32_256),
    (4, 250, 8, 8_064),
    (9, 4, 50, 248),
)
"""Orders, how many folios of each are allocated and freed, how often, and how many fill swap.

With five seeds that are 10,000 calls a row, of order 9 1,000. A large folio tries one device only, so the last cluster
of each is left out.
"""

SHORT_RUNS: Sequence[tuple[int, int, int, int]] = ((0, 600, 1, 130_900), (4, 150, 1, 8_064))
FAILS: Sequence[tuple[int, int]] = ((2, 400), (4, 400), (9, 32))
"""Orders that find no room, and how many folios of each try."""

SHORT_FAILS: Sequence[tuple[int, int]] = ((4, 100),)

MEANS = ("p50", "avg", "p99", "p999", "all", "engine")
"""Figures of a line whose mean is taken over the seeds."""

Entry = dict[str, Any]


def job(column: Column, seeds: Sequence[int], short: bool) -> str:
    """Return the guest's script."""
    chosen = SHORT_RUNS if short else RUNS
    if column.backend == "engine":
        chosen = [(order, count, 1, folios) for order, count, _, folios in chosen]
    runs = "\n".join(" ".join(map(str, run)) for run in chosen)
    fails = "\n".join(" ".join(map(str, run)) for run in (SHORT_FAILS if short else FAILS))
    return (
        f"SEEDS='{' '.join(map(str, seeds))}'\nGRANTS={column.backend}\nLARGE_SEARCH={column.large_search}\n"
        f"KNOWN={'known' if column.known else ''}\nRUNS='{runs}'\nFAILS='{fails}'\n. /bench-offload\n"
    )


def entries(column: str, output: str, seeds: Sequence[int], short: bool) -> list[Entry]:
    """Return the guest's rows, each the mean of the seeds; raise GuestError if the output is not right."""
    found: dict[tuple[str, str, int], list[Entry]] = {}
    for line in output.splitlines():
        words = line.split(" ", 3)
        if words[0] == "@bench":
            entry = json.loads(words[3])
            # If all fail, nothing is freed.
            if words[1] != FAIL or entry["op"] == "alloc":
                found.setdefault((words[1], entry["op"], entry["order"]), []).append(entry)
        elif (wrong := bitmaps.differences(line.removeprefix("@verify "))) > 0:
            raise GuestError(f"{column}: {wrong} bitmap or cluster words differ from the kernel's tables")
    runs, fails = (SHORT_RUNS, SHORT_FAILS) if short else (RUNS, FAILS)
    rows = 2 * len(runs) * len(STATES) + len(fails) * (not COLUMNS[column].known)
    if [len(each) for each in found.values()] != rows * [len(seeds)]:
        printed_rows = sum(map(len, found.values()))
        raise GuestError(f"{column}: {printed_rows} figures; the guest's last words:\n{output[-1500:]}")
    for (state, _, order), each in found.items():
        failed, n = (sum(entry[name] for entry in each) for name in ("failed", "n"))
        # A wide search finds the few runs that are left.
        found_some = state == FAIL and COLUMNS[column].large_search
        if failed != (n if state == FAIL else 0) and not found_some:
            raise GuestError(f"{column}: {failed} of {n} folios of order {order} found no room")
    return [
        {"column": column, "state": state, "op": op, "order": order, **together(each)}
        for (state, op, order), each in found.items()
    ]


def thread(output: str) -> dict[int, float]:
    """Return by order the instructions of the thread that grants for each grant; none if no thread did."""
    grants: Counter[int] = Counter()
    cycles: Counter[int] = Counter()
    for line in re.findall(r"^@thread (.*)$", output, re.MULTILINE):
        order, *before, grants_after, cycles_after = map(int, line.split())
        grants[order] += grants_after - before[0]
        cycles[order] += cycles_after - before[1]
    return {order: cycles[order] / number for order, number in grants.items() if number}


def together(lines: Sequence[Entry]) -> Entry:
    """Return the seeds' lines of a row as one: calls of all, the mean of each figure, the greatest of the maximum."""
    averages = [line["avg"] for line in lines]
    means = {name: mean(line[name] for line in lines) for name in MEANS if name in lines[0]}
    return {
        **means,
        "n": sum(line["n"] for line in lines),
        "max": max(line["max"] for line in lines),
        "least": min(averages),
        "greatest": max(averages),
    }


def measure(seeds: Sequence[int], short: bool) -> dict[str, Any]:
    """Run a guest for each column; return the report."""
    files = {name: (GUEST / f"{name}.sh").read_bytes() for name in ("bench-offload", "allocator-bench")}
    found: list[Entry] = []
    by_thread: dict[int, float] = {}
    for step, (name, column) in enumerate(COLUMNS.items(), 1):
        print(f"bench-offload: step {step} of {len(COLUMNS)}: {name}", file=sys.stderr)
        machine = Machine(cpus=1, icount=True, disks=4, disk_mb=128)
        # It takes many times as long: one seed, and each folio once.
        drawn = seeds[:1] if column.backend == "engine" else seeds
        script = job(column, drawn, short)
        engine = clocked_by_guest(OUTPUT / "engine.log")
        with (
            engine if column.backend == "engine" else nullcontext() as server,
            Guest(
                machine,
                server,
                files=files,
                job=script,
                log=OUTPUT / f"{name}.kernel.log",
                kernel=column.kernel,
                boot_timeout=600,
            ) as guest,
        ):
            output = guest.wait_job(3600).check()
            found += entries(name, output, drawn, short)
            by_thread |= thread(output)
            release = guest.release
    return {"seeds": seeds, "short": short, "linux": release, "bench": found, "thread": by_thread}


def figures(report: dict[str, Any]) -> Figures:
    """Return the entries by column, operation, order and state."""
    return {(e["column"], e["op"], e["order"], e["state"]): e for e in report["bench"]}


def all_work(named: Iterable[tuple[str, str, Entry]]) -> Iterator[Figure]:
    """Return a figure for each row and column: all that ran, workers, interrupts and callbacks too, by calls.

    Args:
        named: column, state of swap, line.
    """
    for column, state, line in named:
        if column != "engine":
            spread = {"thread": line["engine"]} if line.get("engine") else {}
            spread |= {name: line[name] for name in ("p999", "max")}
            spread |= {f"{name} mean of a seed": line[name] for name in ("least", "greatest")}
            yield Figure(f"{lines.call(line)}, {state}", column, line["all"], "instructions", spread, lines.TOLERANCE)


def grants(by_thread: dict[int, float]) -> Iterator[Figure]:
    """Return a figure for each order: the cost of a grant to the thread, for any use."""
    for order, instructions in by_thread.items():
        what = f"the thread's own, a grant of order {order}"
        yield Figure(what, "grants", instructions, "instructions", {}, lines.TOLERANCE)


def save(report: dict[str, Any]) -> Iterator[Result]:
    """Write the results of the parts that were measured, and yield them."""
    for part, found in report.items():
        short, guest = found["short"], counting(found["linux"])
        facts = {"command": f"make bench-offload PART={part}" + " SHORT=1" * short, "kernel": True, "short": short}
        if part == "calls":
            states = STATES | {FAIL: "no room"}
            named = [(line["column"], states[line["state"]], line) for line in found["bench"]]
            facts["platform"] = (
                f"{guest}; four RAM disks of 128 MB; engine: the RTL as a PCI device, "
                f"{CLOCK_MHZ} MHz, {EngineServer.latency} cycles per transfer; grants: by a thread between the calls; "
                f"means of the seeds {', '.join(map(str, found['seeds']))}"
            )
            yield schema.save(
                "calls",
                lines.figures(named),
                title="Calls of the allocator",
                leaves_out="waiting, cache misses, what the engine or its thread does itself",
                **facts,
            )
            yield schema.save(
                "calls-all",
                [*all_work(named), *grants(found["thread"])],
                title="All that ran, by calls, and rare calls",
                leaves_out="waiting, cache misses; column engine, which needs time between calls",
                **facts,
            )
        elif part == "walk":
            yield schema.save(
                "longest-calls",
                walk.figures(found),
                title="Longest calls",
                platform=f"{guest}; swap that is full but for a slot in each cluster; order 4",
                leaves_out="waiting, cache misses",
                **facts,
            )
        else:
            sizes, seeds = (", ".join(map(str, values)) for values in (fallbacks.SIZES, fallbacks.SEEDS))
            yield schema.save(
                "fall-backs",
                fallbacks.figures(found),
                title="Large folios that are split",
                platform=f"{guest}; RAM disks, 256 MB together; folios of {sizes} kB, mix changes; "
                f"mean of seeds {seeds}; churn on two CPUs: no count of instructions, seed {fallbacks.SEEDS[0]}",
                leaves_out="other loads, other sizes of swap",
                **facts,
            )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command alone."""
    parser.add_argument(
        "--part",
        choices=("all", "calls", "fall-backs", "walk"),
        default="all",
        help="what is measured (default: all)",
    )


def run(options: argparse.Namespace) -> int:
    """Measure and judge; return 1 if a target is missed."""
    started = time.monotonic()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {}
    if options.part in ("all", "calls"):
        report["calls"] = measure(fallbacks.SEEDS[:1] if options.short else fallbacks.SEEDS, options.short)
    if options.part in ("all", "walk"):
        report["walk"] = walk.measure(OUTPUT, options.short)
    if options.part in ("all", "fall-backs"):
        report["fall-backs"] = fallbacks.measure(OUTPUT, options.short)
    console = Console(width=170)
    for result in save(report):
        console.print(tables.view(result.title, result.figures))
    wanted: list[Target] = []
    if "calls" in report:
        wanted += offload_targets.calls(figures(report["calls"]))
    if "walk" in report:
        wanted += walk.wanted(report["walk"])
    if "fall-backs" in report:
        wanted += offload_targets.fallbacks(fallbacks.rates(report["fall-backs"]))
    console.print(targets.table(wanted))
    missed = [target.name for target in wanted if not target.met]
    for name in missed:
        print(f"bench-offload: missed: {name}", file=sys.stderr)
    print(f"{len(wanted) - len(missed)} of {len(wanted)} targets met; {time.monotonic() - started:.0f} s")
    return 1 if missed else 0
