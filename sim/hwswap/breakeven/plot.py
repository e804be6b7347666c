# SPDX-License-Identifier: Apache-2.0
"""The results as pictures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hwswap.breakeven import report
from hwswap.breakeven.figures import MODES, SCHEMES, SOC_STATES, STATES
from hwswap.breakeven.table import NAMES

COLOURS = {
    "unpatched": "#7f7f7f",
    "stock": "#7f7f7f",
    "tuned": "#2ca02c",
    "register": "#ff7f0e",
    "grants": "#9467bd",
    "tuned + grants": "#8c564b",
}
STYLES = {"unpatched": "-", "tuned": "--", "tuned + grants": ":"}
FORMATS = ("svg", "png")
DOCS = ("amdahl", "latency")
"""Those that docs/break-even.md shows."""

matplotlib.rcParams["svg.hashsalt"] = "hwswap"
matplotlib.rcParams["svg.fonttype"] = "none"


def amdahl(made: Mapping[str, Any]) -> Figure:
    """Swapping a page: the allocator's part, and the speed-up of the whole."""
    rows = made["amdahl"]
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    names = [f"order {row['order']}, {row['state']}, {row['path']}" for row in rows]
    left.barh(names, [100 * (1 - row["share"]) for row in rows], color="#d9d9d9", label="all else")
    left.barh(
        names,
        [100 * row["share"] for row in rows],
        left=[100 * (1 - row["share"]) for row in rows],
        color="#d62728",
        label="slots",
    )
    for at, row in enumerate(rows):
        left.text(2, at, f"{100 * row['share']:.1f} % is slots", va="center", fontsize=8)
    left.invert_yaxis()
    left.set_xlabel("% of a page's CPU cycles")
    left.set_xlim(0, 100)
    left.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    right.plot([row["bound"] for row in rows], range(len(rows)), "k|", markersize=14, label="bound: slots take nothing")
    for place, (mode, mark) in enumerate((("tuned", "^"), ("grants", "*"), ("tuned + grants", "o"))):
        its = [(row["reached"][mode], at + 0.22 * (place - 1)) for at, row in enumerate(rows) if mode in row["reached"]]
        right.plot(*zip(*its, strict=True), mark, color=COLOURS[mode], label=mode, linestyle="none")
    right.axvline(1, color="#999", linewidth=0.8)
    right.set_xlabel("speed-up of swapping")
    right.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    figure.suptitle("What slot allocation is of swapping a page, and what that bounds", fontsize=10)
    return figure


def _lines(axes: Axes, rows: list[Mapping[str, Any]], x: str, key: str, names: tuple[str, ...]) -> None:
    """Draw a line for each mode or scheme."""
    for name in names:
        its = [row for row in rows if row[key] == name]
        if its:
            axes.plot(
                [row[x] for row in its],
                [row["total"] for row in its],
                STYLES.get(name, "-"),
                color=COLOURS[name],
                label=NAMES.get(name, name),
            )


def _mark_links(axes: Axes, made: Mapping[str, Any], scale: float) -> None:
    """Draw where the links are."""
    for link in made["links"].values():
        value = link["round_trip"]["value"] * scale
        if value:
            axes.axvline(value, color="#bbb", linewidth=0.8)
            axes.text(value, 0.02, f" {link['title']}", rotation=90, fontsize=7, transform=axes.get_xaxis_transform())


def latency(made: Mapping[str, Any]) -> Figure:
    """Cost over the link: MMIO on bare metal, and a kernel's modes."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    cpus = list(dict.fromkeys(row["cpu"] for row in made["bare_metal"]))
    axes = figure.subplots(1, 2)
    order = made["order"]
    bare = report.select(made["bare_metal"], cpu=cpus[0], state="empty", order=order, cpus=1)
    _lines(axes[0], bare, "added_cycles", "scheme", SCHEMES)
    axes[0].set_title(f"bare metal, {cpus[0]}, order {order}, empty", fontsize=9)
    axes[0].set_xlabel("cycles a register read takes beyond one on the bus")
    axes[0].set_ylabel("CPU cycles a page")
    axes[0].set_xscale("symlog", linthresh=10)
    axes[0].set_yscale("log")
    _mark_links(axes[0], made, made["figures"]["host_clock"]["value"])
    rows = report.select(made["kernel_by_round_trip"], state="90 % full")
    _lines(axes[1], rows, "round_trip_ns", "mode", MODES)
    axes[1].set_title(f"kernel, order {order}, 90 % full, one CPU", fontsize=9)
    axes[1].set_xlabel("round trip, ns")
    axes[1].set_xscale("symlog", linthresh=10)
    axes[1].set_ylim(bottom=0)
    _mark_links(axes[1], made, 1)
    for its in axes:
        its.legend(fontsize=7)
    return figure


def cpus(made: Mapping[str, Any]) -> Figure:
    """Cost over the number of CPUs."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    grid = figure.subplots(2, len(STATES), sharex=True)
    for row, load in zip(grid, report.LOADS, strict=True):
        for axes, state in zip(row, STATES, strict=True):
            rows = report.select(made["kernel"], state=state, order=made["order"], link=made["link"], load=load)
            _lines(axes, rows, "cpus", "mode", MODES)
            axes.set_title(f"{state}, CPUs doing {load}", fontsize=9)
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("CPUs")
        row[0].set_ylabel("cycles a page")
    grid[0][0].legend(fontsize=7)
    figure.suptitle(f"Beyond one CPU by queueing alone. Order {made['order']}, {made['link']}", fontsize=10)
    return figure


def orders(made: Mapping[str, Any]) -> Figure:
    """Cost over the order: a kernel, and bare metal."""
    names = list(dict.fromkeys(row["cpu"] for row in made["bare_metal"]))
    figure = Figure(figsize=(4 * (len(STATES) + len(names)), 4), layout="constrained")
    axes = figure.subplots(1, len(STATES) + len(names))
    for its, state in zip(axes, STATES, strict=False):
        rows = report.select(made["kernel"], state=state, link=made["link"], cpus=1, load=report.LOADS[0])
        _lines(its, rows, "order", "mode", MODES)
        its.set_title(f"kernel, {state}, {made['link']}", fontsize=9)
    for its, name in zip(axes[len(STATES) :], names, strict=True):
        rows = report.select(made["bare_metal"], cpu=name, state="empty", added_cycles=0, cpus=1)
        _lines(its, rows, "order", "scheme", SCHEMES)
        its.set_title(f"bare metal, {name}, empty", fontsize=9)
    for its in axes:
        its.set_yscale("log")
        its.set_xlabel("order")
        its.legend(fontsize=7)
    axes[0].set_ylabel("cycles a page")
    return figure


def fill(made: Mapping[str, Any]) -> Figure:
    """Cost over how full or fragmented the device is."""
    names = list(dict.fromkeys(row["cpu"] for row in made["bare_metal"]))
    figure = Figure(figsize=(4 * (1 + len(names)), 4), layout="constrained")
    axes = figure.subplots(1, 1 + len(names))
    rows = report.select(made["kernel"], order=made["order"], link=made["link"], cpus=1, load=report.LOADS[0])
    _lines(axes[0], rows, "state", "mode", MODES)
    axes[0].set_title(f"kernel, order {made['order']}, {made['link']}", fontsize=9)
    for its, name in zip(axes[1:], names, strict=True):
        rows = report.select(made["bare_metal"], cpu=name, order=made["order"], added_cycles=0, cpus=1)
        rows.sort(key=lambda row: SOC_STATES.index(row["state"]))
        _lines(its, rows, "state", "scheme", SCHEMES)
        its.set_title(f"bare metal, {name}, order {made['order']}", fontsize=9)
    for its in axes:
        its.set_ylim(bottom=0)
        its.legend(fontsize=7)
    axes[0].set_ylabel("cycles a page")
    return figure


def validation(made: Mapping[str, Any]) -> Figure:
    """Measured against calculated, fitted and held out."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for fitted, mark, name in ((True, "o", "fitted"), (False, "x", "held out")):
        its = [point for point in made["points"] if point["fitted"] == fitted and point["check"] != "Linux, median"]
        colours = [COLOURS[point["scheme"]] for point in its]
        measured = [point["measured"] for point in its]
        for axes, values in (
            (left, [point["predicted"] for point in its]),
            (right, [100 * point["error"] for point in its]),
        ):
            axes.scatter(measured, values, c=colours, marker=mark, s=16, label=name)
    left.set_yscale("log")
    left.set_ylabel("cycles calculated")
    right.set_ylabel("error, %")
    right.axhline(0, color="#999", linewidth=0.8)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("cycles measured on the simulated SoC")
        axes.legend(fontsize=7)
    return figure


PICTURES = {
    "amdahl": amdahl,
    "latency": latency,
    "cpus": cpus,
    "order": orders,
    "fill": fill,
    "validation": validation,
}


def save(figure: Figure, path: Path) -> None:
    """Write a picture, the same bytes for the same figures."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=120, metadata=metadata)
    if path.suffix == ".svg":
        # matplotlib ends some lines with a blank.
        path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def draw(made: Mapping[str, Any], folder: Path) -> None:
    """Draw all, as SVG and as PNG."""
    for name, picture in PICTURES.items():
        figure = picture(made)
        for suffix in FORMATS:
            save(figure, folder / f"{name}.{suffix}")


def draw_docs(made: Mapping[str, Any], folder: Path) -> None:
    """Draw those of docs/break-even.md."""
    for name in DOCS:
        save(PICTURES[name](made), folder / f"break-even-{name}.svg")
