# SPDX-License-Identifier: Apache-2.0
"""The engine alone: its Fmax, for which the runs of an interrupted measurement count, and its size."""

import argparse
import json
import subprocess
import sys

import pytest
from hwswap_litex import InputError
from hwswap_soc.fpga import engine_fmax, fpga_tools
from stand_ins import write_netlist

_END = {"cell": "core.row", "port": "Q"}
_PATH = [{"type": "logic", "delay": 5.0, "from": _END, "to": _END}]
_ENGINE = {"devices": 32, "cpus": 64, "clusters": 512, "profile": "wide", "build_hash": "0123"}


@pytest.fixture
def nextpnr(monkeypatch):
    """Stand in for nextpnr-ecp5, whose result is 90 MHz and the seed; return the seeds it was run with, and `broken`.

    A seed in the set `broken` ends it after half a report, as an interruption would.
    """
    seeds, broken = [], set()

    def start(command, log, folder):
        seed = int(command[command.index("--seed") + 1])
        seeds.append(seed)
        paths = [{"from": "posedge clock", "to": "posedge clock", "path": _PATH}]
        clock = {"achieved": 90.0 + seed, "constraint": 150.0}
        text = json.dumps({"fmax": {"clock": clock}, "critical_paths": paths})
        (folder / command[command.index("--report") + 1]).write_text(text[:20] if seed in broken else text)
        log.touch()
        return subprocess.Popen([sys.executable, "-c", f"raise SystemExit({int(seed in broken)})"])

    monkeypatch.setattr(fpga_tools, "start", start)
    return seeds, broken


def test_an_interrupted_measurement_goes_on_where_it_stopped(nextpnr, tmp_path):
    seeds, broken = nextpnr
    broken.add(3)
    with pytest.raises(InputError, match="nextpnr-ecp5|python"):
        engine_fmax.measure(tmp_path / "engine.json", ["8"], 3, tmp_path)
    assert seeds == [1, 2, 3]
    broken.clear()
    found = engine_fmax.measure(tmp_path / "engine.json", ["8"], 3, tmp_path)
    assert seeds[3:] in ([3], [2, 3]), "seed 2 may have been ended with the failing one"
    assert (found["8"]["lowest"], found["8"]["median"], found["8"]["highest"]) == (91.0, 92.0, 93.0)


def test_another_netlist_tool_or_option_begins_anew(tmp_path, monkeypatch):
    design = tmp_path / "engine.json"
    design.write_text("one")
    first = engine_fmax.folder_of(design, {"yosys": "0.52"}, tmp_path)
    assert engine_fmax.folder_of(design, {"yosys": "0.52"}, tmp_path) == first
    assert engine_fmax.folder_of(design, {"yosys": "0.53"}, tmp_path) != first
    design.write_text("two")
    assert engine_fmax.folder_of(design, {"yosys": "0.52"}, tmp_path) != first
    design.write_text("one")
    monkeypatch.setattr(engine_fmax, "_OPTIONS", ["--freq", "1"])
    assert engine_fmax.folder_of(design, {"yosys": "0.52"}, tmp_path) != first


def test_the_size_is_counted(tmp_path, monkeypatch):
    """A carry cell is two LUTs; the part's netlist is read, and no other."""
    read, saved = [], {}

    def netlist(engine, output):
        read.append(engine)
        cells = {"a": "LUT4", "b": "CCU2C", "Core.c": "TRELLIS_FF", "d": "DP16KD"}
        return write_netlist(output / "engine.json", cells)

    monkeypatch.setattr(engine_fmax, "netlist", netlist)
    monkeypatch.setattr(engine_fmax.schema, "save", lambda name, figures, **_: saved.update({name: figures}))
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "engine.json").write_text(json.dumps(_ENGINE))
    options = argparse.Namespace(engine=tmp_path / "part", output=tmp_path / "size")
    assert engine_fmax.run_size(options) == 0
    assert read == [tmp_path / "part"]
    assert {figure.what: figure.value for figure in saved["engine-size-wide"]} == {"LUT": 3, "FF": 1, "BRAM": 1}


def test_what_is_not_there_is_said_in_a_sentence(tmp_path):
    options = argparse.Namespace(engine=tmp_path / "none", output=tmp_path / "size")
    with pytest.raises(InputError, match="run 'sim/setup/build"):
        engine_fmax.run_size(options)
