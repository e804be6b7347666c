# SPDX-License-Identifier: Apache-2.0
"""Reads constraints/: the pins that a LiteX platform lacks, the frequency of a board's input clock, and the clocks."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hwswap_litex import InputError
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal

FOLDER = Path(__file__).resolve().parents[3] / "constraints"

_STATEMENTS = (
    ("frequency", re.compile(r'FREQUENCY PORT "(?P<port>\w+)" (?P<value>[0-9.]+) MHz')),
    ("site", re.compile(r'LOCATE COMP "(?P<port>\w+)" SITE "(?P<value>\w+)"')),
    ("io_type", re.compile(r'IOBUF PORT "(?P<port>\w+)" IO_TYPE=(?P<value>\w+)')),
    ("misc", re.compile(r'IOBUF PORT "(?P<port>\w+)" (?P<value>[A-Z]+=\w+)')),
)


@dataclass(frozen=True)
class Constraints:
    """What one board's fragment says.

    Attributes:
        input_clock: name of the board's oscillator in the platform.
        input_mhz: its frequency in MHz.
        extension: pins that the platform lacks, as a LiteX platform extension.
    """

    input_clock: str
    input_mhz: float
    extension: list


def _statements(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yields (kind, port, value) of each statement in an LPF file; anything it does not know is an error."""
    try:
        text = path.read_text()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(text.splitlines(), 1):
        statement = line.split("#")[0].strip()
        if not statement:
            continue
        for kind, pattern in _STATEMENTS:
            if found := pattern.fullmatch(statement.removesuffix(";")):
                yield kind, found["port"], found["value"]
                break
        else:
            raise InputError(f"{path}, line {number} is no constraint this project knows: {statement}")


def load(board: str, folder: Path = FOLDER) -> Constraints:
    """Reads the fragment of one board.

    A port `serial_tx` becomes signal `tx` of the LiteX resource `serial`, number 0.

    Args:
        board: name of the board.
        folder: where the fragments are.
    """
    path = folder / f"{board}.lpf"
    clocks: dict[str, float] = {}
    ports: dict[str, dict[str, list[str]]] = {}
    for kind, port, value in _statements(path):
        if kind == "frequency":
            clocks[port] = float(value)
        else:
            ports.setdefault(port, {}).setdefault(kind, []).append(value)
    if len(clocks) != 1:
        raise InputError(f"{path} has to give the frequency of one input clock; it gives {len(clocks)}.")

    resources: dict[str, list] = {}
    for port, facts in ports.items():
        if [len(facts.get(kind, [])) for kind in ("site", "io_type")] != [1, 1]:
            raise InputError(f"{path}: port {port} needs one LOCATE and one IO_TYPE.")
        resource, _, signal = port.rpartition("_")
        if not resource:
            raise InputError(f"{path}: port {port} is not named <resource>_<signal>.")
        details = [Pins(facts["site"][0]), IOStandard(facts["io_type"][0]), *map(Misc, facts.get("misc", []))]
        resources.setdefault(resource, []).append(Subsignal(signal, *details))
    [(clock, mhz)] = clocks.items()
    return Constraints(clock, mhz, [(resource, 0, *signals) for resource, signals in resources.items()])


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
        folder: where clocks.toml is.
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
