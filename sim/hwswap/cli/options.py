# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in every command that has them."""

import argparse
import secrets
from pathlib import Path

from hwswap.project import arguments, paths
from hwswap.project.arguments import count


def seed(parser: argparse.ArgumentParser, _: object = None) -> None:
    """Add --seed."""
    said = "seed of everything random (default: 1)"
    parser.add_argument("--seed", type=arguments.seed, default=1, metavar="N", help=said)


def drawn_seed(parser: argparse.ArgumentParser, _: object = None) -> None:
    """Add --seed; where none is given, one is drawn, which the command prints."""
    said = "seed of everything random (default: a new one, which is printed)"
    parser.add_argument("--seed", type=arguments.seed, default=secrets.randbits(32), metavar="N", help=said)


def short(parser: argparse.ArgumentParser, _: object = None) -> None:
    """Add --short."""
    parser.add_argument("--short", action="store_true", help="the short form: less of everything, in less time")


def jobs(parser: argparse.ArgumentParser, made: object = None) -> None:
    """Add --jobs; the default is JOBS of the command's module `made`, or 2."""
    default = getattr(made, "JOBS", 2)
    parser.add_argument(
        "--jobs", type=count, default=default, metavar="N", help=f"how many at the same time (default: {default})"
    )


def output_folder(parser: argparse.ArgumentParser, made: object = None) -> None:
    """Add --output; the default is OUTPUT of the command's module `made`, without which it has to be given."""
    default: Path | None = getattr(made, "OUTPUT", None)
    said = (
        "folder to write to" if default is None else f"folder to write to (default: {default.relative_to(paths.ROOT)})"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=default, required=default is None, metavar="DIR", help=said
    )


def output_file(parser: argparse.ArgumentParser, _: object = None) -> None:
    """Add --output, which has to be given."""
    parser.add_argument("-o", "--output", type=arguments.new_file, required=True, metavar="FILE", help="file to write")
