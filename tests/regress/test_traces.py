# SPDX-License-Identifier: Apache-2.0
"""Recorded traces on the Verilated engine, whose registers before reset and whose memory change with the seed.

Those of many CPUs as `make lockstep` replays them: one operation after the other, with STEP commands between.
"""

from pathlib import Path

import pytest
from hwswap.kernel import lockstep
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.traces import trace
from memory import TIMEOUT, memory

DATA = Path(__file__).parents[1] / "data"
NAMES = [path.name.removesuffix(".hwst.gz") for path in sorted(DATA.glob("*.hwst.gz"))]


@pytest.mark.parametrize("name", NAMES)
def test_trace(name, seed, waves, tmp_path, record_property):
    path = DATA / f"{name}.hwst.gz"
    print(path.name, *memory(seed))
    sequence, _, difference = lockstep.sequence_of(trace.read(path))
    assert difference == ""
    file = tmp_path / "sequence.hwst"
    trace.write(file, sequence.header, sequence.records)
    options = memory(seed) + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(file, options, TIMEOUT, paths.REPLAY if waves is None else paths.REPLAY_WAVES)
    assert outcome.equal, outcome.output
    record_property("operations", outcome.report["ops"])
