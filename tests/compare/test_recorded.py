# SPDX-License-Identifier: Apache-2.0
"""The recorded traces that say how each decision came about: the model goes the same way, step by step."""

from pathlib import Path
from typing import NamedTuple

import pytest
from hwswap.model.clusters import DISCARD, SOLIDSTATE
from hwswap.traces import trace
from hwswap.traces.records import Op
from hwswap_map import Flag
from same_decisions import RECLAIMS, check_steps

DATA = Path(__file__).parents[1] / "data"


class Expected(NamedTuple):
    """The least content of a trace: its CPUs, its decisions, and the number of records of each kind."""

    cpus: int
    decisions: int
    records: dict[Op, int]


TRACES = {
    "near-full": Expected(1, 50_000, {Op.SCANNED: 50, Op.REFUSED: 50, Op.HALF_USED: 500, Op.AVAILABLE: 20}),
    "fragmented": Expected(1, 50_000, {Op.SCANNED: 500, Op.AVAILABLE: 500, Op.RECLAIM: 5}),
    "discard": Expected(1, 8_000, {Op.DISCARD_TAKE: 50, Op.DISCARD_DONE: 50}),
    "rotating": Expected(2, 20_000, {Op.REFUSED: 100, Op.VISIT: 500}),
    "hogs": Expected(4, 10_000, {Op.TABLE: 50, Op.SWAPOFF_BEGIN: 5}),
    "swarm": Expected(4, 30_000, {Op.TABLE: 50}),
    "reclaim": Expected(2, 20_000, {Op.RECLAIM: 100, Op.RECLAIMED: 100}),
    "redis-bgsave": Expected(2, 30_000, {Op.TABLE: 20, Op.SCANNED: 200, Op.VISIT: 500}),
}

RECLAIMING = ("reclaim", "fragmented")


def read(name: str) -> trace.Trace:
    return trace.read(DATA / f"{name}.hwst.gz")


@pytest.mark.parametrize("name", TRACES)
def test_the_model_goes_the_kernels_way(name):
    expected = TRACES[name]
    recorded = read(name)
    assert recorded.header.kind == "recorded"
    assert recorded.header.kernel.startswith("7.3")
    assert recorded.header.cpus == expected.cpus
    for op, least in expected.records.items():
        assert recorded.header.counts[op.name.lower()] >= least, op.name
    outcome = check_steps(recorded)
    assert outcome.decisions >= expected.decisions
    assert any(outcome.forced[cause] for cause in RECLAIMS) == (name in RECLAIMING)


def test_the_kinds_of_devices_are_there():
    flags = {name: [r.b for r in read(name).records if r.op == Op.PREPARE] for name in TRACES}
    assert all(flag & DISCARD for flag in flags["discard"])
    assert sum(not flag & SOLIDSTATE for flag in flags["rotating"]) == 1
    assert any(flag & SOLIDSTATE for flag in flags["rotating"])


def test_full_clusters_are_looked_at_where_more_than_half_is_used():
    looks = sum(record.op == Op.ISOLATE and record.b == Flag.FULL for record in read("near-full").records)
    assert looks >= 100
