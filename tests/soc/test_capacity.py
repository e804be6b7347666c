# SPDX-License-Identifier: Apache-2.0
"""Whether SoCs fit, the message when too much is asked, and the runs when it fits."""

import json

import pytest
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.boards import bitstream, capacity
from hwswap_soc.fpga import fmax_report
from stand_ins import ENGINE, write_netlist


def units(**used: int) -> dict[str, int]:
    """Return counts by unit, 0 where none is given."""
    return dict.fromkeys(fmax_report.UNITS, 0) | used


def test_what_fits_is_not_refused():
    most = capacity.allowed("routable")
    assert most["BRAM"] < fmax_report.CAPACITY["BRAM"] and most["LUT"] < fmax_report.CAPACITY["LUT"]
    assert capacity.refusal("it", most, EngineInfo(**ENGINE), "routable") is None
    assert capacity.refusal("it", fmax_report.CAPACITY, EngineInfo(**ENGINE), "part") is None


def test_too_much_is_one_sentence_with_what_is_over_and_what_shrinks_it():
    said = capacity.refusal("vexriscv on ecpix5", units(BRAM=209, LUT=40_000), EngineInfo(**ENGINE), "part")
    assert said.startswith("vexriscv on ecpix5 does not fit: 209 block RAMs where 208 of the part's 208 may be used, ")
    assert "SOC_CLUSTERS=, now 2048" in said and "PROFILE=, now full" in said and "LIMIT" not in said
    assert "\n" not in said and "LUTs" not in said
    said = capacity.refusal("it", units(LUT=70_000), EngineInfo(**ENGINE), "routable")
    assert "70,000 LUTs where 66,912 of the part's 83,640 may be used, 3,088 too many" in said
    assert "LIMIT=part" in said and "CLUSTERS" not in said


def netlist_folder(folder, brams: int):
    """A folder as `netlist.make` leaves it, of a SoC that is nothing but block RAMs and one LUT."""
    facts = {
        "board": "ecpix5",
        "cpu": "vexriscv",
        "variant": "standard",
        "sys_mhz": 60.0,
        "nextpnr": [],
        "engine": ENGINE,
        "device": "LFE5U-85F",
        "synthesis_s": 1,
        "tools": {"yosys": "1"},
    }
    folder.mkdir()
    (folder / "facts.json").write_text(json.dumps(facts))
    cells = {f"hwswap_engine.Core.ram{number}": "DP16KD" for number in range(brams)}
    path = write_netlist(folder / "netlist.json", cells | {"boardsoc_uart": "LUT4"})
    # Yosys notes where each comes from.
    path.write_text(path.read_text().replace('"top": "1"', '"top": "1", "src": "old"'))
    return folder


def test_a_netlist_that_is_too_large_is_not_placed(tmp_path):
    netlist = netlist_folder(tmp_path / "netlist", 209)
    with pytest.raises(InputError, match="209 block RAMs where 208 of the part's 208 may be used, 1 too many"):
        bitstream.build(netlist, "ecpix5", "vexriscv", 1, tmp_path, "part", tmp_path / "placements")
    assert not (tmp_path / "placements").exists()
    with pytest.raises(InputError, match="LIMIT=part"):
        bitstream.build(netlist_folder(tmp_path / "full", 180), "ecpix5", "vexriscv", 1, tmp_path, "routable")


@pytest.mark.parametrize("achieved", [61.0, 59.0], ids=["met", "missed"])
def test_one_that_fits_is_placed_and_its_timing_is_kept_met_or_missed(tmp_path, monkeypatch, achieved):
    netlist = netlist_folder(tmp_path / "netlist", 4)
    (netlist / "pins.lpf").write_text("")
    for name in ("soc.json", "csr.json", "engine.json"):
        (netlist / name).write_text("{}")
    placed, packed = [], []

    def place(runs, work, minutes, enough):
        runs = runs[:enough]
        placed.append((work, [run.options for run in runs]))
        assert minutes == bitstream.MINUTES
        clock = {"sys_clk": {"achieved": achieved, "required": 60.0}}
        return {run.name: {"clocks": clock, "paths": []} for run in runs}

    monkeypatch.setattr(bitstream.placement, "place", place)
    monkeypatch.setattr(bitstream.fpga_tools, "versions", lambda name: {name: "0.7"})
    monkeypatch.setattr(bitstream, "pack", lambda facts, folder, seed, output: packed.append((folder, seed)))
    output, placements = tmp_path / "out", tmp_path / "placements"
    output.mkdir()

    def build(seeds: int) -> dict:
        return bitstream.build(netlist, "ecpix5", "vexriscv", seeds, output, "routable", placements)

    if achieved < 60:
        with pytest.raises(InputError, match="timing is missed: sys_clk reaches 59.0 MHz with the best of 2"):
            build(2)
        assert not packed
    else:
        assert build(2)["seeds"].keys() == {"1", "2"}
        build(3)
        assert placed[0][0] == placed[1][0] == packed[0][0], (
            "more seeds of the same netlist are added to those there are"
        )
        made_again = json.loads((netlist / "netlist.json").read_text())
        made_again["modules"]["soc"]["attributes"]["src"] = "new"
        (netlist / "netlist.json").write_text(json.dumps(made_again))
        build(2)
        assert placed.pop()[0] == placed[0][0], "where its sources were is no part of what is routed"
        (netlist / "pins.lpf").write_text("changed")
        build(2)
        assert placed[2][0] != placed[0][0]
    assert [options[-1] for options in placed[0][1]] == ["1", "2"]
    report = placements / "ecpix5-vexriscv.json"
    assert report.read_text() == (output / "timing.json").read_text()
    assert json.loads(report.read_text())["utilisation"]["total"]["BRAM"] == 4
