# SPDX-License-Identifier: Apache-2.0
"""A page in one file: text, tables, charts, the library that draws them, nothing from elsewhere."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from plotly.offline import get_plotlyjs

from hwswap.report import tables
from hwswap.report.charts import Chart
from hwswap.report.figures import Source

HERE = Path(__file__).parent
REMARK = re.compile(r"/\*.*?\*/|<!--.*?-->", re.DOTALL)


@dataclass
class Section:
    """A part of a page: one figure, with what has to be known of it."""

    name: str
    title: str
    lede: str
    """In Markdown's emphasis and code marks."""
    source: Source | None = None
    chart: Chart | None = None
    html: str = ""
    """What is shown at once."""
    numbers: str = ""
    """Tables that are folded until asked for, or printed."""
    facts: dict[str, str] = field(default_factory=dict)
    """Platform, command and so on: what is said in small below."""
    level: int = 2
    first: str = ""
    """What stands right below the title, HTML."""
    screen: bool = False
    """Whether the numbers are left out on paper: they are in the tables of other parts, too."""


def _symbol(symbol: str) -> str:
    """Return a mark of a chart's key."""
    shapes = {
        "circle": '<circle cx="6" cy="6" r="5"/>',
        "square": '<path d="M1.5 1.5h9v9h-9z"/>',
        "diamond": '<path d="M6 0 12 6 6 12 0 6z"/>',
        "triangle-up": '<path d="M6 1 11.5 11H.5z"/>',
        "line-ns-open": '<path d="M5 0h2v12H5z"/>',
        "x": '<path d="M2 0 6 4l4-4 2 2-4 4 4 4-2 2-4-4-4 4-2-2 4-4-4-4z"/>',
        "star": '<path d="m6 0 1.5 4H12L8.500 6.800 9.700 11.500 6 8.700 2.300 11.500 3.500 6.800 0 4h4.500z"/>',
    }
    return f'<svg viewBox="0 0 12 12" aria-hidden="true">{shapes[symbol]}</svg>'


def key(chart: Chart) -> str:
    """Return what a chart's marks mean."""
    entries = "".join(
        f'<span class="k" style="--c:var(--{colour.removeprefix("@")})">{_symbol(symbol)}{escape(name)}</span>'
        for name, colour, symbol in chart["key"]
    )
    return f'<p class="key">{entries}</p>' if entries else ""


def _json(value: object) -> str:
    """Return JSON that can stand inside of a script."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def figure(name: str, chart: Chart, title: str) -> str:
    """Return a chart's place, its key, and its data."""
    spec = _json({"data": chart["data"], "layout": chart["layout"]})
    height = chart["layout"]["height"]
    return (
        f'{key(chart)}<figure id="chart-{name}" class="chart" role="img" aria-label="{escape(title)}" '
        f'style="min-height:{height}px"></figure>'
        f'<script type="application/json" data-chart="chart-{name}">{spec}</script>'
    )


def section(part: Section) -> str:
    """Return a part of the page."""
    made = [f'<section id="{part.name}">', f"<h{part.level}>{escape(part.title)}"]
    if part.source is not None:
        made.append(f" {tables.badge(part.source)}")
    made.append(f"</h{part.level}>")
    made.append(part.first)
    if part.lede:
        made += [f"<p>{tables.rich(text)}</p>" for text in part.lede.split("\n\n")]
    if part.chart is not None:
        made.append(figure(part.name, part.chart, part.title))
    made.append(part.html)
    if part.numbers:
        kind = ' class="screen"' if part.screen else ""
        made.append(f"<details{kind}><summary>The numbers</summary>{part.numbers}</details>")
    facts = part.facts | (source_facts(part.source) if part.source is not None else {})
    if facts:
        rows = "".join(f"<div><dt>{escape(n)}</dt><dd>{tables.rich(t)}</dd></div>" for n, t in facts.items() if t)
        made.append(f'<dl class="facts">{rows}</dl>')
    made.append("</section>")
    return "".join(made)


def source_facts(source: Source) -> dict[str, str]:
    """Say all that is known of where figures are from."""
    return {"From": f"{source.place}: {tables.source_words(source)}"}


@cache
def library() -> str:
    """Return Plotly, without what would end the script early."""
    return get_plotlyjs().replace("</script", "<\\/script")


def asset(name: str) -> str:
    """Return page.css or page.js without its licence line."""
    return REMARK.sub("", (HERE / name).read_text(), count=1).strip()


def contents(parts: Sequence[Section]) -> str:
    """Return links to the parts."""
    links = "".join(f'<a href="#{part.name}">{escape(part.title)}</a>' for part in parts if part.level == 2)
    return f'<nav aria-label="Contents">{links}</nav>'


def html(title: str, lead: str, parts: Sequence[Section], foot: str) -> str:
    """Return the page.

    Args:
        title: its heading.
        lead: one line below that, HTML.
        parts: in their order.
        foot: the last line, HTML.
    """
    body = "".join(section(part) for part in parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{asset('page.css')}</style>\n</head>\n"
        f'<body>\n<header><h1>{escape(title)}</h1><p class="lead">{lead}</p></header>\n'
        f"{contents(parts)}\n<main>{body}</main>\n<footer>{foot}</footer>\n"
        "<noscript><style>.chart{display:none}</style><p>Without JavaScript there are no charts; the tables have all "
        f"numbers.</p></noscript>\n<script>{library()}</script>\n<script>{asset('page.js')}</script>\n"
        "</body>\n</html>\n"
    )
