# SPDX-License-Identifier: Apache-2.0
"""Measures what the engine's work on swap tables costs and what it saves.

The engine's side is measured in its own cycles, each command by size and memory latency (table_cycles.py). Results
are files in build/bench-table.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from hwswap.bench import table_cycles
from hwswap.bench.table_cycles import LATENCIES, Measured
from hwswap.model.rows import SLOTS
from hwswap.project import provenance
from hwswap.project.paths import BUILD
from hwswap.results import schema

PEAK = 0.89
"""The target: the share of the port's peak that commands on 512 words reach. RANGE is the tightest: it waits for the
memory three times, and each time three cycles for the gate that keeps the engine's DMA in its windows."""

RANGES = ("RANGE", "FILL", "REPLACE", "CLEAR", "COUNT", "SCAN")
"""What reads or writes words in a row."""

SEVERAL = 4
"""COUNT and SCAN are made for devices: of one cluster they wait for long, twice with COUNT, which writes a result."""

TARGET_LATENCY = 20
"""The memory latency at which that is asked: what comes before the first word counts in the share, too."""

SHORT_LATENCIES = (TARGET_LATENCY,)
OUTPUT = BUILD / "bench-table"

ERR = Console(stderr=True, highlight=False)


def whole(figure: Measured) -> bool:
    """Tell whether a figure is of 512 words in a row, or of several clusters of them."""
    return figure.command in RANGES and figure.items >= (SLOTS if figure.unit == "slots" else SEVERAL)


Row = tuple[str, int, str]
"""What a row of a table is about: a command, how many, and of what."""


def row_of(figure: Measured) -> Row:
    """Return the row a figure belongs to."""
    return figure.command, figure.items, figure.unit


def by_latency(title: str, figures: Sequence[Measured], third: str, cell: Callable[[Measured], str]) -> Table:
    """Return a row a command and size, for each latency busy cycles, the round trip, and a third column."""
    latencies = sorted({figure.latency for figure in figures})
    found = {(row_of(figure), figure.latency): figure for figure in figures}
    shown = Table(title=title)
    shown.add_column("command", no_wrap=True)
    shown.add_column("of", justify="right", no_wrap=True)
    for latency in latencies:
        for name in (f"{latency}: busy", "trip", third):
            shown.add_column(name, justify="right", no_wrap=True)
    for row in sorted({row_of(figure) for figure in figures}):
        command, items, unit = row
        cells = [command, f"{items} {unit if items > 1 else unit[:-1]}"]
        for latency in latencies:
            figure = found[row, latency]
            cells += [f"{figure.busy:,}", f"{figure.round_trip:,}", cell(figure)]
        shown.add_row(*cells)
    return shown


def table(figures: Sequence[Measured]) -> Table:
    """Return the figures, with the share of the port's peak that they reach."""
    title = "Commands on swap tables: engine clock cycles by memory latency; share of the port's peak"
    return by_latency(title, figures, "peak", lambda of: f"{100 * of.share:.0f} %" if of.share else "-")


def misses(figures: Sequence[Measured]) -> list[str]:
    """Return which commands on 512 words miss the target, a sentence each."""
    return [
        f"{figure.command} of {figure.items} {figure.unit} reaches {100 * figure.share:.1f} % of the port's peak at "
        f"latency {figure.latency}, less than {100 * PEAK:.0f} %"
        for figure in figures
        if whole(figure) and figure.latency == TARGET_LATENCY and figure.share < PEAK
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command line's arguments."""
    parser.add_argument("--latencies", type=int, nargs="+", metavar="N", help="memory latencies in engine cycles")


def run(options: argparse.Namespace) -> int:
    """Measure, write JSON and plot, print the table; 1 where a target is missed."""
    latencies = options.latencies or (SHORT_LATENCIES if options.short else LATENCIES)
    if min(latencies) < 1:
        raise RuntimeError("a memory latency is at least 1 cycle: choose others for --latencies")
    with ERR.status("commands on swap tables, on the RTL and the golden model"):
        figures = table_cycles.run(latencies, options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    report = {
        "provenance": provenance.commit(),
        "seed": options.seed,
        "commands": [{**asdict(figure), "share": round(figure.share, 4)} for figure in figures],
    }
    (options.output / "engine.json").write_text(json.dumps(report, indent=2) + "\n")
    schema.save(
        "table-commands",
        [
            schema.Figure(
                f"{figure.command} of {figure.items} {figure.unit}",
                f"latency {figure.latency}",
                figure.busy,
                "cycles",
                {},
                0,
            )
            for figure in figures
        ],
        title="Commands on swap tables",
        command="make bench-table",
        platform="Verilated engine at rest, one command at a time, its own clock",
        leaves_out="other traffic on the bus",
        seed=options.seed,
        short=options.short,
    )
    console = Console(width=int(os.environ.get("COLUMNS", "120")))
    console.print(table(figures))
    wrong = misses(figures)
    for sentence in wrong:
        ERR.print(f"bench-table: {sentence}", soft_wrap=True)
    least = min((figure.share for figure in figures if whole(figure) and figure.latency == min(latencies)), default=0)
    print(
        f"all answers and words as the golden model's; 512 words and more at {100 * least:.1f} % of the port's peak or "
        f"above; {options.output}/engine.json"
    )
    return 1 if wrong else 0
