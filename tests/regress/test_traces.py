# SPDX-License-Identifier: Apache-2.0
"""Recorded traces on the Verilated engines, whose registers before reset and whose memory change with the seed.

Those of many CPUs as `make lockstep` replays them: one operation after the other, with STEP commands between. The
engine in DRAM has those that it has devices and CPUs for.
"""

from pathlib import Path

import pytest
from engines import ENGINES, TIMEOUT, memory
from hwswap.kernel import lockstep
from hwswap.rtl import replay
from hwswap.traces import trace

DATA = Path(__file__).parents[1] / "data"
HEADERS = {path.name.removesuffix(".hwst.gz"): trace.read_header(path) for path in sorted(DATA.glob("*.hwst.gz"))}
CASES = [(where, name) for where, engine in ENGINES.items() for name in HEADERS if engine.fits(HEADERS[name])]


@pytest.mark.parametrize(("where", "name"), CASES)
def test_trace(where, name, seed, waves, tmp_path, record_property):
    path = DATA / f"{name}.hwst.gz"
    print(path.name, *memory(seed))
    sequence, _, difference = lockstep.sequence_of(trace.read(path))
    assert difference == ""
    file = tmp_path / "sequence.hwst"
    trace.write(file, sequence.header, sequence.records)
    options = memory(seed) + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(file, options, TIMEOUT, ENGINES[where].build(waves))
    assert outcome.equal, outcome.output
    record_property("operations", outcome.report["ops"])


def test_each_engine_has_its_traces():
    assert [name for where, name in CASES if where == "on-chip"] == list(HEADERS)
    assert {HEADERS[name].cpus for where, name in CASES if where == "in-dram"} >= {1, 2, 4}
