# SPDX-License-Identifier: Apache-2.0
"""Mutants: how they are read, chosen and tried, without the engine."""

import random
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hwswap.verify import make_mutants, mutate, yosys
from hwswap.verify.netlist import Netlist, Site

VERILOG = ["module Core(", "  wire a =\t// src/main/scala/hwswap/core/Core.scala:12:7", "    b;", "endmodule", ""]


def pool(kinds: dict[str, int]) -> dict[str, dict[int, list[Site]]]:
    """Make so many lines in each kind of module, each with three places of two cells."""
    line = 0
    made: dict[str, dict[int, list[Site]]] = {}
    for kind, number in kinds.items():
        made[kind] = {}
        for _ in range(number):
            line += 1
            made[kind][line] = [Site(f"$a{line}", "A", 0), Site(f"$a{line}", "A", 1), Site(f"$b{line}", "Y", 0)]
    return made


def mutant(number: int) -> make_mutants.Mutant:
    return make_mutants.Mutant(number, "Core", "inv", f"$c{number}", "A", 0, None, "", number, "")


def lines_of(chosen: list[Site]) -> Counter[int]:
    return Counter(int(site.cell[2:]) for site in chosen)


def netlist(cells: dict[str, tuple[str, dict[str, list[int | str]]]], outputs: list[int]) -> Netlist:
    """Make a netlist of cells, each a type and the nets at its ports; those named $... are of line 2."""
    module = {
        "ports": {"clock": {"direction": "input", "bits": [1]}, "out": {"direction": "output", "bits": outputs}},
        "cells": {
            name: {
                "type": kind,
                "parameters": {"MEMID": "\\m"} if "mem" in kind else {},
                "attributes": {"src": "some/HwSwap.sv:2.3-2.9"} if name.startswith("$") else {},
                "connections": ports,
            }
            for name, (kind, ports) in cells.items()
        },
        "netnames": {"core.sum": {"hide_name": 0, "bits": [10, 11]}, "$1": {"hide_name": 1, "bits": [12]}},
    }
    return Netlist({"modules": {"HwSwap": module}}, "HwSwap")


def test_a_bit_that_nobody_looks_at_is_not_live():
    """Of a sum of two bits the lower one is used: the upper ones of sum and operands are not."""
    found = netlist({"$1": ("$add", {"A": [2, 3], "B": [4, 5], "Y": [10, 11]})}, [10]).live()
    assert found == {Site("$1", "A", 0), Site("$1", "B", 0), Site("$1", "Y", 0)}
    both = netlist({"$1": ("$add", {"A": [2, 3], "B": [4, 5], "Y": [10, 11]})}, [11]).live()
    assert Site("$1", "A", 0) in both
    assert Site("$1", "Y", 0) not in both


def test_what_is_live_goes_through_registers_and_memories():
    """A bit of a memory's word is live only if that bit is read; addresses and enables count for every bit."""
    cells = {
        "$r": ("$memrd_v2", {"ADDR": [20], "DATA": [21, 22], "EN": ["1"]}),
        "$w": ("$memwr_v2", {"ADDR": [23], "DATA": [24, 25], "EN": [26, 27], "CLK": [1]}),
        "$d": ("$dffe", {"CLK": [1], "D": [21, 22], "Q": [30, 31], "EN": [32]}),
        "$loop": ("$dff", {"CLK": [1], "D": [41], "Q": [41]}),
        "$check": ("$check", {"A": [41]}),
    }
    found = netlist(cells, [31]).live()
    assert {Site("$d", "EN", 0), Site("$d", "D", 1), Site("$w", "ADDR", 0), Site("$r", "ADDR", 0)} <= found
    written = {site for site in found if site.port in ("DATA", "EN") and site.cell == "$w"}
    assert written == {Site("$w", "DATA", 1), Site("$w", "EN", 1)}
    assert not any(site.cell in ("$loop", "$check") for site in found)
    assert Site("$d", "D", 0) not in found


@pytest.mark.parametrize(
    ("kind", "ports", "wanted"),
    [
        ("$mux", {"A": [2, 3], "B": [4, 5], "S": [6]}, {("A", 1), ("B", 1), ("S", 0)}),
        ("$pmux", {"A": [2, 3], "B": [4, 5, 7, 8], "S": [6, 9]}, {("A", 1), ("B", 1), ("B", 3), ("S", 0), ("S", 1)}),
        ("$bmux", {"A": [2, 3, 4, 5], "S": [6]}, {("A", 1), ("A", 3), ("S", 0)}),
        ("$and", {"A": [2], "B": [4, 5]}, {("B", 1)}),
        ("$shl", {"A": [2, 3], "B": [4]}, {("A", 0), ("A", 1), ("B", 0)}),
    ],
)
def test_what_a_bit_depends_on(kind, ports, wanted):
    made = netlist({"$1": (kind, ports | {"Y": [10, 11]})}, [11])
    assert {(site.port, site.bit) for site in made.live() - {Site("$1", "Y", 1)}} == wanted


def test_constants_clocks_and_the_optimisers_cells_are_no_candidates():
    cells = {
        "$1": ("$and", {"A": [2, "1"], "B": [4, 5], "Y": [10, 11]}),
        "$2": ("$dff", {"CLK": [1], "D": [10, 11], "Q": [12, 13]}),
        "own": ("$not", {"A": [12, 13], "Y": [14, 15]}),
    }
    found = make_mutants.candidates(netlist(cells, [14, 15]), VERILOG)
    assert list(found) == ["Core"]
    ports = {(site.cell, site.port, site.bit) for site in found["Core"][2]}
    assert ("$1", "A", 0) in ports
    assert ("$1", "A", 1) not in ports
    assert not any(port == "CLK" or cell == "own" for cell, port, _ in ports)


def test_faults_know_their_place():
    """Module, line of the Chisel source, and a name with the path of instances."""
    made = netlist({"$1": ("$and", {"A": [2, 3], "B": ["0", 5], "Y": [10, 11]})}, [10, 11])
    places = [Site("$1", "Y", 1), Site("$1", "A", 0), Site("$1", "B", 1)]
    found = make_mutants.seed_faults(made, VERILOG, places, random.Random(1))
    assert [mutant.number for mutant in found] == [1, 2, 3]
    assert {(mutant.module, mutant.line, mutant.source) for mutant in found} == {("Core", 2, "Core.scala:12")}
    assert {mutant.port: mutant.wire for mutant in found} == {"A": "", "B": "", "Y": "core.sum"}
    assert all(mutant.control is None for mutant in found if mutant.port == "B"), "a constant controls nothing"


def test_the_command_puts_in_what_was_chosen():
    fault = make_mutants.Mutant(7, "Core", "cnot1", "$flatten\\core.$12", "A", 3, 6, "", 2, "")
    assert make_mutants.command(fault) == (
        "mutate -ctrl mutsel 16 7 -mode cnot1 -module HwSwap -cell $flatten\\core.$12 -port A -portbit 3 -ctrlbit 6"
    )
    assert "inverted while bit 6 is 1" in str(fault)
    assert replace(fault, module="ram_8x16").kind == "memory"


def test_faults_are_spread():
    """Each kind of module has some, none has too many, and so it is with lines."""
    kinds = {"Core": 500, "Dma": 40, "Queue": 1, **{f"M{i}": 60 for i in range(9)}}
    made = pool(kinds)
    found = make_mutants.choose(made, 100, random.Random(7))
    assert len(set(found)) == 100
    lines = lines_of(found)
    assert max(lines.values()) <= make_mutants.PER_LINE
    counts = {kind: sum(lines[line] for line in made[kind]) for kind in kinds}
    assert counts.pop("Queue") == make_mutants.PER_LINE
    assert min(counts.values()) >= make_mutants.AT_LEAST
    assert max(counts.values()) <= make_mutants.AT_MOST * 100


def test_the_seed_decides():
    made = pool({f"M{i}": 60 for i in range(12)})
    assert make_mutants.choose(made, 60, random.Random(1)) == make_mutants.choose(made, 60, random.Random(1))
    assert make_mutants.choose(made, 60, random.Random(1)) != make_mutants.choose(made, 60, random.Random(2))


def test_too_few_candidates_are_said():
    with pytest.raises(ValueError, match="only"):
        make_mutants.choose(pool({"Core": 5}), 50, random.Random(1))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("an assertion of the RTL failed at HwSwap.sv:12 (its message is above)", "assertion"),
        ("line 12 (x): waited 100 cycles for memory at 0x8 to be 0x1", "hang"),
        ("the engine has not completed operation 7", "hang"),
        ("line 3 (): register 0x40 is 0x0 and must be 0x1", "difference"),
        ("operation 5 (alloc): expected device 1 slot 3, got device 1 slot 4", "difference"),
        ("AXI4: a burst crosses 4 KiB", "protocol"),
        ("the simulation has not ended after 700 cycles: it hangs", "hang"),
        ("Segmentation fault", mutate.NO_VERDICT),
    ],
)
def test_how_a_fault_was_found(said, kind):
    assert mutate.how(said) == kind


def test_an_interrupted_run_goes_on(tmp_path):
    """Outcomes on disk count, unless they are of another model, were cut short or are no verdict."""
    path = tmp_path / "outcomes.jsonl"
    mutate.Outcomes(path, "other").add(mutate.Outcome(4, "stream", "difference", "", 1))
    outcomes = mutate.Outcomes(path, "model")
    kept = [mutate.Outcome(3, "stream", "difference", "text", 0.5), mutate.Outcome(1, how=mutate.NONE)]
    for outcome in (*kept, mutate.Outcome(2, "stream", mutate.NO_VERDICT)):
        outcomes.add(outcome)
    with path.open("a") as file:
        file.write('{"key": "model", "number": 5, "by"')
    assert list(mutate.Outcomes(path, "model").known.values()) == kept


@pytest.fixture
def model(tmp_path) -> Path:
    """Stand in for a model: a difference with fault 1, a hang with 2, nothing with 3, more cycles alone with 4.

    Of two tests the second finds fault 5 by a difference, and 8 too, of which the first gives no verdict. With 6 the
    program is killed, with 7 its gates do not settle.
    """
    program = tmp_path / "hwswap-play"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys\n"
        "fault, limit = (int(sys.argv[sys.argv.index(name) + 1]) for name in ('--fault', '--max-cycles'))\n"
        "if fault == 1 or (fault in (5, 8) and 'second' in sys.argv[1]):\n"
        "    print('register 0x0 is 0x1 and must be 0x2'); sys.exit(1)\n"
        "if fault in (6, 8): os.kill(os.getpid(), signal.SIGKILL)\n"
        "if fault == 7: print('HwSwap.sv:3: Active region did not converge.'); sys.exit(1)\n"
        "if fault == 2: print(f'the simulation has not ended after {limit} cycles: it hangs'); sys.exit(1)\n"
        "print(f'all as they must be; {1000 + (fault > 3)} cycles')\n"
    )
    program.chmod(0o755)
    return tmp_path


TWO = tuple(mutate.MutationTest(name, None, None) for name in ("first", "second"))


def test_faults_are_tried(model):
    limits = mutate.without_fault(TWO, model, model)
    expected = {
        1: ("first", "difference"),
        2: ("first", "hang"),
        5: ("second", "difference"),
        8: ("second", "difference"),
    }
    expected |= dict.fromkeys((3, 4), ("", "")) | dict.fromkeys((6, 7), ("second", mutate.NO_VERDICT))
    found = {number: mutate.try_fault(number, TWO, model, model, limits) for number in expected}
    assert list(limits.values()) == [20_000, 20_000]
    assert "20000 cycles" in found[2].said
    assert {number: (outcome.by, outcome.how) for number, outcome in found.items()} == expected


def no_fault(number: int) -> bool:
    """Stand in for the prover's: even faults are none, the proof of 7 takes too long."""
    if number == 7:
        raise yosys.OutOfTimeError("ABC was ended")
    return number % 2 == 0


def test_survivors_that_are_no_faults_are_told_apart(monkeypatch, tmp_path):
    """A mutant proved to change nothing counts neither as found nor as not found; nothing is tried twice."""
    tried = []

    def tries(number, *_):
        tried.append(number)
        return mutate.Outcome(number, *(("first", "hang") if number == 1 else ()))

    monkeypatch.setattr(mutate, "Prover", lambda *_: SimpleNamespace(no_fault=no_fault))
    monkeypatch.setattr(mutate, "without_fault", lambda *_: {})
    monkeypatch.setattr(mutate, "try_fault", tries)
    path = tmp_path / "outcomes.jsonl"
    for numbers in ([1, 4, 7], [1, 4, 7, 9]):
        outcomes = mutate.Outcomes(path, "model")
        mutate.try_all(numbers, 2, outcomes)
    assert sorted(tried) == [1, 4, 7, 9]
    found = mutate.Outcomes(path, "model").known
    assert {number: one.how for number, one in found.items()} == {1: "hang", 4: mutate.NONE, 7: "out of time", 9: ""}
    counts = mutate.report(list(found.values()), [mutant(n) for n in found])
    assert counts == {"seeded": 4, "none": 1, "faults": 3, "killed": 1, "without verdict": 0, "out of time": 1}


def test_tests_must_pass_without_a_fault(model):
    (model / "hwswap-play").write_text("#!/bin/sh\necho no; exit 1\n")
    with pytest.raises(mutate.MutateError, match="without a fault, 'first' fails"):
        mutate.without_fault(TWO, model, model)


def test_survivors_are_listed(capsys):
    """Those without a verdict are not found."""
    outcomes = [mutate.Outcome(n, "x", "difference") for n in range(1, 9)]
    outcomes += [mutate.Outcome(9), mutate.Outcome(10, "x", mutate.NO_VERDICT)]
    counts = mutate.report(outcomes, [mutant(n) for n in range(1, 11)])
    assert (counts["faults"], counts["killed"], counts["without verdict"]) == (10, 8, 1)
    said = capsys.readouterr().out
    assert re.search(r"Core\W+10\W+8\W", said)
    assert "killed by: difference 8" in said
    assert "survivor: fault 9: Core" in said
    assert "no verdict: fault 10: Core" in said


def test_files_of_the_tests_have_names_of_their_own():
    assert len({str(test) for test in mutate.MUTATION_TESTS}) == len(mutate.MUTATION_TESTS)
