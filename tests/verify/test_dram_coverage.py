# SPDX-License-Identifier: Apache-2.0
"""What `hwswap coverage-dram` counts and what it runs; the runs themselves take minutes."""

import argparse
import re

import pytest
from hwswap.traces import trace
from hwswap.verify import dram_coverage, rtl_coverage


def coverage_file(path, *points):
    fields = (
        "".join(f"\x01{name}\x02{value}" for name, value in zip(("l", "n", "page", "o"), point, strict=True))
        for point, _ in points
    )
    lines = (f"C '{text}' {count}\n" for text, (_, count) in zip(fields, points, strict=True))
    path.write_text("# SystemC::Coverage-3\n" + "".join(lines))


def test_only_modules_of_its_own_count(tmp_path, monkeypatch, capsys):
    on_chip, in_dram = tmp_path / "a.sv", tmp_path / "b.sv"
    on_chip.write_text("module Core(\n);\nendmodule\n")
    in_dram.write_text("module Core(\n);\nendmodule\nmodule LineCache(\n);\nendmodule\n")
    engine = rtl_coverage.Engine(in_dram, tmp_path, tmp_path)
    monkeypatch.setattr(dram_coverage, "ON_CHIP", rtl_coverage.Engine(on_chip, tmp_path, tmp_path))
    monkeypatch.setattr(dram_coverage, "IN_DRAM", engine)
    monkeypatch.setattr(dram_coverage, "simulate", lambda *_: None)

    def covered(lines, short=False):
        of_core = ((1, 1, "v_line/Core", "block"), 0)
        of_cache = [((4, n, "v_line/LineCache", "block"), count) for n, count in enumerate(lines)]
        coverage_file(tmp_path / "a.dat", of_core, *of_cache, ((5, 9, "v_toggle/LineCache", "x"), 1))
        return dram_coverage.run(argparse.Namespace(short=short))

    assert covered([1] * 9 + [0]) == 0
    assert re.search(r"clusters in DRAM: lines 90\.0 %, toggles 100\.0 %", capsys.readouterr().out)
    assert covered([1] * 5 + [0] * 5) == 1
    assert "line coverage is below" in capsys.readouterr().err
    assert "LineCache 4 block" in (tmp_path / "missed.txt").read_text()
    assert "Core" not in (tmp_path / "missed.txt").read_text()
    # The short form has goals of its own.
    monkeypatch.setattr(dram_coverage, "SHORT_GOALS", {"line": 0.6, "toggle": 0.6})
    assert covered([1] * 7 + [0] * 3) == 1
    assert covered([1] * 7 + [0] * 3, short=True) == 0
    assert covered([1] * 5 + [0] * 5, short=True) == 1


@pytest.mark.parametrize("short", [False, True])
def test_each_run_has_a_name_of_its_own_and_a_file(short, tmp_path):
    jobs = list(dram_coverage.jobs(short))
    assert len({job.name for job in jobs}) == len(jobs)
    for job in jobs:
        if job.name.startswith("stream"):
            path = tmp_path / job.name
            job.make(path)
            assert trace.read(path).records
