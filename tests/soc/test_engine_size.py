# SPDX-License-Identifier: Apache-2.0
"""What is said of the size of an engine alone."""

import argparse
import json

from hwswap_soc.fpga import engine_fmax, engine_size, fpga_tools

_ENGINE = {"devices": 32, "cpus": 64, "clusters": 512, "profile": "wide", "build_hash": "0123"}


def test_the_size_is_counted_and_put_into_a_sentence(tmp_path, monkeypatch, capsys):
    """A carry cell is two LUTs; the part's netlist is read, and no other."""
    cells = {"a": {"type": "LUT4"}, "b": {"type": "CCU2C"}, "Core.c": {"type": "TRELLIS_FF"}, "d": {"type": "DP16KD"}}
    design = {"modules": {"HwSwap": {"attributes": {"top": "1"}, "cells": cells}}}
    read = []

    def netlist(engine, output):
        read.append(engine)
        (output / "engine.json").write_text(json.dumps(design))
        return output / "engine.json"

    monkeypatch.setattr(engine_fmax, "netlist", netlist)
    monkeypatch.setattr(fpga_tools, "versions", lambda *names: dict.fromkeys(names, "1"))
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "engine.json").write_text(json.dumps(_ENGINE))
    options = argparse.Namespace(engine=tmp_path / "part", output=tmp_path / "size")
    assert engine_size.run(options) == 0
    assert read == [tmp_path / "part"]
    said = capsys.readouterr().out
    assert "profile wide, 32 devices, 64 CPUs, 512 clusters, build 0123: 3 LUTs (0 % of an ECP5-85F)" in said
    found = json.loads((tmp_path / "size" / "size.json").read_text())
    assert found["utilisation"]["total"] == {"LUT": 3, "FF": 1, "BRAM": 1, "DSP": 0}


def test_what_is_not_there_is_said_in_a_sentence(tmp_path, capsys):
    options = argparse.Namespace(engine=tmp_path / "none", output=tmp_path / "size")
    assert engine_size.run(options) == 1
    assert "run 'sim/setup/build" in capsys.readouterr().err.replace("\n", " ")
