# SPDX-License-Identifier: Apache-2.0
"""Replaying a trace that holds operations and windows of readahead alone: each allocation runs at once."""

from hwswap.compare.operations import compare, model_for
from hwswap.compare.outcome import Outcome
from hwswap.model.follower import Mismatch
from hwswap.model.readahead import Policy, Readahead
from hwswap.traces.records import FIRST_READAHEAD, Op, Record
from hwswap.traces.trace import ClusterMap, Trace


class FreeReplay:
    """The replay of one trace.

    The kernel keeps the state of the readahead without a lock, so on several CPUs a window may be made from a state
    that is not the one the window before it left. The trace says from which; it is followed then, and that is counted.
    """

    running = ()
    """No allocation is ever under way between two records."""

    def __init__(self, trace: Trace) -> None:
        """Begin with an empty model, and a state of the readahead that is not known."""
        self.model = model_for(trace)
        self.clusters = ClusterMap()
        self.cpus = trace.header.cpus
        self.outcome = Outcome()
        self.readahead: Readahead | None = None
        self.policy = Policy.ADAPTIVE
        self.hits = 0

    def record(self, record: Record) -> None:
        """Carry a record out, or compare it."""
        self.outcome.decisions += record.op in (Op.ALLOC, Op.DISCARD_TAKE, Op.READAHEAD)
        if record.op < FIRST_READAHEAD:
            compare(self.model, self.clusters, record)
        elif record.op == Op.READAHEAD_STATE:
            self.state(record)
        else:
            assert self.readahead is not None  # the trace was checked: a state comes first
            end = self.model.devices[record.type].pages
            window = self.readahead.window(record.a, self.hits, record.order, end, self.policy)
            if window != (record.b, record.c):
                raise Mismatch(span(record.b, record.c), span(*window))

    def state(self, record: Record) -> None:
        """Take the state that the next window was made from."""
        found = Readahead(record.a, record.b)
        before, self.readahead = self.readahead, found
        self.policy = Policy(record.order)
        self.hits = record.c
        if before in (None, found):
            return
        if self.cpus == 1:
            raise Mismatch(said_state(found), said_state(before))
        self.outcome.forced["another CPU made a window meanwhile"] += 1


def span(first: int, nr: int) -> str:
    """Say which slots a window has."""
    return f"{nr} slots from {first} on"


def said_state(state: Readahead) -> str:
    """Describe the readahead's state."""
    return f"offset {state.previous} and {state.last} slots before"
