# SPDX-License-Identifier: Apache-2.0
"""Values on the command line."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def number(text: str) -> int:
    """Read a number, decimal or with 0x."""
    return int(text, 0)


def count(text: str) -> int:
    """Read how many there are to be: at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too few: choose 1 or more")
    return value


def chosen(what: str, names: Sequence[str], known: Mapping[str, T]) -> list[T]:
    """Return what has these names, all that is known if there are none; RuntimeError tells of an unknown name."""
    for name in names:
        if name not in known:
            raise RuntimeError(f"there is no {what} '{name}': choose of {', '.join(known)}")
    return [known[name] for name in names or known]
