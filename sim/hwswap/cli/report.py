# SPDX-License-Identifier: Apache-2.0
"""Commands of results: sweeps, and the page of all figures. They have an environment of their own (docs/report.md)."""

import argparse
from pathlib import Path

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command
from hwswap.project import paths


def with_its_packages(run: Run) -> Run:
    """Say what to do where the environment of these commands is not there."""

    def running(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except ModuleNotFoundError as error:
            raise RuntimeError(
                f"this command needs the Python package {error.name}: run `make report-env` once, then call ./hwswap "
                "in the repository"
            ) from error

    return running


def fill_sweep(parser: Parser) -> Run:
    """Add the arguments of `sweep`."""
    parser.describe(
        "Measure a grid of engines, loads, policies, latencies and seeds, as FILE has it (docs/report.md), and write\n"
        "one Parquet file. Ctrl-C ends it; points that are done are kept, so that the next run goes on. The exit\n"
        "status is 1 where a point failed."
    )
    parser.add_argument("file", type=Path, help="the sweep, TOML")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler that runs, as tcp://host:8786")
    where.add_argument("--slurm", type=options.count, metavar="JOBS", help="run on so many jobs of Slurm")
    options.jobs(parser)
    parser.add_argument("--build", action="store_true", help="build engines that FILE names by their sizes")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/sweep/NAME)"
    )

    def run(arguments: argparse.Namespace) -> int:
        from hwswap.sweep import plan

        # Before what takes long to load, and may be missing: what is wrong with the file can be said without it.
        found = plan.read(arguments.file)
        from hwswap.sweep import command as sweep

        return sweep.run(found, arguments)

    return with_its_packages(run)


def fill_report(parser: Parser) -> Run:
    """Add the arguments of `report`."""
    parser.describe(
        "Write one HTML page of all figures, and a PDF of it: of a run, of two runs, or of a sweep. Figures that a\n"
        "run does not have are those that README and docs have on record, and say so."
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=paths.BUILD,
        help="folder of results: build, or a copy (default: build)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two such folders; `record` is what README and docs have"
    )
    what.add_argument("--sweep", type=Path, metavar="FILE", help="a sweep's Parquet file: all is drawn from it alone")
    parser.add_argument("--no-pdf", dest="pdf", action="store_false", help="the HTML page alone")
    options.output_folder(parser, paths.BUILD / "report")

    def run(arguments: argparse.Namespace) -> int:
        from hwswap.report import command as report

        return report.run(arguments)

    return with_its_packages(run)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "sweep", "measure a grid of engines, loads, policies, latencies and seeds", fill_sweep)
    command(commands, "report", "write a page of all figures, of a run, of two, or of a sweep", fill_report)
