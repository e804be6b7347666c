# SPDX-License-Identifier: Apache-2.0
"""The engine's cycles as a picture: how long operations take by path, and what holds them up."""

from pathlib import Path

from matplotlib.figure import Figure

from hwswap.bench.engine_figures import Figures

PATHS = ("free", "hint", "shared hint", "nonfull", "free cluster", "frag", "steal", "fail")
"""Of a free, and of allocations."""


def draw(figures: Figures, path: Path) -> None:
    """Write a PNG: the distribution of cycles by path, and the stalls by cause."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in PATHS:
        way = "free" if name == "free cluster" else name
        kind = "free" if name == "free" else "alloc"
        cycles = figures.merged(lambda key, kind=kind, way=way: key[0] == kind and key[2] == way)
        if not cycles:
            continue
        values = sorted(cycles)
        below, share = 0, []
        for value in values:
            below += cycles[value]
            share.append(100 * below / cycles.total())
        label = "free" if name == "free" else f"allocate: {name}"
        left.step(values, share, where="post", label=f"{label} ({cycles.total():,})")
    left.set_xscale("log")
    left.set_xlabel("cycles of an operation, input kept full")
    left.set_ylabel("% of operations within")
    left.legend(fontsize="small", loc="lower right")
    causes = figures.stalls.most_common()
    right.barh([cause for cause, _ in causes], [cycles / max(figures.operations, 1) for _, cycles in causes])
    right.invert_yaxis()
    right.set_xlabel("stall cycles an operation, by cause")
    figure.suptitle(f"{figures.operations:,} operations, {figures.cycles / max(figures.operations, 1):.2f} cycles each")
    figure.savefig(path, dpi=120)
