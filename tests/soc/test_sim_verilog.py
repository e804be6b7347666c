# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC's Verilog means in a simulation what it means in an FPGA."""

import json
import re
from pathlib import Path

import pytest

CONSTANT = re.compile(r"\s*(\w+)\s*<=\s*\d+'d(\d+);")


def verilog(cpu: str, folder: Path) -> str:
    """Generate the SoC's Verilog, without the engine's."""
    from hwswap_soc.simulation.simsoc import ModelPlatform, SimSoC
    from litex.soc.integration.builder import Builder

    sizes = {"devices": 4, "cpus": 1, "clusters": 2048}
    info = sizes | {"profile": "full", "without": [], "build_hash": "0123456789abcdef"}
    (folder / "engine.json").write_text(json.dumps(info))
    (folder / "HwSwap.sv").write_text("module HwSwap; endmodule\n")
    builder = Builder(
        SimSoC(ModelPlatform(), cpu, folder),
        output_dir=str(folder / "out"),
        compile_software=False,
        compile_gateware=False,
    )
    builder.build(build_name="sim")
    return (folder / "out/gateware/sim.v").read_text()


@pytest.mark.parametrize("cpu", ["vexriscv", "rocket"])
def test_no_constant_waits_for_a_change(cpu, tmp_path):
    """A block that reads nothing never runs: what it would set has to be what its register starts with."""
    text = verilog(cpu, tmp_path)
    starts = dict(re.findall(r"^reg\s+(?:\[[^]]*\]\s+)?(\w+) = \d+'d(\d+);", text, re.MULTILINE))
    blocks = re.findall(r"^always @\(\*\) begin\n(.*?)^end$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 50
    wrong = []
    for block in blocks:
        lines = [CONSTANT.fullmatch(line) for line in block.splitlines() if not line.strip().startswith("//")]
        if all(lines):
            last = {line[1]: line[2] for line in lines}
            wrong += [name for name, value in last.items() if int(starts.get(name, "0")) != int(value)]
    assert not wrong
