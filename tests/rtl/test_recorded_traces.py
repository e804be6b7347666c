# SPDX-License-Identifier: Apache-2.0
"""The recorded traces: golden model and RTL decide as the kernel did; the core's bench, too."""

from pathlib import Path

import pytest
import same_decisions
from hwswap.bench import engine_cycles

DATA = Path(__file__).parents[1] / "data"
TRACES = sorted(path.name.removesuffix(".hwst.gz") for path in DATA.glob("*.hwst.gz"))
BENCHED = ("fragmented", "discard", "near-full")


@pytest.mark.parametrize("name", TRACES)
def test_all_decide_as_the_kernel_did(name):
    """The golden model on each recording, the RTL on those of one CPU."""
    loaded = same_decisions.check_decisions(DATA / f"{name}.hwst.gz")
    assert same_decisions.decisions(loaded) > 9_000


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
