# SPDX-License-Identifier: Apache-2.0
"""Making one trace of another: from tracepoint text, or without details."""

from dataclasses import replace
from pathlib import Path

from hwswap.compare.check import check
from hwswap.kernel import ftrace
from hwswap.traces.records import FIRST_DETAIL, NO_MEMORY, Op, TraceError
from hwswap.traces.trace import MAGIC, Header, Trace, complete, read


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
    """Leave out how the decisions came about: the rest can be replayed freely, and by every replayer."""
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
    operations = plain(trace)
    if difference := check(operations):
        raise TraceError(f"its operations alone are decided otherwise: {difference}")
    return operations
