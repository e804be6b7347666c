# SPDX-License-Identifier: Apache-2.0
"""Running a trace through the golden model and comparing every decision.

A trace that holds only operations is replayed freely: each allocation runs at once where its result stands. One that
says how each decision came about is replayed step by step (forced.py).
"""

from hwswap.compare.forced import ForcedReplay
from hwswap.compare.operations import compare, model_for
from hwswap.compare.outcome import Difference, Outcome
from hwswap.compare.windows import Windows
from hwswap.traces.records import FIRST_READAHEAD, Op
from hwswap.traces.trace import ClusterMap, Trace


def check(trace: Trace) -> Difference | None:
    """Run the model over a trace; return the first difference, None when every decision is equal."""
    return replay(trace).difference


def replay(trace: Trace) -> Outcome:
    """Run the model over a trace, in the way that its kind asks for."""
    if trace.detailed:
        return ForcedReplay(trace).replay()
    outcome = Outcome()
    model = model_for(trace)
    clusters = ClusterMap()
    windows = Windows(model, trace.header.cpus, outcome)
    for number, record in enumerate(trace.records):
        if record.op in (Op.ALLOC, Op.DISCARD_TAKE):
            outcome.decisions += 1
        if record.op >= FIRST_READAHEAD:
            outcome.difference = windows.compare(number, record)
        else:
            outcome.difference = compare(model, clusters, number, record)
        if outcome.difference is not None:
            return outcome
    if faults := model.faults():
        raise AssertionError(f"the model contradicts itself after the trace: {faults[0]}")
    return outcome
