# SPDX-License-Identifier: Apache-2.0
"""Random streams with fresh seeds, decided by the golden model, on the Verilated engine."""

import pytest
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.stimulus.registry import PLAIN
from hwswap.traces import stream
from hwswap.traces.stream import Shape
from memory import TIMEOUT, memory

OPS = 40_000
SHORT = 2_000

SHAPES = {
    "tight": {"span": 3},
    "small": {"span": 8},
    "one-cpu": {"span": 12, "cpus": 1},
    "one-device": {"span": 16, "devices": 1},
    "middle": {"span": 24},
    "long-lists": {"span": 128},
    "discard": {"span": 12, "features": frozenset({"discard"})},
    "rotating": {"span": 12, "features": frozenset({"rotating"})},
    "policies": {"span": 12, "features": stream.EVERYTHING - {"discard", "rotating"}},
    "trunks": {"span": 150, "features": frozenset({"trunk", "node", "discard"})},
    "everything": {"span": 16, "features": stream.EVERYTHING},
}
"""Small devices are full and fragmented soon; large ones have long lists."""


def carry_out(shape: Shape, options, waves) -> dict:
    """Replay a stream on the engine, with a memory by its seed; every decision must be equal. Return the report."""
    print(shape, *options, *memory(shape.seed))
    options = [*options, *memory(shape.seed)] + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(
        stream.generate(shape), options, TIMEOUT, paths.REPLAY if waves is None else paths.REPLAY_WAVES
    )
    assert outcome.equal, outcome.output
    assert outcome.report["ops"] == shape.ops
    return outcome.report


@pytest.mark.parametrize("name", SHAPES)
def test_stream(name, seed, short, waves, record_property):
    sizes = {"devices": PLAIN.devices, "clusters": PLAIN.clusters}
    shape = Shape(seed, SHORT if short else OPS, **(sizes | SHAPES[name]))
    carry_out(shape, [], waves)
    record_property("operations", shape.ops)


def test_stream_by_cpu_pages(seed, short, waves, record_property):
    shape = Shape(seed, (SHORT if short else OPS) // 4, PLAIN.devices, PLAIN.cpus, PLAIN.clusters, span=8)
    report = carry_out(shape, ["--registers"], waves)
    assert report["path"] == "registers"
    record_property("operations", shape.ops)
