# SPDX-License-Identifier: Apache-2.0
"""The bench on several harts as a picture."""

from pathlib import Path

from matplotlib.figure import Figure

from hwswap_soc.bench.bench_plot import COLOURS, MARKS
from hwswap_soc.bench.bench_result import TITLES
from hwswap_soc.bench.harts_result import HARTS, LOADS, SCHEMES, STATES, Measured, case


def draw(measured: Measured, caption: str, path: Path) -> None:
    """Writes a PNG: cycles over harts, a picture for each state and load.

    Args:
        measured: what was measured.
        caption: what it was measured on.
        path: the file.
    """
    cases = [
        (state, load)
        for state in STATES
        for load in LOADS
        if any(measured.cycles((scheme, state, load, 1)) for scheme in SCHEMES)
    ]
    columns = 2
    rows = -(-len(cases) // columns)
    figure = Figure(figsize=(11, 3 * rows + 0.8), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (state, load) in zip(grid.flat, cases, strict=False):
        for scheme in SCHEMES:
            points = [(harts, measured.cycles((scheme, state, load, harts))) for harts in HARTS]
            points = [point for point in points if point[1] is not None]
            if points:
                axes.plot(*zip(*points, strict=True), color=COLOURS[scheme], marker=MARKS[scheme], label=TITLES[scheme])
        axes.set_title(case(state, load), fontsize=10)
        axes.set_xticks(HARTS)
        axes.set_xlabel("harts")
        axes.set_ylim(bottom=0)
    for axes in grid.flat[len(cases) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("CPU cycles, allocation and free")
    grid[0][0].legend(fontsize=8)
    figure.suptitle(caption, fontsize=8)
    figure.savefig(path, dpi=110)
