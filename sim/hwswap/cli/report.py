# SPDX-License-Identifier: Apache-2.0
"""Commands of results: compare two folders, the page of all figures, tables of pages, sweeps."""

import argparse
from pathlib import Path

from rich.console import Console

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command


def fill_compare(parser: Parser) -> Run:
    """Add the arguments of `compare`."""
    from hwswap.results import compare, schema

    parser.describe(
        "Put the figures of two folders of results beside each other. The exit status is 1 where one is further off\n"
        "than its tolerance, or is missing in a result that both have."
    )
    parser.add_argument("before", type=Path, nargs="?", default=schema.RECORD, help="default: results, the record")
    parser.add_argument("after", type=Path, nargs="?", default=schema.RUNS, help="default: build/results")

    def run(arguments: argparse.Namespace) -> int:
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

    return run


def fill_report(parser: Parser) -> Run:
    """Add the arguments of `report`."""
    from hwswap.results import schema

    parser.describe("Write one HTML page of all figures of a folder, beside those on record.")
    parser.add_argument("results", type=Path, nargs="?", default=schema.RECORD, help="default: results, the record")
    parser.add_argument("--docs", action="store_true", help="make docs/results.md and README's table of the record")

    def run(arguments: argparse.Namespace) -> int:
        from hwswap.results import compare, report, tables

        record, found = schema.folder(schema.RECORD), schema.folder(arguments.results)
        if arguments.docs:
            for path, text in tables.pages(record).items():
                path.write_text(text)
            return 0
        report.write(found, pairs=None if arguments.results == schema.RECORD else compare.pairs(record, found))
        print(report.OUTPUT)
        return 0

    return run


def fill_sweep(parser: Parser) -> Run:
    """Add the arguments of `sweep`."""
    from hwswap.bench import sweep

    parser.describe(sweep)
    parser.add_argument("file", type=Path, help="the sweep, TOML: sim/sweeps/example.toml is one with remarks")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler that runs, as tcp://host:8786")
    where.add_argument("--slurm", type=options.count, metavar="JOBS", help="run on so many jobs of Slurm")
    options.jobs(parser)
    return sweep.run


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "compare", "put the figures of two folders of results beside each other", fill_compare)
    command(commands, "report", "write a page of all figures, beside those on record", fill_report)
    command(commands, "sweep", "measure a grid of engines, loads, policies, latencies and seeds", fill_sweep)
