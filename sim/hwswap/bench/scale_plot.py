# SPDX-License-Identifier: Apache-2.0
"""The figures of bench-scale as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd")


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Write a PNG: cycles of an operation over the size, a line a latency, for each kind of work; and the hit rate."""
    phases = ("fresh", "churn", "scan")
    figure = Figure(figsize=(13, 7), layout="constrained")
    grid = figure.subplots(2, len(phases), sharex=True)
    latencies = sorted({r["latency"] for r in results if r["phase"] == "churn"})
    for column, phase in enumerate(phases):
        above, below = grid[0][column], grid[1][column]
        for colour, latency in zip(COLOURS, latencies, strict=False):
            own = [r for r in results if r["phase"] == phase and r["latency"] == latency and r["operations"]]
            dram = [r for r in own if r["store"] == "dram"]
            sizes = [r["gib"] for r in dram]
            label = f"DRAM, {latency} cycles"
            above.plot(sizes, [r["cycles"]["mean"] for r in dram], "o-", color=colour, label=label)
            above.plot(sizes, [r["cycles"]["p99"] for r in dram], "_", color=colour, markersize=12)
            below.plot(sizes, [100 * (r["hit_rate"] or 0) for r in dram], "o-", color=colour)
            chip = [r for r in own if r["store"] != "dram"]
            if latency == latencies[0]:
                places = [r["gib"] for r in chip]
                above.plot(places, [r["cycles"]["mean"] for r in chip], "ks", label="on chip")
        above.set_title(phase)
        above.set_xscale("log", base=2)
        above.set_yscale("log")
        below.set_ylim(0, 101)
        below.set_xlabel("GiB of swap")
    grid[0][0].set_ylabel("engine cycles an operation\n(point: mean, line: p99)")
    grid[1][0].set_ylabel("cache hits, %")
    grid[0][0].legend()
    figure.suptitle("Clusters in DRAM behind caches, and on chip")
    figure.savefig(path, dpi=120)
