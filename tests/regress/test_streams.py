# SPDX-License-Identifier: Apache-2.0
"""Random streams with fresh seeds, decided by the golden model, on the Verilated engine."""

import random
from pathlib import Path

import pytest
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.stream import Shape

OPS = 40_000
SHORT = 2_000
TIMEOUT = 900

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


def memory(seed: int) -> list[str]:
    """Draw a memory for the engine's rings: fast or slow; half of them withhold handshakes, or answer out of order."""
    rng = random.Random(seed)
    options = ["--latency", str(rng.choice((1, 3, 16, 60)))]
    if rng.random() < 0.5:
        options += ["--stall", str(rng.choice((10, 40, 70)))]
    if rng.random() < 0.5:
        options += ["--reorder"]
    return [*options, "--seed", str(seed)]


def build(waves: Path | None) -> Path:
    """Return the replayer to run: one that can keep waves is slower."""
    return paths.REPLAY if waves is None else paths.REPLAY_WAVES


@pytest.mark.parametrize("name", SHAPES)
def test_stream(name, seed, short, waves, tmp_path, record_property):
    shape = Shape(seed, ops=SHORT if short else OPS, **SHAPES[name])
    print(shape, *memory(seed))
    made = stream.generate(shape)
    path = tmp_path / "stream.hwst.gz"
    trace.write(path, made.header, made.records)
    options = memory(seed) + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(path, options, TIMEOUT, build(waves))
    assert outcome.equal, outcome.output
    assert outcome.report["ops"] == shape.ops
    record_property("operations", shape.ops)


@pytest.mark.parametrize("way", ["registers"])
def test_stream_by_cpu_pages(way, seed, short, waves, tmp_path, record_property):
    shape = Shape(seed, ops=(SHORT if short else OPS) // 4, span=8)
    print(shape, *memory(seed))
    made = stream.generate(shape)
    path = tmp_path / "stream.hwst.gz"
    trace.write(path, made.header, made.records)
    options = [f"--{way}", *memory(seed)] + ([] if waves is None else ["--waves", str(waves)])
    outcome = replay.replay(path, options, TIMEOUT, build(waves))
    assert outcome.equal, outcome.output
    record_property("operations", shape.ops)
