# SPDX-License-Identifier: Apache-2.0
"""Kernel, golden model and RTL in lock-step on the engine that has its clusters in DRAM (build/model-scale).

On the recorded traces that this engine has devices and CPUs for; tests/rtl/test_lockstep_recorded.py is about the
engine with its clusters on chip, and has all of them.
"""

from pathlib import Path

import pytest
from hwswap.compare import state_looks
from hwswap.kernel import lockstep
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.stimulus.registry import SCALE
from hwswap.traces import trace
from hwswap.traces.trace import Op

DATA = Path(__file__).parents[1] / "data"
HEADERS = {path.name.removesuffix(".hwst.gz"): trace.read_header(path) for path in sorted(DATA.glob("*.hwst.gz"))}
TRACES = [name for name, header in HEADERS.items() if header.devices <= SCALE.devices and header.cpus <= SCALE.cpus]


def test_there_are_traces_of_one_cpu_and_of_as_many_as_the_engine_has():
    """Or the headers are read wrongly, and little or nothing would be replayed."""
    assert {HEADERS[name].cpus for name in TRACES} >= {1, 2, SCALE.cpus}
    assert {HEADERS[name].devices for name in TRACES} == {SCALE.devices}


@pytest.mark.parametrize("name", TRACES)
def test_the_rtl_decides_as_the_kernel_did(name, tmp_path, monkeypatch):
    """Many CPUs included: what is left to the RTL is compared, what is forced is counted."""
    programs, replayed = [], replay.replay

    def on(*arguments, build):
        programs.append(build)
        return replayed(*arguments, build=build)

    # On the engine with its clusters on chip all would be equal as well.
    monkeypatch.setattr(replay, "replay", on)
    row = lockstep.run_trace(DATA / f"{name}.hwst.gz", name, tmp_path, paths.REPLAY_DRAM)
    assert programs == [paths.REPLAY_DRAM]
    assert row.difference == ""
    counts = HEADERS[name].counts
    assert row.decisions == counts["alloc"] + counts.get("discard_take", 0) > 9_000
    assert row.compared + row.forced == row.decisions
    assert row.looks == state_looks.LOOKS, "the RTL's own state, also when all decisions have been made"
    assert lockstep.faults([row], {}) == []


def test_a_decision_that_is_another_is_found(tmp_path):
    """The last one of a trace, with slow memory that answers out of order."""
    sequence, _, difference = lockstep.sequence_of(trace.read(DATA / "discard.hwst.gz"))
    assert difference == ""
    records = sequence.records
    at = max(n for n, record in enumerate(records) if record.op == Op.ALLOC and record.type != trace.FAILED)
    records[at] = records[at]._replace(a=records[at].a ^ 1 << records[at].order)
    file = tmp_path / "sequence.hwst"
    trace.write(file, sequence.header, records[: at + 1])
    outcome = replay.replay(file, ("--latency", "60", "--reorder"), timeout=600, build=paths.REPLAY_DRAM)
    assert not outcome.equal and f"operation {at} " in outcome.output
