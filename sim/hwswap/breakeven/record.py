# SPDX-License-Identifier: Apache-2.0
"""Puts what `make bench-soc` and `make bench-harts` measured into figures.toml, behind the line that says so."""

import json
from pathlib import Path
from typing import Any

from hwswap.breakeven.figures import FILE, FLOOR, SCHEMES, FigureError

BEGIN = "# soc: by hwswap break-even --record, from JSON of make bench-soc\n"
BEGIN_HARTS = "# harts: by hwswap break-even --record, from JSON of make bench-harts\n"
HARTS = "rocket4"
"""The CPU whose file is of several harts."""


def means(run: dict[str, Any]) -> dict[tuple[str, str, str, int], float]:
    """Return the means of a run, of calls that all found room."""
    return {
        (cell["scheme"], cell["state"], cell["op"], cell["order"]): cell["mean"]
        for cell in run["cells"]
        if cell["scheme"] in (*SCHEMES, FLOOR) and cell["n"] and not cell["failures"]
    }


def rows(key: str, runs: list[dict[str, Any]]) -> str:
    """Return the rows of cells that all runs have."""
    found = [means(run) for run in runs]
    lines = [f"{key} = ["]
    for cell in found[0]:
        if all(cell in its for its in found):
            scheme, state, op, order = cell
            values = ", ".join(f"{its[cell]:.1f}" for its in found)
            lines.append(f'  ["{scheme}", "{state}", "{op}", {order}, {values}],')
    return "\n".join([*lines, "]"]) + "\n"


def harts(data: dict[str, Any]) -> str:
    """Return the part of figures.toml that is of several harts: what was measured, where locks were counted as well."""
    counts = sorted({row["harts"] for row in data["measured"]})
    means = {(row["scheme"], row["state"], row["load"], row["harts"]): row["cycles"] for row in data["measured"]}
    held = {
        (row["scheme"], row["state"], row["load"]): 2
        * row["locks"]["device"]["held"]
        / (row["alloc"]["n"] + row["free"]["n"])
        for row in data["locks counted"]
    }
    lines = []
    for scheme, state, load, number in means:
        # Who asks by a page of registers takes no lock.
        lock = 0.0 if scheme == "register" else held.get((scheme, state, load))
        if number == 1 and lock is not None:
            values = [*(means[scheme, state, load, count] for count in counts), lock]
            lines.append(f'  ["{scheme}", "{state}", "{load}", {", ".join(f"{value:.1f}" for value in values)}],')
    return (
        "\n[source.bench-harts]\n"
        'kind = "measured"\ncommand = "make bench-harts"\n'
        f'commit = "{data["runs"][0]["commit"]}"\n'
        f'platform = "simulated SoC, four Rocket harts, engine build {data["engine"]["build_hash"]}; '
        'docs/bench-harts.md"\n'
        "\n# Scheme, state, load; cycles of an allocation and its free on so many harts; of them, with one hart,\n"
        "# those in which the device's lock was held.\n"
        f'[harts]\nsource = "bench-harts"\ncounts = {counts}\n' + "\n".join(["rows = [", *lines, "]"]) + "\n"
    )


def part(path: Path) -> tuple[str, str]:
    """Return the part of figures.toml that a file of the bench makes, behind the line that it belongs to."""
    try:
        data = json.loads(path.read_text())
        if data["cpu"] == HARTS:
            return BEGIN_HARTS, harts(data)
        commit, cpu, build = data["commit"], data["cpu"], data["engine"]["build_hash"]
        by_latency = sorted((run for run in data["runs"] if run["sweeps"] == "latency"), key=lambda run: run["latency"])
        by_ratio = sorted((run for run in data["runs"] if run["sweeps"] == "ratio"), key=lambda run: run["ratio"])
        if len(by_latency) < 2:
            raise FigureError(f"{path} has no sweep of DRAM latencies: run `make bench-soc` without NO_SWEEP")
        latencies = [run["latency"] for run in by_latency]
        text = (
            f"\n[source.bench-soc-{cpu}]\n"
            'kind = "measured"\n'
            f'command = "make bench-soc CPU={cpu} DRAM_LATENCY=\\"{" ".join(map(str, latencies))}\\""\n'
            f'commit = "{commit}"\n'
            f'platform = "simulated SoC, {cpu}, one hart, engine build {build}; means of calls, the shorter form that '
            'sweeps take"\n'
            f"\n# Scheme, state, operation, order, cycles at each DRAM latency.\n[soc.{cpu}]\n"
            f'source = "bench-soc-{cpu}"\nlatencies = {latencies}\n{rows("rows", by_latency)}'
        )
        if len(by_ratio) > 1:
            text += (
                "# The same at each ratio of the engine's clock to the CPU's.\n"
                f"ratio_latency = {by_ratio[0]['latency']}\n"
                f"ratios = {[run['ratio'] for run in by_ratio]}\n{rows('ratio_rows', by_ratio)}"
            )
        return BEGIN, text
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise FigureError(f"{path} is not what `make bench-soc` writes: {error}") from error


def record(paths: list[Path], file: Path = FILE) -> None:
    """Write the parts of all files in the place of those of one hart, or of several, that are there."""
    head, found, rest = file.read_text().partition(BEGIN)
    if not found:
        raise FigureError(f"{file} has no line '{BEGIN.strip()}'")
    one, _, several = rest.partition(BEGIN_HARTS)
    made = [part(path) for path in paths]
    parts = {BEGIN: one.rstrip("\n") + "\n", BEGIN_HARTS: several}
    for begin in parts:
        if new := "".join(text for its, text in made if its == begin):
            parts[begin] = new
    file.write_text(head + BEGIN + parts[BEGIN] + "\n" + BEGIN_HARTS + parts[BEGIN_HARTS])
