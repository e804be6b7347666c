# SPDX-License-Identifier: Apache-2.0
"""Commands on the engine in a SoC: in simulation, in an FPGA, and what a board boots and is loaded with."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from hwswap.cli.options import count, jobs, output_folder
from hwswap.cli.parser import Commands, Parser, Run, command, group, of_module

SIM = "Run an image on a simulated SoC and show what it prints. Exit status 1 when it says it failed."
SIZE = "How large the engine alone is on an ECP5-85F: synthesised for few LUTs, as a SoC's is, not placed."


def check_board(chosen: argparse.Namespace) -> int:
    """Tell whether a board and a CPU go together, before anything is built for them."""
    from hwswap_soc.boards import boards, constraints

    boards.choose(chosen.board, chosen.cpu)
    constraints.clocks(chosen.board, chosen.cpu)
    return 0


def fill_board(parser: Parser) -> Run:
    """Add the arguments of `soc board`."""
    from hwswap_soc.boards import boards
    from hwswap_soc.system import cpu

    parser.describe(check_board.__doc__)
    parser.add_argument("board", help=", ".join(boards.BOARDS))
    parser.add_argument("cpu", help=", ".join(cpu.PROFILES))
    return check_board


def show_timing(chosen: argparse.Namespace) -> int:
    """Show what a bitstream that was made before takes of its FPGA, and how fast it is."""
    from hwswap_soc.fpga import fmax_report
    from rich.console import Console

    try:
        report = json.loads((chosen.folder / "timing.json").read_text())
    except (OSError, ValueError) as error:
        raise RuntimeError(f"{chosen.folder}/timing.json cannot be read: run 'make bitstream' first") from error
    fmax_report.show(report, Console())
    return 0


def fill_timing(parser: Parser) -> Run:
    """Add the arguments of `soc timing`."""
    parser.describe(show_timing.__doc__)
    parser.add_argument("folder", type=Path, help="what `make bitstream` made")
    return show_timing


def placements(default: int, per: str) -> Callable[[Parser, object], None]:
    """Return what adds --seeds: how many placements there are of each board or speed grade, which `per` names."""

    def add(parser: Parser, _: object = None) -> None:
        parser.add_argument("--seeds", type=count, default=default, metavar="N", help=f"placements per {per}")

    return add


FMAX = "hwswap_soc.fpga.engine_fmax"
ON_SIM = of_module("hwswap_soc.simulation.run", about=SIM, run="run_command")
BENCH = of_module("hwswap_soc.bench.bench", jobs)
GRADES = of_module(FMAX, placements(5, "grade"), output_folder)
SMALL = of_module(FMAX, output_folder, about=SIZE, run="run_size", arguments="add_size_arguments")
BITSTREAMS = of_module("hwswap_soc.boards.bitstreams", placements(2, "board"))
CARD = of_module("hwswap_soc.linux.linux_image", output_folder)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    actions = group(commands, "soc", "the engine in a SoC: simulated, and in an FPGA")
    command(actions, "sim", "run an image on the simulated SoC", ON_SIM)
    command(actions, "bench", "compare allocation by software and by the engine in CPU cycles", BENCH)
    linux = of_module("hwswap_soc.linux.linux")
    command(actions, "linux", "boot Linux on the simulated SoC, and swap in every mode", linux)
    command(actions, "board", "tell whether a board and a CPU go together", fill_board)
    command(actions, "timing", "show size and timing of a bitstream", fill_timing)
    command(actions, "fmax", "measure Fmax and size of the engine alone", GRADES)
    command(actions, "size", "tell the size of the engine alone, synthesised and not placed", SMALL)
    command(actions, "flash", "load a bitstream into a board", of_module("hwswap_soc.boards.flash"))
    command(actions, "bitstreams", "make the bitstreams of all boards", BITSTREAMS)
    command(actions, "card", "write what a board boots Linux from", CARD)
