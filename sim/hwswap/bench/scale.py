# SPDX-License-Identifier: Apache-2.0
"""Measures the engine from 1 GiB to 1 TiB of swap, its clusters in DRAM behind caches or on chip.

Each size is one run: the device is brought on and to a steady state, then the same kinds of operations are measured at
each memory latency (scale_load.py). Every decision is compared with the golden model's. Results are files in
build/bench-scale.
"""

import argparse
import json
import os
import subprocess
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hwswap.project import provenance
from hwswap.project.paths import BUILD, need
from hwswap.stimulus import scale_load
from hwswap.stimulus.scale_load import FILL, Load, Made, Phase
from hwswap.traces import trace

CLUSTERS_A_GIB = 512

SIZES = (1, 16, 256, 1024)
"""GiB of swap."""

LATENCIES = (20, 50, 100)
"""Memory latencies in engine clock cycles."""

SHORT = {"fresh": 1_500, "churn": 3_000, "scan": 40, "shuffled": 2_048, "comb": 64}
SHORT_SIZES = (1, 8)
SHORT_LATENCIES = (20, 100)

BOUND = 4
"""Memory accesses, one depending on the other, an operation may wait for, not counting those for
failed scans: there the list says which cluster comes next, and the record must be there before that is known."""

FAILED_SCAN = 3
"""The same for each failed scan: the cluster's row and record, its neighbours if a hint led to it, and the tail it goes
behind."""

MODELS = {"dram": BUILD / "model-scale", "on chip": BUILD / "model"}

ON_CHIP_CLUSTERS = 1024
"""Of the engine in build/model."""

OUTPUT = BUILD / "bench-scale"

ERR = Console(stderr=True, highlight=False)


class BenchError(RuntimeError):
    """The measurement could not be done; the message is one sentence for the user."""


@dataclass(frozen=True)
class Measured:
    """What one run brought: the program's report, and cycles and waits of each operation."""

    report: dict[str, Any]
    cycles: array
    waits: array


def run_phases(store: str, path: Path, made: Made, beat_cycles: int) -> Measured:
    """Run a load's trace on the engine with its clusters in `store`."""
    program = need(MODELS[store] / "hwswap-scale")
    with tempfile.TemporaryDirectory(prefix="hwswap-scale-") as folder:
        report, measurements = Path(folder) / "report.json", Path(folder) / "measurements"
        command = [str(program), str(path), "--json", str(report), "--measurements", str(measurements)]
        command += ["--beat-cycles", str(beat_cycles)]
        for phase in made.phases:
            command += ["--phase", f"{phase.name}:{phase.operations}:{phase.latency}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise BenchError(f"{program} ended with status {done.returncode}: its message is above")
        numbers = array("I")
        numbers.frombytes(measurements.read_bytes())
        return Measured(json.loads(report.read_text()), numbers[0::2], numbers[1::2])


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that at least `percent` per cent are not above; the values are sorted."""
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else 0


def summary(values: Sequence[int]) -> dict[str, float]:
    """Return mean, p50, p99 and max."""
    ordered = sorted(values)
    mean = sum(ordered) / len(ordered) if ordered else 0.0
    return {
        "mean": round(mean, 2),
        "p50": percentile(ordered, 50),
        "p99": percentile(ordered, 99),
        "max": ordered[-1] if ordered else 0,
    }


def beyond(waits: Sequence[int], allowed: Sequence[int]) -> list[int]:
    """Return the operations that waited for more accesses than they and the one before may together.

    An operation is answered before its cluster has moved to another list; what that waits for counts with the next
    operation. So what the one before has not used up is allowed as well.
    """
    found, unused = [], 0
    for i, (waited, most) in enumerate(zip(waits, allowed, strict=True)):
        if waited > most + unused:
            found.append(i)
        unused = max(0, most - waited)
    return found


def over_bound(begin: int, end: int, made: Made, measured: Measured) -> list[int]:
    """Return those of the allocations and frees from `begin` to before `end` that waited for more than the bound.

    What the operation before the first one has left over belongs to another phase, and counts all the same.
    """
    start = max(0, begin - 1)
    allowed = [BOUND + FAILED_SCAN * max(0, scans - 1) for scans in made.scans[start:end]]
    found = (start + i for i in beyond(measured.waits[start:end], allowed))
    return [i for i in found if i >= begin and made.records[i].op in (trace.Op.ALLOC, trace.Op.FREE)]


def result_of(phase: Phase, numbers: dict[str, Any], begin: int, made: Made, measured: Measured) -> dict[str, Any]:
    """Return the figures of one phase, which begins with operation number `begin`."""
    end = begin + phase.operations
    cycles, waits = measured.cycles[begin:end], measured.waits[begin:end]
    kinds: dict[str, list[int]] = {}
    for i, record in enumerate(made.records[begin:end]):
        name = trace.NAMES[record.op]
        if record.op == trace.Op.ALLOC and record.type == trace.FAILED:
            name += "_failed"
        kinds.setdefault(name, []).append(cycles[i])
    statistics = numbers["statistics"]
    accesses = statistics["store_accesses"]
    failed = [max(0, scans - 1) for scans in made.scans[begin:end]]
    plain = [record.op in (trace.Op.ALLOC, trace.Op.FREE) for record in made.records[begin:end]]
    over = over_bound(begin, end, made, measured)
    return {
        "phase": phase.name,
        "latency": phase.latency,
        "operations": phase.operations,
        "total_cycles": numbers["cycles"],
        "cycles": summary(cycles),
        "cycles_by_kind": {name: {"count": len(of), **summary(of)} for name, of in sorted(kinds.items())},
        "dependent_accesses": summary(waits),
        "most_without_failed_scan": max((waits[i] for i in range(len(waits)) if plain[i] and not failed[i]), default=0),
        "beyond_bound": len(over),
        "failed_scans": sum(failed),
        "hit_rate": round(1 - statistics["store_misses"] / accesses, 4) if accesses else None,
        "misses": statistics["store_misses"],
        "write_backs": statistics["store_write_backs"],
        "held_cycles": statistics["store_held_cycles"],
    }


def measure(gib: int, stores: Sequence[str], load: Load, beat_cycles: int) -> list[dict[str, Any]]:
    """Measure one size with its clusters in each of the stores; return a result a phase and store."""
    with ERR.status(f"{gib} GiB: the golden model's decisions") as status:
        made = scale_load.make(load, lambda name: status.update(f"{gib} GiB: the golden model: {name}"))
        folder = tempfile.TemporaryDirectory(prefix="hwswap-scale-")
        path = Path(folder.name) / "load.hwst"
        trace.write(path, scale_load.header(load), made.records)
    results = []
    with folder:
        for store in stores:
            ERR.print(
                f"{gib} GiB, clusters {'in DRAM' if store == 'dram' else store}: {len(made.records):,} operations"
            )
            measured = run_phases(store, path, made, beat_cycles)
            begin = 0
            for phase, numbers in zip(made.phases, measured.report["phases"], strict=False):
                if phase.operations and phase.name:
                    result = result_of(phase, numbers, begin, made, measured)
                    results.append({"gib": gib, "store": store, **result})
                begin += phase.operations
            results[-1]["store_bytes"] = measured.report["store_bytes"]
    return results


def table(results: Sequence[dict[str, Any]]) -> Table:
    """Return the figures as a table."""
    shown = Table(title="Engine clock cycles an operation; memory accesses that depend on each other; cache hits")
    for name in ("swap", "clusters", "latency", "phase", "mean", "p50", "p99", "accesses, mean", "max", "hits"):
        shown.add_column(name, justify="left" if name in ("clusters", "phase") else "right")
    for result in results:
        if result["latency"] == FILL or result["operations"] < 2:
            continue
        cycles, accesses = result["cycles"], result["dependent_accesses"]
        shown.add_row(
            f"{result['gib']} GiB",
            "in DRAM" if result["store"] == "dram" else result["store"],
            str(result["latency"]),
            result["phase"],
            f"{cycles['mean']:.1f}",
            str(cycles["p50"]),
            str(cycles["p99"]),
            f"{accesses['mean']:.2f}",
            str(accesses["max"]),
            "-" if result["hit_rate"] is None else f"{100 * result['hit_rate']:.1f} %",
        )
    return shown


def verdict(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is not as it must be, a sentence each."""
    return [
        f"{r['gib']} GiB, {r['phase']} at latency {r['latency']}: {r['beyond_bound']} operations waited for more than "
        f"{BOUND} dependent accesses (and {FAILED_SCAN} for each failed scan)"
        for r in results
        if r["beyond_bound"]
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--sizes", type=int, nargs="+", metavar="GIB", help="GiB of swap, powers of two, 1 to 1024")
    parser.add_argument("--latencies", type=int, nargs="+", metavar="N", help="memory latencies in cycles")
    parser.add_argument("--beat-cycles", type=int, default=1, help="cycles of the memory bus for each 8 bytes")


def complete(options: argparse.Namespace) -> None:
    """Put in what was not given, and refuse what cannot be measured."""
    options.sizes = options.sizes or list(SHORT_SIZES if options.short else SIZES)
    options.latencies = options.latencies or list(SHORT_LATENCIES if options.short else LATENCIES)
    for size in options.sizes:
        if not 1 <= size <= 1024 or size & (size - 1):
            raise BenchError(f"{size} GiB is no power of two from 1 to 1024: choose another for --sizes")
    if min(options.latencies) < 2 or options.beat_cycles < 1:
        raise BenchError("latencies are at least 2 cycles, and a beat takes at least 1: choose others")


def run(options: argparse.Namespace) -> int:
    """Measure all sizes, write JSON and plot, print the table."""
    complete(options)
    results: list[dict[str, Any]] = []
    for gib in options.sizes:
        clusters = gib * CLUSTERS_A_GIB
        stores = ["dram"] + (["on chip"] if clusters <= ON_CHIP_CLUSTERS else [])
        load = Load(clusters, options.seed, tuple(options.latencies), **(SHORT if options.short else {}))
        results += measure(gib, stores, load, options.beat_cycles)
    options.output.mkdir(parents=True, exist_ok=True)
    report = {"provenance": provenance.commit(), "beat_cycles": options.beat_cycles, "results": results}
    (options.output / "bench-scale.json").write_text(json.dumps(report, indent=2) + "\n")
    from hwswap.bench.scale_plot import draw  # takes a while to load

    draw(results, options.output / "bench-scale.png")
    Console(width=int(os.environ.get("COLUMNS", "120"))).print(table(results))
    print(f"all decisions as the golden model's; {options.output}/bench-scale.json, bench-scale.png")
    wrong = verdict(results)
    for sentence in wrong:
        ERR.print(f"bench-scale: {sentence}", soft_wrap=True)
    print(figure(results))
    return 1 if wrong else 0


def figure(results: Sequence[dict[str, Any]]) -> str:
    """Return what a run came to in one sentence: the load that is hardest on the caches, at each size."""
    churn = [r for r in results if r["phase"] == "churn" and r["store"] == "dram"]
    latencies = sorted({r["latency"] for r in churn})
    latency = latencies[len(latencies) // 2]
    means = ", ".join(f"{r['cycles']['mean']:.1f} at {r['gib']} GiB" for r in churn if r["latency"] == latency)
    return f"bench-scale: cycles an operation in churn, clusters in DRAM at latency {latency}: {means}"
