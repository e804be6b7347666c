# SPDX-License-Identifier: Apache-2.0
"""Loads a bitstream into a board: over JTAG with openFPGALoader, or OrangeCrab's USB boot loader with dfu-util.

hwswap soc flash --board ecpix5 --cpu vexriscv --dry-run
"""

import argparse
import json
import shlex
import subprocess
from pathlib import Path

from hwswap_litex import EngineInfo, InputError

from hwswap_soc.boards import boards, profiles, sources
from hwswap_soc.fpga import fpga_tools, steps

BUILD = sources.ROOT / "build"


def find(board: str, cpu: str, folder: Path, engines: Path | None = None) -> Path:
    """Makes sure that a folder holds the bitstream of a board and CPU, made from the sources as they are now.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        folder: what `make bitstream` made.
        engines: holds the Verilog of the engine as it is now, in rtl-board-<profile>; it is made when None, unless it
            is there.

    Returns:
        The file to load.
    """
    found = boards.choose(board, cpu)
    build = f"make bitstream BOARD={board} CPU={cpu}"
    try:
        report = json.loads((folder / "timing.json").read_text())
        made_for = report["board"], report["cpu"]
        engine, recorded = report["engine"]["build_hash"], report["sources"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"there is no bitstream for {cpu} on {board}: make it with '{build}'") from error
    if made_for != (board, cpu):
        raise InputError(f"{folder} is for {made_for[1]} on {made_for[0]}, not for {cpu} on {board}: run '{build}'")
    if changed := sources.changed(recorded):
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(f"the bitstream (engine {engine}) is older than {changed[0]}{more}: run '{build}'")
    if engines is None and not steps.build({"BOARD": board, "CPU": cpu}, "rtl-board"):
        raise InputError("the engine cannot be made: the lines above say why")
    present = EngineInfo.load((engines or BUILD) / f"rtl-board-{profiles.chosen(board, cpu)}")
    if present.build_hash != engine:
        raise InputError(
            f"the bitstream's engine {engine} is not what the sources make now ({present.build_hash}, profile "
            f"{present.profile}): run '{build}', or give PROFILE= and sizes as it was made with"
        )
    path = folder / ("hwswap.dfu" if found.dfu else "hwswap.bit")
    if not path.is_file():
        raise InputError(f"{path} is missing, its timing was not met: run '{build}' with more SEEDS=")
    return path


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
    """Runs the command; a missing board is an error that says what to look at.

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
    """Adds the command's own arguments."""
    parser.add_argument("--board", default="ecpix5", help=", ".join(boards.BOARDS))
    parser.add_argument("--cpu", default="vexriscv", help="vexriscv or rocket")
    parser.add_argument("--folder", type=Path, help="of the bitstream; build/bitstream-<board>-<cpu>")
    parser.add_argument("--sram", action="store_true", help="into the FPGA only, not into the flash")
    parser.add_argument("--dry-run", action="store_true", help="print the command, do not run it")


def run(options: argparse.Namespace) -> int:
    """Loads a bitstream, or says by which command; returns the exit status."""
    folder = options.folder or BUILD / f"bitstream-{options.board}-{options.cpu}"
    words = command(options.board, find(options.board, options.cpu, folder), options.sram)
    if options.dry_run:
        print(shlex.join([fpga_tools.tool(words[0]), *words[1:]]))
    else:
        load(words)
    return 0
