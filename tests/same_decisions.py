# SPDX-License-Identifier: Apache-2.0
"""Whether golden model and RTL decide a recorded trace as its kernel did."""

from pathlib import Path

from hwswap.compare import check
from hwswap.compare.forced_lists import GONE, RECLAIMED_CLUSTER, RECLAIMED_SLOTS, SKIPPED
from hwswap.compare.outcome import Outcome
from hwswap.kernel import convert
from hwswap.rtl import replay
from hwswap.traces import trace

RECLAIMS = (RECLAIMED_SLOTS, RECLAIMED_CLUSTER)
"""Causes that the trace alone can tell of: nobody else knows which slots only the swap cache held."""

MOST_LOCKED = 0.005
"""Share of a trace that may be forced as a cluster's lock was taken.

How long a lock is held is the host's doing: where it takes the processor from a CPU of the guest that holds one, the
others pass that cluster over until it goes on. Twice the 0.25 % measured beside builds on all of the host's processors.
"""

MOST_FORCED = 0.0001
"""Share that may be forced by other causes but reclaim."""

FEW_FORCED = 6
"""Steps that may be forced in any case: of a short trace a share says little."""

DECIDED = ("alloc", "alloc_failed", "discard_take", "discard_take_failed")
"""Operations that decide, by their names in a replay's report."""


def check_decisions(path: Path) -> trace.Trace:
    """Replay a trace on the golden model and, if it is of one CPU, on the RTL; return it."""
    loaded = trace.read(path)
    check_steps(loaded)
    if loaded.header.cpus == 1:
        check_counts(loaded, replay.replay(convert.for_engine(loaded)))
    return loaded


def check_steps(loaded: trace.Trace) -> Outcome:
    """Replay a trace on the golden model step by step; decisions that only the kernel knows are forced."""
    stepped = check.replay(loaded)
    assert stepped.difference is None, str(stepped.difference)
    locked = stepped.forced[SKIPPED]
    others = stepped.forced.total() - locked - sum(stepped.forced[cause] for cause in RECLAIMS)
    assert locked <= max(FEW_FORCED, MOST_LOCKED * stepped.decisions), stepped.forced
    assert others <= max(FEW_FORCED, MOST_FORCED * stepped.decisions), stepped.forced
    if loaded.header.cpus == 1:
        assert set(stepped.forced) <= {GONE, *RECLAIMS}
    return stepped


def check_counts(loaded: trace.Trace, outcome: replay.Outcome) -> None:
    """See that the RTL has decided a trace alike, and compare the number of decisions with its own counters, too."""
    assert outcome.equal, outcome.output
    numbers = {name: kind["count"] for name, kind in outcome.report["cycles_by_kind"].items()}
    assert sum(numbers.get(name, 0) for name in DECIDED) == decisions(loaded)
    counted = sum(number for name, number in outcome.report["statistics"].items() if name.startswith("alloc_"))
    assert counted == loaded.header.counts["alloc"]


def decisions(loaded: trace.Trace) -> int:
    """Return how many decisions of the kernel a trace has."""
    return loaded.header.counts["alloc"] + loaded.header.counts.get("discard_take", 0)
