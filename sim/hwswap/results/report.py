# SPDX-License-Identifier: Apache-2.0
"""One HTML page of all figures of a folder, which loads nothing from elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from hwswap.project import paths
from hwswap.results import tables
from hwswap.results.compare import Pair
from hwswap.results.schema import Result

OUTPUT = paths.BUILD / "report/report.html"
ROW, AROUND = 15, 90
"""Pixels of a bar, and of the space around the bars."""


def chart(result: Result) -> str:
    """Return a result's bars as JSON that Plotly draws: parts of the first column's, where there are several columns.

    Rows of another unit than the first are left to the table, as they have no scale in common.
    """
    columns, grid, names = tables.grid(result.figures)
    unit = result.figures[0].unit
    rows = [(name, row) for name, row in zip(names, grid, strict=True) if all(f is None or f.unit == unit for f in row)]
    relative = len(columns) > 1
    if relative:
        rows = [(name, row) for name, row in rows if row[0] is not None and row[0].value]
    drawn = go.Figure()
    for at, column in enumerate(columns):
        bars: list[tuple[str, float, str]] = []
        for name, row in rows:
            figure, first = row[at], row[0]
            if figure is not None:
                base = first.value if relative and first is not None else 1
                bars.append((name, figure.value / base, f"{tables.cell(figure)} {unit}"))
        drawn.add_bar(
            name=column or "value",
            orientation="h",
            y=[name for name, _, _ in bars],
            x=[length for _, length, _ in bars],
            customdata=[said for _, _, said in bars],
            hovertemplate="%{y}: %{customdata}<extra>%{fullData.name}</extra>",
        )
    drawn.update_layout(
        barmode="group",
        template="plotly_white",
        height=AROUND + ROW * max(1, len(rows)) * (len(columns) + 1),
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        xaxis_title=f"{unit}, parts of {columns[0]}" if relative else unit,
        yaxis={"autorange": "reversed", "automargin": True},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    # The text of a script must not end it.
    return str(drawn.to_json()).replace("</", "<\\/")


def page(results: Mapping[str, Result], pairs: list[Pair] | None = None) -> str:
    """Return the page.

    Args:
        results: the results on it.
        pairs: the figures beside those on record, whose differences come first; None: there is nothing beside them.
    """
    shown: list[dict[str, Any]] = []
    for result in results.values():
        columns, grid, names = tables.grid(result.figures)
        rows = [
            {"name": name, "unit": next(f.unit for f in row if f), "cells": row}
            for name, row in zip(names, grid, strict=True)
        ]
        shown.append({"result": result, "columns": columns, "rows": rows, "chart": chart(result)})
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"cell": tables.cell, "number": tables.number}
    template = environment.get_template("report.html.j2")
    return template.render(shown=shown, pairs=pairs, plotly=get_plotlyjs())


def write(results: Mapping[str, Result], path: Path = OUTPUT, pairs: list[Pair] | None = None) -> None:
    """Write the page; the file is there whole, or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    paths.write(path, page(results, pairs).encode())
