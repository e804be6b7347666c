# SPDX-License-Identifier: Apache-2.0
"""Results as tables of pages: docs/results.md, and the short table of README.

docs/results.md is made whole: the results on record in the order of results/pages.toml, each with the remarks that are
beside it as results/NAME.md. README's table is between two comments.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from hwswap.project import paths
from hwswap.results.schema import RECORD, Figure, Result, ResultError

PAGE = paths.ROOT / "docs/results.md"
README = paths.ROOT / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
HEAD = (
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made by `make docs` from results/: edit those. -->\n# Results\n"
)


def number(value: float) -> str:
    """Return a number as people read it: whole, or with three digits that say something."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def cell(figure: Figure | None) -> str:
    """Return a figure as a cell, what is known of its spread in brackets."""
    if figure is None:
        return "-"
    spread = ", ".join(f"{name} {number(value)}" for name, value in figure.spread.items())
    return f"{number(figure.value)} ({spread})" if spread else number(figure.value)


def grid(result: Result) -> tuple[list[str], list[list[Figure | None]], list[str]]:
    """Return a result's columns, its rows, and what those are called."""
    columns = list(dict.fromkeys(figure.of for figure in result.figures))
    rows = list(dict.fromkeys(figure.what for figure in result.figures))
    found = {(figure.what, figure.of): figure for figure in result.figures}
    return columns, [[found.get((row, column)) for column in columns] for row in rows], rows


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(result: Result) -> str:
    """Return a result's table, with where it is from."""
    columns, rows, names = grid(result)
    units = [{figure.unit for figure in row if figure} for row in rows]
    made = [f"commit {result.commit}"]
    made += [f"patches {result.patches}"] if result.patches else []
    made += [f"engine {result.engine}"] if result.engine else []
    made += [f"seed {result.seed}"] if result.seed is not None else []
    lines = [
        f"`{result.command}` ({', '.join(made)}). {result.platform}. Left out: {result.leaves_out}.",
        "",
        _line(["", "unit", *(column or "value" for column in columns)]),
        _line(["---", "---", *("---:" for _ in columns)]),
    ]
    for name, unit, row in zip(names, units, rows, strict=True):
        lines.append(_line([name, ", ".join(sorted(unit)), *map(cell, row)]))
    return "\n".join(lines) + "\n"


def page(results: Mapping[str, Result], order: Sequence[str], folder: Path = RECORD) -> str:
    """Return docs/results.md.

    Raises:
        ResultError: a result is not in the order, or one of the order is not there.
    """
    if set(order) != set(results):
        odd = min(set(order) ^ set(results))
        raise ResultError(f"{odd} is in results/pages.toml or in results/, not in both")
    parts = [HEAD]
    for name in order:
        remarks = folder / f"{name}.md"
        said = f"\n{remarks.read_text().strip()}\n" if remarks.is_file() else ""
        parts.append(f"## {results[name].title}\n\n{markdown(results[name])}{said}")
    return "\n".join(parts)


def short(results: Mapping[str, Result], rows: Sequence[Sequence[str]]) -> str:
    """Return README's table: a row for each pair of a result and one of its rows.

    Raises:
        ResultError: there is no such row.
    """
    lines = [_line(["figure", "value", "unit", "command (commit)", "leaves out"]), _line(["---"] * 5)]
    for name, what in rows:
        result = results.get(name)
        found = [figure for figure in result.figures if figure.what == what] if result else []
        if not result or not found:
            raise ResultError(f"results/pages.toml wants '{what}' of {name} for README, which is not in results/")
        values = " : ".join(number(figure.value) for figure in found)
        whose = " : ".join(figure.of for figure in found if figure.of)
        said = f"{result.title}: {what}" + (f"; {whose}" if whose else "")
        lines.append(_line([said, values, found[0].unit, f"`{result.command}` ({result.commit})", result.leaves_out]))
    return "\n".join(lines) + "\n"


def between(text: str, table: str) -> str:
    """Return README's text with its table in place.

    Raises:
        ResultError: the comments are not there.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ResultError(f"README.md has not {BEGIN} and {END}, between which its table belongs")
    return pattern.sub(lambda _: f"{BEGIN}\n{table}{END}", text)


def pages(results: Mapping[str, Result]) -> dict[Path, str]:
    """Return the pages that are made of the results on record, as they have to be."""
    wanted = tomllib.loads((RECORD / "pages.toml").read_text())
    readme = between(README.read_text(), short(results, wanted["readme"]))
    return {PAGE: page(results, wanted["order"]), README: readme}
