# SPDX-License-Identifier: Apache-2.0
"""What a worker does: the operations of a load under a policy, and their replay on an engine.

Workers share the repository and the sweep's folder with the command; operations are made once, into a file there.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hwswap.compare import fallback
from hwswap.kernel import convert
from hwswap.rtl import replay
from hwswap.sweep.plan import Point, SweepError
from hwswap.traces import stream, trace

PATIENCE = 1800.0
"""Seconds after which a replay is given up."""


@dataclass(frozen=True)
class Operations:
    """Operations under a policy, with the golden model's decisions: the file, and what falls back by order."""

    path: Path
    fall_back: tuple[tuple[int, int, int], ...]
    """Order, allocations tried, allocations failed."""


def load_of(point: Point) -> trace.Trace:
    """Return a point's load as it was recorded, or as the stream is by Linux's own policy."""
    if point.load.trace is None:
        assert point.seed is not None
        shape = point.load.shape(point.seed)
        return stream.generate(shape)
    loaded = trace.read(point.load.trace)
    if any(record.op >= trace.Op.BEGIN for record in loaded.records):
        loaded = convert.plain(loaded)
    if point.load.operations:
        loaded = trace.complete(loaded.header, loaded.records[: point.load.operations])
    return loaded


def prepare(point: Point, key: str, folder: Path) -> Operations:
    """Do a point's load under its policy on the golden model.

    Args:
        point: one of those that share the load.
        key: names the file.
        folder: where it is written.
    """
    loaded = load_of(point)
    policy = fallback.POLICIES[point.policy]
    if policy.pack() and point.seed is not None:
        policy = replace(policy, seed=point.seed)
    try:
        rates, records = fallback.redo(loaded, policy)
    except ValueError as error:
        raise SweepError(f"load {point.load.name}: {error}") from error
    path = folder / f"{key}.hwst.gz"
    # Another worker may be at it, too, when a sweep is run twice at the same time.
    part = path.with_name(f"{key}.{os.getpid()}.hwst.gz")
    trace.write(part, loaded.header, records)
    part.replace(path)
    return Operations(path, tuple((order, rates.tried[order], rates.failed[order]) for order in sorted(rates.tried)))


def _cycles(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cycles of each kind of operation, and of allocations by order as well."""
    rows = [{"kind": kind, "order": None, **numbers} for kind, numbers in report["cycles_by_kind"].items()]
    return rows + [
        {"kind": "alloc", "order": int(order), **numbers} for order, numbers in report["alloc_cycles_by_order"].items()
    ]


def measure(point: Point, operations: Operations) -> dict[str, Any]:
    """Replay the operations on the point's engine; return what came out, as `parquet` keeps it."""
    seed = 1 if point.seed is None else point.seed
    options = ["--latency", point.latency, "--stall", point.stall, "--seed", seed]
    outcome = replay.replay(operations.path, [str(word) for word in options], PATIENCE, point.engine.program)
    if not outcome.equal:
        raise SweepError(f"{point}: the engine does not decide as the golden model: {outcome.output.splitlines()[-1]}")
    report = outcome.report
    return {
        "engine": point.engine.name,
        "devices": point.engine.devices,
        "cpus": point.engine.cpus,
        "clusters": point.engine.clusters,
        "load": point.load.name,
        "kind": "stream" if point.load.trace is None else "trace",
        "policy": point.policy,
        "latency": point.latency,
        "stall": point.stall,
        "seed": point.seed,
        "operations": report["ops"],
        "total_cycles": report["cycles"],
        "cycles_per_operation": report["cycles_per_op"],
        "cycles": _cycles(report),
        "fall_back": [dict(zip(("order", "tried", "failed"), rates, strict=True)) for rates in operations.fall_back],
        "statistics": report["statistics"],
    }
