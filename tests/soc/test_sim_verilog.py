# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC's Verilog means the same in a simulation as in an FPGA."""

import re

import pytest
from hwswap_litex import EngineInfo, HwSwap, InputError
from hwswap_soc.simulation.simsoc import ModelPlatform
from stand_ins import write_sim_soc

CONSTANT = re.compile(r"\s*(\w+)\s*<=\s*\d+'d(\d+);")


@pytest.mark.parametrize("cpu", ["vexriscv", "rocket"])
def test_no_constant_waits_for_a_change(cpu, tmp_path):
    """A block that reads nothing never runs: its register has to start with the value that it would set."""
    text = (write_sim_soc(cpu, tmp_path) / "gateware/sim.v").read_text()
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


def test_a_missing_engine_is_said_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="rtl-soc"):
        HwSwap(ModelPlatform(), tmp_path)
    (tmp_path / "engine.json").write_text("{}")
    with pytest.raises(InputError, match="not an engine description"):
        EngineInfo.load(tmp_path)
