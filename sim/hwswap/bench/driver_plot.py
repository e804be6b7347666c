# SPDX-License-Identifier: Apache-2.0
"""The report of the driver's part of `make bench-table` as a picture."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = {
    "unpatched": "#2ca02c",
    "stock": "#7f7f7f",
    "tuned": "#c7c7c7",
    "hint": "#1f77b4",
    "trusted": "#d62728",
    "believed": "#ff9896",
}


def _folios(axes: Axes, bench: list[dict[str, Any]], op: str) -> None:
    for mode, colour in COLOURS.items():
        entries = sorted((e["order"], e["avg"]) for e in bench if e["mode"] == mode and e["op"] == op)
        axes.plot([order for order, _ in entries], [avg for _, avg in entries], "o-", color=colour, label=mode)
    axes.set_yscale("log")
    axes.set_xlabel("order")
    axes.set_ylabel("guest instructions, average")
    axes.set_title("allocate" if op == "alloc" else "free")
    axes.legend()


def _swapoff(axes: Axes, runs: list[dict[str, Any]]) -> None:
    for fixed, colour in ((False, "#7f7f7f"), (True, "#1f77b4")):
        chosen = [run for run in runs if run["fixed"] == fixed]
        clusters = [run["page_cluster"] for run in chosen]
        axes.plot(
            clusters, [run["nsec"] / 1e6 for run in chosen], "o-", color=colour, label="fixed" if fixed else "adaptive"
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("page_cluster")
    axes.set_ylabel("modelled ms")
    axes.set_title("swapoff of a half-full device")
    axes.legend()


def _memory(axes: Axes, runs: list[dict[str, Any]]) -> None:
    for key, what, colour in (("table_bytes", "tables", "#1f77b4"), ("tree_bytes", "tree", "#7f7f7f")):
        for phase, style in (("fill", "o-"), ("empty", "s--")):
            points = sorted((run["in_use"], run[key] / 1024) for run in runs if run["phase"] == phase)
            axes.plot(*zip(*points, strict=True), style, color=colour, label=f"{what}, {phase}")
    axes.set_xlabel("slots in use")
    axes.set_ylabel("kB")
    axes.set_title("memory while a device fills,\nand when slots are freed at random")
    axes.legend()


def _modes(axes: Axes, runs: list[dict[str, Any]]) -> None:
    names = [f"{run['mode']}, {run['min_clusters']}, {run['min_page_cluster']}; {run['freed']} % freed" for run in runs]
    axes.barh(
        names, [run["nsec"] / 1e6 for run in runs], color=["#1f77b4" if run["windows"] else "#7f7f7f" for run in runs]
    )
    axes.invert_yaxis()
    axes.set_xlabel("modelled ms; blue: windows by the engine")
    axes.set_title("swapoff by mode, scan_min_clusters,\nwindow_min_page_cluster")


def _commands(axes: Axes, commands: dict[str, Any]) -> None:
    windows = commands["window_nsec"]
    bars = {
        "WINDOW": sum(windows) / len(windows),
        "TABLE_SCAN": commands["search_nsec"],
        "software: a cluster": commands["software_cluster_nsec"],
    }
    axes.bar(list(bars), [nsec / 1000 for nsec in bars.values()], color=["#1f77b4", "#1f77b4", "#7f7f7f"])
    axes.set_ylabel("µs")
    axes.set_title("a command with the wait for its interrupt")


def draw(report: dict[str, Any], path: Path) -> None:
    """Writes a PNG."""
    figure = Figure(figsize=(12, 13.5), layout="constrained")
    axes = figure.subplots(3, 2)
    _folios(axes[0][0], report["bench"], "alloc")
    _folios(axes[0][1], report["bench"], "free")
    _swapoff(axes[1][0], report["swapoff"])
    _memory(axes[1][1], report["tables"])
    _modes(axes[2][0], report["modes"])
    _commands(axes[2][1], report["commands"])
    figure.savefig(path, dpi=120)
