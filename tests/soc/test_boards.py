# SPDX-License-Identifier: Apache-2.0
"""Boards: every SoC elaborates, constraints are read and checked, impossible ones are refused in one sentence.

Nothing is synthesised here: that is `make bitstream`, and takes minutes.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT
from hwswap_litex import EngineInfo, InputError
from hwswap_soc.boards import boards, constraints, flash
from hwswap_soc.fpga import fmax_report
from hwswap_soc.system import cpu
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, Signal
from programs import python
from stand_ins import write_netlist

RTL = ROOT / "build" / "rtl-soc"
PAIRS = boards.pairs()


def choice(*words: str) -> subprocess.CompletedProcess:
    """Have a choice of board and CPU looked at, as the Makefile does."""
    return python("-m", "hwswap.cli.steps", "board", *words)


def sentence(result: subprocess.CompletedProcess, status: int) -> str:
    """The one line of error that a refused command prints."""
    assert result.returncode == status
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith(("error: ", "hwswap: ")), result.stderr
    return lines[0]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Elaborate a SoC once, in a process of its own: LiteX keeps state and works in the present directory."""
    made: dict[tuple[str, str], Path] = {}

    def make(board: str, name: str) -> Path:
        if (board, name) not in made:
            output = tmp_path_factory.mktemp(f"{board}-{name}")
            code = (
                "import sys; from pathlib import Path; from hwswap_soc.boards.generate import generate;"
                "generate(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), with_bios=False)"
            )
            result = python("-c", code, board, name, RTL, output)
            assert result.returncode == 0, result.stderr[-3000:]
            made[board, name] = output
        return made[board, name]

    return make


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_elaboration(generated, pair):
    board, name = pair
    folder = generated(*pair)
    verilog = (folder / "gateware" / "hwswap_soc.v").read_text()
    module = {"vexriscv": "VexRiscv", "rocket": "ExampleRocketSystem"}[name]
    for instance in (r"HwSwap hwswap_engine", rf"{module} {module}", "EHXPLLL"):
        assert len(re.findall(rf"^{instance}\b", verilog, re.MULTILINE)) == 1, instance

    facts = json.loads((folder / "facts.json").read_text())
    assert facts["engine"] == vars(EngineInfo.load(RTL))
    assert facts["engine"]["clusters"] >= 2048, "4 GiB of swap"
    assert (facts["sys_mhz"], facts["variant"]) == (constraints.clocks(board, name)[0], cpu.PROFILES[name].variant)

    soc = json.loads((folder / "soc.json").read_text())
    profile = cpu.PROFILES[name]
    assert soc["memories"]["hwswap"]["base"] == profile.registers
    assert soc["constants"]["config_clock_frequency"] == round(facts["sys_mhz"] * 1e6)
    assert "sdcard_core" in soc["csr_bases"] and "hwswap_interrupt" in soc["constants"]
    ram = soc["memories"]["main_ram"]
    if profile.window is None:
        assert "hwswap_window" not in soc["memories"]
    else:
        window = soc["memories"]["hwswap_window"]
        assert (window["base"], window["size"]) == (profile.window, ram["size"])
        assert profile.window + ram["size"] <= profile.registers, "the window reaches into the engine's registers"


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_port_has_one_pin(generated, pair):
    folder = generated(*pair)
    verilog = (folder / "gateware" / "hwswap_soc.v").read_text()
    ports = set()
    header = verilog[verilog.index("module hwswap_soc (") : verilog.index(");")]
    for width, name in re.findall(r"(?:input|output|inout)\s+(?:wire|reg)\s+(?:\[(\d+):0\])?\s*(\w+)", header):
        ports |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    located = re.findall(r'LOCATE COMP "([^"]+)" SITE "(\w+)"', (folder / "gateware" / "hwswap_soc.lpf").read_text())
    assert {port for port, _ in located} == ports
    sites = [site for _, site in located]
    assert len(set(sites)) == len(sites), "two ports on one pin"


def test_dma_goes_to_memory_in_bursts(generated):
    # To LiteDRAM's crossbar with VexRiscv, to the coherent port with Rocket: the engine's burst length arrives there.
    vexriscv = (generated("ecpix5", "vexriscv") / "gateware" / "hwswap_soc.v").read_text()
    assert re.search(r"_dma_a[rw]_payload_len", vexriscv)
    assert re.search(r"bridge.*burst2beat|beat_count", vexriscv)
    rocket = (generated("ecpix5", "rocket") / "gateware" / "hwswap_soc.v").read_text()
    assert re.search(r"\.l2_frontend_bus_axi4_0_ar_bits_len\s*\(\w+\)", rocket), "a constant burst length"


def test_refused_choices():
    assert "32 MB" in sentence(choice("ulx3s", "rocket"), 2)
    assert "ecpix5, orangecrab, ulx3s" in sentence(choice("arty", "rocket"), 2)
    assert "vexriscv, rocket" in sentence(choice("ecpix5", "z80"), 2)
    assert choice("ecpix5", "rocket").returncode == 0


# The input of the PLL, and its outputs by the frequency of sys, as the boards' clock generators have it.
_PLLS = {
    "ecpix5": (100.0, lambda sys: (2 * sys, 25.0)),
    "orangecrab": (48.0, lambda sys: (2 * sys, 24.0)),
    "ulx3s": (25.0, lambda sys: (sys, sys)),
}


@pytest.mark.parametrize(("board", "name"), PAIRS)
def test_what_the_pll_makes_is_not_below_the_floor(board, name):
    """It may be a hundredth off the frequency asked for; placing and routing would find it out after half an hour."""
    sys_mhz, floor = constraints.clocks(board, name)
    fed, outputs = _PLLS[board]
    pll = ECP5PLL()
    pll.register_clkin(Signal(), fed * 1e6)
    for mhz in outputs(sys_mhz):
        pll.create_clkout(ClockDomain("clock"), mhz * 1e6)
    made = pll.compute_config()["clko0_freq"] * sys_mhz / outputs(sys_mhz)[0] / 1e6
    assert made >= floor - 1e-6, f"{made:.2f} MHz"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[floor]\nrocket = 35\n", "gives no clock"),
        ("[floor]\nrocket = 35\n[sys.board]\nrocket = 34\n", "below the floor"),
        ("[floor]\nrocket = 35\n[sys.board]\nrocket = 'fast'\n", "gives no clock"),
        ("[floor]\nrocket = 35\n[floor.board]\nrocket = 40\n[sys.board]\nrocket = 36\n", "floor of 40.0"),
    ],
)
def test_bad_clocks(tmp_path, text, says):
    (tmp_path / "clocks.toml").write_text(text)
    with pytest.raises(InputError, match=says):
        constraints.clocks("board", "rocket", tmp_path)


def test_flash_into_the_fpga_only():
    words = flash.command("ecpix5", Path("x.bit"), volatile=True)
    assert words[0] == "openFPGALoader" and "--write-flash" not in words
    assert "--write-flash" in flash.command("ulx3s", Path("x.bit"), volatile=False)
    with pytest.raises(InputError, match="boot loader"):
        flash.command("orangecrab", Path("x.dfu"), volatile=True)


def test_flash_reports_a_board_that_is_not_there(tmp_path, capfd):
    # The programmer as it ends without a board.
    tool = tmp_path / "openFPGALoader"
    tool.write_text("#!/bin/sh\necho empty\necho 'JTAG init failed with: unable to open ftdi device' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(InputError, match="unable to open ftdi device; is it connected and on"):
        flash.load(["openFPGALoader", "--board", "ecpix5", "x.bit"], tmp_path)
    assert capfd.readouterr() == ("", "")


def test_utilisation_by_module(tmp_path):
    counts = fmax_report.utilisation(
        write_netlist(
            tmp_path / "netlist.json",
            {
                "hwswap_engine.Core.finder.x_LUT4_Z": "LUT4",
                "hwswap_engine.shell.count_CCU2C_S0": "CCU2C",
                "hwswap_engine.shell.tables.unit.x_LUT4_Z": "LUT4",
                "hwswap_engine.tableDma.queue.ram": "DP16KD",
                "hwswap_engine.Grants.engine.ram": "TRELLIS_DPR16X4",
                "ExampleRocketSystem.tile.ram": "DP16KD",
                "boardsoc_boardsoc_sdram_count_TRELLIS_FF_Q_1": "TRELLIS_FF",
                "boardsoc_uart_TRELLIS_FF_Q": "TRELLIS_FF",
                "PLL": "EHXPLLL",
            },
        )
    )
    assert counts["engine: core"] == {"LUT": 1, "FF": 0, "BRAM": 0, "DSP": 0}
    assert counts["engine: shell"]["LUT"] == 2
    assert counts["engine: swap tables"] == {"LUT": 1, "FF": 0, "BRAM": 1, "DSP": 0}
    assert counts["engine: grants"]["LUT"] == 6
    assert counts["CPU"]["BRAM"] == 1
    assert counts["memory controller"]["FF"] == 1
    assert counts["rest of the SoC"]["FF"] == 1
    assert counts["total"] == {"LUT": 10, "FF": 2, "BRAM": 2, "DSP": 0}


def report_of(tmp_path: Path, achieved: float, required: float = 60.0) -> dict:
    hops = [
        {"delay": 0.5, "type": "clk-to-q", "from": {"cell": "a"}, "to": {"cell": "a"}},
        {"delay": 7.5, "type": "routing", "from": {"cell": "a"}, "to": {"cell": "b"}},
        {"delay": 0.25, "type": "logic", "from": {"cell": "b"}, "to": {"cell": "b"}},
        {"delay": 1.75, "type": "routing", "from": {"cell": "b"}, "to": {"cell": "c"}},
    ]
    clock = "posedge $glbnet$sys_clk"
    found = {
        "fmax": {"$glbnet$sys_clk": {"achieved": achieved, "constraint": required}},
        "critical_paths": [
            {"from": clock, "to": clock, "path": hops},
            {"from": "<async>", "to": clock, "path": hops},
        ],
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps(found))
    return fmax_report.timing(path)


def test_timing_of_one_seed(tmp_path):
    found = report_of(tmp_path, 61.004)
    assert found["clocks"] == {"sys_clk": {"achieved": 61.0, "required": 60.0}}
    [path] = found["paths"]
    assert path == {"clock": "sys_clk", "ns": 10.0, "routing_ns": 9.25, "cells": 1, "from": "a", "to": "c"}
    assert fmax_report.misses(found) == []
    assert fmax_report.misses(report_of(tmp_path, 59.99)) == ["sys_clk"]


def test_the_fastest_of_seeds_by_what_is_required(tmp_path):
    seeds = {seed: report_of(tmp_path, mhz) for seed, mhz in enumerate((58.0, 66.0, 61.0), 1)}
    assert max(seeds, key=lambda seed: fmax_report.slack(seeds[seed])) == 2


def test_bitstream_needs_a_netlist(tmp_path):
    build = ("-m", "hwswap_soc.boards.bitstream", "--board", "ecpix5", "--cpu", "vexriscv")
    build += ("--output", tmp_path / "out")
    assert "holds no netlist" in sentence(python(*build, "--netlist", tmp_path / "none"), 1)
    assert "1 or more" in sentence(python(*build, "--netlist", tmp_path, "--seeds", "0"), 1)
