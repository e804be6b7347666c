# SPDX-License-Identifier: Apache-2.0
"""Yosys's library and the delays that are added to it for the engine."""

import pytest
from hwswap_litex import InputError
from hwswap_soc.fpga import engine_part, fpga_tools

_LIBRARY = """module LUT4(input A, output Z);
endmodule
module DP16KD(
  input CLKA, CLKB, output DOA0, DOB17
);
    parameter DATA_WIDTH_A = 18;
endmodule
module PDPW16KD(input D);
endmodule
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Put that library in the place of Yosys's."""
    monkeypatch.setattr(fpga_tools, "YOSYS_SHARE", tmp_path)
    (tmp_path / "ecp5").mkdir()
    (tmp_path / "ecp5" / "cells_sim.v").write_text(_LIBRARY)


@pytest.mark.usefixtures("library")
def test_block_ram_gets_delays_at_each_output_and_nothing_else(tmp_path):
    text = engine_part.late_block_ram(tmp_path).read_text()
    assert text.count("endmodule") == 1
    assert "parameter DATA_WIDTH_A = 18;" in text
    assert text.count("posedge CLK") == 36
    for clock, output in (("CLKA", "DOA0"), ("CLKB", "DOB17")):
        assert f"(posedge {clock} => ({output} : 1'bx)) = " in text
    assert "LUT4" not in text and "PDPW16KD" not in text


_PASSES = """ABC: P:  Del = {0}.00.  Ar =       {1}.0.  Edge =       55.  Cut =      594.  T =     0.00 sec
ABC: F:  Del = {2}.00.  Ar =       {3}.0.  Edge =       55.  Cut =      594.  T =     0.00 sec
ABC: A:  Del = {2}.00.  Ar =       {4}.0.  Edge =       55.  Cut =      594.  T =     0.00 sec
"""


def test_of_each_module_the_mapper_s_last_pass_counts():
    log = _PASSES.format(1700, 99, 1477, 30, 22) + "other lines\n" + _PASSES.format(9000, 88089, 8668, 23000, 22567)
    assert engine_part.delay_and_area(log) == (8668.0, 22589.0)
    with pytest.raises(InputError, match="not in Yosys's log: use the Yosys"):
        engine_part.delay_and_area("no such lines")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("shortest", [1, 3, len(engine_part._MAPPINGS)])
def test_the_mapping_with_the_shortest_longest_path_is_taken(shortest, tmp_path, monkeypatch):
    def yosys(script, name, output, folder):
        written = [line.split()[-1] for line in script if line.startswith("write_rtlil")]
        for path in written:
            (output / path).write_text("netlist of " + next((line for line in script if "abc9" in line), "nothing"))
        number = name.removeprefix("mapped-")
        delay = 8000 + (number != str(shortest))
        (output / f"{name}.log").write_text(_PASSES.format(9000, 88089, delay, 23000, 22567))

    monkeypatch.setattr(engine_part.yosys, "run", yosys)
    taken = engine_part.map_by_delay("HwSwap", [], tmp_path)
    assert taken.read_text() == f"netlist of abc9 -script +{engine_part._MAPPINGS[shortest - 1]}"
    assert [path.name for path in tmp_path.glob("*.il")] == [f"mapped-{shortest}.il"]


def test_a_tool_that_is_missing_names_the_step_that_brings_it(tmp_path):
    for name, step in (("yowasp-absent", "sim/setup/setup"), ("absent", "sim/setup/build fpga")):
        with pytest.raises(InputError, match=f"{name} is missing in .*: run '{step}'"):
            fpga_tools.tool(name, tmp_path)
