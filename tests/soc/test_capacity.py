# SPDX-License-Identifier: Apache-2.0
"""Whether SoCs fit: memories counted from the Verilog, records of syntheses, what is said when too much is asked."""

import json
from io import StringIO

import pytest
from hwswap.project.paths import ROOT
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.boards import bitstream, capacity, profiles
from hwswap_soc.fpga import engine_verilog, fmax_report
from rich.console import Console
from stand_ins import ENGINE, write_engine, write_netlist


def memory(name: str, width: int, depth: int, clocked: bool) -> str:
    """A memory as `hwswap.Emit --synthesis` writes it."""
    bits = "" if width == 1 else f"[{width - 1}:0] "
    if clocked:
        read = "  always @(posedge R0_clk) begin\n    if (R0_en)\n      _R0_data_d0 <= Memory[R0_addr];\n  end\n"
    else:
        read = f"  assign R0_data = R0_en ? Memory[R0_addr] : {width}'bx;\n"
    return f"""module {name}(
  input R0_clk
);

  (* no_rw_check *)
  reg {bits}Memory[0:{depth - 1}];
{read}endmodule

"""


VERILOG = (
    memory("rows_2048x9", 9, 2048, clocked=True)
    + memory("unused_512x36", 36, 512, clocked=True)
    + memory("small_8x64", 64, 8, clocked=False)
    + """module Store(
  input clock
);
  rows_2048x9 rows_0 (
    .R0_clk (clock)
  );
  rows_2048x9 rows_1 (
    .R0_clk (clock)
  );
endmodule

module HwSwap(
  input clock
);
  Store left (
    .clock (clock)
  );
  Store right (
    .clock (clock)
  );
  small_8x64 small (
    .R0_clk (clock)
  );
  wire [63:0] build = 64'h123456789ABCDEF;
endmodule
"""
)


@pytest.fixture
def rtl(tmp_path):
    """A folder with an engine's Verilog and engine.json."""
    return write_engine(tmp_path / "rtl-board-full", VERILOG)


@pytest.mark.parametrize(
    ("width", "depth", "blocks"),
    [(1, 16384, 1), (36, 512, 1), (37, 512, 2), (9, 2048, 1), (32, 16384, 32), (11, 2048, 2), (18, 1025, 2)]
    + [(68, 128, 2), (64, 10, 0), (8, 16, 0)],
)
def test_block_rams_by_width_and_depth(width, depth, blocks):
    """A small memory goes into LUT RAM, and so does one that is read without a clock."""
    assert engine_verilog.Memory("m", width, depth, True, 1).block_rams() == blocks
    assert engine_verilog.Memory("m", width, depth, False, 1).block_rams() == 0


def test_memories_are_counted_as_often_as_they_are_there():
    found = {memory.module: memory for memory in engine_verilog.find(VERILOG)}
    assert found.keys() == {"rows_2048x9", "small_8x64"}, "one that nobody has counts for nothing"
    rows = found["rows_2048x9"]
    assert (rows.width, rows.depth, rows.clocked, rows.count) == (9, 2048, True, 4)
    assert engine_verilog.block_rams(VERILOG) == 4


def test_the_digest_is_of_all_but_the_build_hash(rtl):
    before = engine_verilog.digest(rtl)
    (rtl / "HwSwap.sv").write_text(VERILOG.replace("123456789ABCDEF", "1234567890ABCDEF"))
    (rtl / "engine.json").write_text(json.dumps(ENGINE | {"build_hash": "1234567890abcdef"}))
    assert engine_verilog.digest(rtl) == before
    (rtl / "HwSwap.sv").write_text(VERILOG.replace("0:2047", "0:1023"))
    assert engine_verilog.digest(rtl) != before
    (rtl / "HwSwap.sv").unlink()
    with pytest.raises(InputError, match="holds no engine"):
        engine_verilog.digest(rtl)


def units(**used: int) -> dict[str, int]:
    """Counts by unit, 0 where none is given."""
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


def netlist_folder(folder, brams: int, rtl_digest: str = "0" * 64):
    """A folder as `netlist.make` leaves it, of a SoC that is nothing but block RAMs and one LUT."""
    facts = {
        "board": "ecpix5",
        "cpu": "vexriscv",
        "variant": "standard",
        "sys_mhz": 60.0,
        "nextpnr": [],
        "engine": ENGINE,
        "device": "LFE5U-85F",
        "sources": {},
        "synthesis_s": 1,
        "rtl": rtl_digest,
        "tools": {"yosys": "1"},
    }
    folder.mkdir()
    (folder / "facts.json").write_text(json.dumps(facts))
    cells = {f"hwswap_engine.Core.ram{number}": "DP16KD" for number in range(brams)}
    path = write_netlist(folder / "netlist.json", cells | {"boardsoc_uart": "LUT4"})
    # Yosys notes where each comes from.
    path.write_text(path.read_text().replace('"top": "1"', '"top": "1", "src": "old"'))
    return folder


def test_a_synthesis_is_recorded_and_found_again(tmp_path, rtl):
    netlist = netlist_folder(tmp_path / "netlist", 4, engine_verilog.digest(rtl))
    path = capacity.record(netlist, tmp_path / "sizes")
    assert path.name == "ecpix5-vexriscv.json" and "build_hash" not in path.read_text()
    counts, stale = capacity.expected("ecpix5", "vexriscv", rtl, tmp_path / "sizes")
    assert not stale and counts == units(BRAM=4, LUT=1)


def test_of_another_engine_the_block_rams_are_its_own_and_the_rest_is_said_to_be_stale(tmp_path, rtl):
    capacity.record(netlist_folder(tmp_path / "netlist", 7), tmp_path / "sizes")
    counts, stale = capacity.expected("ecpix5", "vexriscv", rtl, tmp_path / "sizes")
    assert stale and counts == units(BRAM=4, LUT=1)
    with pytest.raises(InputError, match="run 'make sizes'"):
        capacity.expected("ulx3s", "vexriscv", rtl, tmp_path / "sizes")


def test_the_check_finds_an_engine_that_has_grown_too_large(tmp_path, rtl, monkeypatch):
    monkeypatch.delenv("PROFILE", raising=False)
    monkeypatch.setattr(profiles, "default", lambda board, cpu: "full")
    capacity.record(netlist_folder(tmp_path / "netlist", 4), tmp_path / "sizes")
    text = StringIO()
    pairs = [("ecpix5", "vexriscv")]
    assert capacity.check(pairs, tmp_path, Console(file=text, width=200), "routable", tmp_path / "sizes") == []
    assert "stale" in text.getvalue()
    (rtl / "HwSwap.sv").write_text(VERILOG.replace("[8:0] Memory[0:2047]", "[71:0] Memory[0:16383]"))
    [said] = capacity.check(pairs, tmp_path, Console(file=text, width=200), "routable", tmp_path / "sizes")
    assert "256 block RAMs where 176 of the part's 208" in said


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
    report = bitstream.timing_report("ecpix5", "vexriscv", placements)
    assert report.read_text() == (output / "timing.json").read_text()
    assert json.loads(report.read_text())["utilisation"]["total"]["BRAM"] == 4


def test_the_build_hash_is_the_begin_of_the_digest():
    rtl = ROOT / "build" / "rtl-soc"
    assert engine_verilog.digest(rtl).startswith(EngineInfo.load(rtl).build_hash)


def test_memories_are_counted_as_yosys_did():
    # Of the engine that the records are of, if that is today's.
    rtl = ROOT / "build" / "rtl-soc"
    digest = engine_verilog.digest(rtl)
    for board, cpu in capacity.pairs():
        found = json.loads((capacity.SIZES / f"{board}-{cpu}.json").read_text())
        if found["rtl"] == digest:
            counted = sum(units["BRAM"] for name, units in found["utilisation"].items() if name.startswith("engine"))
            assert engine_verilog.block_rams(engine_verilog.read(rtl)) == counted
