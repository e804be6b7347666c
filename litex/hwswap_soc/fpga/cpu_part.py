# SPDX-License-Identifier: Apache-2.0
"""A CPU alone, synthesised: its netlist is a part of the SoCs of all boards that have it.

    python -m hwswap_soc.fpga.cpu_part rocket --variant linux --output DIR

This file, yosys.py and cpu_verilog.py decide what is in it, and no others (sim/setup/build): Rocket takes ten minutes.
"""

import argparse
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.fpga import steps, yosys
from hwswap_soc.system import cpu_verilog
from hwswap_soc.system.program import program


def synthesise(module: str, sources: list[tuple[str, str]], output: Path) -> None:
    """Synthesise a CPU.

    Args:
        module: its name in Verilog.
        sources: file and language of each source.
        output: folder for part.il, the netlist.
    """
    prepared = output / "prepared.il"
    prepare = [f"synth_ecp5 -top {module} -run begin:map_luts", "select *", f"write_rtlil -selected {prepared}"]
    yosys.run([*yosys.module(module, sources), *prepare], "prepare", output, output)
    try:
        _map("", module, prepared, output)
    except InputError as error:
        # ABC's newer mapper gives up on some designs ("Boxes are not in a topological order"); the older takes all.
        if "Unsupported AIGER file" not in str(error):
            raise
        _map("-noabc9 ", module, prepared, output)
    prepared.unlink()


def _map(mapper: str, module: str, prepared: Path, output: Path) -> None:
    """Map the prepared netlist to LUTs, by the mapper that an option of synth_ecp5 chooses."""
    script = [*yosys.LIBRARY, f"read_rtlil {prepared}", f"synth_ecp5 {mapper}-top {module} -run map_luts:"]
    yosys.run([*script, *yosys.writes(module, output)], f"map{mapper.rstrip()}", output, output)


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Synthesise a CPU alone.")
    parser.add_argument("cpu", choices=cpu_verilog.MODULES)
    parser.add_argument("--variant", required=True, help="of the CPU")
    parser.add_argument("--output", type=Path, required=True, help="folder for part.il")
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    module = cpu_verilog.MODULES[options.cpu]
    sources = [(str(path), "verilog") for path in cpu_verilog.files(options.cpu, options.variant)]
    with steps.step(f"Yosys synthesises {module}"):
        synthesise(module, sources, output)


if __name__ == "__main__":
    raise SystemExit(main())
