# SPDX-License-Identifier: Apache-2.0
"""A CPU synthesised alone: where its Verilog is, and which of ABC's mappers takes it."""

import pytest
from hwswap_litex import InputError
from hwswap_soc.fpga import cpu_part
from hwswap_soc.system import cpu_verilog


@pytest.mark.parametrize(("name", "variant"), [("vexriscv", "standard"), ("rocket", "linux"), ("rocket", "full")])
def test_the_files_of_a_cpu_are_there_and_hold_its_module(name, variant):
    files = cpu_verilog.files(name, variant)
    text = "".join(path.read_text() for path in files)
    assert (
        text.count(f"\nmodule {cpu_verilog.MODULES[name]}(") + text.count(f"\nmodule {cpu_verilog.MODULES[name]} ") == 1
    )


@pytest.fixture
def yosys(tmp_path, monkeypatch):
    """Play Yosys: note its scripts, and fail with the reason that is put under a script's name."""
    scripts: dict[str, list[str]] = {}
    failures: dict[str, str] = {}

    def run(script, name, output, folder):
        scripts[name] = script
        (output / "prepared.il").touch()
        if name in failures:
            raise InputError(failures[name])

    monkeypatch.setattr(cpu_part.yosys, "run", run)
    return scripts, failures


def test_the_newer_mapper_is_tried_first_and_where_it_gives_up_the_older_goes_on_from_what_is_prepared(yosys, tmp_path):
    scripts, failures = yosys
    cpu_part.synthesise("Top", [("a.v", "verilog")], tmp_path)
    assert list(scripts) == ["prepare", "map"]
    assert not list(tmp_path.iterdir()), "what was prepared is not kept"
    failures["map"] = "yosys failed: Unsupported AIGER file"
    cpu_part.synthesise("Top", [("a.v", "verilog")], tmp_path)
    assert list(scripts) == ["prepare", "map", "map-noabc9"]
    assert "synth_ecp5 -noabc9 -top Top -run map_luts:" in scripts["map-noabc9"]
    failures["map"] = "yosys failed: no space left"
    with pytest.raises(InputError, match="no space"):
        cpu_part.synthesise("Top", [("a.v", "verilog")], tmp_path)
