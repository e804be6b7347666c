# SPDX-License-Identifier: Apache-2.0
"""Traces on the Verilated engine (build/model/hwswap-replay): long random streams, and recorded ones.

Every decision is compared; afterwards the replayer lets the engine check all its lists and counts (CHECK).
"""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hwswap.kernel import convert
from hwswap.project import paths
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST_VERSION
from hwswap.traces.stream import Shape
from hwswap.traces.trace import Op
from run_seed import SEED
from same_decisions import check_counts, decisions
from watched_models import Reached

DATA = Path(__file__).parents[1] / "data"
WAVES = os.environ.get("WAVES", "0") not in ("", "0")
TIMEOUT = 900

SHAPES = {
    "tight": {"span": 3},
    "small": {"span": 6},
    "one-cpu": {"span": 12, "cpus": 1},
    "middle": {"span": 24},
    "four-devices": {"span": 48, "devices": 4},
    "long-lists": {"span": 128},
    "one-device": {"span": 16, "devices": 1},
    "everything": {"span": 12, "features": stream.EVERYTHING},
    "everything-large": {"span": 150, "features": stream.EVERYTHING},
    "discard": {"span": 12, "features": frozenset({"discard"})},
    "rotating": {"span": 12, "features": frozenset({"rotating"})},
    "policies": {"span": 12, "features": stream.EVERYTHING - {"discard", "rotating"}},
    "trunks": {"span": 150, "features": frozenset({"trunk", "node", "discard"})},
}
"""Small devices are full and fragmented soon; large ones have long lists, and random trunks."""

STREAMS = {name: Shape(SEED + 11 + number, 40_000, **SHAPES[name]) for number, name in enumerate(SHAPES)}


def memory(seed: int) -> list[str]:
    """Draw a memory for the engine's rings: fast or slow; half of them withhold handshakes, or answer out of order."""
    rng = random.Random(seed)
    options = ["--latency", str(rng.choice((1, 3, 16, 60)))]
    if rng.random() < 0.5:
        options += ["--stall", str(rng.choice((10, 40, 70)))]
    if rng.random() < 0.5:
        options += ["--reorder"]
    return [*options, "--seed", str(seed % 2147483646 + 1)]


def must_be_equal(made: trace.Trace, name: str, *options: str) -> replay.Outcome:
    """Replay a trace; every decision must be equal. WAVES=1 keeps waves in build/regress/`name`.fst."""
    print(name, *options)
    if WAVES:
        path = paths.BUILD / "regress" / f"{name}.fst"
        path.parent.mkdir(parents=True, exist_ok=True)
        options += ("--waves", str(path))
    outcome = replay.replay(made, options, TIMEOUT, paths.REPLAY_WAVES if WAVES else paths.REPLAY)
    assert outcome.equal, outcome.output
    print(outcome.output)
    return outcome


def test_the_streams_are_long_and_rich_enough():
    """At least 200,000 operations over all orders, several devices and CPUs, and every way to find a slot.

    With the streams' own seeds: with others, steals are fewer.
    """
    reached = Reached()
    for shape in STREAMS.values():
        for _ in reached.records(replace(shape, seed=shape.seed - SEED)):
            pass
    ops, orders, paths = reached.ops, reached.orders, reached.paths
    assert sum(ops.values()) >= 200_000
    assert min(orders[order] for order in range(10)) >= 50, orders
    assert len(reached.types) == 8
    assert len(reached.cpus) == 4
    assert all(ops[op] >= 30 for op in FIRST_VERSION), ops
    assert all(paths[path] >= 100 for path in ("fast", "nonfull", "free", "frag", "steal", "fail")), paths


@pytest.mark.parametrize("name", STREAMS)
def test_random_streams_by_the_ring(name):
    shape = STREAMS[name]
    outcome = must_be_equal(stream.generate(shape), f"{shape.seed}-{name}", *memory(shape.seed))
    assert outcome.report["ops"] == shape.ops


@pytest.mark.parametrize("options", ["--registers", "--latency 200", "--stall 60 --latency 3"])
def test_random_streams_by_other_ways(options):
    """By the CPU pages; over a slow memory; with memory that withholds handshakes at random."""
    shape = Shape(SEED + 31, ops=10_000, span=8)
    outcome = must_be_equal(stream.generate(shape), f"{shape.seed}{options.replace(' ', '')}", *options.split())
    assert outcome.report["path"] == ("registers" if options == "--registers" else "ring")


@pytest.mark.parametrize("path", trace.of_one_cpu(DATA), ids=lambda path: path.name.partition(".")[0])
def test_recorded_traces_with_any_memory(path):
    operations = convert.for_engine(trace.read(path))
    outcome = must_be_equal(operations, f"{SEED}-{path.name.partition('.')[0]}", *memory(SEED + 51))
    check_counts(operations, outcome)
    assert decisions(operations) > 9_000


def test_a_wrong_decision_is_found_and_named():
    """The comparison can fail: with one offset changed the replay stops there and says so."""
    made = stream.generate(Shape(SEED + 41, ops=3_000, span=6))
    allocated = [i for i, r in enumerate(made.records) if r.op == Op.ALLOC and r.type != trace.FAILED]
    at = allocated[len(allocated) // 2]
    record = made.records[at]
    made.records[at] = record._replace(a=record.a + (1 << record.order) if record.a < 2 else record.a - 1)
    outcome = replay.replay(made)
    assert not outcome.equal
    assert str(at) in outcome.output
    assert str(record.a) in outcome.output


DAMAGES = {
    "cut": (slice(-7, None), b""),
    "magic": (slice(0, 1), b"h"),
    "version": (slice(8, 9), b"\x09"),
    "record": (slice(-16, -15), b"\x63"),
}


@pytest.mark.parametrize(("part", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_trace_is_refused(part, damage, tmp_path):
    """The replayer's own reader names the error in one sentence, and exits with a status other than 0."""
    made = stream.generate(Shape(1, ops=200, span=3))
    path = tmp_path / "a.hwst"
    trace.write(path, made.header, made.records)
    data = bytearray(path.read_bytes())
    data[part] = damage
    path.write_bytes(data)
    outcome = replay.replay(path)
    assert not outcome.equal
    assert len(outcome.output.splitlines()) == 1
    assert str(path) in outcome.output


def test_a_trace_for_a_larger_engine_is_refused():
    made = stream.generate(Shape(2, ops=3_000, devices=8, clusters=65536, span=3000))
    assert made.header.clusters > 1024
    outcome = replay.replay(made)
    assert not outcome.equal
    assert "cluster" in outcome.output
    assert outcome.report == {}
