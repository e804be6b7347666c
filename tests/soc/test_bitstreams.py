# SPDX-License-Identifier: Apache-2.0
"""The bitstreams of all boards, and the seeds of one: a failure hides nothing else."""

import argparse
import json
import time

import pytest
from hwswap_litex import InputError
from hwswap_soc.boards import bitstream, bitstreams
from hwswap_soc.fpga import fpga_tools, placement, steps
from rich.console import Console
from stand_ins import ENGINE

TIMING = {
    "engine": ENGINE,
    "sys_mhz": 60.0,
    "seeds": {seed: {"clocks": {"sys_clk": {"achieved": mhz}}} for seed, mhz in (("1", 61.0), ("3", 66.04))},
    "given_up": {"2": 60.0},
    "utilisation": {"total": {"LUT": 41_820, "FF": 8_364, "BRAM": 104, "DSP": 0}},
}
"""The part of timing.json, as `bitstream.build` writes it, that is summed up."""


@pytest.mark.parametrize("failing", [[], ["ecpix5-rocket"]])
def test_a_board_that_fails_hides_no_other(tmp_path, monkeypatch, capsys, failing):
    """In place of sim/setup/build: all are made but those that fail."""

    def build(environment, *what):
        assert what[-1] == "bitstream" and environment["SEEDS"] == "2"
        pair = f"{environment['BOARD']}-{environment['CPU']}"
        (tmp_path / f"bitstream-{pair}").mkdir()
        (tmp_path / f"bitstream-{pair}" / "timing.json").write_text(json.dumps(TIMING))
        return pair not in failing

    saved = []
    monkeypatch.setattr(steps, "build", build)
    monkeypatch.setattr(bitstreams, "BUILD", tmp_path)
    monkeypatch.setattr(bitstreams.schema, "save", lambda name, figures, **_: saved.extend(figures))
    monkeypatch.setattr(bitstreams, "Console", lambda: Console(width=200))
    options = argparse.Namespace(seeds=2, limit="routable")
    if failing:
        with pytest.raises(InputError, match="1 of 5 bitstreams were not made: rocket on ecpix5"):
            bitstreams.run(options)
        assert "make bitstream BOARD=ecpix5 CPU=rocket" in capsys.readouterr().out
        assert not saved
        return
    bitstreams.run(options)
    assert "41,820 = 50 %" in (said := capsys.readouterr().out)
    assert "1: 61.0, 2: not routed in 60 minutes, 3: 66.0" in said
    found = {figure.what: figure.value for figure in saved}
    assert (found["ulx3s, vexriscv: slowest seed"], found["ulx3s, vexriscv: block RAMs"]) == (61.0, 50.0)


@pytest.fixture
def router(tmp_path, monkeypatch):
    """A folder for results, and in place of nextpnr a script that routes all seeds but the first."""
    script = tmp_path / "nextpnr-ecp5"
    script.write_text("""#!/bin/bash
[ "$1" != 1 ] || exec sleep 1000
while [ $# -gt 1 ]; do
    case $1 in
        --report) echo '{"fmax": {"sys_clk": {"achieved": 2, "constraint": 1}}, "critical_paths": []}' >"$2" ;;
        --textcfg) : >"$2" ;;
    esac
    shift
done
""")
    script.chmod(0o755)
    monkeypatch.setattr(fpga_tools, "tool", lambda name: str(script))
    output = tmp_path / "placed"
    output.mkdir()
    return output


def test_a_seed_that_takes_too_long_is_given_up_and_hides_no_other(router):
    runs = [placement.Run(seed, [seed]) for seed in ("1", "2", "3")]
    started = time.monotonic()
    assert placement.place(runs, router, minutes=0.03).keys() == {"2", "3"}
    assert runs[0].given_up(router) == 0.03 and not runs[1].given_up(router)
    first = time.monotonic()
    assert first - started > 0.03 * 60
    # It is known by then, unless it is given more time.
    placement.place(runs, router, minutes=0.02)
    assert not (router / "1.part").exists() and time.monotonic() - first < 0.03 * 60
    placement.place(runs, router, minutes=0.04)
    assert runs[0].given_up(router) == 0.04


def test_in_place_of_a_seed_that_is_given_up_comes_the_next_one(router):
    runs = [placement.Run(seed, [seed]) for seed in ("1", "2", "3", "4")]
    assert placement.place(runs, router, minutes=0.03, enough=2).keys() == {"2", "3"}
    assert runs[0].given_up(router)
    # Those that are there are taken first, and no more is done than asked for.
    assert placement.place(runs, router, minutes=0.03, enough=1).keys() == {"2"}
    assert placement.place(runs, router, minutes=0.03, enough=3).keys() == {"2", "3", "4"}
    assert placement.place(runs[1:2], router, enough=5).keys() == {"2"}


def test_a_bitstream_needs_one_seed_that_was_routed(router, tmp_path, monkeypatch):
    netlist = tmp_path / "netlist"
    netlist.mkdir()
    facts = {"board": "ulx3s", "cpu": "vexriscv", "sys_mhz": 60.0, "nextpnr": ["1"], "tools": {}}
    (netlist / "facts.json").write_text(json.dumps(facts))
    for name in ("netlist.json", "pins.lpf"):
        (netlist / name).write_text("")
    monkeypatch.setattr(bitstream.capacity, "require", lambda *_: None)
    monkeypatch.setattr(bitstream.constraints, "clocks", lambda board, cpu: (60.0, 60.0))
    monkeypatch.setattr(fpga_tools, "versions", lambda name: {name: "0.7"})
    # The script takes the seed by the first word: each is the first one here.
    with pytest.raises(InputError, match="none of 3 seed.* was routed within 0.01 minutes"):
        bitstream.build(netlist, "ulx3s", "vexriscv", 1, tmp_path, "part", tmp_path / "kept", minutes=0.01)
