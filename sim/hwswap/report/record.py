# SPDX-License-Identifier: Apache-2.0
"""What README and docs have on record, as figures: their tables are read, nothing is written down a second time."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hwswap.project import paths
from hwswap.report import results
from hwswap.report.figures import Call, Calls, Check, Figures, Matrix, ReportError, Source, Stat

COMMIT = re.compile(r"commit ([0-9a-f]{7,40})")
CALL = re.compile(r"(allocate|free|allocate / free) order (\d)(?:, (.*))?")


@dataclass(frozen=True)
class Table:
    """A table of a page: its head, its rows, and the page's text around it."""

    page: str
    head: list[str]
    rows: list[list[str]]
    before: str
    after: str


def plain(text: str) -> str:
    """Return Markdown without links, code marks and emphasis."""
    return re.sub(r"\*\*|`", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)).strip()


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [plain(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(page: str, beginning: str, number: int = 0) -> Table:
    """Return a table of a page.

    Args:
        page: its name in the repository.
        beginning: how the table's head begins, behind the first bar.
        number: which of those, the first being 0.
    """
    lines = (paths.ROOT / page).read_text().splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith(f"| {beginning}")]
    if len(heads) <= number:
        raise ReportError(f"{page} has no table that begins with '{beginning}' any more, which the report reads")
    at = heads[number]
    end = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
    return Table(
        page,
        cells(lines[at]),
        [cells(line) for line in lines[at + 2 : end]],
        "\n".join(lines[:at]),
        "\n".join(lines[end:]),
    )


def number(text: str) -> float | None:
    """Return the number of a cell, None where there is none."""
    found = re.match(r"-?[\d,]+(?:\.\d+)?", text.strip())
    return float(found[0].replace(",", "")) if found else None


def stat(cell: str, words: str = "") -> Stat | None:
    """Return a cell `p50 / average / p99`, or the mean alone."""
    failed = "all fail" in cell or "all fail" in words or "no room" in words
    found = [number(part) for part in cell.split(" / ")]
    if found[0] is None:
        return None
    if len(found) == 3 and found[1] is not None:
        return Stat(found[1], found[0], found[2], failed)
    return Stat(found[0], None, None, failed)


def source(found: Table, said: str | re.Pattern[str] = COMMIT, **more: str) -> Source:
    """Return where a table is from.

    Args:
        found: the table.
        said: a pattern whose group is the commit: looked for in the head, then behind the table's last line before and
            after it.
        more: other commits.
    """
    pattern = re.compile(said) if isinstance(said, str) else said
    before = list(pattern.finditer(found.before))
    match = pattern.search(" ".join(found.head)) or (before[-1] if before else None) or pattern.search(found.after)
    commits = ({"hwswap": match[1]} if match else {}) | more
    seed = re.search(r"seed (\d+)", " ".join(found.head))
    return Source("record", found.page, commits, int(seed[1]) if seed else None)


def call(words: str, op: str = "") -> Call | None:
    """Return the kind of call that a row is about."""
    match = CALL.fullmatch(words)
    if match is None:
        return None
    verb = op or ("alloc" if match[1] == "allocate" else "free")
    return verb, int(match[2]), (match[3] or "").replace(", all fail", "")


def calls(name: str, unit: str, found: Table, where: Source, names: Mapping[str, str] | None = None) -> Calls:
    """Return a table with a row a call and a column a way; columns that are no such are left out by `names`."""
    rows: dict[Call, dict[str, Stat]] = {}
    for words, *row in found.rows:
        kind = call(words)
        for column, cell in zip(found.head[1:], row, strict=False):
            value = stat(cell, words)
            if kind is not None and value is not None and (names is None or column in names):
                rows.setdefault(kind, {})[column if names is None else names[column]] = value
    return Calls(name, unit, rows, where)


def demo() -> Calls:
    """The running kernel: its table has fragmented swap in columns of their own."""
    found = table("docs/results.md", "guest instructions a call, p50 / average over everything")
    rows: dict[Call, dict[str, Stat]] = {}
    for words, *row in found.rows:
        op, order, _ = call(words) or ("", 0, "")
        for column, cell in zip(found.head[1:], row, strict=True):
            state = "fragmented" if column.startswith("fragmented, ") else "after the loads"
            value = stat(cell)
            if value is not None:
                rows.setdefault((op, order, state), {})[column.removeprefix("fragmented, ")] = value
    heading = found.before.rindex("## A running kernel")
    commit = COMMIT.search(found.before, heading)
    return Calls(
        "demo", "guest instructions", rows, Source("record", found.page, {"hwswap": commit[1]} if commit else {})
    )


def fallbacks() -> Matrix:
    """Large folios that are split; the row in brackets is of an earlier engine."""
    found = table("docs/results.md", "of ")
    whole = number(found.head[0].removeprefix("of "))
    names = {
        "the kernel's own placement": "linux",
        "grants, indexed, sparing": "indexed",
        "grants, open": "open",
        "grants of the Verilated engine, indexed, sparing": "engine-indexed",
        "grants of the Verilated engine, open": "engine-open",
    }
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for words, *row in found.rows:
        if words in names:
            values = {column: number(cell) for column, cell in zip(found.head[1:], row, strict=True)}
            rows["2", "92 %", names[words]] = values | {"of": whole}
    return Matrix(
        "fallbacks", ("devices", "full", "placement"), rows, source(found, r"`, 363 s[^(]*\(commit ([0-9a-f]+)")
    )


def words() -> Calls:
    """Entries written by the engine, in a guest: allocations and frees share a cell."""
    found = table("docs/swap-table.md", "| unpatched | stock")
    rows: dict[Call, dict[str, Stat]] = {}
    for title, *row in found.rows:
        for column, cell in zip(found.head[1:], row, strict=True):
            for op, part in zip(("alloc", "free"), cell.split(" / "), strict=True):
                value, kind = stat(part), call(title, op)
                if value is not None and kind is not None:
                    rows.setdefault(kind, {})[column] = value
    return Calls("words", "guest instructions", rows, source(found, r"figures below are of commit ([0-9a-f]{7,})"))


def swapoff() -> Matrix:
    """What swapoff takes; the table has a column a page_cluster."""
    found = table("docs/swap-table.md", "page_cluster")
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for words, *row in found.rows:
        if words.endswith(", modelled ms"):
            for page_cluster, cell in zip(found.head[1:], row, strict=True):
                rows.setdefault((page_cluster,), {})[words.replace("modelled ms", "ms")] = number(cell)
    where = source(found, r"figures below are of commit ([0-9a-f]{7,})")
    return Matrix("swapoff", ("page_cluster",), rows, where)


def table_commands() -> Matrix:
    """The engine's commands on swap tables."""
    found = table("docs/swap-table.md", "command | of | busy, 20")
    names = [f"{what}, {latency}" for latency in (20, 100) for what in ("busy", "round trip", "% of peak")]
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for command, of, *row in found.rows:
        rows[command, of] = {name: number(cell) for name, cell in zip(names, row, strict=True)}
    where = source(found, r"figures below are of commit ([0-9a-f]{7,})")
    return Matrix("table-commands", ("command", "of"), rows, where)


def engine() -> Matrix:
    """The core's cycles on recorded traces."""
    found = table("docs/results.md", "engine clock cycles an operation")
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for words, *row in found.rows:
        what, _, path = words.partition(", ")
        moves = {"cluster keeps its list": "no", "cluster changes its list": "yes"}
        path, _, list_ = path.rpartition(", ") if path.rpartition(", ")[2] in moves else (path, "", "")
        rows[what, path, moves.get(list_, "")] = {
            name: number(cell) for name, cell in zip(found.head[1:], row, strict=True)
        }
    return Matrix("engine", ("operation", "path", "changes list"), rows, source(found))


def scale() -> Matrix:
    """Clusters in DRAM, by size."""
    found = table("docs/engine.md", "swap | fresh: mean, p50, p99")
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for words, *row in found.rows:
        size, _, chip = words.partition(", ")
        for work, cell in zip(("fresh", "churn", "scan"), row[:3], strict=True):
            mean, p50, p99 = (number(part) for part in cell.split(", "))
            hits = number(row[3]) if work == "churn" else None
            store = "on chip" if chip else "in DRAM"
            rows[size, store, work, "50"] = {"mean": mean, "p50": p50, "p99": p99, "cache hits, %": hits}
    where = source(found, r"The table is of commit ([0-9a-f]{7,})")
    return Matrix("scale", ("swap", "clusters", "work", "latency"), rows, where)


def harts(name: str, head: str) -> Matrix:
    """Several harts: a cell has the cycles of 1, 2 and 4, the next one how they grow."""
    found = table("docs/bench-harts.md", head)
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for case, *row in found.rows:
        for column, cell in zip(found.head[1:], row, strict=True):
            for count, part in zip((1, 2, 4), cell.split(" / "), strict=False):
                if column != "growth" and (value := number(part)) is not None:
                    rows.setdefault((case, str(count)), {})[column] = value
    return Matrix(name, ("device, load", "harts"), rows, source(found))


def bare_harts() -> Matrix:
    """Bare metal on several harts."""
    return harts("soc-harts", "device, load")


def linux_harts() -> Matrix:
    """Linux on several harts."""
    return harts("soc-linux-harts", "Linux: device, load")


def soc_linux() -> Calls:
    """Linux on the simulated SoC."""
    found = table("docs/results.md", "CPU cycles a call in Linux")
    names = {name: name for name in ("off", "hint")}
    return calls("soc-linux", "CPU cycles", found, source(found), names)


def bitstreams() -> Matrix:
    """The bitstreams, of the file that their tables are made from."""
    place = "docs/bitstreams.json"
    (made,) = results.bitstreams(json.loads((paths.ROOT / place).read_text()), place)
    assert isinstance(made, Matrix)
    made.source = Source("record", place, made.source.commits, None, made.source.versions)
    return made


CHECKS = {
    "fresh recordings in lock-step, kernel, golden model and RTL": "lockstep",
    "an unpatched kernel, the patched one in mode off and the golden model, by one script": "witness",
    "proofs": "formal",
    "what the simulations reach": "coverage",
    "mutants found by the checks": "mutate",
}


def checks() -> dict[str, Check]:
    """What the checks came to; those that a run can leave have the name that its reader gives them."""
    found = table("docs/results.md", "check | figure | how")
    made = {}
    for words, figure, how in found.rows:
        commit = COMMIT.search(how)
        if commit is None:
            continue
        command = how[: commit.start()].rstrip(", ")
        name = CHECKS.get(words, words)
        made[name] = Check(words, figure, command, Source("record", found.page, {"hwswap": commit[1]}))
    return made


def read() -> Figures:
    """Read all that is on record."""
    figures = Figures()
    results_page, soc_page = "docs/results.md", "docs/bench-soc.md"
    offload = table(results_page, "guest instructions a call, p50 / average / p99 (patch series")
    patches = re.search(r"patch series ([0-9a-f]+)", offload.head[0])
    where = source(offload, **({"patches": patches[1]} if patches else {}))
    figures.add(calls("offload", "guest instructions", offload, where))
    tuned = table(results_page, "guest instructions a call, p50 / average / p99 (commit")
    names = {name: name for name in ("unpatched", "off", "tuned")}
    figures.add(calls("tuned", "guest instructions", tuned, source(tuned), names))
    for cpu, which in (("vexriscv", 0), ("rocket", 1)):
        found = table(soc_page, "CPU cycles a call, mean over all", which)
        figures.add(calls(f"soc-{cpu}", "CPU cycles", found, source(found)))
    for make in (demo, words, fallbacks, swapoff, table_commands, engine, scale, soc_linux):
        figures.add(make())
    for make in (bare_harts, linux_harts, bitstreams):
        figures.add(make())
    figures.checks = checks()
    return figures


def verdict() -> list[Table]:
    """Return README's answer: where the engine wins, where it does not, and what tuned software gets alone."""
    return [table("README.md", head) for head in ("where it wins", "where it does not", "instructions, average")]


def measured() -> Table:
    """Return README's table of figures."""
    return table("README.md", "figure | value | command")


def picture(name: str) -> str:
    """Return a picture of docs/ as SVG."""
    return Path(paths.ROOT / "docs" / name).read_text()
