# SPDX-License-Identifier: Apache-2.0
"""A board's SoC, synthesised: LiteX writes it, Yosys makes the netlist that nextpnr takes, once for all seeds."""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from hwswap_litex import InputError

from hwswap_soc.boards import boards
from hwswap_soc.boards.generate import TOP
from hwswap_soc.fpga import engine_part, fpga_tools, steps, yosys
from hwswap_soc.system import cpu_verilog
from hwswap_soc.system.program import program


def make(board: str, cpu: str, parts: dict[str, Path], output: Path) -> None:
    """Write the SoC and synthesise it.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        parts: folders of the synthesised CPU and engine, each with part.il, by module; HwSwap.sv and engine.json are in
            the engine's.
        output: folder for facts.json, netlist.json, pins.lpf, soc.json, csr.json, engine.json and logs.
    """
    output.mkdir(parents=True, exist_ok=True)
    rtl = parts[engine_part.MODULE]
    tools = fpga_tools.versions("yosys")
    with steps.step(f"{board}, {cpu}: LiteX writes the SoC and builds its BIOS"):
        _generate(board, cpu, rtl, output)
    facts = json.loads((output / "soc" / "facts.json").read_text())
    gateware = output / "soc" / "gateware"
    started = time.monotonic()
    with steps.step(f"{board}, {cpu}: Yosys synthesises it around CPU and engine"):
        _synthesise(gateware / f"{TOP}.v", parts, boards.BOARDS[board].lut_ram, output)
    facts["synthesis_s"] = round(time.monotonic() - started)
    facts["tools"] = tools
    (output / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")
    shutil.copyfile(gateware / f"{TOP}.lpf", output / "pins.lpf")
    shutil.copyfile(rtl / "engine.json", output / "engine.json")
    for name in ("soc.json", "csr.json"):
        shutil.copyfile(output / "soc" / name, output / name)
    shutil.rmtree(output / "soc" / "software")


def _synthesise(top: Path, parts: dict[str, Path], lut_ram: Iterable[str], output: Path) -> None:
    """Synthesise the rest of a SoC and put the parts in.

    Args:
        top: Verilog of the SoC, named as its top module; memory contents are beside it.
        parts: folder of part.il, a synthesised module, by the module's name.
        lut_ram: names of memories that go into LUT RAM.
        output: folder for netlist.json.
    """
    names = [f"{folder / 'part.il'}" for folder in parts.values()]
    script = [
        *(f"read_rtlil {name}" for name in names),
        f"blackbox {' '.join(parts)}",
        f"read_verilog {top}",
        *(f'setattr -set ram_style "distributed" {top.stem}/m:{name}' for name in lut_ram),
        f"synth_ecp5 -top {top.stem}",
        # Clocks are to keep the names they have in the SoC, not those of the pins they go to.
        f"setattr -set keep 1 {top.stem}/w:*_clk {top.stem}/w:sdrio_clk %d",
        *(f"read_rtlil -overwrite {name}" for name in names),
        "flatten",
        "opt_clean -purge",
        f"write_json {output / 'netlist.json'}",
    ]
    yosys.run(script, "synthesis", output, top.parent)


def _generate(board: str, cpu: str, rtl: Path, output: Path) -> None:
    """Run generate.py with its output in a file."""
    log = output / "generate.log"
    command = ["--board", board, "--cpu", cpu, "--rtl", str(rtl), "--output", str(output / "soc")]
    with log.open("w") as text:
        process = subprocess.Popen(
            [sys.executable, "-m", "hwswap_soc.boards.generate", *command], stdout=text, stderr=text
        )
        try:
            process.wait()
        finally:
            steps.end([process])
    if process.returncode:
        reason = log.read_text().strip().rpartition("\n")[2].removeprefix("error: ")
        raise InputError(f"the SoC could not be written: {reason} (all of the output: {log})")


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Synthesise a board's SoC.")
    parser.add_argument("--board", required=True, help=", ".join(boards.BOARDS))
    parser.add_argument("--cpu", required=True, help="vexriscv or rocket")
    parser.add_argument("--engine", type=Path, required=True, help="the engine's netlist (engine_part area)")
    parser.add_argument("--core", type=Path, required=True, help="the CPU's netlist (cpu_part)")
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")
    options = parser.parse_args()
    boards.choose(options.board, options.cpu)
    parts = {cpu_verilog.MODULES[options.cpu]: options.core.resolve(), engine_part.MODULE: options.engine.resolve()}
    make(options.board, options.cpu, parts, options.output.resolve())


if __name__ == "__main__":
    raise SystemExit(main())
