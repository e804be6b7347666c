# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in every command that has them."""

import argparse
from pathlib import Path

from hwswap.project import paths

REQUIRED = object()
"""In the place of a default: the option has to be given."""


def number(text: str) -> int:
    """Read a number, decimal or with 0x."""
    return int(text, 0)


def count(text: str) -> int:
    """Read how many there are to be: at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too few: choose 1 or more")
    return value


def seed(parser: argparse.ArgumentParser, default: object = 1, drawn: str = "a new one, which is printed") -> None:
    """Add --seed.

    Args:
        parser: of the command.
        default: the seed when none is given; None if the command draws one, REQUIRED if there has to be one.
        drawn: what the command says of the seed that it draws.
    """
    if default is REQUIRED:
        parser.add_argument("--seed", type=number, required=True, metavar="N", help="seed of everything random")
        return
    said = drawn if default is None else default
    parser.add_argument(
        "--seed", type=number, default=default, metavar="N", help=f"seed of everything random (default: {said})"
    )


def short(parser: argparse.ArgumentParser) -> None:
    """Add --short."""
    parser.add_argument("--short", action="store_true", help="the short form: less of everything, in less time")


def jobs(parser: argparse.ArgumentParser, default: int = 2) -> None:
    """Add --jobs.

    Args:
        parser: of the command.
        default: how many when it is not given.
    """
    parser.add_argument(
        "--jobs", type=count, default=default, metavar="N", help=f"how many at the same time (default: {default})"
    )


def _output(parser: argparse.ArgumentParser, default: Path | None, metavar: str, text: str) -> None:
    """Add --output, which has to be given when there is no default."""
    said = "" if default is None else f" (default: {default.relative_to(paths.ROOT)})"
    parser.add_argument(
        "-o", "--output", type=Path, default=default, required=default is None, metavar=metavar, help=f"{text}{said}"
    )


def output_file(parser: argparse.ArgumentParser, default: Path | None = None) -> None:
    """Add --output: a file.

    Args:
        parser: of the command.
        default: the file when it is not given; None if it has to be.
    """
    _output(parser, default, "FILE", "file to write")


def output_folder(parser: argparse.ArgumentParser, default: Path | None = None) -> None:
    """Add --output: a folder.

    Args:
        parser: of the command.
        default: the folder when it is not given; None if it has to be.
    """
    _output(parser, default, "DIR", "folder to write to")


def json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what is reported there as JSON, too")
