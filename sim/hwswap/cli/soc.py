# SPDX-License-Identifier: Apache-2.0
"""Commands on the engine in a SoC: in simulation, in an FPGA, and what a board boots and is loaded with."""

import argparse
import json
from pathlib import Path

from hwswap.cli import options
from hwswap.cli.parser import Commands, Parser, Run, command, group


def fill_sim(parser: Parser) -> Run:
    """Add the arguments of `soc sim`."""
    from hwswap_soc.simulation import run

    parser.describe("Run an image on a simulated SoC and show what it prints. Exit status 1 when it says it failed.")
    run.add_arguments(parser)
    return run.run_command


def fill_bench(parser: Parser) -> Run:
    """Add the arguments of `soc bench`."""
    from hwswap_soc.bench import bench

    parser.describe(bench)
    bench.add_arguments(parser)
    options.jobs(parser, bench.JOBS)
    options.output_folder(parser, bench.OUTPUT)
    return bench.run


def fill_linux(parser: Parser) -> Run:
    """Add the arguments of `soc linux`."""
    from hwswap_soc.linux import linux

    parser.describe(linux)
    linux.add_arguments(parser)
    return linux.run


def fill_card_files(parser: Parser) -> Run:
    """Add the arguments of `soc card files`."""
    from hwswap_soc.linux import linux_image

    parser.describe(linux_image)
    linux_image.add_arguments(parser)
    options.output_folder(parser)
    return linux_image.run


def fill_card_make(parser: Parser) -> Run:
    """Add the arguments of `soc card make`."""
    from hwswap_soc.linux import card_image

    parser.describe(card_image)
    card_image.add_arguments(parser)
    options.output_file(parser)
    return card_image.run


def fill_card_write(parser: Parser) -> Run:
    """Add the arguments of `soc card write`."""
    from hwswap_soc.linux import card_write

    parser.describe(card_write)
    card_write.add_arguments(parser)
    return card_write.run


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


def fill_capacity_check(parser: Parser) -> Run:
    """Add the arguments of `soc capacity check`."""
    from hwswap_soc.boards import capacity

    parser.describe(capacity)
    capacity.add_arguments(parser)
    return capacity.run


def fill_capacity_synthesise(parser: Parser) -> Run:
    """Add the arguments of `soc capacity synthesise`, which has none."""
    from hwswap_soc.boards import capacity

    parser.describe("Synthesise the SoCs of all boards, and put on record what they take.")
    return capacity.run_synthesise


def fill_bitstreams(parser: Parser) -> Run:
    """Add the arguments of `soc bitstreams`."""
    from hwswap_soc.boards import bitstreams, capacity

    parser.describe(bitstreams)
    parser.add_argument("--seeds", type=options.count, default=2, metavar="N", help="placements each")
    capacity.add_arguments(parser)
    return bitstreams.run


def fill_flash(parser: Parser) -> Run:
    """Add the arguments of `soc flash`."""
    from hwswap_soc.boards import flash

    parser.describe(flash)
    flash.add_arguments(parser)
    return flash.run


def fill_fmax(parser: Parser) -> Run:
    """Add the arguments of `soc fmax`."""
    from hwswap_soc.fpga import engine_fmax

    parser.describe(engine_fmax)
    parser.add_argument("--seeds", type=options.count, default=5, metavar="N", help="placements per grade")
    engine_fmax.add_arguments(parser)
    options.output_folder(parser)
    return engine_fmax.run


def fill_size(parser: Parser) -> Run:
    """Add the arguments of `soc size`."""
    from hwswap_soc.fpga import engine_fmax

    parser.describe(
        "How large the engine alone is on an ECP5-85F: synthesised for few LUTs, as a SoC's is, not placed."
    )
    engine_fmax.add_size_arguments(parser)
    options.output_folder(parser)
    return engine_fmax.run_size


def fill_release_make(parser: Parser) -> Run:
    """Add the arguments of `soc release make`."""
    from hwswap_soc.boards import release

    parser.describe(release)
    release.add_arguments(parser)
    options.output_folder(parser, release.OUTPUT)
    return release.run


def fill_release_check(parser: Parser) -> Run:
    """Add the arguments of `soc release check`."""
    from hwswap_soc.boards import release_check

    parser.describe(release_check)
    release_check.add_arguments(parser)
    return release_check.run


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    actions = group(commands, "soc", "the engine in a SoC: simulated, and in an FPGA")
    command(actions, "sim", "run an image on the simulated SoC", fill_sim)
    command(actions, "bench", "compare allocation by software and by the engine in CPU cycles", fill_bench)
    command(actions, "linux", "boot Linux on the simulated SoC, and swap in every mode", fill_linux)
    command(actions, "board", "tell whether a board and a CPU go together", fill_board)
    command(actions, "timing", "show size and timing of a bitstream", fill_timing)
    command(actions, "fmax", "measure Fmax and size of the engine alone", fill_fmax)
    command(actions, "size", "tell the size of the engine alone, synthesised and not placed", fill_size)
    command(actions, "flash", "load a bitstream into a board", fill_flash)
    capacity = group(actions, "capacity", "whether SoCs fit into their FPGAs")
    command(capacity, "check", "what today's engine will take on each board", fill_capacity_check)
    command(capacity, "synthesise", "synthesise the SoCs of all boards", fill_capacity_synthesise)
    command(actions, "bitstreams", "make the bitstreams of all boards", fill_bitstreams)
    card = group(actions, "card", "the SD card that a board boots Linux from")
    command(card, "files", "write what a board boots Linux from", fill_card_files)
    command(card, "make", "make the image of a card", fill_card_make)
    command(card, "write", "write an image to a card", fill_card_write)
    release = group(actions, "release", "archives for those who have a board and no FPGA tools")
    command(release, "make", "make archives", fill_release_make)
    command(release, "check", "look at archives", fill_release_check)
