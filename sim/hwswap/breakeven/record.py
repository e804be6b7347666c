# SPDX-License-Identifier: Apache-2.0
"""Puts what `make bench-soc`, bench-harts and soc-linux-smp measured into figures.toml, behind lines that say so."""

import json
from pathlib import Path
from typing import Any

from hwswap.breakeven.figures import FILE, FLOOR, SCHEMES, FigureError

BEGIN = "# soc: by hwswap break-even --record, from JSON of make bench-soc\n"
BEGIN_HARTS = "# harts: by hwswap break-even --record, from JSON of make bench-harts\n"
BEGIN_LINUX = "# linux_harts: by hwswap break-even --record, from JSON of make soc-linux-smp\n"
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


def linux(data: dict[str, Any]) -> str:
    """Return the part of figures.toml that is of Linux on several harts."""
    counts = sorted({row["harts"] for row in data["measured"]})
    cycles: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in data["measured"]:
        # There are few calls of other orders and on an area that is nearly full: a timer tick decides their mean.
        if row["order"] or row["full"]:
            continue
        key = ({"off": "stock", "hint": "grants"}[row["mode"]], "empty", row["order"])
        cycles.setdefault(key, {})[row["harts"]] = row["cycles"]
    lines = [
        f'  ["{scheme}", "{state}", {order}, {", ".join(str(its[count]) for count in counts)}],'
        for (scheme, state, order), its in cycles.items()
        # What a run that was ended early did not come to is left out.
        if all(its.values())
    ]
    return (
        "\n[source.soc-linux-smp]\n"
        'kind = "measured"\ncommand = "make soc-linux-smp"\n'
        f'commit = "{data["commits"]["hwswap"]}"\n'
        f'platform = "Linux, patch series {data["commits"]["patches"]}, on the simulated SoC with four Rocket harts, '
        f'engine build {data["engine"]["build_hash"]}; stock is mode off, grants is mode hint; docs/bench-harts.md"\n'
        "\n# Scheme, state, order; mean cycles of an allocation and of a free on so many harts.\n"
        f'[linux_harts]\nsource = "soc-linux-smp"\ncounts = {counts}\n' + "\n".join(["rows = [", *lines, "]"]) + "\n"
    )


def part(path: Path) -> tuple[str, str]:
    """Return the part of figures.toml that a file of the bench makes, behind the line that it belongs to."""
    try:
        data = json.loads(path.read_text())
        if "measured" in data and "cpu" not in data:
            return BEGIN_LINUX, linux(data)
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
    """Write the parts of all files in the place of those that are there of the same kind, each behind its line."""
    text = file.read_text()
    parts: dict[str, str] = {}
    for begin in reversed((BEGIN, BEGIN_HARTS, BEGIN_LINUX)):
        text, found, parts[begin] = text.partition(begin)
        if not found and begin == BEGIN:
            raise FigureError(f"{file} has no line '{BEGIN.strip()}'")
    made = [part(path) for path in paths]
    for begin in (BEGIN, BEGIN_HARTS, BEGIN_LINUX):
        new = "".join(its for kind, its in made if kind == begin) or parts[begin]
        if new:
            text = text.rstrip("\n") + "\n\n" + begin + new.rstrip("\n") + "\n"
    file.write_text(text)
