# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the engine's work on swap tables, and its savings.

The engine's side is measured in its own cycles, each command by size and memory latency (table_cycles.py). The result
is a file in build/results.
"""

import argparse
import os
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from hwswap.bench import table_cycles
from hwswap.bench.table_cycles import LATENCIES, Measured
from hwswap.model.rows import SLOTS
from hwswap.project import printed
from hwswap.results import schema

PEAK = 0.89
"""The target: the share of the port's peak that commands on 512 words reach. RANGE is the tightest: it waits for the
memory three times, and each time three cycles for the gate that keeps the engine's DMA in its windows."""

RANGES = ("RANGE", "FILL", "REPLACE", "CLEAR", "COUNT", "SCAN")
"""Commands that read or write words in a row."""

SEVERAL = 4
"""COUNT and SCAN are made for devices: of one cluster they wait for long, twice with COUNT, which writes a result."""

TARGET_LATENCY = 20
"""The memory latency at which that is asked: the cycles before the first word count in the share, too."""

SHORT_LATENCIES = (TARGET_LATENCY,)

ERR = Console(stderr=True, highlight=False)


def whole(figure: Measured) -> bool:
    """Tell whether a figure is of 512 words in a row, or of several clusters of them."""
    return figure.command in RANGES and figure.items >= (SLOTS if figure.unit == "slots" else SEVERAL)


def table(figures: Sequence[Measured]) -> Table:
    """Return a row a command and size: by latency busy cycles, round trip, and share of the port's peak."""
    latencies = sorted({figure.latency for figure in figures})
    rows: dict[tuple[str, int, str], list[str]] = {}
    for figure in sorted(figures, key=lambda of: (of.command, of.items, of.unit, of.latency)):
        command, items, unit = row = figure.command, figure.items, figure.unit
        cells = rows.setdefault(row, [command, f"{items} {unit if items > 1 else unit[:-1]}"])
        share = f"{100 * figure.share:.0f} %" if figure.share else "-"
        cells += [f"{figure.busy:,}", f"{figure.round_trip:,}", share]
    title = "Commands on swap tables: engine clock cycles by memory latency; share of the port's peak"
    heads = [name for latency in latencies for name in (f"{latency}: busy", "trip", "peak")]
    return printed.table(title, ("command", "of", *heads), rows.values())


def misses(figures: Sequence[Measured]) -> list[str]:
    """Return which commands on 512 words miss the target, a sentence each."""
    return [
        f"{figure.command} of {figure.items} {figure.unit} reaches {100 * figure.share:.1f} % of the port's peak at "
        f"latency {figure.latency}, less than {100 * PEAK:.0f} %"
        for figure in figures
        if whole(figure) and figure.latency == TARGET_LATENCY and figure.share < PEAK
    ]


def run(options: argparse.Namespace) -> int:
    """Measure, write the result, print the table; 1 where a target is missed."""
    latencies = SHORT_LATENCIES if options.short else LATENCIES
    with ERR.status("commands on swap tables, on the RTL and the golden model"):
        figures = table_cycles.run(latencies, options.seed)
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
    print(f"all answers and words as the golden model's; 512 words and more at {100 * least:.1f} % of the port's peak")
    return 1 if wrong else 0
