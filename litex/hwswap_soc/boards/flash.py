# SPDX-License-Identifier: Apache-2.0
"""Loads a bitstream into a board: over JTAG with openFPGALoader, or OrangeCrab's USB boot loader with dfu-util.

hwswap soc flash --board ecpix5 --cpu vexriscv --dry-run
"""

import argparse
import shlex
import subprocess
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap_litex import InputError

from hwswap_soc.boards import boards
from hwswap_soc.fpga import fpga_tools


def command(board: str, path: Path, volatile: bool) -> list[str]:
    """The command that loads a bitstream.

    Args:
        board: name of the board.
        path: the bitstream.
        volatile: into the FPGA only, until power goes; else into the board's flash.
    """
    found = boards.BOARDS[board]
    if found.dfu:
        if volatile:
            raise InputError(
                f"the {found.title} is loaded by its boot loader, which writes the flash: leave --sram out."
            )
        vendor, product = found.dfu
        return ["dfu-util", "--device", f"{vendor}:{product}", "--alt", "0", "--download", str(path), "--reset"]
    target = [] if volatile else ["--write-flash"]
    return ["openFPGALoader", "--board", found.loader, *target, str(path)]


def load(words: list[str], tools: Path = fpga_tools.FOLDER) -> None:
    """Run the command; a missing board is an error that says which parts to check.

    Args:
        words: result of `command`.
        tools: folder of the programmers.
    """
    program = fpga_tools.tool(words[0], tools)
    result = subprocess.run(
        [program, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if result.returncode == 0:
        print(result.stdout, end="")
        return
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    reason = lines[-1] if lines else f"status {result.returncode}"
    raise InputError(
        f"{words[0]} could not load the board: {reason}; is it connected and on"
        + (" and in its boot loader (hold the button while it is plugged in)" if words[0] == "dfu-util" else "")
        + ", and may you use its USB device (udev rules, group plugdev)?"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--board", default="ecpix5", help=", ".join(boards.BOARDS))
    parser.add_argument("--cpu", default="vexriscv", help="vexriscv or rocket")
    parser.add_argument("--sram", action="store_true", help="into the FPGA only, not into the flash")
    parser.add_argument("--dry-run", action="store_true", help="print the command, do not run it")


def run(options: argparse.Namespace) -> int:
    """Load a bitstream, or print the command for it; return the exit status."""
    board = boards.choose(options.board, options.cpu)
    path = BUILD / f"bitstream-{options.board}-{options.cpu}" / ("hwswap.dfu" if board.dfu else "hwswap.bit")
    if not path.is_file():
        raise InputError(f"{path} is missing: make it with 'make bitstream BOARD={options.board} CPU={options.cpu}'")
    words = command(options.board, path, options.sram)
    if options.dry_run:
        print(shlex.join([fpga_tools.tool(words[0]), *words[1:]]))
    else:
        load(words)
    return 0
