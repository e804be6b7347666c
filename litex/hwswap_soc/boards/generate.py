# SPDX-License-Identifier: Apache-2.0
"""A board's SoC as Verilog, with the BIOS in its ROM: the first step of a bitstream, a program of its own.

LiteX works in the present directory and prints a lot, and the BIOS is made by make and meson: netlist.py runs this
with its output in a file.
"""

import argparse
import inspect
import json
import shutil
import subprocess
from pathlib import Path

from hwswap_litex import InputError
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc import SoCError

from hwswap_soc.boards import boards
from hwswap_soc.system.program import program

TOP = "hwswap_soc"


class _Builder(Builder):
    """LiteX's builder; it looks for a CPU's start code and headers beside the class, and ours derive from LiteX's."""

    def _get_variables_contents(self) -> str:
        folders = [Path(inspect.getfile(base)).parent for base in type(self.soc.cpu).__mro__ if base is not object]
        folder = next(folder for folder in folders if (folder / "system.h").is_file())
        # The last of two definitions counts.
        return f"{super()._get_variables_contents()}\nCPU_DIRECTORY={folder}\n"


def generate(board: str, cpu: str, rtl: Path, output: Path, with_bios: bool = True) -> dict:
    """Write the SoC's Verilog and memory contents, pin constraints and register map.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        rtl: folder with HwSwap.sv and engine.json.
        output: folder for gateware/, software/, csr.json and soc.json (the same contents).
        with_bios: whether the BIOS is made; without it the ROM is empty.

    Returns:
        Facts of the SoC for the later steps, which are in `output`/facts.json too.
    """
    soc = boards.make(board, cpu, rtl.resolve())
    output.mkdir(parents=True, exist_ok=True)
    builder = _Builder(soc, output_dir=str(output), compile_software=with_bios, compile_gateware=False)
    builder.build(run=False, build_name=TOP)
    shutil.copyfile(output / "csr.json", output / "soc.json")
    family, size, grade, package = soc.platform.toolchain.nextpnr_ecp5_parse_device(soc.platform.device)
    facts = {
        "board": board,
        "cpu": cpu,
        "variant": soc.cpu_variant,
        "sys_mhz": soc.sys_clk_freq / 1e6,
        "device": soc.platform.device,
        "nextpnr": [
            f"--{soc.platform.toolchain.nextpnr_ecp5_architectures[f'{family}-{size}']}",
            *("--package", package, "--speed", grade),
        ],
        "engine": vars(soc.hwswap.info),
    }
    (output / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")
    return facts


@program
def main() -> None:
    """Run `generate` for the command line; the last line on standard error names the error."""
    parser = argparse.ArgumentParser(description="Write a board's SoC as Verilog.")
    parser.add_argument("--board", required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument("--rtl", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        generate(arguments.board, arguments.cpu, arguments.rtl, arguments.output)
    except SoCError as error:
        raise InputError("LiteX refuses this SoC: see its own messages above") from error
    except subprocess.CalledProcessError as error:
        raise InputError(f"the BIOS could not be built: {' '.join(error.cmd)} failed, see above") from error


if __name__ == "__main__":
    raise SystemExit(main())
