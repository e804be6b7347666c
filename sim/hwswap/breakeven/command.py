# SPDX-License-Identifier: Apache-2.0
"""Calculates what a page of swap costs by software and by the engine, and where offload breaks even.

From measured engine cycles, guest instructions, SoC CPU cycles and published links (sim/hwswap/breakeven/figures.toml):
Amdahl's bound, then the cost of an allocation and its free over the link's latency, the number of CPUs, the order and
how full swap is, with its error beside the simulated SoC. Nothing is measured. Results are files in build/break-even.
"""

import argparse
import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from hwswap.breakeven import cost, figures, page, plot, record, report, table
from hwswap.project import paths, provenance

OUTPUT = paths.BUILD / "break-even"
TABLES = (
    "kernel",
    "kernel_by_round_trip",
    "bare_metal",
    "break_even_register",
    "break_even_kernel",
    "knees",
    "fits",
    "validation",
    "harts",
    "linux_harts",
    "ratios",
    "points",
)
"""Those that are CSV files, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--link", default="pcie", metavar="NAME", help="of curves over CPUs (default: pcie)")
    parser.add_argument("--latency", type=float, metavar="NS", help="that link's round trip (default: its own)")
    parser.add_argument(
        "--cpus", type=int, nargs="+", default=list(report.CPUS), metavar="N", help="how many swap (default: 1 to 64)"
    )
    parser.add_argument("--order", type=int, default=0, metavar="N", help="of the folios of curves (default: 0)")
    parser.add_argument("--points", action="store_true", help="print each point of the simulated SoC, with its error")
    parser.add_argument("--figures", type=Path, default=figures.FILE, metavar="FILE", help="what goes in")
    parser.add_argument("--docs", action="store_true", help="put tables and pictures into docs, too")
    parser.add_argument(
        "--record",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="put what `make bench-soc`, bench-harts or soc-linux-smp wrote there into the figures",
    )


def choose(options: argparse.Namespace, known: figures.Figures) -> figures.Link:
    """Return the link that was asked for; ValueError if anything asked for is nonsense."""
    if options.link not in known.links:
        raise ValueError(f"there is no link {options.link}: choose {', '.join(known.links)}")
    if options.order not in report.KERNEL_ORDERS:
        choices = ", ".join(map(str, report.KERNEL_ORDERS))
        raise ValueError(f"order {options.order} was not measured in a kernel: choose {choices}")
    if any(number < 1 for number in options.cpus):
        raise ValueError(f"{min(options.cpus)} CPUs are too few: choose 1 or more")
    link = known.links[options.link]
    if options.latency is None:
        return link
    if not math.isfinite(options.latency) or options.latency < 0:
        raise ValueError(f"a round trip of {options.latency:g} ns is nonsense: choose 0 or more")
    return cost.with_latency(link, options.latency)


def write(made: Mapping[str, Any], folder: Path) -> None:
    """Write JSON, CSV and pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "break-even.json").write_text(json.dumps(made, indent=1) + "\n")
    for name in TABLES:
        write_csv(made[name], folder / f"{name.replace('_', '-')}.csv")
    plot.draw(made, folder)


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows; what one has not is left empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def show(made: Mapping[str, Any], console: Console, points: bool) -> None:
    """Print the tables, Amdahl's bound first."""
    grids = [table.amdahl(made), table.kernel(made), table.kernel_break_even(made, 1), table.register_break_even(made)]
    grids += [table.by_cpus(made, "90 % full", load) for load in report.LOADS]
    grids += [table.knees(made), table.sensitivity(made), table.fits(made), table.validation(made), table.harts(made)]
    grids += [table.linux_harts(made), table.ratios(made)]
    if points:
        grids.append(table.points(made))
    for grid in grids:
        console.print(grid.rich())
    console.print(table.harts_sentence(made), soft_wrap=True)


def run(options: argparse.Namespace) -> int:
    """Calculate, print, write; return the exit status."""
    if options.record:
        record.record(options.record, options.figures)
    known = figures.load(options.figures)
    link = choose(options, known)
    made = report.make(known, link, sorted({1, *options.cpus}), options.order)
    made["commit"] = provenance.commit()
    write(made, options.output)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1) + "\n")
    if options.docs:
        page.write(made)
        plot.draw_docs(made, paths.ROOT / "docs")
    show(made, Console(highlight=False, width=None if sys.stdout.isatty() else 160), options.points)
    print(f"break-even: {options.output}/break-even.json, CSV and pictures beside it; commit {made['commit']}")
    return 0
