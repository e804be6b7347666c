# SPDX-License-Identifier: Apache-2.0
"""What is made of the console of Linux on several harts, and when that counts as failed."""

import argparse
import json

import pytest
from hwswap.cli import main as cli
from hwswap_soc.linux import linux_smp
from hwswap_soc.linux.linux_result import Collected
from rich.console import Console

HARTS = (1, 2)


def line(mode: str, op: str, order: int, cpus: int, cycles: int, kind: str = "bench") -> str:
    """Return a line of the kernel's bench."""
    result = {"op": op, "order": order, "cpus": cpus, "n": 8 * cpus, "failed": 0, "granted": 8, "timer": 2}
    result |= {"min": cycles, "p50": cycles - 10, "avg": cycles, "p99": cycles, "max": cycles}
    return "HWSWAP-JSON " + json.dumps({"kind": kind, "mode": mode, "gap_ns": 0, "result": result})


def console() -> list[str]:
    """Return what both modes said: 1,000 cycles a call on one hart, 1,500 on two; 100 less with grants."""
    lines = []
    for mode in linux_smp.MODES:
        for cpus in HARTS:
            cycles = 500 + 500 * cpus - 100 * (mode == "hint")
            for op in ("alloc", "free"):
                lines += [line(mode, op, order, cpus, cycles) for order in linux_smp.BENCH]
                lines.append(line(mode, op, 0, cpus, cycles + 7, "full"))
    return lines


def collect(lines: list[str]) -> Collected:
    """Feed the lines."""
    collected = Collected()
    for number, text in enumerate(lines):
        collected.feed(text, number)
    return collected


def test_each_number_of_harts_is_measured_by_itself():
    collected = collect(console())
    assert not linux_smp.missing(collected, HARTS, linux_smp.MODES)
    rows = linux_smp.rows(collected, HARTS, linux_smp.MODES)
    empty = {"mode": "off", "case": "empty, order 4", "order": 4, "full": False}
    assert empty | {"harts": 2, "cycles": 3000, "median": 2980} in rows
    full = {"mode": "hint", "case": "90 % full, order 0", "order": 0, "full": True}
    assert full | {"harts": 1, "cycles": 1814, "median": 1794} in rows
    assert len(rows) == len(linux_smp.MODES) * len(linux_smp.CASES) * len(HARTS)


def test_what_was_not_measured_is_said_and_shown_as_such(tmp_path):
    lines = [text for text in console() if not ('"full"' in text and '"cpus": 2' in text and '"hint"' in text)]
    collected = collect(lines)
    wanted = ["hint: 90 % full, order 0 on 2 harts was not measured."]
    assert linux_smp.missing(collected, HARTS, linux_smp.MODES) == wanted
    output = Console(width=150, record=True, file=(tmp_path / "out").open("w"))
    output.print(linux_smp.table(collected, HARTS, linux_smp.MODES))
    cells = [[cell.strip() for cell in row.split("│")] for row in output.export_text().splitlines()]
    row = next(row for row in cells if "90 % full, order 0" in row)
    assert row[2:8] == ["2,014 (1,994)", "3,014 (2,994)", "1.50", "1,814 (1,794)", "-", "-"]


def test_the_kernel_gets_the_largest_number_and_the_bench_all():
    words = linux_smp.bootargs((1, 2), ("off", "hint")).split()
    assert {"maxcpus=2", "hwswap_cpus=1,2", "hwswap_modes=off,hint", "hwswap_gap_ns=0"} <= set(words)


@pytest.mark.parametrize("text", ["2", "1,1", "2,1", "1,5", "1,", "", "1,x"])
def test_numbers_of_harts_that_make_no_sense_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="rising numbers of harts"):
        linux_smp.hart_numbers(text)


def test_a_model_that_is_not_there_is_one_sentence(tmp_path, capsys):
    assert cli.main(["soc", "linux-smp", "--model", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("soc-linux-smp: ") and "Traceback" not in said
