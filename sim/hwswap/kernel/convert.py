# SPDX-License-Identifier: Apache-2.0
"""Making one trace of another: from tracepoint text, without details, or from a later record on."""

from dataclasses import replace
from pathlib import Path

from hwswap.compare.check import check
from hwswap.compare.forced import ForcedReplay
from hwswap.compare.operations import compare, model_for
from hwswap.kernel import ftrace
from hwswap.model.follower import Mismatch
from hwswap.model.golden import Allocator
from hwswap.traces import initial
from hwswap.traces.records import FIRST_DETAIL, FIRST_INIT, FIRST_READAHEAD, NO_MEMORY, Op, TraceError
from hwswap.traces.trace import MAGIC, ClusterMap, Header, Trace, complete, read


def load(path: Path, kernel: str | None = None) -> Trace:
    """Read a trace, or the kernel's tracepoint text, which needs the kernel's release to go with it."""
    try:
        start = path.open("rb").read(len(MAGIC))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    if start == MAGIC or start[:2] == b"\x1f\x8b":
        return read(path)
    if kernel is None:
        raise TraceError(f"{path}: not a trace; if it is tracepoint text, name its kernel with --kernel")
    try:
        records, cpus = ftrace.parse(path.read_text(errors="replace").splitlines())
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error
    return complete(Header("recorded", kernel, "tracepoints", path.name, None, cpus), records)


def plain(trace: Trace) -> Trace:
    """Leave out how the decisions came about: what is left can be replayed freely, and by every replayer."""
    records = []
    for record in trace.records:
        if record.op < FIRST_DETAIL:
            records.append(record._replace(c=0) if record.op in (Op.ALLOC, Op.FREE) else record)
    return complete(replace(trace.header), records)


def lost(trace: Trace) -> list[str]:
    """Say why a plain trace need not be decided as it was, one reason each."""
    reasons = []
    if trace.header.cpus > 1 and trace.detailed:
        reasons.append("its CPUs came between each other's steps")
    if any(record.op == Op.RECLAIM or (record.op == Op.FREE and record.c) for record in trace.records):
        reasons.append("allocations reclaimed slots on their way")
    if any(record.op == Op.TABLE and record.b == NO_MEMORY for record in trace.records):
        reasons.append("there was no memory for a table")
    return reasons


def for_engine(trace: Trace) -> Trace:
    """Return the operations of a trace, which an engine decides as they were, one after the other."""
    if trace.header.cpus > 1 and trace.detailed:
        raise TraceError(
            f"it is of {trace.header.cpus} CPUs, which came between each other's steps, and an engine finishes one "
            "operation before the next: use `trace check`"
        )
    if trace.windows:
        raise TraceError("it has windows of readahead, which an engine does not choose: use `trace check`")
    if any(FIRST_INIT <= record.op < FIRST_DETAIL for record in trace.records):
        raise TraceError("it begins with a state that an engine cannot be given: use `trace check`")
    operations = plain(trace)
    if difference := check(operations):
        raise TraceError(f"its operations alone are decided otherwise: {difference}")
    return operations


def cut(trace: Trace, start: int) -> Trace:
    """Begin at record `start`, or the first one behind it before which no allocation is under way.

    What was before becomes the initial state, as the model has it; so the trace must agree with the model that far.
    """
    if not 0 <= start <= len(trace.records):
        raise TraceError(f"record {start} is not in the trace, which has {len(trace.records)}")
    model, at = follow(trace, start)
    records = list(initial.save(model))
    begun = sum(record.op == Op.BEGIN for record in trace.records[:at])
    for record in trace.records[at:]:
        numbered = record.c and record.op != Op.PREPARE and record.op < FIRST_READAHEAD
        records.append(record._replace(c=record.c - begun) if numbered else record)
    header = replace(trace.header, workload=f"{trace.header.workload}, from record {at}")
    return complete(header, records)


def until(trace: Trace, end: int) -> Trace:
    """End at record `end`, or the first one behind it before which no allocation is under way."""
    if not 0 <= end <= len(trace.records):
        raise TraceError(f"record {end} is not in the trace, which has {len(trace.records)}")
    _, at = follow(trace, end)
    header = replace(trace.header, workload=f"{trace.header.workload}, up to record {at}")
    return complete(header, trace.records[:at])


def follow(trace: Trace, start: int) -> tuple[Allocator, int]:
    """Return the model as it is before the first record from `start` on where it can be saved, and that record."""
    at = 0
    try:
        if trace.detailed:
            forced = ForcedReplay(trace)
            while at < start or not forced.at_rest:
                if at == len(trace.records):
                    raise TraceError(f"behind record {start} there is always an allocation under way")
                forced.record(trace.records[at])
                at += 1
            return forced.model, at
        model = model_for(trace)
        clusters = ClusterMap()
        for at in range(start):
            record = trace.records[at]
            if record.op < FIRST_READAHEAD and (difference := compare(model, clusters, at, record)):
                raise TraceError(f"the trace cannot be cut behind a difference: {difference}")
    except Mismatch as mismatch:
        raise TraceError(
            f"the trace cannot be cut behind a difference: record {at}, the trace has {mismatch.expected}, "
            f"the model {mismatch.got}"
        ) from mismatch
    return model, start
