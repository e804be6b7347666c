# SPDX-License-Identifier: Apache-2.0
"""Steps of the Makefile, which makes their needs beforehand: `python -m hwswap.cli.steps NAME`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from hwswap.cli import main as top
from hwswap.cli.options import count, jobs, output_folder, seed, short
from hwswap.cli.parser import Adder, Commands, Parser, argument, of_function, of_module


def check_board(chosen: argparse.Namespace) -> int:
    """Tell whether a board and a CPU go together, before anything is built for them."""
    from hwswap_soc.boards import boards, constraints, profiles

    boards.choose(chosen.board, chosen.cpu)
    constraints.clocks(chosen.board, chosen.cpu)
    profiles.load(profiles.chosen(chosen.board, chosen.cpu))
    return 0


def show_timing(chosen: argparse.Namespace) -> int:
    """Show a bitstream's use of its FPGA, and its speed; it was made before."""
    from hwswap_soc.fpga import fmax_report
    from rich.console import Console

    fmax_report.show(json.loads((chosen.folder / "timing.json").read_text()), Console())
    return 0


def placements(default: int, per: str) -> Adder:
    """Return a function that adds --seeds: the number of placements of each board or speed grade, which `per` names."""
    return argument("--seeds", type=count, default=default, metavar="N", help=f"placements per {per}")


SIM = "Run an image on a simulated SoC and show what it prints. Exit status 1 when it says it failed."
SIZE = "How large the engine alone is on an ECP5-85F: synthesised for few LUTs, as a SoC's is, not placed."
BOARD = of_function(check_board, argument("board"), argument("cpu"))
TIMING = of_function(show_timing, argument("folder", type=Path, help="what `make bitstream` made"))
FMAX = "hwswap_soc.fpga.engine_fmax"

STEPS: Commands = {
    "formal": ("prove parts of the engine", of_module("hwswap.verify.formal", short, seed, output_folder)),
    "mutate": ("try mutants on the engine's checks", of_module("hwswap.verify.mutate", short, jobs, arguments=None)),
    "coverage": ("tell what the simulations reach", of_module("hwswap.verify.rtl_coverage", short, arguments=None)),
    "patches": ("build and boot with each patch", of_module("hwswap.kernel.patch_steps", arguments=None)),
    "matrix": ("compile in many configurations", of_module("hwswap.kernel.build_matrix", arguments=None)),
    "sim": ("run an image on the simulated SoC", of_module("hwswap_soc.simulation.run", about=SIM, run="run_command")),
    "board": ("tell whether a board and a CPU go together", BOARD),
    "timing": ("show size and timing of a bitstream", TIMING),
    "fmax": ("measure Fmax and size of the engine alone", of_module(FMAX, placements(5, "grade"), output_folder)),
    "size": (
        "tell the size of the engine alone",
        of_module(FMAX, output_folder, about=SIZE, run="run_size", arguments="add_size_arguments"),
    ),
    "bitstreams": (
        "make the bitstreams of all boards",
        of_module("hwswap_soc.boards.bitstreams", placements(2, "board")),
    ),
}


def parser() -> Parser:
    """Return the command line's parser."""
    return top.parser("python -m hwswap.cli.steps", __doc__ or "", STEPS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a step; return its exit status."""
    return top.main(arguments, parser())


if __name__ == "__main__":
    sys.exit(main())
