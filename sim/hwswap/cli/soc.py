# SPDX-License-Identifier: Apache-2.0
"""Commands on the engine in a SoC: in simulation, in an FPGA, and a board's boot images and bitstream."""

from hwswap.cli.options import jobs, output_folder
from hwswap.cli.parser import Commands, command, group, of_module

BENCH = of_module("hwswap_soc.bench.bench", jobs, output_folder)
LINUX = of_module("hwswap_soc.linux.linux")
FLASH = of_module("hwswap_soc.boards.flash")
CARD = of_module("hwswap_soc.linux.linux_image", output_folder)


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    actions = group(commands, "soc", "the engine in a SoC: simulated, and in an FPGA")
    command(actions, "bench", "compare allocation by software and by the engine in CPU cycles", BENCH)
    command(actions, "linux", "boot Linux on the simulated SoC, and swap in every mode", LINUX)
    command(actions, "flash", "load a bitstream into a board", FLASH)
    command(actions, "card", "write what a board boots Linux from", CARD)
