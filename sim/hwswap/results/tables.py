# SPDX-License-Identifier: Apache-2.0
"""Results as tables: of docs/results.md, of README, and of the terminal.

docs/results.md is made whole: the results on record in the order of results/pages.toml, each with the remarks that are
beside it as results/NAME.md. README's verdict and its checks are between comments, its picture is docs/ratios.svg.
"""

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from hwswap.project import paths, printed
from hwswap.results import picture
from hwswap.results.schema import RECORD, Figure, Result, ResultError

PAGE = paths.ROOT / "docs/results.md"
PICTURE = paths.ROOT / "docs/ratios.svg"
README = paths.ROOT / "README.md"
EVEN = 0.03
"""Two figures are even when one is this share of the other off, or less."""

HEAD = (
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made by `make docs` from results/: edit those. -->\n# Results\n"
)


def number(value: float) -> str:
    """Return a number as people read it: whole, or with three digits that say something."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def cell(figure: Figure | None) -> str:
    """Return a figure as a cell, its spread in brackets if it is known."""
    if figure is None:
        return "-"
    spread = ", ".join(f"{name} {number(value)}" for name, value in figure.spread.items())
    return f"{number(figure.value)} ({spread})" if spread else number(figure.value)


def grid(figures: Sequence[Figure]) -> tuple[list[str], list[list[Figure | None]], list[str]]:
    """Return the columns of figures, their rows, and the rows' names."""
    columns = list(dict.fromkeys(figure.of for figure in figures))
    rows = list(dict.fromkeys(figure.what for figure in figures))
    found = {(figure.what, figure.of): figure for figure in figures}
    return columns, [[found.get((row, column)) for column in columns] for row in rows], rows


def view(title: str, figures: Iterable[Figure]) -> Table:
    """Return a table for the terminal, a row for each thing measured, its ratio to the first column in brackets.

    Args:
        title: of the table.
        figures: of which each goes into the column that it is of.
    """
    figures = list(figures)
    columns, rows, names = grid(figures)
    made = printed.table(title, (", ".join(dict.fromkeys(figure.unit for figure in figures)), *columns))
    for name, (base, *others) in zip(names, rows, strict=True):
        ratios = [f" ({each.value / base.value:.2f})" if each and base and base.value else "" for each in others]
        made.add_row(name, cell(base), *(cell(each) + ratio for each, ratio in zip(others, ratios, strict=True)))
    return made


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(result: Result) -> str:
    """Return a result's table, with where it is from."""
    columns, rows, names = grid(result.figures)
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
    """Return docs/results.md; ResultError names a result that is not in the order, or not there."""
    if set(order) != set(results):
        odd = min(set(order) ^ set(results))
        raise ResultError(f"{odd} is in results/pages.toml or in results/, not in both")
    parts = [HEAD]
    for name in order:
        remarks = folder / f"{name}.md"
        said = f"\n{remarks.read_text().strip()}\n" if remarks.is_file() else ""
        parts.append(f"## {results[name].title}\n\n{markdown(results[name])}{said}")
    return "\n".join(parts)


def _columns(results: Mapping[str, Result], name: str, what: str) -> dict[str, Figure]:
    result = results.get(name)
    found = {figure.of: figure for figure in result.figures if figure.what == what} if result else {}
    if not found:
        raise ResultError(f"results/pages.toml wants '{what}' of {name} for README, which is not in results/")
    return found


def verdict(results: Mapping[str, Result], rows: Sequence[Mapping[str, str]]) -> str:
    """Return README's verdict: where the engine pays, is even and loses, by its ratio to the best software.

    Args:
        results: those on record.
        rows: of each row, `result` and `what` name it, `label` is its name in README, `software`, `engine` and, where
            it was measured, `tuned` are columns of it. ResultError says what is not on record.
    """
    lines: dict[str, list[str]] = {"**pays**": [], "even": [], "**loses**": []}
    for row in rows:
        found = _columns(results, row["result"], row["what"])
        names = {key: row[key] for key in ("software", "tuned", "engine") if key in row}
        missing = [name for name in names.values() if name not in found]
        if missing:
            raise ResultError(f"'{row['what']}' of {row['result']} has no column {missing[0]}, which pages.toml names")
        value = {key: found[name].value for key, name in names.items()}
        best = min(value[key] for key in value if key != "engine")
        # If the best software needs 0, the engine is even at 0.
        ratio = value["engine"] / best if best else 1 if not value["engine"] else math.inf
        box = "**pays**" if ratio < 1 - EVEN else "**loses**" if ratio > 1 + EVEN else "even"
        values = [number(value[key]) if key in value else "-" for key in ("software", "tuned", "engine")]
        unit = found[names["engine"]].unit
        lines[box].append(_line([box, row["label"], *values, unit, f"{ratio:.2f}" if best else "-"]))
    head = [
        _line(["", "", "stock", "tuned", "engine", "unit", "ratio"]),
        _line(["---", "---", *["---:"] * 3, "---", "---:"]),
    ]
    return "\n".join([*head, *itertools.chain(*lines.values())]) + "\n"


def checks(results: Mapping[str, Result], rows: Sequence[Sequence[str]]) -> str:
    """Return README's list of comparisons: of each result its sentence, with figures for {row} and {row column}."""
    lines = []
    for name, sentence in rows:
        result = results.get(name)
        figures = result.figures if result else ()
        values = {f"{figure.what} {figure.of}".strip(): number(figure.value) for figure in figures}
        try:
            said = sentence.format_map(values)
        except KeyError as error:
            raise ResultError(f"results/pages.toml wants {error} of {name}, which is not on record") from None
        lines.append(f"- {said} (`{result.command}`, {result.commit[:7]}).")
    return "\n".join(lines) + "\n"


def between(text: str, name: str, table: str) -> str:
    """Return README's text with a table between its comments; ResultError says that they are not there."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ResultError(f"README.md has not {begin} and {end}, between which its table belongs")
    return pattern.sub(lambda _: f"{begin}\n{table}{end}", text)


def pages(results: Mapping[str, Result]) -> dict[Path, str]:
    """Return the pages that are made of the results on record, as they have to be."""
    wanted = tomllib.loads((RECORD / "pages.toml").read_text())
    readme = between(README.read_text(), "verdict", verdict(results, wanted["verdict"]))
    readme = between(readme, "checks", checks(results, wanted["checks"]))
    drawn = picture.ratios(results["calls"], wanted["picture"])
    return {PAGE: page(results, wanted["order"]), README: readme, PICTURE: drawn}
