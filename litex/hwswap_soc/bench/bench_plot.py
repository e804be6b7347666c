# SPDX-License-Identifier: Apache-2.0
"""The bench's results as a picture."""

from pathlib import Path

from matplotlib.figure import Figure

from hwswap_soc.bench.bench_result import COMPARED, OPS, STATES, TITLES, Report

COLOURS = {"stock": "#7f7f7f", "tuned": "#2ca02c", "register": "#ff7f0e", "ring": "#1f77b4", "grants": "#9467bd"}
MARKS = {"stock": "s", "tuned": "^", "register": "o", "ring": "D", "grants": "*"}


def _bars(axes, report: Report, state: str, op: str) -> None:
    """Bars of means with marks of the 99th percentile, by order and scheme."""
    orders = report.orders
    for i, scheme in enumerate(COMPARED):
        for place, order in enumerate(orders):
            cell = report.cell(scheme, state, order, op)
            if cell is None:
                continue
            at = place + 0.16 * i - 0.32
            label = TITLES[scheme] if place == 0 else None
            hatch = "//" if cell.failures == cell.n else None
            axes.bar(at, cell.mean, 0.15, color=COLOURS[scheme], label=label, hatch=hatch, edgecolor="white")
            axes.plot(at, cell.p99, "k_", markersize=8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(orders)), [f"order {order}" for order in orders])
    axes.set_title(f"{'allocate' if op == 'alloc' else 'free'}, {state}", fontsize=10)


_SWEEPS = {"latency": "DRAM latency, cycles", "ratio": "engine clock : CPU clock", "gap": "cycles between operations"}


def _lines(axes, label: str, reports: list[tuple[float, Report]]) -> None:
    """Lines of an order 0 allocation and its free on an empty device, by a parameter."""
    for scheme in COMPARED:
        points = [(value, report.pair(scheme, "empty", 0)) for value, report in reports]
        points = [point for point in points if point[1] is not None]
        axes.plot(*zip(*points, strict=True), marker=MARKS[scheme], color=COLOURS[scheme], label=TITLES[scheme])
    axes.set_title("order 0, empty, allocation and free", fontsize=10)
    axes.set_xlabel(label)
    axes.set_ylim(bottom=0)


def draw(base: Report, sweeps: dict[str, list[tuple[float, Report]]], caption: str, path: Path) -> None:
    """Writes a PNG.

    Args:
        base: the full measurement.
        sweeps: by parameter, its values and the measurements with them; may be empty.
        caption: what it was measured on.
        path: the file.
    """
    drawn = {name: reports for name, reports in sweeps.items() if reports}
    figure = Figure(figsize=(11, 10 if drawn else 7), layout="constrained")
    top, *rest = figure.subfigures(2 if drawn else 1, 1, height_ratios=[2, 1][: 2 if drawn else 1], squeeze=False)[:, 0]
    grid = top.subplots(2, 2)
    for row, state in enumerate(STATES):
        for column, op in enumerate(OPS):
            _bars(grid[row][column], base, state, op)
        grid[row][0].set_ylabel("CPU cycles a call (bar: mean, line: p99)")
    grid[0][0].legend(fontsize=8)
    for bottom in rest:
        for axes, (name, reports) in zip(bottom.subplots(1, len(drawn), squeeze=False)[0], drawn.items(), strict=True):
            _lines(axes, _SWEEPS[name], reports)
            axes.set_ylabel("CPU cycles")
    figure.suptitle(caption, fontsize=11)
    figure.savefig(path, dpi=120)
