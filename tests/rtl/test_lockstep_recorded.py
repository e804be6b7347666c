# SPDX-License-Identifier: Apache-2.0
"""Kernel, golden model and RTL in lock-step, and the core's bench: the short form, on the recorded traces there are."""

from pathlib import Path

import pytest
from hwswap.bench import engine_cycles
from hwswap.kernel import lockstep, lockstep_report
from hwswap.traces import trace

DATA = Path(__file__).parents[1] / "data"
TRACES = sorted(path.name.removesuffix(".hwst.gz") for path in DATA.glob("*.hwst.gz"))
BENCHED = ("fragmented", "discard", "near-full")


@pytest.mark.parametrize("name", TRACES)
def test_all_decide_as_the_kernel_did(name, tmp_path):
    """The golden model on each recording, the RTL on those of one CPU."""
    row = lockstep.run_trace(DATA / f"{name}.hwst.gz", name, tmp_path)
    assert row.difference == ""
    counts = trace.read(DATA / f"{name}.hwst.gz").header.counts
    assert row.decisions == counts["alloc"] + counts.get("discard_take", 0) > 9_000
    assert row.compared == (row.decisions if row.cpus == 1 else 0)
    assert lockstep_report.faults([row], {}) == []


@pytest.mark.parametrize("name", BENCHED)
def test_the_core_alone_is_measured_and_decides_as_the_kernel_did(name):
    """The bench compares every decision, too."""
    report = engine_cycles.measure_file(DATA / f"{name}.hwst.gz")
    assert report["same"]
    counted = sum(value * number for group in report["groups"] for value, number in group["cycles"])
    assert 0 <= report["cycles"] - counted <= 2, "each cycle belongs to an operation, but for the end"
    figures = engine_cycles.Figures()
    figures.add(report)
    hits = figures.merged(lambda key: key[0] == "alloc" and key[2] == "hint" and not key[3])
    assert hits.percentile(50) <= engine_cycles.FAST
    if name == "fragmented":
        scanned = figures.scanned()
        assert scanned is not None
        assert scanned <= engine_cycles.SCAN
    assert report["fall_back"]["linux"]["0"][0] > 5000
