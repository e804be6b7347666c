# SPDX-License-Identifier: Apache-2.0
"""Yosys, from the bottom up: CPU and engine are synthesised alone, and put into the synthesised rest of a SoC.

Rocket takes Yosys ten minutes and is the same on every board, so its netlist is made once; the engine's serves all
boards and CPUs. What a module takes of the FPGA is then known exactly. What is lost are optimisations through the
modules' ports, which are registers on nearly all paths here.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from hwswap_litex import InputError
from litex import get_data_mod

from hwswap_soc import cpu as cpus
from hwswap_soc import fpga_tools, steps

# Verilog modules of the CPUs.
CPU_MODULES = {"vexriscv": "VexRiscv", "rocket": "ExampleRocketSystem"}
ENGINE_MODULE = "HwSwap"

# What Yosys's library does not say of the engine's paths, in ps, for an LFE5U of grade 8: when what a block RAM read
# has come to where it is used (4,260 after the clock edge, and then a wire longer than others), and how long a wire
# between two cells is, which synth_ecp5 takes to be 300 (docs/engine.md).
_BLOCK_RAM_PS = 5000
_WIRE_PS = 1000
# Yosys's own script for ABC but for its last step, `&mfs`: that saves no LUTs here, and lets some paths grow by two.
_MAPPING = f"&scorr;&sweep;&dc2;&dch,-f;&ps;&if,-W,{_WIRE_PS},-v"
# The engine's modules that stay whole until all is mapped (hw/src/main/scala/hwswap/LateRead.scala says why).
_WHOLE = "Late*"


def reads(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Commands that read Verilog.

    Args:
        sources: file and language, `verilog` or `systemverilog`.
    """
    return [f"read_verilog {'-sv ' * (language == 'systemverilog')}{name}" for name, language in sources]


def yosys(script: list[str], name: str, output: Path, folder: Path) -> None:
    """Runs a script.

    Args:
        script: its commands.
        name: of the files for script and log, without suffix.
        output: folder for them.
        folder: working directory, where memory contents are found.
    """
    path = output / f"{name}.ys"
    path.write_text("\n".join(script) + "\n")
    steps.run(["yosys", "-s", str(path)], output / f"{name}.log", folder)


def late_block_ram(output: Path) -> Path:
    """Writes the library's block RAM, with when its outputs are there, so that ABC puts little logic behind them.

    Args:
        output: folder for the file.
    """
    library = (fpga_tools.yosys_share() / "ecp5" / "cells_sim.v").read_text()
    start = library.index("module DP16KD(")
    arrivals = [
        f"(posedge CLK{port} => (DO{port}{bit} : 1'bx)) = {_BLOCK_RAM_PS};" for port in "AB" for bit in range(18)
    ]
    path = output / "block-ram.v"
    lines = [library[start : library.index("endmodule", start)], "specify", *arrivals, "endspecify", "endmodule"]
    path.write_text("\n".join(["(* blackbox *)", *lines]) + "\n")
    return path


def part(module: str, sources: Iterable[tuple[str, str]], output: Path, *, measured: bool = False) -> None:
    """Synthesises one module alone.

    Args:
        module: its name in Verilog.
        sources: file and language of each source.
        output: folder for part.il, the netlist.
        measured: map to LUTs by the delays above in the place of those of the library.
    """
    # Rocket looks things up by chains of a hundred comparisons with one signal; as one multiplexer each they are short.
    read = [*reads(sources), f"hierarchy -top {module}", "proc", "muxpack"]
    # Without the library's cells, which the SoC brings too; `top` would make it the top of the SoC as well.
    write = [f"select {module}", "setattr -mod -unset top", f"write_rtlil -selected {output / 'part.il'}"]
    synthesise = [f"synth_ecp5 -top {module}"]
    if measured:
        synthesise = [
            f"setattr -mod -set keep_hierarchy 1 {_WHOLE}",
            f"synth_ecp5 -top {module} -run begin:map_luts",
            f"read_verilog -lib -specify -overwrite {late_block_ram(output)}",
            "techmap -map +/ecp5/latches_map.v",
            f"abc9 -script +{_MAPPING}",
            "clean",
            f"setattr -mod -unset keep_hierarchy {_WHOLE}",
            "flatten",
            f"synth_ecp5 -top {module} -run map_cells:",
        ]
    try:
        yosys([*read, *synthesise, *write], "synthesis", output, output)
    except InputError as error:
        # ABC's newer mapper gives up on some designs ("Boxes are not in a topological order"); the older takes all.
        if "Unsupported AIGER file" not in str(error):
            raise
        yosys([*read, f"synth_ecp5 -noabc9 -top {module}", *write], "synthesis-noabc9", output, output)


def cpu_sources(cpu: str, variant: str) -> list[tuple[str, str]]:
    """Files of a CPU, as LiteX's class for it adds them to a platform.

    Args:
        cpu: `vexriscv` or `rocket`.
        variant: of the CPU.
    """
    if cpu == "vexriscv":
        folder = Path(get_data_mod("cpu", "vexriscv").data_location)
        return [(str(folder / f"{_VEXRISCV_FILES[variant]}.v"), "verilog")]
    collected = _Sources()
    cpus.EngineRocket.add_sources(collected, variant)
    return collected.files


_VEXRISCV_FILES = {"standard": "VexRiscv", "linux": "VexRiscv_Linux"}


class _Sources:
    """Takes sources as a LiteX platform does."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str]] = []

    def add_sources(self, folder: str, *names: str) -> None:
        self.files += [(str(Path(folder) / name), "verilog") for name in names]


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Synthesise the engine or a CPU alone.")
    parser.add_argument("what", choices=("engine", *CPU_MODULES))
    parser.add_argument("--variant", help="of the CPU")
    parser.add_argument("--rtl", type=Path, default=Path("build/rtl-soc"), help="folder of the engine's Verilog")
    parser.add_argument("--output", type=Path, required=True, help="folder for the result")
    options = parser.parse_args()
    output = options.output.resolve()

    def work() -> None:
        if options.what == "engine":
            module, sources = ENGINE_MODULE, [(str(options.rtl.resolve() / "HwSwap.sv"), "systemverilog")]
        else:
            variant = options.variant or cpus.PROFILES[options.what].variant
            module, sources = CPU_MODULES[options.what], cpu_sources(options.what, variant)
        output.mkdir(parents=True, exist_ok=True)
        with steps.shown() as progress:
            task = progress.add_task(f"Yosys synthesises {module}", total=1)
            part(module, sources, output, measured=options.what == "engine")
            progress.update(task, completed=1)

    return steps.finish(work)


if __name__ == "__main__":
    raise SystemExit(main())
