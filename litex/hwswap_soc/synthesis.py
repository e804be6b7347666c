# SPDX-License-Identifier: Apache-2.0
"""Yosys, from the bottom up: CPU and engine are synthesised alone, and put into the synthesised rest of a SoC.

Rocket takes Yosys ten minutes and is the same on every board, so its netlist is made once; the engine's serves all
boards and CPUs. What a module takes of the FPGA is then known exactly. What is lost are optimisations through the
modules' ports, which are registers on nearly all paths here.
"""

import argparse
import json
import re
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
# Scripts for ABC, of which the one is taken whose longest path is shortest. ABC's steps are heuristics: names alone
# make the same engine's longest path 3 % longer or shorter, and to save LUTs all paths may become as long as that one.
# The first is Yosys's own but for its last step, `&mfs`, which saves no LUTs here and lets some paths grow by two.
_MAP = f"&ps;&if,-W,{_WIRE_PS},-v"
_MAPPINGS = (
    f"&scorr;&sweep;&dc2;&dch,-f;{_MAP}",
    f"&scorr;&sweep;&dc2;&dch,-f;&dch,-f;{_MAP}",
    f"&scorr;&sweep;&dc2;&dch;{_MAP}",
    f"&scorr;&sweep;&dc2;&if,-g,-K,6;&dch,-f;{_MAP}",
    f"&scorr;&sweep;&dc2;&dc2;&dch,-f;{_MAP}",
    f"&scorr;&sweep;&dch,-f;{_MAP}",
)
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


def _library(output: Path) -> list[str]:
    """Commands that read the library, with the delays above."""
    return [
        "read_verilog -lib -specify +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
        f"read_verilog -lib -specify -overwrite {output / 'block-ram.v'}",
    ]


def delay_and_area(log: str) -> tuple[float, float]:
    """What ABC says of what it mapped: the longest path in ps, and LUTs, of all modules together.

    Args:
        log: Yosys's; of each module, ABC's mapper tells both once a pass (`-v`), and the last one counts.
    """
    passes = re.findall(r"ABC: ([A-Z]):  Del = +([\d.]+)\.  Ar = +([\d.]+)\.", log)
    if not passes:
        raise InputError(
            "ABC's report of delays is not in Yosys's log: use the Yosys that 'sim/setup/build fpga' brings."
        )
    following = [*(kind for kind, _, _ in passes[1:]), "P"]
    last = [one for one, kind in zip(passes, following, strict=True) if kind == "P" != one[0]]
    return max(float(delay) for _, delay, _ in last), sum(float(area) for _, _, area in last)


def map_by_delay(module: str, read: list[str], output: Path) -> Path:
    """Maps a module to LUTs by each of the scripts; returns the netlist whose longest path is shortest.

    Args:
        module: its name in Verilog.
        read: commands that read it.
        output: folder for netlists and logs; those of the other scripts are deleted.
    """
    late_block_ram(output)
    prepared = output / "prepared.il"
    prepare = [
        f"setattr -mod -set keep_hierarchy 1 {_WHOLE}",
        f"synth_ecp5 -top {module} -run begin:map_luts",
        f"read_verilog -lib -specify -overwrite {output / 'block-ram.v'}",
        "techmap -map +/ecp5/latches_map.v",
        "select *",
        f"write_rtlil -selected {prepared}",
    ]
    yosys([*read, *prepare], "prepare", output, output)
    found: dict[Path, tuple[float, float]] = {}
    for number, mapping in enumerate(_MAPPINGS, 1):
        mapped = output / f"mapped-{number}.il"
        flatten = ["clean", f"setattr -mod -unset keep_hierarchy {_WHOLE}", "flatten", "select *"]
        script = [*_library(output), f"read_rtlil {prepared}", f"abc9 -script +{mapping}", *flatten]
        yosys([*script, f"write_rtlil -selected {mapped}"], mapped.stem, output, output)
        found[mapped] = delay_and_area((output / f"{mapped.stem}.log").read_text())
    prepared.unlink()
    best = min(found, key=found.__getitem__)
    for mapped in found.keys() - {best}:
        mapped.unlink()
    rows = [
        {"script": script, "delay_ps": delay, "luts": area, "taken": mapped == best}
        for script, (mapped, (delay, area)) in zip(_MAPPINGS, found.items(), strict=True)
    ]
    (output / "mappings.json").write_text(json.dumps(rows, indent=2) + "\n")
    return best


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
    if measured:
        mapped = map_by_delay(module, read, output)
        finish = [*_library(output), f"read_rtlil {mapped}", f"synth_ecp5 -top {module} -run map_cells:"]
        yosys([*finish, *write], "synthesis", output, output)
        mapped.unlink()
        return
    try:
        yosys([*read, f"synth_ecp5 -top {module}", *write], "synthesis", output, output)
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
