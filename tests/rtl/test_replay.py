# SPDX-License-Identifier: Apache-2.0
"""Traces on the Verilated engine (build/model/hwswap-replay): long random streams (recorded ones: see lock-step).

Every decision is compared; afterwards the replayer lets the engine check all its lists and counts (CHECK).
HWSWAP_SEED=n moves all random seeds by n.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.records import FIRST_VERSION
from hwswap.traces.stream import Shape
from hwswap.traces.trace import Op
from run_seed import SEED

DATA = Path(__file__).parents[1] / "data"
# Small devices are full and fragmented soon; large ones have long lists, and random trunks. The engine's own sizes are
# the limit.
STREAMS = [
    Shape(SEED + 11, ops=40_000, span=3),
    Shape(SEED + 12, ops=40_000, span=6),
    Shape(SEED + 13, ops=40_000, span=12, cpus=1),
    Shape(SEED + 14, ops=40_000, span=24),
    Shape(SEED + 15, ops=40_000, span=48, devices=4),
    Shape(SEED + 16, ops=40_000, span=128),
    Shape(SEED + 17, ops=20_000, span=16, devices=1),
    Shape(SEED + 18, ops=20_000, span=12, features=stream.EVERYTHING),
    Shape(SEED + 19, ops=30_000, span=150, features=stream.EVERYTHING),
]
TIMEOUT = 600


def must_be_equal(made: trace.Trace, *options: str) -> dict:
    """Replay a trace; every decision must be equal. Return the report."""
    outcome = replay.replay(made, options, timeout=TIMEOUT)
    assert outcome.equal, outcome.output
    print(outcome.output)
    return outcome.report


def test_the_streams_are_long_and_rich_enough():
    """At least 200,000 operations over all orders, several devices and CPUs, and every way to find a slot.

    With the streams' own seeds: with others, steals are fewer.
    """
    ops: Counter[int] = Counter()
    orders: Counter[int] = Counter()
    paths: Counter[str] = Counter()
    types, cpus = set(), set()
    for shape in STREAMS:
        source = stream.Stream(replace(shape, seed=shape.seed - SEED))
        for record in source:
            ops[record.op] += 1
            if record.op == Op.ALLOC and record.type != trace.FAILED:
                orders[record.order] += 1
                types.add(record.type)
                cpus.add(record.cpu)
        paths += source.model.counts.by_path
    assert sum(ops.values()) >= 200_000
    assert min(orders[order] for order in range(10)) >= 50, orders
    assert len(types) == 8
    assert len(cpus) == 4
    assert all(ops[op] >= 30 for op in FIRST_VERSION), ops
    assert all(paths[path] >= 100 for path in ("fast", "nonfull", "free", "frag", "steal", "fail")), paths


@pytest.mark.parametrize("shape", STREAMS, ids=lambda shape: f"seed{shape.seed}")
def test_random_streams_by_the_ring(shape):
    print(shape)
    report = must_be_equal(stream.generate(shape), "--seed", str(shape.seed % 2147483646 + 1))
    assert report["ops"] == shape.ops


@pytest.mark.parametrize(
    "options",
    [("--registers",), ("--latency", "200"), ("--stall", "60", "--latency", "3")],
    ids=lambda options: " ".join(options),
)
def test_random_streams_by_other_ways(options):
    """By the CPU pages; over a slow memory; with memory that withholds handshakes at random."""
    shape = Shape(SEED + 31, ops=8_000, span=8)
    print(shape, *options)
    must_be_equal(stream.generate(shape), *options)


def test_a_wrong_decision_is_found_and_named():
    """The comparison can fail: with one offset changed the replay stops there and says so."""
    made = stream.generate(Shape(SEED + 41, ops=3_000, span=6))
    allocated = [i for i, r in enumerate(made.records) if r.op == Op.ALLOC and r.type != trace.FAILED]
    at = allocated[len(allocated) // 2]
    record = made.records[at]
    made.records[at] = record._replace(a=record.a + (1 << record.order) if record.a < 2 else record.a - 1)
    outcome = replay.replay(made, timeout=TIMEOUT)
    assert not outcome.equal
    assert str(at) in outcome.output
    assert str(record.a) in outcome.output


@pytest.mark.parametrize("damage", ["cut", "magic", "version", "record"])
def test_a_damaged_trace_is_refused(damage, tmp_path):
    """The replayer's own reader says in one sentence what is wrong, and exits with a status other than 0."""
    made = stream.generate(Shape(1, ops=200, span=3))
    path = tmp_path / "a.hwst"
    trace.write(path, made.header, made.records)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-7]
    elif damage == "magic":
        data[0] ^= 1
    elif damage == "version":
        data[8] = 9
    else:
        data[-16] = 99
    path.write_bytes(data)
    outcome = replay.replay(path, timeout=60)
    assert not outcome.equal
    assert len(outcome.output.splitlines()) == 1
    assert str(path) in outcome.output


def test_a_trace_for_a_larger_engine_is_refused():
    made = stream.generate(Shape(2, ops=3_000, devices=8, clusters=65536, span=3000))
    assert made.header.clusters > 1024
    outcome = replay.replay(made, timeout=60)
    assert not outcome.equal
    assert "cluster" in outcome.output
    assert outcome.report == {}
