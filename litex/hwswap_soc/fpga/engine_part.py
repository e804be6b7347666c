# SPDX-License-Identifier: Apache-2.0
"""The engine alone, synthesised: by area, as a part of SoCs, or by delay, to see how fast it can be (make fmax).

python -m hwswap_soc.fpga.engine_part area --rtl build/rtl-soc --output DIR
"""

import argparse
import re
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.fpga import fpga_tools, steps, yosys
from hwswap_soc.system.program import program

MODULE = "HwSwap"
"""The engine's Verilog module."""

# Delays in the engine's paths that Yosys's library lacks, in ps, for an LFE5U of grade 8: from the clock edge until a
# block RAM's word is at its user (4,260, and then a wire longer than others), and of a wire between two cells, which
# synth_ecp5 takes to be 300 (docs/engine.md).
_BLOCK_RAM_PS = 5000
_WIRE_PS = 1000
# Scripts for ABC: the one with the shortest longest path is taken. ABC's steps are heuristics: names alone make the
# same engine's longest path 3 % longer or shorter, and to save LUTs all paths may become as long as that one.
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
# The engine's modules that stay whole until all is mapped (hw/src/main/scala/hwswap/core/LateRead.scala says why).
_WHOLE = "Late*"


def late_block_ram(output: Path) -> Path:
    """Write the library's block RAM, with the delay of its outputs, so that ABC puts little logic after them.

    Args:
        output: folder for the file.
    """
    library = (fpga_tools.YOSYS_SHARE / "ecp5" / "cells_sim.v").read_text()
    start = library.index("module DP16KD(")
    arrivals = [
        f"(posedge CLK{port} => (DO{port}{bit} : 1'bx)) = {_BLOCK_RAM_PS};" for port in "AB" for bit in range(18)
    ]
    path = output / "block-ram.v"
    lines = [library[start : library.index("endmodule", start)], "specify", *arrivals, "endspecify", "endmodule"]
    path.write_text("\n".join(["(* blackbox *)", *lines]) + "\n")
    return path


def _library(output: Path) -> list[str]:
    """Return commands that read the library, with the delays above."""
    return [
        *yosys.LIBRARY,
        f"read_verilog -lib -specify -overwrite {output / 'block-ram.v'}",
    ]


def delay_and_area(log: str) -> tuple[float, float]:
    """Return ABC's report of its mapping: the longest path in ps, and LUTs, of all modules together.

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
    """Map a module to LUTs by each of the scripts; return the netlist whose longest path is shortest.

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
    yosys.run([*read, *prepare], "prepare", output, output)
    found: dict[Path, tuple[float, float]] = {}
    for number, mapping in enumerate(_MAPPINGS, 1):
        mapped = output / f"mapped-{number}.il"
        flatten = ["clean", f"setattr -mod -unset keep_hierarchy {_WHOLE}", "flatten", "select *"]
        script = [*_library(output), f"read_rtlil {prepared}", f"abc9 -script +{mapping}", *flatten]
        yosys.run([*script, f"write_rtlil -selected {mapped}"], mapped.stem, output, output)
        found[mapped] = delay_and_area((output / f"{mapped.stem}.log").read_text())
    prepared.unlink()
    best = min(found, key=found.__getitem__)
    for mapped in found.keys() - {best}:
        mapped.unlink()
    return best


def by_area(sources: list[tuple[str, str]], output: Path) -> None:
    """Synthesise the engine for few LUTs: the clocks that are asked of a SoC leave time for that.

    Args:
        sources: file and language of each source.
        output: folder for part.il, the netlist.
    """
    # Look-up tables of more than four inputs are pairs with a multiplexer: fast, and a fifth more in number.
    script = [*yosys.module(MODULE, sources), f"synth_ecp5 -nowidelut -top {MODULE}"]
    yosys.run([*script, *yosys.writes(MODULE, output)], "synthesis", output, output)


def by_delay(sources: list[tuple[str, str]], output: Path) -> None:
    """Synthesise the engine for a fast clock, by the delays above in the place of those of Yosys's library.

    Args:
        sources: file and language of each source.
        output: folder for part.il, the netlist.
    """
    mapped = map_by_delay(MODULE, yosys.module(MODULE, sources), output)
    finish = [*_library(output), f"read_rtlil {mapped}", f"synth_ecp5 -top {MODULE} -run map_cells:"]
    yosys.run([*finish, *yosys.writes(MODULE, output)], "synthesis", output, output)
    mapped.unlink()


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Synthesise the engine alone.")
    parser.add_argument("mapping", choices=("area", "delay"), help="what Yosys saves")
    parser.add_argument("--rtl", type=Path, required=True, help="folder of the engine's Verilog")
    parser.add_argument("--output", type=Path, required=True, help="folder for part.il")
    options = parser.parse_args()
    output = options.output.resolve()
    sources = [(str(options.rtl.resolve() / "HwSwap.sv"), "systemverilog")]
    output.mkdir(parents=True, exist_ok=True)
    with steps.step(f"Yosys synthesises the engine, by {options.mapping}"):
        (by_delay if options.mapping == "delay" else by_area)(sources, output)


if __name__ == "__main__":
    raise SystemExit(main())
