# SPDX-License-Identifier: Apache-2.0
"""Writes the files that a board with a Rocket CPU boots Linux from.

hwswap soc card files --soc soc.json --output DIR
"""

import argparse
import sys
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap_litex import InputError

from hwswap_soc.linux import linux_image


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--soc", type=Path, required=True, help="soc.json, beside the bitstream")
    parser.add_argument("--engine", type=Path, default=BUILD / "rtl-soc/engine.json", help="engine.json")
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")


def run(options: argparse.Namespace) -> int:
    """Writes the files; returns the exit status."""
    try:
        linux_image.card(options.soc, options.engine, options.output, options.bootargs)
    except InputError as error:
        print(f"linux_image: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"linux_image: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"linux_image: what a board boots Linux from is in {options.output}; boot.json says what goes where")
    return 0
