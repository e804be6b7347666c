# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of constraints/: the clocks, and for profiles.py the engines."""

import tomllib
from pathlib import Path

from hwswap_litex import InputError

FOLDER = Path(__file__).resolve().parents[3] / "constraints"


def read_toml(path: Path) -> dict:
    """The contents of a table of constraints/."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def clocks(board: str, cpu: str, folder: Path = FOLDER) -> tuple[float, float]:
    """The frequency the PLL gives sys and the floor a bitstream has to reach, both in MHz.

    A board has floors of its own where it has a table `floor.<board>`, else those that hold for all.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        folder: the folder of clocks.toml.
    """
    path = folder / "clocks.toml"
    table = read_toml(path)
    try:
        floors = table["floor"] | table["floor"].get(board, {})
        sys, floor = float(table["sys"][board][cpu]), float(floors[cpu])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} gives no clock or no floor for {cpu} on {board}.") from error
    if sys < floor:
        raise InputError(f"{path}: sys of {cpu} on {board} is {sys} MHz, below the floor of {floor} MHz.")
    return sys, floor
