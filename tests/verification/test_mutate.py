# SPDX-License-Identifier: Apache-2.0
"""Seeded faults: how they are read, chosen and tried, without the engine."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from hwswap import mutants, mutate

LISTED = """\
mutate -ctrl mutsel 16 1 -mode inv -module Core$HwSwap.core -cell $12 -port A -portbit 3 -wire a_b -wirebit 3 \
-src HwSwap.sv:2.5-2.9
mutate -ctrl mutsel 16 2 -mode cnot1 -module ram_8x16$HwSwap.m.ram_ext -cell $4 -port DATA -portbit 11 -ctrlbit 6 \
-src HwSwap.sv:1.5-1.9 -src HwSwap.sv:3.5-3.9
mutate -ctrl mutsel 16 3 -mode const0 -module HwSwap -cell core -port CLK -portbit 0 -src HwSwap.sv:3.1-3.2
"""
VERILOG = ["module Core(", "  wire a =\t// src/main/scala/hwswap/Core.scala:12:7", "    b;", "endmodule"]


def candidates(kinds: dict[str, int]) -> list[mutants.Mutant]:
    """Make so many candidates in each kind of module, each on a line of its own."""
    return [
        mutants.Mutant(0, kind, f"HwSwap.{kind}", "inv", f"${i}", "A", 0, None, "", i, "")
        for kind, number in kinds.items()
        for i in range(1, number + 1)
    ]


def test_what_yosys_lists_is_read():
    core, memory = mutants.parse(LISTED, VERILOG)
    assert (core.module, core.instance, core.bit, core.control) == ("Core", "HwSwap.core", 3, None)
    assert (core.line, core.source, core.wire) == (2, "Core.scala:12", "a_b")
    assert (memory.kind, memory.mode, memory.control, memory.line) == ("memory", "cnot1", 6, 3)
    assert "inverted while bit 6 is 1" in str(memory)


def test_faults_in_the_clock_are_left_out():
    assert all(mutant.port != "CLK" for mutant in mutants.parse(LISTED, VERILOG))


def test_the_command_puts_in_what_was_listed():
    core = mutants.choose(mutants.parse(LISTED, VERILOG), 2, 1)[0]
    assert mutants.command(core) == (
        "mutate -ctrl mutsel 16 1 -mode inv -module Core$HwSwap.core -cell $12 -port A -portbit 3"
    )


def test_faults_are_spread():
    """Each kind of module has some, none has too many, and they are numbered in a row."""
    found = mutants.choose(candidates({"Core": 500, "Dma": 40, "Queue": 3, **{f"M{i}": 60 for i in range(9)}}), 100, 7)
    counts = Counter(mutant.kind for mutant in found)
    assert [mutant.number for mutant in found] == list(range(1, 101))
    assert counts["Queue"] == 3
    assert min(counts[kind] for kind in counts if kind != "Queue") >= mutants.AT_LEAST
    assert max(counts.values()) <= mutants.AT_MOST * 100 + 1


def test_the_seed_decides():
    pool = candidates({f"M{i}": 60 for i in range(12)})
    assert mutants.choose(pool, 60, 1) == mutants.choose(pool, 60, 1)
    assert mutants.choose(pool, 60, 1) != mutants.choose(pool, 60, 2)


def test_too_few_candidates_are_said():
    with pytest.raises(ValueError, match="only"):
        mutants.choose(candidates({"Core": 5}), 50, 1)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("an assertion of the RTL failed at HwSwap.sv:12 (its message is above)", "assertion"),
        ("line 12 (x): waited 100 cycles for memory at 0x8 to be 0x1", "hang"),
        ("the engine has not completed operation 7", "hang"),
        ("line 3 (): register 0x40 is 0x0 and must be 0x1", "difference"),
        ("operation 5 (alloc): expected device 1 slot 3, got device 1 slot 4", "difference"),
        ("AXI4: a burst crosses 4 KiB", "protocol"),
        ("Segmentation fault", "other"),
    ],
)
def test_how_a_fault_was_found(said, kind):
    assert mutate.how(said) == kind


def test_an_interrupted_run_goes_on(tmp_path):
    """What is on disk counts, unless it is of another model or was cut short."""
    path = tmp_path / "results.jsonl"
    results = mutate.Results(path, "key")
    results.add(mutate.Outcome(3, "stream", "difference", "text", 0.5))
    with path.open("a") as file:
        file.write(json.dumps({"key": "other", "number": 4, "by": "", "how": "", "said": "", "seconds": 1}) + "\n")
        file.write('{"key": "key", "number": 5, "by"')
    again = mutate.Results(path, "key")
    assert list(again.known) == [3]
    assert again.known[3].by == "stream"


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    """Stand in for a model: it finds fault 1 by a difference, hangs on fault 2, and finds nothing in others."""
    program = tmp_path / "hwswap-fake"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, time\n"
        "fault = int(sys.argv[sys.argv.index('--fault') + 1])\n"
        "if fault == 1: print('register 0x0 is 0x1 and must be 0x2'); sys.exit(1)\n"
        "if fault == 2: time.sleep(60)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(mutate, "KILLERS", (mutate.Killer("fake", "hwswap-fake", "file"),))
    return tmp_path


def test_faults_are_tried(model):
    limits = {"fake": 3.0}
    found = [mutate.try_fault(number, model, model, limits) for number in (1, 2, 3)]
    assert [(outcome.by, outcome.how) for outcome in found] == [("fake", "difference"), ("fake", "hang"), ("", "")]


def test_survivors_are_listed(capsys):
    listed = mutants.choose(candidates({"Core": 4, "Dma": 4, "Shell": 4}), 10, 1)
    outcomes = [mutate.Outcome(m.number, "" if m.number == 4 else "x", "difference", "", 0.1) for m in listed]
    values = mutate.report(outcomes, listed, 1)
    assert (values["faults"], values["killed"], values["score"]) == (10, 9, 0.9)
    assert [survivor["number"] for survivor in values["survivors"]] == [4]
    assert "survivor: fault 4" in capsys.readouterr().out
