# SPDX-License-Identifier: Apache-2.0
"""Commands of results: sweeps, and the page of all figures. They have an environment of their own (docs/report.md)."""

import argparse
from pathlib import Path

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command


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
        "one Parquet file. Ctrl-C ends it; points that are done are kept, so that the next run goes on. The exit status\n"
        "is 1 where a point failed."
    )
    parser.add_argument("file", type=Path, help="the sweep, TOML")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler that runs, as tcp://host:8786")
    where.add_argument("--slurm", type=options.count, metavar="JOBS", help="run on so many jobs of Slurm")
    options.jobs(parser)
    parser.add_argument("--build", action="store_true", help="build engines that FILE names by their sizes")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/sweep/NAME)")

    def run(arguments: argparse.Namespace) -> int:
        from hwswap.sweep import command as sweep

        return sweep.run(arguments)

    return with_its_packages(run)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    command(commands, "sweep", "measure a grid of engines, loads, policies, latencies and seeds", fill_sweep)
