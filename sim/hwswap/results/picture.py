# SPDX-License-Identifier: Apache-2.0
"""README's picture: the instructions of software, grants and an oracle, as parts of the unpatched kernel's."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from hwswap.results.schema import Figure, Result, ResultError

COLOURS = {"unpatched": "#d9d9d9", "tuned": "#4c78a8", "grants": "#f58518", "oracle": "#54a24b"}


def ratios(result: Result, wanted: Mapping[str, Sequence[str]]) -> str:
    """Return an SVG of bars, parts of the first column; ResultError names a row that is not in the result.

    Args:
        result: that has the rows.
        wanted: `rows` of it, and `columns`, the first of which is 1.
    """
    # Imported here: it takes its time, and most commands draw nothing.
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    found: dict[tuple[str, str], Figure] = {(figure.what, figure.of): figure for figure in result.figures}
    rows, columns = wanted["rows"], wanted["columns"]
    for row in rows:
        if (row, columns[0]) not in found:
            raise ResultError(f"results/pages.toml wants '{row}' of {result.name}, which is not in results/")
    # Text stays text, and the same figures make the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hwswap", "font.family": "sans-serif"}):
        canvas = Canvas(figsize=(8, 0.62 * len(rows) + 0.9), layout="constrained")
        axes: Any = canvas.subplots()
        height = 0.8 / len(columns)
        for place, column in enumerate(columns):
            bars = [(at, found[row, column]) for at, row in enumerate(rows) if (row, column) in found]
            drawn = axes.barh(
                [at + (place - (len(columns) - 1) / 2) * height for at, _ in bars],
                [figure.value / found[figure.what, columns[0]].value for _, figure in bars],
                height,
                label=column,
                color=COLOURS[column],
            )
            axes.bar_label(drawn, [f"{figure.value:,.0f}" for _, figure in bars], padding=2, fontsize=7)
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15)
        axes.set_xlabel(f"guest instructions per call, {columns[0]} = 1")
        axes.spines[["top", "right"]].set_visible(False)
        canvas.legend(loc="outside upper right", ncols=len(columns), frameon=False)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
