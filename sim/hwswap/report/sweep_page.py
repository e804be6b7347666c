# SPDX-License-Identifier: Apache-2.0
"""The figures of a sweep, all of them drawn from its Parquet file."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from hwswap.report import charts, tables
from hwswap.report.figures import Source
from hwswap.report.page import Section
from hwswap.sweep import parquet
from hwswap.sweep.parquet import Sweep

Row = dict[str, Any]


def _only(rows: Iterable[Row], name: str) -> bool:
    """Tell whether all rows have the same value."""
    return len({row[name] for row in rows}) == 1


def _series(rows: list[Row], row: Row) -> str:
    """Name what a row is one of, by what differs in the sweep."""
    words = [row["policy"]]
    words += [] if _only(rows, "engine") else [row["engine"]]
    words += [f"stall {row['stall']} %"] if not _only(rows, "stall") else []
    return ", ".join(words)


def cycles(rows: list[Row], load: str) -> charts.Chart:
    """Draw cycles an operation over the memory's latency; of several seeds the median."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["load"] == load:
            found[_series(rows, row)][row["latency"]].append(row["cycles_per_operation"])
    series = {name: sorted((float(x), median(ys)) for x, ys in points.items()) for name, points in found.items()}
    return charts.lines(
        series,
        "memory latency, engine cycles",
        "cycles an operation, rings included",
        {},
        {"rangemode": "tozero"},
        "cycles",
    )


def fall_back(rows: list[Row], load: str) -> charts.Chart | None:
    """Draw the share of allocations that fall back by order, a line a policy; None where none does.

    It is the golden model's, so it does not depend on engine and latency; over seeds it is added up.
    """
    tried: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    failed: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    seen = set()
    for row in rows:
        if row["load"] != load or (row["policy"], row["seed"]) in seen:
            continue
        seen.add((row["policy"], row["seed"]))
        for rates in row["fall_back"]:
            tried[row["policy"]][rates["order"]] += rates["tried"]
            failed[row["policy"]][rates["order"]] += rates["failed"]
    series = {
        policy: [(float(order), 100 * failed[policy][order] / of) for order, of in sorted(orders.items()) if of]
        for policy, orders in tried.items()
    }
    if not any(share for points in series.values() for _, share in points):
        return None
    axes = ({"dtick": 1}, {"rangemode": "tozero"})
    return charts.lines(series, "order", "% of allocations that fall back", *axes, "%")


def core(rows: list[Row]) -> str:
    """Return the core's own cycles of allocations and frees by load and policy; latency does not change them."""
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row["latency"]):
        for entry in row["cycles"]:
            if entry["order"] is None and entry["kind"] in ("alloc", "alloc_failed", "free"):
                found.setdefault((row["engine"], row["load"], row["policy"], entry["kind"]), entry)
    body = [
        [*key, f"{entry['count']:,}", *(tables.number(entry[name]) for name in ("mean", "p50", "p99", "max"))]
        for key, entry in sorted(found.items())
    ]
    head = ["engine", "load", "policy", "operation", "number", "mean", "p50", "p99", "max"]
    return tables.table(head, body, 4, "The core's cycles, at the least latency and the first seed")


def points(rows: list[Row]) -> str:
    """Return all points."""
    head = ["engine", "load", "policy", "latency", "stall, %", "seed", "operations", "cycles an operation"]
    body = [
        [row["engine"], row["load"], row["policy"], str(row["latency"]), str(row["stall"]), str(row["seed"] or "-"),
         f"{row['operations']:,}", f"{row['cycles_per_operation']:.2f}"]
        for row in rows
    ]  # fmt: skip
    return tables.table(head, body, 3, "All points")


def sections(sweep: Sweep, place: str) -> list[Section]:
    """Return the parts of a page for a sweep."""
    facts, rows = sweep.facts, sweep.rows
    name = f"sweep-{facts['name']}".replace(".", "-")
    commits = sorted({row["commit"] for row in rows})
    seeds = sorted({row["seed"] for row in rows if row["seed"] is not None})
    source = Source("run", place, {"hwswap": ", ".join(commits)}, None, facts["versions"])
    lede = (
        f"{facts['done']} of {facts['points']} points of a grid on the Verilated engine; every decision is the golden "
    )
    lede += "model's."
    engines = sorted(
        {tuple(row[name] for name in ("engine", "devices", "cpus", "clusters", "program")) for row in rows}
    )
    about = {
        "Platform": "Verilated engine, commands through the ring, one memory of the given latency",
        "Leaves out": "The host's work; rows and refresh of a DRAM.",
        "Seeds": ", ".join(map(str, seeds)) or "none is drawn",
        "Engines": "; ".join(
            f"{engine}: {devices} devices, {cpus} CPUs, {clusters:,} clusters, program {program}"
            for engine, devices, cpus, clusters, program in engines
        ),
    }
    if not rows:
        return [Section(name, f"Sweep: {facts['name']}", lede + " No point is done yet.", source)]
    parts = [Section(name, f"Sweep: {facts['name']}", lede, source, None, "", points(rows) + core(rows), about)]
    for load in dict.fromkeys(row["load"] for row in rows):
        title = f"{load}: cycles an operation"
        lede = "Of several seeds the median. Lines that lie on each other cost the same."
        parts.append(Section(f"{name}-{load}", title, lede, source, cycles(rows, load), level=3))
        chart = fall_back(rows, load)
        if chart is not None:
            lede = "By the golden model, which the engine's decisions are equal to."
            parts.append(Section(f"{name}-{load}-fall-back", f"{load}: what falls back", lede, source, chart, level=3))
    return parts


def of_folder(folder: Path) -> list[Section]:
    """Return the parts for all sweeps in a folder of results."""
    parts = []
    for path in sorted(folder.glob("sweep/*/sweep.parquet")):
        parts += sections(parquet.read(path), path.relative_to(folder).as_posix())
    return parts
