# SPDX-License-Identifier: Apache-2.0
"""Values on the command line."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def seed(text: str) -> int:
    """Read a seed, decimal or with 0x: 0 to 2^64 - 1."""
    value = int(text, 0)
    if not 0 <= value < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text} is no seed: choose 0 to 2^64 - 1")
    return value


def new_file(text: str) -> Path:
    """Read the name of a file that is to be written, in a folder that is there."""
    path = Path(text)
    if text == "-":
        raise argparse.ArgumentTypeError("nothing is written to standard output: name a file")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.resolve().is_file():
        raise argparse.ArgumentTypeError(f"{path} is a device or a pipe, not a file: name a file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}: make it first, or name another")
    return path


def count(text: str) -> int:
    """Read how many there are to be: at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too few: choose 1 or more")
    return value


def name(what: str, known: Iterable[str]) -> Callable[[str], str]:
    """Return a function that reads one of these names."""
    table = {each: each for each in known}
    return lambda text: chosen(what, [text], table)[0]


def names(what: str, known: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that reads some of these names, with commas between."""
    table = {each: each for each in known}
    return lambda text: chosen(what, text.split(","), table)


def within(kind: Callable[[str], float], low: float, high: float) -> Callable[[str], float]:
    """Return a function that reads a number from `low` to `high`."""

    def number(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: choose {low} to {high}")
        return value

    return number


def chosen(what: str, names: Sequence[str], known: Mapping[str, T]) -> list[T]:
    """Return the values of these names, all known ones if no name is given; RuntimeError tells of an unknown name."""
    for name in names:
        if name not in known:
            raise RuntimeError(f"there is no {what} '{name}': choose of {', '.join(known)}")
    return [known[name] for name in names or known]
