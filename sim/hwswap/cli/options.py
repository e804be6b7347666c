# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in every command that has them."""

import secrets
from pathlib import Path

from hwswap.cli.parser import Parser, argument
from hwswap.project import arguments, paths
from hwswap.project.arguments import count

SEED = {"type": arguments.seed, "metavar": "N"}
seed = argument("--seed", **SEED, default=1, help="seed of everything random (default: 1)")
drawn_seed = argument(
    "--seed",
    **SEED,
    default=secrets.randbits(32),
    help="seed of everything random (default: a new one, which is printed)",
)
short = argument("--short", action="store_true", help="the short form: less of everything, in less time")
output_file = argument("-o", "--output", type=arguments.new_file, required=True, metavar="FILE", help="file to write")


def jobs(parser: Parser, made: object) -> None:
    """Add --jobs; the default is JOBS of the command's module `made`, or 2."""
    default = getattr(made, "JOBS", 2)
    parser.add_argument(
        "--jobs", type=count, default=default, metavar="N", help=f"how many at the same time (default: {default})"
    )


def output_folder(parser: Parser, made: object) -> None:
    """Add --output; the default is OUTPUT of the command's module `made`, without which it has to be given."""
    default: Path | None = getattr(made, "OUTPUT", None)
    said = "folder to write to" + (f" (default: {default.relative_to(paths.ROOT)})" if default else "")
    parser.add_argument("-o", "--output", type=Path, default=default, required=not default, metavar="DIR", help=said)
