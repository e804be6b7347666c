# SPDX-License-Identifier: Apache-2.0
"""The page's charts as Plotly's JSON. Colours are names behind an @, which page.js resolves, as light and dark differ.

Labels of rows are written inside of the plot, above the row, so that a telephone has as much room for it as a desk.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hwswap.report.figures import Calls, Matrix, words
from hwswap.report.verdict import Judged

Chart = dict[str, Any]

ROW = 34
"""Pixels of a row with its label above."""

COLOURS = ("@engine", "@tuned", "@third", "@fourth", "@fifth", "@base")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
STATISTICS = {"mean": "average", "p50": "median", "p99": "99th percentile"}


def _label(text: str, y: float) -> dict[str, Any]:
    """Return a row's label, above it at the left edge."""
    return {
        "text": text,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": y,
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
        "bgcolor": "@paper",
        "borderpad": 0,
        "font": {"size": 12, "color": "@muted"},
        "align": "left",
    }


def _rows(count: int) -> dict[str, Any]:
    """Return the axis of rows: the first one at the top."""
    return {
        "range": [count - 0.4, -0.9],
        "tickvals": list(range(count)),
        "showticklabels": False,
        "showgrid": True,
        "gridcolor": "@grid",
        "zeroline": False,
        "fixedrange": True,
    }


def _ratios(values: Sequence[float]) -> dict[str, Any]:
    """Return a logarithmic axis of ratios that has 1 in it."""
    ticks = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8, 12, 20, 30]
    low, high = min([*values, 0.8]), max([*values, 1.25])
    shown = [tick for tick in ticks if low * 0.9 <= tick <= high * 1.1]
    return {
        "type": "log",
        "tickvals": shown,
        "ticktext": [f"{tick:g}" for tick in shown],
        "gridcolor": "@grid",
        "zeroline": False,
        "side": "bottom",
    }


def _one(count: int) -> dict[str, Any]:
    """Return the line at 1, where both cost the same."""
    return {
        "type": "line", "x0": 1, "x1": 1, "y0": -0.9, "y1": count - 0.4, "line": {"color": "@ink", "width": 1.5},
        "layer": "below",
    }  # fmt: skip


def _buttons(names: Sequence[str], groups: Sequence[Sequence[bool]]) -> list[dict[str, Any]]:
    """Return buttons, each of which shows its group of traces."""
    return [
        {
            "type": "buttons",
            "direction": "right",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "pad": {"b": 8},
            "showactive": True,
            "buttons": [
                {"label": name, "method": "restyle", "args": ["visible", list(visible)]}
                for name, visible in zip(names, groups, strict=True)
            ],
        }
    ]


def _chart(
    data: list[dict[str, Any]], layout: dict[str, Any], height: int, key: Sequence[tuple[str, str, str]]
) -> Chart:
    """Return a chart; `key` is what its marks mean: name, colour and symbol each."""
    return {"data": data, "layout": {"height": height, "showlegend": False, **layout}, "key": [list(k) for k in key]}


def verdict(judged: Sequence[Judged]) -> Chart:
    """Draw each way as a row, each kind of call as a point: its cost in parts of software's."""
    data, ratios = [], []
    for cheaper, colour, symbol in ((True, "@engine", "circle"), (False, "@loss", "diamond")):
        found = [
            (y, one, point) for y, one in enumerate(judged) for point in one.points if (point.ratio < 1) == cheaper
        ]
        ratios += [point.ratio for _, _, point in found]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [round(point.ratio, 4) for _, _, point in found],
                "y": [y for y, _, _ in found],
                "text": [f"{one.way.title}<br>{point} {one.unit}<br>{one.source}" for _, one, point in found],
                "hovertemplate": "%{text}<br><b>%{x:.2f}</b> of software's cost<extra></extra>",
                "marker": {"size": 9, "opacity": 0.75, "color": colour, "symbol": symbol, "line": {"width": 0}},
            }
        )
    layout = {
        "xaxis": {**_ratios(ratios), "title": {"text": "cost with the engine, software = 1"}},
        "yaxis": _rows(len(judged)),
        "shapes": [_one(len(judged))],
        "annotations": [_label(one.way.title, i) for i, one in enumerate(judged)],
    }
    key = (("cheaper with the engine", "@engine", "circle"), ("dearer, or the same", "@loss", "diamond"))
    return _chart(data, layout, ROW * len(judged) + 80, key)


def calls(dataset: Calls, base: str, columns: Mapping[str, str]) -> Chart:
    """Draw what calls cost in parts of what they cost in column `base`; a row a kind of call.

    Args:
        dataset: the figures.
        base: the column that is 1.
        columns: those that are drawn -> what they are called.
    """
    rows = [(call, row) for call, row in dataset.rows.items() if base in row]
    known = [name for name in STATISTICS if any(getattr(row[base], name) for _, row in rows)]
    data, ratios, groups = [], [], []
    for statistic in known:
        for number, (column, title) in enumerate(columns.items()):
            x, y, text = [], [], []
            for at, (call, row) in enumerate(rows):
                software, value = getattr(row[base], statistic), column in row and getattr(row[column], statistic)
                if software and value:
                    x.append(round(value / software, 4))
                    y.append(at)
                    fails = ", all fail" if row[column].failed else ""
                    text.append(f"{words(call)}{fails}<br>{base} {software:,.0f}, {column} {value:,.0f} {dataset.unit}")
            ratios += x
            groups.append(statistic)
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": title,
                    "x": x,
                    "y": y,
                    "text": text,
                    "visible": statistic == known[0],
                    "hovertemplate": f"{title}: <b>%{{x:.2f}}</b><br>%{{text}}<extra></extra>",
                    "marker": {"size": 10, "color": COLOURS[number], "symbol": SYMBOLS[number], "opacity": 0.85},
                }
            )
    layout = {
        "xaxis": {**_ratios(ratios), "title": {"text": f"cost, {base} = 1"}},
        "yaxis": _rows(len(rows)),
        "shapes": [_one(len(rows))],
        "annotations": [_label(words(call), i) for i, (call, _) in enumerate(rows)],
    }
    if len(known) > 1:
        layout["updatemenus"] = _buttons(
            [STATISTICS[name] for name in known], [[name == group for group in groups] for name in known]
        )
        layout["margin"] = {"t": 46}
    key = [(title, COLOURS[i], SYMBOLS[i]) for i, title in enumerate(columns.values())]
    return _chart(data, layout, ROW * len(rows) + 110, key)


def _bars(labels: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], title: str, unit: str) -> Chart:
    """Draw stacked bars, a row a label."""
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": list(values),
            "y": list(range(len(labels))),
            "width": 0.42,
            "customdata": list(labels),
            "hovertemplate": f"%{{customdata}}<br>{name}: <b>%{{x:,.4g}}</b> {unit}<extra></extra>",
            "marker": {"color": COLOURS[number]},
        }
        for number, (name, values) in enumerate(series)
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": title}, "gridcolor": "@grid", "zeroline": False, "rangemode": "tozero"},
        "yaxis": {**_rows(len(labels)), "showgrid": False},
        "annotations": [{**_label(text, i - 0.2), "yshift": 1} for i, text in enumerate(labels)],
    }
    key = [(name, COLOURS[i], "square") for i, (name, _) in enumerate(series)] if len(series) > 1 else []
    return _chart(data, layout, 46 * len(labels) + 80, key)


PLACEMENTS = {
    "linux": "the kernel's own placement",
    "indexed": "grants, indexed, an engine in software",
    "open": "grants, open, an engine in software",
    "engine-indexed": "grants, indexed, the engine's RTL",
    "engine-open": "grants, open, the engine's RTL",
}


def fallbacks(dataset: Matrix) -> Chart:
    """Draw large folios that are split, by placement and size."""
    labels = [
        f"{PLACEMENTS.get(placement, placement)}; {devices} devices, {full} full: {row['all'] or 0:,.0f}"
        for (devices, full, placement), row in dataset.rows.items()
    ]
    sizes = [column for column in dataset.columns if column.endswith("kB")]
    series = [(size, [row.get(size) for row in dataset.rows.values()]) for size in sizes]
    return _bars(labels, series, "large folios split for want of room", "folios")


def bitstreams(dataset: Matrix) -> Chart:
    """Draw how full each board's FPGA is."""
    labels = [
        f"{board}, {cpu}, engine {profile}: {row['LUTs, %']:.0f} % of its LUTs, {row['MHz reached, most']:g} MHz"
        for (board, cpu, profile), row in dataset.rows.items()
    ]
    engine = [row["of them the engine, %"] for row in dataset.rows.values()]
    rest = [
        None if row["LUTs, %"] is None or ours is None else round(row["LUTs, %"] - ours, 1)
        for row, ours in zip(dataset.rows.values(), engine, strict=True)
    ]
    series = [("the engine", engine), ("the SoC around it", rest)]
    return _bars(labels, series, "% of the FPGA's LUTs", "%")


def table_commands(dataset: Matrix) -> Chart | None:
    """Draw which share of the port's peak the commands reach, of which it is known."""
    columns = [column for column in dataset.columns if column.startswith("% of peak")]
    rows = [(key, row) for key, row in dataset.rows.items() if columns and row.get(columns[0])]
    if not rows:
        return None
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [row.get(column) for _, row in rows],
            "y": list(range(len(rows))),
            "text": [", ".join(key) for key, _ in rows],
            "hovertemplate": f"%{{text}}<br>latency {column.rpartition(' ')[2]}: <b>%{{x}} %</b><extra></extra>",
            "marker": {"size": 10, "color": COLOURS[number], "symbol": SYMBOLS[number]},
        }
        for number, column in enumerate(columns)
    ]
    layout = {
        "xaxis": {"title": {"text": "% of a word a cycle"}, "range": [0, 102], "gridcolor": "@grid", "zeroline": False},
        "yaxis": _rows(len(rows)),
        "annotations": [_label(", ".join(key), i) for i, (key, _) in enumerate(rows)],
    }
    key = [(f"memory latency {c.rpartition(' ')[2]}", COLOURS[i], SYMBOLS[i]) for i, c in enumerate(columns)]
    return _chart(data, layout, ROW * len(rows) + 80, key)


def engine(dataset: Matrix) -> Chart:
    """Draw the core's cycles of kinds of operations: mean, 99th percentile and longest."""
    rows = [(key, row) for key, row in dataset.rows.items() if row.get("max")]
    ys = list(range(len(rows)))
    lines_x: list[float | None] = []
    lines_y: list[float | None] = []
    for y, (_, row) in enumerate(rows):
        lines_x += [row["mean"], row["max"], None]
        lines_y += [y, y, None]
    data: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "x": lines_x, "y": lines_y, "hoverinfo": "skip",
         "line": {"color": "@muted", "width": 1.5}},
    ]  # fmt: skip
    marks = (("mean", "@engine", "circle"), ("p99", "@tuned", "square"), ("max", "@muted", "line-ns-open"))
    titles = {"mean": "mean", "p99": "99th percentile", "max": "longest"}
    for name, colour, symbol in marks:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [row.get(name) for _, row in rows],
                "y": ys,
                "hovertemplate": f"{titles[name]}: <b>%{{x}}</b> cycles<extra></extra>",
                "marker": {"size": 10, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            }
        )

    def label(key: tuple[str, ...], row: Mapping[str, float | None]) -> str:
        what, path, moves = key
        text = ", ".join(filter(None, (what, path, {"yes": "cluster changes its list"}.get(moves, ""))))
        return f"{text}: {row['number'] or 0:,.0f}"

    layout = {
        "xaxis": {"title": {"text": "engine clock cycles"}, "rangemode": "tozero", "gridcolor": "@grid"},
        "yaxis": _rows(len(rows)),
        "annotations": [_label(label(key, row), i) for i, (key, row) in enumerate(rows)],
    }
    layout["xaxis"]["zeroline"] = False
    return _chart(
        data, layout, ROW * len(rows) + 80, [(titles[n], c, "circle" if s == "circle" else s) for n, c, s in marks]
    )


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    x_title: str,
    y_title: str,
    x_axis: Mapping[str, Any] | None = None,
    y_axis: Mapping[str, Any] | None = None,
    unit: str = "",
) -> Chart:
    """Draw lines, each with its name at its end."""
    data, annotations = [], []
    ends = {name: points[-1][1] for name, points in series.items() if points}
    log = (y_axis or {}).get("type") == "log"
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [x for x, _ in points],
                "y": [y for _, y in points],
                "hovertemplate": f"{name}<br>%{{x}}: <b>%{{y:,.4g}}</b> {unit}<extra></extra>",
                "line": {"color": colour, "width": 2, "dash": "solid" if number < len(COLOURS) else "dot"},
                "marker": {"size": 8, "symbol": SYMBOLS[number % len(SYMBOLS)], "color": colour},
            }
        )
    for name, shift in spread(ends, log).items():
        number = list(series).index(name)
        annotations.append(
            {
                "text": name,
                "x": 1,
                "xref": "paper",
                "xanchor": "left",
                "xshift": 6,
                # Annotations on a logarithmic axis are placed by the exponent; page.js does that.
                "y": ends[name],
                "yshift": shift,
                "showarrow": False,
                "align": "left",
                "font": {"size": 12, "color": COLOURS[number % len(COLOURS)]},
            }
        )
    margin = 14 + 7 * max((len(name) for name in series), default=0)
    layout = {
        "xaxis": {"title": {"text": x_title}, "gridcolor": "@grid", "zeroline": False, **(x_axis or {})},
        "yaxis": {"title": {"text": y_title}, "gridcolor": "@grid", "zeroline": False, **(y_axis or {})},
        "annotations": annotations,
        "margin": {"l": 52, "r": min(margin, 190)},
    }
    return _chart(data, layout, PLOT, [])


PLOT = 360
"""Height of a chart of lines."""


def spread(ends: Mapping[str, float], log: bool) -> dict[str, float]:
    """Return by how many pixels names at the ends of lines are moved up, so that none lies on another."""
    import math

    def scaled(value: float) -> float:
        return math.log10(max(value, 1e-9)) if log else value

    if not ends:
        return {}
    values = [scaled(value) for value in ends.values()]
    low, high = (min(values), max(values)) if log else (min(0.0, *values), max(values))
    pixels = (PLOT - 110) / ((high - low) or 1)
    shifts: dict[str, float] = {}
    last = -math.inf
    for name, value in sorted(ends.items(), key=lambda item: item[1]):
        at = (scaled(value) - low) * pixels
        place = max(at, last + 14)
        shifts[name], last = place - at, place
    return shifts


def swapoff(dataset: Matrix) -> Chart:
    """Draw what swapoff takes over page_cluster."""
    series = {
        column.removesuffix(", ms"): [
            (float(key[0]), value) for key, row in dataset.rows.items() if (value := row.get(column)) is not None
        ]
        for column in dataset.columns
    }
    return lines(series, "page_cluster", "modelled ms", {"dtick": 1}, {"rangemode": "tozero"}, "ms")


def gib(words_: str) -> float:
    """Return the number of GiB in a size."""
    number, unit = words_.split()
    return float(number) * (1024 if unit == "TiB" else 1)


def scale(dataset: Matrix) -> Chart:
    """Draw the cycles of an operation over the size of swap, at the memory latency in the middle."""
    latencies = sorted({key[3] for key in dataset.rows}, key=int)
    latency = latencies[len(latencies) // 2]
    series: dict[str, list[tuple[float, float]]] = {}
    for (swap, store, work, at), row in dataset.rows.items():
        if at == latency and store == "in DRAM" and row["mean"] is not None:
            series.setdefault(work, []).append((gib(swap), row["mean"]))
    sizes = sorted({x for points in series.values() for x, _ in points})
    axis = {
        "type": "log",
        "tickvals": sizes,
        "ticktext": [f"{s:g} GiB" if s < 1024 else f"{s / 1024:g} TiB" for s in sizes],
    }
    return lines(
        series,
        f"swap; memory latency {latency} cycles",
        "cycles an operation, mean",
        axis,
        {"rangemode": "tozero"},
        "cycles",
    )


def harts(dataset: Matrix) -> Chart:
    """Draw the cycles of an allocation and its free over the number of harts, for the first device and load."""
    (case, _), *_ = dataset.rows
    series: dict[str, list[tuple[float, float]]] = {}
    for (its, count), row in dataset.rows.items():
        for column, value in row.items():
            if its == case and value is not None:
                series.setdefault(column, []).append((float(count), value))
    counts = sorted({x for points in series.values() for x, _ in points})
    axis = {"tickvals": counts, "ticktext": [f"{count:g}" for count in counts]}
    return lines(series, f"harts; {case}", "cycles, allocation and free", axis, {"rangemode": "tozero"}, "cycles")


def ratios(pairs: Sequence[tuple[str, float, float]], unit: str) -> Chart:
    """Draw figures of a second run in parts of the first one's; a row a figure: its name, and both."""
    x = [b / a for _, a, b in pairs]
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [round(value, 4) for value in x],
            "y": list(range(len(pairs))),
            "text": [f"{name}<br>A {a:,.4g}, B {b:,.4g} {unit}" for name, a, b in pairs],
            "hovertemplate": "%{text}<br>B : A <b>%{x:.3f}</b><extra></extra>",
            "marker": {
                "size": 10,
                "color": ["@engine" if value < 1 else "@loss" if value > 1 else "@muted" for value in x],
                "symbol": ["circle" if value < 1 else "diamond" if value > 1 else "square" for value in x],
            },
        }
    ]
    layout = {
        "xaxis": {**_ratios(x), "title": {"text": "B : A"}},
        "yaxis": _rows(len(pairs)),
        "shapes": [_one(len(pairs))],
        "annotations": [_label(name, i) for i, (name, _, _) in enumerate(pairs)],
    }
    if max(abs(value - 1) for value in x) < 0.2:
        layout["xaxis"] = {
            "title": {"text": "B : A"}, "range": [0.75, 1.25], "gridcolor": "@grid", "zeroline": False,
        }  # fmt: skip
    key = (("B less than A", "@engine", "circle"), ("B more than A", "@loss", "diamond"), ("equal", "@muted", "square"))
    return _chart(data, layout, ROW * len(pairs) + 90, key)
