# SPDX-License-Identifier: Apache-2.0
"""The windows of the swap readahead: those of a trace beside the golden model's."""

from hwswap.compare.outcome import Difference, Outcome
from hwswap.model.golden import Allocator
from hwswap.model.readahead import Policy, Readahead
from hwswap.traces.records import Op, Record


class Windows:
    """The readahead's windows of a trace, compared with the golden model's.

    The kernel keeps the state of the readahead without a lock, so on several CPUs a window may be made from a state
    that is not the one the window before it left. The trace says from which; it is followed then, and that is counted.
    """

    def __init__(self, model: Allocator, cpus: int, outcome: Outcome) -> None:
        """Begin with a state that is not known."""
        self.model = model
        self.cpus = cpus
        self.outcome = outcome
        self.readahead: Readahead | None = None
        self.policy = Policy.ADAPTIVE
        self.hits = 0

    def compare(self, number: int, record: Record) -> Difference | None:
        """Take a READAHEAD_STATE or a READAHEAD; return where the model has another."""
        if record.op == Op.READAHEAD_STATE:
            return self.state(number, record)
        assert self.readahead is not None  # the trace was checked: a state comes first
        self.outcome.decisions += 1
        end = self.model.devices[record.type].pages
        window = self.readahead.window(record.a, self.hits, record.order, end, self.policy)
        if window != (record.b, record.c):
            return Difference(number, record, span(record.b, record.c), span(*window))
        return None

    def state(self, number: int, record: Record) -> Difference | None:
        """Take the state that the next window was made from."""
        found = Readahead(record.a, record.b)
        before, self.readahead = self.readahead, found
        self.policy = Policy(record.order)
        self.hits = record.c
        if before is None or before == found:
            return None
        if self.cpus == 1:
            return Difference(number, record, said_state(found), said_state(before))
        self.outcome.forced["another CPU made a window meanwhile"] += 1
        return None


def span(first: int, nr: int) -> str:
    """Say which slots a window has."""
    return f"{nr} slots from {first} on"


def said_state(state: Readahead) -> str:
    """Describe the readahead's state."""
    return f"offset {state.previous} and {state.last} slots before"
