# SPDX-License-Identifier: Apache-2.0
"""Reads constraints/profiles.toml: what engine a SoC has.

As a program, for sim/setup/build, it prints in a line each the profile's name, the options of hwswap.Emit, and
engine.json, which still lacks the build hash:

    python -m hwswap_soc.boards.profiles --board ecpix5 --cpu vexriscv       # what that SoC has
    python -m hwswap_soc.boards.profiles                                     # the simulation's, which has everything

Environment: PROFILE takes another profile than the table's; SOC_DEVICES, SOC_CPUS and SOC_CLUSTERS other sizes than the
profile's.
"""

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.boards.constraints import FOLDER, read_toml
from hwswap_soc.system.program import program

SIMULATION = "full"
"""The profile of the simulated SoC."""

SIZES = ("devices", "cpus", "clusters")


@dataclass(frozen=True)
class Profile:
    """What an engine is made with.

    Attributes:
        name: in profiles.toml.
        sizes: of `SIZES`, by name.
        without: what the engine lacks, as the --no- options of hwswap.Emit name it.
        added: what it has beyond what it has by default, as options of hwswap.Emit name it.
    """

    name: str
    sizes: dict[str, int]
    without: tuple[str, ...]
    added: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Options of hwswap.Emit, which checks them."""
        sizes = [word for name, size in self.sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
        return [*sizes, *(f"--no-{part}" for part in self.without), *(f"--{part}" for part in self.added)]

    def engine(self) -> dict:
        """What engine.json says of an engine with this profile, but for the build hash."""
        facts = {**self.sizes, "profile": self.name, "without": list(self.without)}
        return {**facts, "added": list(self.added)} if self.added else facts


def limits() -> dict[str, float]:
    """How much of the FPGA a SoC may take, in percent by unit."""
    return read_toml(FOLDER / "profiles.toml")["limits"]


def default(board: str, cpu: str, folder: Path = FOLDER) -> str:
    """The name of the profile that a board has with a CPU.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        folder: where profiles.toml is.
    """
    try:
        return read_toml(folder / "profiles.toml")["board"][board][cpu]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / 'profiles.toml'} gives no profile for {cpu} on {board}.") from error


def chosen(board: str | None, cpu: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """The name of the profile that is asked for: the environment's, or the default.

    Args:
        board: name of the board; None for the simulated SoC.
        cpu: name of the CPU.
        environment: may hold PROFILE.
    """
    return environment.get("PROFILE") or (default(board, cpu) if board else SIMULATION)


def load(name: str, environment: Mapping[str, str] = os.environ, folder: Path = FOLDER) -> Profile:
    """Reads one profile.

    Args:
        name: of the profile.
        environment: may hold other sizes, SOC_CLUSTERS and so on.
        folder: where profiles.toml is.
    """
    path = folder / "profiles.toml"
    table = read_toml(path).get("profile", {})
    if name not in table:
        raise InputError(f"profile '{name}' is not known: choose one of {', '.join(table)}, or add it to {path}")
    sizes = {}
    for size in SIZES:
        variable = f"SOC_{size.upper()}"
        # What is set and empty is not set, as in the shell's ${NAME:-default}.
        value = environment.get(variable) or table[name].get(size)
        if not str(value).isdecimal():
            raise InputError(f"{variable if environment.get(variable) else f'{path}: {size}'} is {value}, no number.")
        sizes[size] = int(value)
    return Profile(name, sizes, tuple(table[name]["without"]), tuple(table[name].get("added", ())))


@program
def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Print what engine a SoC has.")
    parser.add_argument("--board", help="none: the simulation's")
    parser.add_argument("--cpu")
    options = parser.parse_args()
    profile = load(chosen(options.board, options.cpu))
    print(profile.name, " ".join(profile.options()), json.dumps(profile.engine()), sep="\n")


if __name__ == "__main__":
    raise SystemExit(main())
