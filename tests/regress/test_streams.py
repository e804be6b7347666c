# SPDX-License-Identifier: Apache-2.0
"""Random streams with fresh seeds, decided by the golden model, on the Verilated engines."""

import pytest
from engines import ENGINES, TIMEOUT, Engine, memory
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.stream import Shape

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

LARGE = {
    "large": {"span": 2_000},
    "larger": {"span": 8_192, "features": stream.EVERYTHING},
}
"""Devices of more clusters than the caches of an engine in DRAM hold."""

CASES = [("on-chip", name) for name in SHAPES] + [("in-dram", name) for name in SHAPES | LARGE]

MOST = 65_536
"""Clusters that a stream can have at most."""


def shaped(engine: Engine, seed: int, ops: int, span: int, **changes) -> Shape:
    """Return the shape of a stream that the engine can carry out: no more devices than it has, nor other features."""
    sizes = engine.sizes
    devices = min(changes.get("devices", sizes.devices), sizes.devices)
    features = changes.get("features", frozenset()) & engine.features
    return Shape(seed, ops, devices, changes.get("cpus", sizes.cpus), min(sizes.clusters, MOST), span, features)


def carry_out(engine: Engine, shape: Shape, options, waves, tmp_path) -> dict:
    """Replay a stream on the engine, with a memory by its seed; every decision must be equal. Return the report."""
    print(shape, *options, *memory(shape.seed))
    made = stream.generate(shape)
    path = tmp_path / "stream.hwst.gz"
    trace.write(path, made.header, made.records)
    options = [*options, *memory(shape.seed)] + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(path, options, TIMEOUT, engine.build(waves))
    assert outcome.equal, outcome.output
    assert outcome.report["ops"] == shape.ops
    return outcome.report


@pytest.mark.parametrize(("where", "name"), CASES)
def test_stream(where, name, seed, short, waves, tmp_path, record_property):
    engine = ENGINES[where]
    shape = shaped(engine, seed, SHORT if short else OPS, **(SHAPES | LARGE)[name])
    carry_out(engine, shape, [], waves, tmp_path)
    record_property("operations", shape.ops)


@pytest.mark.parametrize("where", ENGINES)
@pytest.mark.parametrize("way", ["registers"])
def test_stream_by_cpu_pages(where, way, seed, short, waves, tmp_path, record_property):
    engine = ENGINES[where]
    shape = shaped(engine, seed, (SHORT if short else OPS) // 4, span=8)
    report = carry_out(engine, shape, [f"--{way}"], waves, tmp_path)
    assert report["path"] == way
    record_property("operations", shape.ops)
