# SPDX-License-Identifier: Apache-2.0
"""Values on the command line."""

import argparse


def number(text: str) -> int:
    """Read a number, decimal or with 0x."""
    return int(text, 0)


def count(text: str) -> int:
    """Read how many there are to be: at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too few: choose 1 or more")
    return value
