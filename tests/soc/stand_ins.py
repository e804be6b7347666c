# SPDX-License-Identifier: Apache-2.0
"""Small stand-ins for the results of builds: an engine, a netlist, the simulated SoC as LiteX writes it."""

import json
from pathlib import Path

from hwswap_soc.linux.linux_result import Collected
from programs import run

HASH = "0123456789abcdef"
ENGINE = {"devices": 4, "cpus": 1, "clusters": 2048, "build_hash": HASH, "profile": "full", "without": []}
"""The content of engine.json."""


def collect(lines: list[str]) -> Collected:
    """Return the host's view of a console."""
    collected = Collected()
    for line in lines:
        collected.feed(line)
    return collected


def fdtget(*words: object) -> list[str]:
    """Return the words of a compiled device tree that fdtget is asked for."""
    return run("fdtget", *words, check=True).stdout.split()


def write_engine(folder: Path, verilog: str = "module HwSwap; endmodule\n", **changes) -> Path:
    """Write an engine's Verilog, to which LiteX only refers, and engine.json; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HwSwap.sv").write_text(verilog)
    (folder / "engine.json").write_text(json.dumps(ENGINE | changes))
    return folder


def write_netlist(path: Path, cells: dict[str, str]) -> Path:
    """Write a netlist as Yosys does, of cells by name; return its path."""
    module = {"attributes": {"top": "1"}, "cells": {name: {"type": kind} for name, kind in cells.items()}}
    path.write_text(json.dumps({"modules": {"LUT4": {"attributes": {}, "cells": {}}, "soc": module}}))
    return path


def write_sim_soc(cpu: str, folder: Path) -> Path:
    """Have LiteX write the simulated SoC, without synthesis: soc.json, gateware/sim.v; return the folder."""
    from hwswap_soc.simulation.simsoc import ModelPlatform, SimSoC
    from litex.soc.integration.builder import Builder

    builder = Builder(
        SimSoC(ModelPlatform(), cpu, write_engine(folder, added=["grants"])),
        output_dir=str(folder),
        compile_software=False,
        compile_gateware=False,
        csr_json=str(folder / "soc.json"),
    )
    builder.build(build_name="sim")
    return folder
