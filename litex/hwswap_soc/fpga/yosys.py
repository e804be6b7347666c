# SPDX-License-Identifier: Apache-2.0
"""Synthesis of a SoC, from the bottom up: CPU and engine alone, and both put into the synthesised rest.

Rocket takes Yosys ten minutes and is the same on every board, so its netlist is made once; the engine's serves all
boards and CPUs that have its profile. Each module's use of the FPGA is then known exactly. Optimisations through the
modules' ports are lost; these are registers on nearly all paths here.
"""

from collections.abc import Iterable
from pathlib import Path

from hwswap_soc.fpga import steps

LIBRARY = ("read_verilog -lib -specify +/ecp5/cells_sim.v +/ecp5/cells_bb.v",)
"""Commands that read the FPGA's cells, as synth_ecp5 does."""


def reads(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Return commands that read Verilog.

    Args:
        sources: file and language, `verilog` or `systemverilog`.
    """
    return [f"read_verilog {'-sv ' * (language == 'systemverilog')}{name}" for name, language in sources]


def module(name: str, sources: Iterable[tuple[str, str]]) -> list[str]:
    """Return commands that read a module which is synthesised alone.

    Args:
        name: of the module in Verilog.
        sources: file and language of each source.
    """
    # Rocket looks things up by chains of a hundred comparisons with one signal; as one multiplexer each they are short.
    return [*reads(sources), f"hierarchy -top {name}", "proc", "muxpack"]


def writes(name: str, output: Path) -> list[str]:
    """Return commands that write a synthesised module as a part of a SoC.

    Args:
        name: of the module.
        output: folder for part.il.
    """
    # Without the library's cells, which the SoC brings too; `top` would make it the top of the SoC as well.
    return [f"select {name}", "setattr -mod -unset top", f"write_rtlil -selected {output / 'part.il'}"]


def run(script: list[str], name: str, output: Path, folder: Path) -> None:
    """Run a script.

    Args:
        script: its commands.
        name: of the files for script and log, without suffix.
        output: folder for them.
        folder: working directory, where memory contents are found.
    """
    path = output / f"{name}.ys"
    path.write_text("\n".join(script) + "\n")
    steps.run(["yosys", "-s", str(path)], output / f"{name}.log", folder)
