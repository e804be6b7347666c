# SPDX-License-Identifier: Apache-2.0
"""Reads constraints/profiles.toml: the engines of SoCs.

As a program, for sim/setup/build, it prints in a line each the profile's name, the options of hwswap.Emit, and
engine.json, which still lacks the build hash:

    python -m hwswap_soc.boards.profiles --board ecpix5 --cpu vexriscv       # the parts of that SoC
    python -m hwswap_soc.boards.profiles                                     # the simulation's, which has everything

Environment: PROFILE takes another profile than the table's; SOC_DEVICES, SOC_CPUS and SOC_CLUSTERS other sizes than the
profile's.
"""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.boards.constraints import FOLDER, read_toml
from hwswap_soc.system.program import program

SIMULATION = "full"
"""The profile of the simulated SoC."""

SIZES = ("devices", "cpus", "clusters")


def limits() -> dict[str, float]:
    """Return the share of the FPGA that a SoC may take, in percent by unit."""
    return read_toml(FOLDER / "profiles.toml")["limits"]


def default(board: str, cpu: str, folder: Path = FOLDER) -> str:
    """The name of the profile that a board has with a CPU.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        folder: the folder of profiles.toml.
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


def load(name: str, environment: Mapping[str, str] = os.environ, folder: Path = FOLDER) -> dict:
    """Read one profile: the content of engine.json for it, but for the build hash.

    Args:
        name: of the profile.
        environment: may hold other sizes, SOC_CLUSTERS and so on.
        folder: the folder of profiles.toml.
    """
    path = folder / "profiles.toml"
    table = read_toml(path).get("profile", {})
    if name not in table:
        raise InputError(f"profile '{name}' is not known: choose one of {', '.join(table)}, or add it to {path}")
    engine: dict = {"profile": name}
    for size in SIZES:
        variable = f"SOC_{size.upper()}"
        # An empty variable counts as not set, as in the shell's ${NAME:-default}.
        value = environment.get(variable) or table[name].get(size)
        if not str(value).isdecimal():
            raise InputError(f"{variable if environment.get(variable) else f'{path}: {size}'} is {value}, no number.")
        engine[size] = int(value)
    return engine | {"without": table[name]["without"], "added": table[name].get("added", [])}


def options(engine: dict) -> list[str]:
    """The options of hwswap.Emit, which checks them, for an engine as `load` has it."""
    sizes = [word for size in SIZES for word in (f"--{size}", str(engine[size]))]
    return [*sizes, *(f"--no-{part}" for part in engine["without"]), *(f"--{part}" for part in engine["added"])]


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Print what engine a SoC has.")
    parser.add_argument("--board", help="none: the simulation's")
    parser.add_argument("--cpu")
    given = parser.parse_args()
    engine = load(chosen(given.board, given.cpu))
    print(engine["profile"], " ".join(options(engine)), json.dumps(engine), sep="\n")


if __name__ == "__main__":
    raise SystemExit(main())
