# SPDX-License-Identifier: Apache-2.0
"""Recorded traces on the Verilated engine, whose registers before reset and whose memory change with the seed."""

from pathlib import Path

import pytest
from hwswap import replay, trace
from test_streams import TIMEOUT, build, memory

DATA = Path(__file__).parents[1] / "data"
TRACES = ("random-churn", "sequential-mixed-orders")


@pytest.mark.parametrize("name", TRACES)
def test_trace(name, seed, waves, record_property):
    path = DATA / f"{name}.hwst.gz"
    print(path.name, *memory(seed))
    options = memory(seed) + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(path, options, TIMEOUT, build(waves))
    assert outcome.equal, outcome.output
    record_property("operations", trace.read(path).header.counts["records"])
