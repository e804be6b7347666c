# SPDX-License-Identifier: Apache-2.0
"""Recorded traces of one CPU on the Verilated engine, whose registers before reset and memory change with the seed."""

from pathlib import Path

import pytest
from hwswap.kernel import convert
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.traces import trace
from memory import TIMEOUT, memory

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("path", trace.of_one_cpu(DATA), ids=lambda path: path.name.partition(".")[0])
def test_trace(path, seed, waves, record_property):
    print(path.name, *memory(seed))
    operations = convert.for_engine(trace.read(path))
    options = memory(seed) + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(operations, options, TIMEOUT, paths.REPLAY if waves is None else paths.REPLAY_WAVES)
    assert outcome.equal, outcome.output
    record_property("operations", outcome.report["ops"])
