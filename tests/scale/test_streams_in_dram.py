# SPDX-License-Identifier: Apache-2.0
"""Random streams on the engine that has its clusters in DRAM (build/model-scale), in step with the golden model.

HWSWAP_SEED=n moves all random seeds by n.
"""

import pytest
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.stream import Shape
from hwswap.traces.trace import Op
from run_seed import SEED


@pytest.mark.parametrize("features", [frozenset(), stream.IN_DRAM], ids=["linux", "everything"])
@pytest.mark.parametrize(
    ("span", "options"), [(8, []), (24, ["--stall", "20", "--reorder"]), (2000, ["--latency", "60"])]
)
def test_streams_on_small_and_large_devices(features, span, options, tmp_path):
    shape = Shape(SEED + span, 4_000, 2, 4, 4_096, span, features)
    print(shape)
    made = stream.generate(shape)
    path = tmp_path / "stream.hwst"
    trace.write(path, made.header, made.records)
    outcome = replay.replay(path, options, timeout=600, build=paths.REPLAY_DRAM)
    assert outcome.equal, outcome.output
    assert outcome.report["ops"] == shape.ops

    # One decision that is another is found.
    def other(record):
        """Return the slots in front of those of an ALLOC: their device has them, but slot 0 is never given."""
        return record.a - (1 << record.order)

    given = (each for each in enumerate(made.records) if each[1].op == Op.ALLOC and each[1].type != trace.FAILED)
    at = max(number for number, record in given if other(record))
    made.records[at] = made.records[at]._replace(a=other(made.records[at]))
    trace.write(path, made.header, made.records[: at + 1])
    outcome = replay.replay(path, options, timeout=600, build=paths.REPLAY_DRAM)
    assert not outcome.equal and f"operation {at} " in outcome.output
