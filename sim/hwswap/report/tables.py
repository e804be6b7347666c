# SPDX-License-Identifier: Apache-2.0
"""The page's tables as HTML."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from hwswap.report.figures import Calls, Matrix, Source, Stat, words


def badge(source: Source) -> str:
    """Return where figures are from, as a mark beside them."""
    return f'<span class="badge {source.kind}">{escape(str(source))}</span>'


def source_words(source: Source) -> str:
    """Return commits, seed and versions in one line."""
    titles = {"hwswap": "commit", "patches": "patch series"}
    said = [f"{titles.get(name, name)} {value}" for name, value in source.commits.items()]
    said += [] if source.seed is None else [f"seed {source.seed}"]
    said += [f"{name} {version}" for name, version in source.versions.items()]
    return ", ".join(filter(None, (*said, source.note))) or "no commit is named"


def rich(text: str) -> str:
    """Return Markdown's emphasis and code marks as HTML, all else as it is."""
    made = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False), flags=re.DOTALL)
    made = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<em>\1</em>", made)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", made)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1, caption: str = "") -> str:
    """Return a table in a box of its own, which scrolls where it is too wide. Cells are HTML.

    Args:
        head: titles of the columns.
        rows: cells.
        text_columns: how many of the first columns are words; the others are numbers.
        caption: what it is.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        made = []
        for at, cell in enumerate(cells):
            kind = "" if at < text_columns else ' class="n"'
            made.append(f"<{tag}{kind}>{cell}</{tag}>")
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0"><table>{said}<thead>{line([escape(h) for h in head], "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def number(value: float | None) -> str:
    """Return a number as people read it."""
    if value is None:
        return "-"
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}" if abs(value) < 100 else f"{value:,.1f}"


def stat(value: Stat | None) -> str:
    """Return what a call costs: median, mean and 99th percentile, or the mean alone."""
    if value is None:
        return "-"
    if value.p50 is None or value.p99 is None:
        text = number(value.mean)
    else:
        text = f"{number(value.p50)} / {number(value.mean)} / {number(value.p99)}"
    return text + (", all fail" if value.failed else "")


def calls(dataset: Calls) -> str:
    """Return all of a dataset of calls."""
    percentiles = any(stat.p50 is not None for row in dataset.rows.values() for stat in row.values())
    caption = f"{dataset.unit} a call, {'median / average / 99th percentile' if percentiles else 'average'}"
    rows = [
        [escape(words(call)), *(stat(row.get(column)) for column in dataset.columns)]
        for call, row in dataset.rows.items()
    ]
    return table(["call", *dataset.columns], rows, 1, caption)


def matrix(dataset: Matrix) -> str:
    """Return all of a dataset of other kinds."""
    rows = [
        [*map(escape, key), *(number(row.get(column)) for column in dataset.columns)]
        for key, row in dataset.rows.items()
    ]
    return table([*dataset.axes, *dataset.columns], rows, len(dataset.axes))
