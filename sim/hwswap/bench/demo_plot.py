# SPDX-License-Identifier: Apache-2.0
"""The demo's report as a picture: instructions of one call, software beside grants."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hwswap.bench.demo_table import BENCHES


def draw(report: dict[str, Any], path: Path) -> None:
    """Writes a PNG: average and 99th percentile of each order, empty and fragmented."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    orders = (0, 4, 9)
    modes = [f"{state}{name}" for state in ("", "fragmented-") for name in BENCHES]
    colours = ("#2ca02c", "#7f7f7f", "#1f77b4", "#98df8a", "#c7c7c7", "#9ecae1")
    for axes, op in zip(figure.subplots(1, 2, sharey=True), ("alloc", "free"), strict=True):
        for i, (mode, colour) in enumerate(zip(modes, colours, strict=True)):
            entries = {e["order"]: e for e in report["bench"][mode] if e["op"] == op and e["n"]}
            places = [orders.index(order) + 0.14 * i - 0.35 for order in entries]
            axes.bar(places, [e["avg"] for e in entries.values()], 0.12, color=colour, label=mode.replace("-", ", "))
            axes.plot(places, [e["p99"] for e in entries.values()], "k_", markersize=9)
        axes.set_yscale("log")
        axes.set_xlim(-0.5, len(orders) - 0.5)
        axes.set_xticks(range(len(orders)), [f"order {order}" for order in orders])
        axes.set_title("allocate" if op == "alloc" else "free")
    figure.axes[0].set_ylabel("guest instructions a call (bar: average, line: p99)")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(modes))
    figure.suptitle("Linux swap allocator: unpatched, patched (off), and with grants of a simulated engine (hint)")
    figure.savefig(path, dpi=120)
