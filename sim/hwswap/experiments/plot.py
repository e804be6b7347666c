# SPDX-License-Identifier: Apache-2.0
"""Results as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hwswap.experiments import cache, devices, fallbacks, offsets, published, swapoff
from hwswap.experiments.comparison import Result

COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd")
Point = Mapping[str, Any]


def select(points: Sequence[Point], **wanted: Any) -> list[Point]:
    """Return the points that have all of these values."""
    return [point for point in points if all(point.get(name) == value for name, value in wanted.items())]


def draw_swapoff(result: Result) -> Figure:
    """Time with fixed windows by that with adaptive ones, over page_cluster."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    clusters = list(swapoff.PAGE_CLUSTERS)
    axes.plot(clusters, [swapoff.published_ratio(at) for at in clusters], "ko-", label="published, Linux 5.6")
    for colour, load in zip(COLOURS, swapoff.LOADS, strict=False):
        own = select(result.points, load=load.name, every_page=False)
        adaptive, fixed = (
            {point["page_cluster"]: point["modelled_us"] for point in select(own, policy=policy)}
            for policy in ("adaptive", "fixed")
        )
        axes.plot(
            clusters, [fixed[at] / adaptive[at] for at in clusters], "-", color=colour, label=f"ours, {load.name}"
        )
    guest = [swapoff.MEASURED[at][1] for at in clusters]
    axes.plot(
        clusters, [fixed / adaptive for adaptive, fixed in guest], "s:", color="#999", label="our guest, half freed"
    )
    fitted = [row.ours for row in result.rows if row.figure.startswith("the same")]
    axes.plot(clusters, fitted, "--", color=COLOURS[3], label=f"ours, Linux 5.6, fitted at {swapoff.FITTED_AT}")
    axes.set_xlabel("page_cluster")
    axes.set_ylabel("time of a swapoff, fixed : adaptive")
    axes.set_ylim(0, 1.05)
    axes.legend(fontsize=8, loc="upper right")
    return figure


def draw_offsets(result: Result) -> Figure:
    """Collisions and runs over the number of CPUs."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    for column, state in enumerate(offsets.STATES):
        above, below = grid[0][column], grid[1][column]
        for colour, policy in zip(COLOURS, offsets.POLICIES, strict=False):
            own = select(result.points, state=state, policy=policy)
            cpus = [point["cpus"] for point in own]
            above.plot(cpus, [100 * point["trunk_share"] for point in own], "o-", color=colour, label=policy)
            below.plot(cpus, [point["pages_a_run"] for point in own], "o-", color=colour, label=policy)
        above.plot(cpus, [100 * point["by_chance"] for point in own], "k:", label="trunks drawn anew each time")
        above.set_title(f"{state} device")
        above.set_ylim(0, 105)
        above.set_xscale("log", base=2)
        below.set_yscale("log", base=2)
        below.set_xlabel("CPUs")
    grid[0][0].set_ylabel("% of allocations that collide in a trunk")
    grid[1][0].set_ylabel("pages a CPU gets in a row")
    grid[0][0].legend(fontsize=8, loc="lower right")
    return figure


def draw_cache(result: Result) -> Figure:
    """Memory while the device fills and empties."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, drain in zip(figure.subplots(1, len(cache.DRAINS), sharey=True), cache.DRAINS, strict=True):
        own = select(result.points, what="memory", drain=drain)
        series = (
            ("tables", [point["table_bytes"] for point in own]),
            ("tables with swap_map (phase I)", [point["table_bytes"] + point["slots"] for point in own]),
            ("trees with swap_map", [point["tree_bytes"] + point["slots"] for point in own]),
        )
        places = [point["used"] if point["filling"] else 2 * point["slots"] - point["used"] for point in own]
        for colour, (name, values) in zip(COLOURS, series, strict=False):
            axes.plot(
                [100 * place / own[0]["slots"] for place in places],
                [value / 1024 for value in values],
                color=colour,
                label=name,
            )
        axes.set_title(f"slots leave {drain}")
        axes.set_xlabel("% of slots: in use, then given back")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8, loc="lower center")
    figure.axes[0].set_ylabel("KiB")
    return figure


def draw_devices(result: Result) -> Figure:
    """Which part of what is in use is on each device, published and ours."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, policy in zip(figure.subplots(1, len(published.DEVICES_USED), sharex=True), devices.ENGINE, strict=True):
        own = select(result.points, policy=policy)
        bars = {"published": [100 * devices.published_share(policy, at) for at in range(devices.DEVICES)]}
        for system in dict.fromkeys(point["system"] for point in own):
            used = [point["used_kb"] for point in select(own, system=system)]
            bars[system] = [100 * kb / sum(used) for kb in used]
        for at in range(devices.DEVICES):
            left = [sum(shares[:at]) for shares in bars.values()]
            axes.barh(list(bars), [shares[at] for shares in bars.values()], left=left, color=COLOURS[at])
        axes.invert_yaxis()
        axes.set_title(policy)
        axes.tick_params(axis="y", labelsize=7)
    figure.supxlabel("% of what is in use, by device")
    return figure


def draw_fallbacks(result: Result) -> Figure:
    """Which part of the folios of each size is split."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, load in zip(figure.subplots(1, len(fallbacks.LOADS), sharey=True), fallbacks.LOADS, strict=True):
        own = select(result.points, load=load.said)
        for at, system in enumerate(dict.fromkeys(point["system"] for point in own)):
            of_it = select(own, system=system)
            shares = [100 * point["split"] / max(1, point["split"] + point["whole"]) for point in of_it]
            axes.plot([str(point["kb"]) for point in of_it], shares, "o-", color=f"C{at}", label=system, alpha=0.7)
        for marker, era in (("k^", fallbacks.BEFORE), ("kv", fallbacks.AFTER)):
            places = [100 * fallbacks.published_share(kb, era) for kb in load.published]
            axes.plot([str(kb) for kb in load.published], places, marker, label=f"published, {era} the series")
        axes.set_title(load.said)
        axes.set_xlabel("kB a folio")
        axes.tick_params(axis="x", rotation=60)
    figure.axes[0].set_ylabel("% of folios that are split")
    figure.axes[1].legend(fontsize=7, loc="upper left")
    return figure


PICTURES = {
    "swapoff": draw_swapoff,
    "offsets": draw_offsets,
    "cache": draw_cache,
    "devices": draw_devices,
    "fallbacks": draw_fallbacks,
}


def draw(result: Result, folder: Path) -> None:
    """Write a result's picture, a PNG."""
    PICTURES[result.name](result).savefig(folder / f"{result.name}.png", dpi=120)
