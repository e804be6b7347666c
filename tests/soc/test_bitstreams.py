# SPDX-License-Identifier: Apache-2.0
"""The bitstreams of all boards: one that fails hides no other."""

import json
import time

import pytest
from hwswap_litex import InputError
from hwswap_soc.boards import bitstream, bitstreams
from hwswap_soc.fpga import fmax_report, fpga_tools, placement, steps
from stand_ins import ENGINE, write_netlist


def timing(board: str, cpu: str, mhz: dict[str, float], asked: float = 60.0) -> dict:
    """What `bitstream.build` writes to timing.json."""
    units = {"LUT": 41_820, "FF": 8_364, "BRAM": 104, "DSP": 0}
    path = {
        "clock": "sys_clk",
        "ns": 12.5,
        "routing_ns": 8.25,
        "cells": 9,
        "from": "engine.a_TRELLIS_FF_Q",
        "to": "b|c",
    }
    seeds = {
        seed: {"clocks": {"sys_clk": {"achieved": reached, "required": asked}}, "paths": [path]}
        for seed, reached in mhz.items()
    }
    return {
        "board": board,
        "cpu": cpu,
        "variant": "standard",
        "device": "LFE5U-85F",
        "engine": ENGINE,
        "tools": {"yosys": "0.52", "nextpnr-ecp5": "0.7"},
        "sys_mhz": asked,
        "floor_mhz": asked,
        "seed": int(max(mhz, key=mhz.get)),
        "seeds": seeds,
        "given_up": {},
        "utilisation": {"CPU": units, "total": units},
    }


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose sim/setup/build is played: what fails is put into the list it yields as board-cpu:artefact."""
    failing: list[str] = []
    built: list[str] = []

    def build(environment, *what):
        pair = f"{environment['BOARD']}-{environment['CPU']}"
        built.append(f"{pair}:{what[-1]}")
        if built[-1] in failing:
            return False
        folder = tmp_path / "build" / f"{what[-1]}-{pair}"
        folder.mkdir(parents=True, exist_ok=True)
        board, cpu = environment["BOARD"], environment["CPU"]
        if what[-1] == "netlist":
            (folder / "facts.json").write_text(json.dumps({"board": board, "cpu": cpu, "engine": ENGINE}))
            write_netlist(folder / "netlist.json", {"x": "LUT4"})
        else:
            (folder / "timing.json").write_text(json.dumps(timing(board, cpu, {"1": 61.0, "2": 66.04})))
        return True

    monkeypatch.delenv("PROFILE", raising=False)
    monkeypatch.setattr(steps, "build", build)
    monkeypatch.setattr(bitstreams, "ROOT", tmp_path)
    monkeypatch.setattr(bitstream, "timing_report", lambda board, cpu: tmp_path / f"{board}-{cpu}.json")
    return failing, built


def test_a_board_that_fails_hides_no_other(project, tmp_path):
    failing, built = project
    failing += ["ecpix5-vexriscv:netlist", "ecpix5-rocket:bitstream"]
    pairs = [("ecpix5", "vexriscv"), ("ecpix5", "rocket"), ("ulx3s", "vexriscv")]
    summary = bitstreams.make(pairs, 2, "routable", tmp_path / "out")
    assert built[-1] == "ulx3s-vexriscv:bitstream" and "ecpix5-vexriscv:bitstream" not in built
    reasons = [made["reason"] for made in summary["bitstreams"]]
    assert "could not be synthesised" in reasons[0] and "could not be routed" in reasons[1] and reasons[2] is None
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_a_missed_floor_is_in_the_summary_with_its_figures(project, tmp_path):
    failing, _ = project
    failing.append("ecpix5-rocket:bitstream")
    # Of another engine: an earlier run's.
    old = timing("ecpix5", "rocket", {"1": 30.0}, asked=35.0)
    (tmp_path / "ecpix5-rocket.json").write_text(json.dumps(old | {"engine": ENGINE | {"build_hash": "f"}}))
    [made] = bitstreams.make([("ecpix5", "rocket")], 1, "routable", tmp_path / "out")["bitstreams"]
    assert "could not be routed" in made["reason"] and "reached_mhz" not in made
    (tmp_path / "ecpix5-rocket.json").write_text(json.dumps(old))
    [made] = bitstreams.make([("ecpix5", "rocket")], 1, "routable", tmp_path / "out")["bitstreams"]
    assert made["reason"].startswith("timing is missed on sys_clk") and made["reached_mhz"] == {"1": 30.0}


def test_a_netlist_that_is_too_large_is_said_to_be(project, tmp_path, monkeypatch):
    failing, _ = project
    failing.append("ecpix5-rocket:bitstream")
    monkeypatch.setattr(fmax_report, "utilisation", lambda path: {"total": {"LUT": 1, "FF": 1, "BRAM": 209, "DSP": 0}})
    [made] = bitstreams.make([("ecpix5", "rocket")], 1, "part", tmp_path / "out")["bitstreams"]
    assert made["reason"].startswith("rocket on ecpix5 does not fit: 209 block RAMs")


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
    assert runs[0].given_up(router) == {"minutes": 0.03} and not runs[1].given_up(router)
    first = time.monotonic()
    assert first - started > 0.03 * 60
    # It is known by then, unless it is given more time.
    placement.place(runs, router, minutes=0.02)
    assert not (router / "1.part").exists() and time.monotonic() - first < 0.03 * 60
    placement.place(runs, router, minutes=0.04)
    assert runs[0].given_up(router) == {"minutes": 0.04}


def test_in_place_of_a_seed_that_is_given_up_comes_the_next_one(router):
    runs = [placement.Run(seed, [seed]) for seed in ("1", "2", "3", "4")]
    assert placement.place(runs, router, minutes=0.03, enough=2).keys() == {"2", "3"}
    assert runs[0].given_up(router)
    # Those that are there are taken first, and no more is done than asked for.
    assert placement.place(runs, router, minutes=0.03, enough=1).keys() == {"2"}
    assert placement.place(runs, router, minutes=0.03, enough=3).keys() == {"2", "3", "4"}
    assert placement.place(runs[1:2], router, enough=5).keys() == {"2"}


def rounds(*overused: int) -> str:
    """What router2 prints of so many rounds."""
    form = "Info:     iter={} wires=1000 overused={} overuse={} archfail=NA\n"
    return "".join(form.format(number, left, left) for number, left in enumerate(overused, 1))


def test_a_router_that_diverges_is_known_by_its_rounds():
    assert placement.diverged("Info: Packing constants..\n") == 0
    assert placement.diverged(rounds(9000, 800, 300, *range(301, 400))) == 102
    assert placement.diverged(rounds(9000, 800, 300, *[380] * 11)) == 0
    # It may stay where it is for long, near the end above all.
    assert placement.diverged(rounds(9000, 800, 300, *[310] * 40)) == 0
    assert placement.diverged(rounds(9000, 30, 2, *[9] * 40)) == 0


@pytest.mark.parametrize(
    ("does", "after", "said"),
    [
        ("cat rounds", {"rounds": 22}, "the router diverged in 22 rounds"),
        ("echo Routing globals...", {"silent": 0.02}, "the router was stuck for 0.02 minutes"),
    ],
)
def test_a_seed_whose_router_gets_nowhere_is_given_up_at_once_and_for_good(router, monkeypatch, does, after, said):
    monkeypatch.setattr(placement, "STUCK_MINUTES", 0.02)
    (router / "rounds").write_text(rounds(900, 300, *[500] * 20))
    script = router.parent / "nextpnr-ecp5"
    script.write_text(script.read_text().replace("exec sleep 1000", f"{{ {does}; exec sleep 1000; }}"))
    run = placement.Run("1", ["1"])
    assert not placement.place([run], router)
    assert run.given_up(router) == after
    assert not placement.place([run], router, minutes=1000)
    assert placement.said(run.given_up(router)) == said


def test_as_long_as_a_seed_is_placed_it_may_say_nothing(router, monkeypatch):
    monkeypatch.setattr(placement, "STUCK_MINUTES", 0.02)
    script = router.parent / "nextpnr-ecp5"
    script.write_text(script.read_text().replace("exec sleep 1000", "{ echo Packing constants..; sleep 3; exit 1; }"))
    run = placement.Run("1", ["1"])
    with pytest.raises(InputError):
        placement.place([run], router)
    assert not run.given_up(router)


def test_a_bitstream_needs_one_seed_that_was_routed(router, project, tmp_path, monkeypatch):
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
