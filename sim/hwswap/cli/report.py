# SPDX-License-Identifier: Apache-2.0
"""Commands of results: compare two folders, the page of all figures, tables of pages, sweeps."""

import argparse
from pathlib import Path

from rich.console import Console

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, argument, of_function, of_module
from hwswap.results import schema


def compare_command(arguments: argparse.Namespace) -> int:
    """Put the figures of two folders of results beside each other.

    The exit status is 1 where one is further off than its tolerance, or is missing in a result that both have.
    """
    from hwswap.results import compare

    before, after = schema.folder(arguments.before), schema.folder(arguments.after)
    found, gone = compare.pairs(before, after), compare.lost(before, after)
    if not found:
        raise ValueError("the two have no figure in common; a short form is not compared with a full one")
    console = Console(soft_wrap=True, highlight=False)
    console.print(compare.table(found))
    for name in gone:
        console.print(f"hwswap: missing now: {name}", markup=False)
    console.print(f"{sum(pair.holds for pair in found)} of {len(found)} figures hold")
    return 0 if not gone and all(pair.holds for pair in found) else 1


def report_command(arguments: argparse.Namespace) -> int:
    """Write one HTML page of all figures of a folder, beside those on record."""
    from hwswap.results import compare, report, tables

    record, found = schema.folder(schema.RECORD), schema.folder(arguments.results)
    if arguments.docs:
        for path, text in tables.pages(record).items():
            path.write_text(text)
        return 0
    report.write(found, pairs=None if arguments.results == schema.RECORD else compare.pairs(record, found))
    print(report.OUTPUT)
    return 0


def add_where(parser: Parser, _: object) -> None:
    """Add where a sweep runs, unless on this machine."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler that runs, as tcp://host:8786")
    where.add_argument("--slurm", type=options.count, metavar="JOBS", help="run on so many jobs of Slurm")


AT_RECORD = {"type": Path, "nargs": "?", "default": schema.RECORD, "help": "default: results, the record"}
COMPARE = of_function(
    compare_command,
    argument("before", **AT_RECORD),
    argument("after", type=Path, nargs="?", default=schema.RUNS, help="default: build/results"),
)
REPORT = of_function(
    report_command,
    argument("results", **AT_RECORD),
    argument("--docs", action="store_true", help="make docs/results.md and README's table of the record"),
)
FILE = argument("file", type=Path, help="the sweep, TOML: sim/sweeps/example.toml is one with remarks")
SWEEP = of_module("hwswap.bench.sweep", FILE, add_where, options.jobs, arguments=None)
COMMANDS: Commands = {
    "compare": ("put the figures of two folders of results beside each other", COMPARE),
    "report": ("write a page of all figures, beside those on record", REPORT),
    "sweep": ("measure a grid of engines, loads, policies, latencies and seeds", SWEEP),
}
