# SPDX-License-Identifier: Apache-2.0
"""Running a trace through the golden model and comparing every decision.

A trace that holds only operations is replayed freely: each allocation runs at once where its result stands (free.py).
One that says how each decision came about is replayed step by step (forced.py).
"""

from hwswap.compare.forced import ForcedReplay
from hwswap.compare.free import FreeReplay
from hwswap.compare.outcome import Difference, Outcome
from hwswap.model.follower import Mismatch
from hwswap.traces.trace import Trace


def check(trace: Trace) -> Difference | None:
    """Run the model over a trace; return the first difference, None when every decision is equal."""
    return replay(trace).difference


def replay(trace: Trace) -> Outcome:
    """Run the model over a trace up to the first difference, in the way that its kind asks for."""
    run = ForcedReplay(trace) if trace.detailed else FreeReplay(trace)
    for number, record in enumerate(trace.records):
        try:
            run.record(record)
        except Mismatch as mismatch:
            run.outcome.difference = Difference(number, record, mismatch.expected, mismatch.got)
            return run.outcome
    if not run.running and (faults := run.model.faults()):
        raise AssertionError(f"the model contradicts itself after the trace: {faults[0]}")
    return run.outcome
