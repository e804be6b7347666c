# SPDX-License-Identifier: Apache-2.0
"""Yosys's library and the delays that are added to it for the engine."""

import json

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
def tools(tmp_path):
    """A folder with a command `yosys` that is the system's; yields it and where the libraries are."""
    system, folder = tmp_path / "usr", tmp_path / "fpga" / "bin"
    for directory in (system / "bin", system / "share" / "yosys" / "ecp5", folder):
        directory.mkdir(parents=True)
    (system / "bin" / "yosys").write_text("#!/bin/sh\n")
    (system / "bin" / "yosys").chmod(0o755)
    (folder / "yosys").symlink_to(system / "bin" / "yosys")
    (system / "share" / "yosys" / "ecp5" / "cells_sim.v").write_text(_LIBRARY)
    return folder, system / "share" / "yosys"


def test_libraries_are_found_beside_the_system_s_yosys_or_in_the_private_root(tools):
    folder, share = tools
    assert fpga_tools.yosys_share(folder) == share
    private = folder.parent / "root" / "usr"
    private.mkdir(parents=True)
    assert fpga_tools.yosys_share(folder) == private / "share" / "yosys"


def test_block_ram_gets_delays_at_each_output_and_nothing_else(tools, tmp_path, monkeypatch):
    _, share = tools
    monkeypatch.setattr(fpga_tools, "yosys_share", lambda: share)
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


@pytest.mark.parametrize("shortest", [1, 3, len(engine_part._MAPPINGS)])
def test_the_mapping_with_the_shortest_longest_path_is_taken(shortest, tools, tmp_path, monkeypatch):
    def yosys(script, name, output, folder):
        written = [line.split()[-1] for line in script if line.startswith("write_rtlil")]
        for path in written:
            (output / path).write_text("netlist of " + next((line for line in script if "abc9" in line), "nothing"))
        number = name.removeprefix("mapped-")
        delay = 8000 + (number != str(shortest))
        (output / f"{name}.log").write_text(_PASSES.format(9000, 88089, delay, 23000, 22567))

    monkeypatch.setattr(fpga_tools, "yosys_share", lambda: tools[1])
    monkeypatch.setattr(engine_part.yosys, "run", yosys)
    taken = engine_part.map_by_delay("HwSwap", [], tmp_path)
    assert taken.read_text() == f"netlist of abc9 -script +{engine_part._MAPPINGS[shortest - 1]}"
    assert [path.name for path in tmp_path.glob("*.il")] == [f"mapped-{shortest}.il"]
    rows = json.loads((tmp_path / "mappings.json").read_text())
    assert [row["taken"] for row in rows].index(True) == shortest - 1


def test_a_packaged_tool_that_is_missing_names_the_step_that_brings_it(tools):
    folder, _ = tools
    assert fpga_tools.tool("yosys", folder) == str(folder / "yosys")
    with pytest.raises(InputError, match="yowasp-absent is missing in .*: run 'sim/setup/setup'"):
        fpga_tools.tool("yowasp-absent", folder)
    with pytest.raises(InputError, match="absent is missing in .*: run 'sim/setup/build fpga'"):
        fpga_tools.tool("absent", folder)
