# SPDX-License-Identifier: Apache-2.0
"""The report of a lock-step run: coverage, tables, and faults."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from hwswap.compare.forced_lists import GONE, RECLAIMED_CLUSTER, RECLAIMED_SLOTS, SKIPPED
from hwswap.project import printed
from hwswap.traces.turns import DECISIONS, MINIMUM

MOST_FORCED = 0.0001
"""Share of the decisions that may be forced: of a whole run by all causes, of one trace alone by others than a lock."""

MOST_LOCKED = 0.005
"""Share of one trace that may be forced as a cluster's lock was taken.

How long a lock is held is the host's doing: where it takes the processor from a CPU of the guest that holds one, the
others pass that cluster over until it goes on. Twice what was measured beside builds on all of the host's processors:
76 of 30,354 (0.25 %), 75 of these while one CPU held one lock. In a whole run locks count as all other causes do.
"""

BUSY = (
    "where the host takes processors from the guest, locks are held for long: "
    "run it again with FRESH=1 on a host with free processors, or with more decisions"
)
"""What to do where it is the locks that are too many."""

RECLAIMS = (RECLAIMED_SLOTS, RECLAIMED_CLUSTER)
"""Causes that the trace alone can tell of: nobody else knows which slots only the swap cache held."""

FEW_FORCED = 6
"""Steps that may be forced in any case: of a short trace a share says little."""


@dataclass
class Row:
    """What one trace came to."""

    name: str
    cpus: int
    decisions: int = 0
    """The kernel's, all compared with the golden model's."""
    compared: int = 0
    """Those that the RTL made, all equal, as its replay reports: all of one CPU, none of several."""
    causes: dict[str, int] = field(default_factory=dict)
    """Steps that were forced from the trace, by cause."""
    coverage: dict[str, int] = field(default_factory=dict)
    operations: int = 0
    cycles: int = 0
    difference: str = ""
    """The first difference, in one sentence; empty when all is equal."""
    seconds: dict[str, float] = field(default_factory=dict)
    cached: bool = False
    """The recording came out of the cache."""

    @property
    def forced(self) -> int:
        """Steps that were forced from the trace, but for reclaims, which the trace alone can tell of."""
        return sum(number for cause, number in self.causes.items() if cause not in RECLAIMS)

    @property
    def locked(self) -> int:
        """Those of them that passed over a cluster whose lock was taken."""
        return self.causes.get(SKIPPED, 0)


def total(rows: Iterable[Row]) -> Counter[str]:
    """Add up what the traces cover."""
    counts: Counter[str] = Counter(dict.fromkeys(MINIMUM, 0))
    for row in rows:
        counts.update(row.coverage)
    return counts


def missing(rows: Iterable[Row], minimum: dict[str, int]) -> dict[str, int]:
    """Return of what there is too little, and how much."""
    counts = total(rows)
    return {name: least - counts[name] for name, least in minimum.items() if counts[name] < least}


def sentence(row: Row) -> str:
    """Say what a trace came to."""
    if row.difference:
        return f"{row.name}: DIFFERS: {row.difference}"
    seconds = ", ".join(f"{what} {number:.0f} s" for what, number in sorted(row.seconds.items()))
    forced = sum(row.causes.values())
    equal = f"{row.decisions:,} decisions equal, {row.compared:,} on the RTL too"
    return f"{row.name}: {equal}, {forced:,} steps forced; {seconds}"


def tables(rows: Sequence[Row], minimum: dict[str, int]) -> list[Table]:
    """Return the traces, the forced decisions by cause, and the coverage as tables."""
    heads = ("trace", "CPUs", "decisions", "equal on the model", "equal on the RTL", "steps forced")
    traces = printed.table("Kernel, golden model and RTL in lock-step", heads)
    for row in sorted(rows, key=lambda row: row.name):
        model = "DIFFERS" if row.difference and "RTL" not in row.seconds else f"{row.decisions:,}"
        equal = "DIFFERS" if row.difference else f"{row.compared:,}" if row.compared else "-"
        forced = f"{sum(row.causes.values()):,}"
        traces.add_row(row.name, str(row.cpus), f"{row.decisions:,}", model, equal, forced)
    counts, causes = total(rows), Counter[str]()
    for row in rows:
        causes.update(row.causes)
    every = counts[DECISIONS]
    traces.add_section()
    compared = f"{sum(row.compared for row in rows):,}"
    traces.add_row("all", "", f"{every:,}", f"{every:,}", compared, f"{causes.total():,}")
    shares = ((cause, f"{number:,}", f"{100 * number / max(every, 1):.4f}") for cause, number in causes.most_common())
    by_cause = printed.table("Forced, by cause", ("cause", "times", "%"), shares)
    turns = ((name, f"{counts[name]:,}", f"{minimum[name]:,}" if name in minimum else "-") for name in MINIMUM)
    return [
        traces,
        by_cause,
        printed.table("Covered, as the kernel's details tell", ("what", "number", "at least"), turns),
    ]


def too_many(where: str, forced: int, every: int, how: str, share: float) -> list[str]:
    """Say that more steps are forced than may be for so many decisions, if so."""
    if forced <= max(share * every, FEW_FORCED):
        return []
    bound = f"{100 * share:g} % and more than {FEW_FORCED}"
    return [f"{where}{forced:,} steps are forced{how} in {every:,} decisions, more than {bound}"]


def too_many_in_all(rows: Sequence[Row]) -> list[str]:
    """Say that more decisions of a whole run are forced than may be, by whatever cause; and what to do if it is locks.

    One trace alone is no run: a single lock that is held for long says nothing of it, so locks have MOST_LOCKED there.
    """
    forced, locked = sum(row.forced for row in rows), sum(row.locked for row in rows)
    every = total(rows)[DECISIONS]
    others = too_many("", forced - locked, every, " by other causes than a lock", MOST_FORCED)
    if len(rows) == 1 or others:
        return others
    found = too_many("", forced, every, f" ({locked:,} of them by a lock that was taken)", MOST_FORCED)
    return [f"{fault}; {BUSY}" for fault in found]


def faults(rows: Sequence[Row], minimum: dict[str, int]) -> list[str]:
    """Say what is wrong with a run, one sentence each."""
    found = [f"{row.name}: {row.difference}" for row in rows if row.difference]
    found += [f"{number:,} too few: {name}" for name, number in missing(rows, minimum).items()]
    found += too_many_in_all(rows)
    for row in rows:
        found += too_many(f"{row.name}: ", row.locked, row.decisions, " by a lock that was taken", MOST_LOCKED)
    for row in rows:
        causes = sorted(set(row.causes) - {GONE, *RECLAIMS}) if row.cpus == 1 else []
        if causes:
            found.append(f"{row.name}: forced, though there is one CPU: {', '.join(causes)}")
    return found


def figure(rows: Sequence[Row]) -> str:
    """Return what a run came to in one sentence."""
    every, forced = total(rows)[DECISIONS], sum(sum(row.causes.values()) for row in rows)
    differ = sum(bool(row.difference) for row in rows)
    if differ:
        return f"lockstep: {differ} of {len(rows)} traces differ"
    free = sum(row.compared for row in rows)
    return (
        f"lockstep: {every:,} decisions equal on the golden model, {free:,} of one CPU on the RTL too; "
        f"{forced:,} steps forced; {origin(rows)}"
    )


def origin(rows: Sequence[Row]) -> str:
    """Say which recordings are no fresh ones."""
    if not any("recording" in row.seconds for row in rows):
        return "traces that were there"
    cached = sorted(row.name for row in rows if row.cached)
    if not cached:
        return f"all {len(rows)} recordings fresh"
    return f"{len(cached)} of {len(rows)} recordings out of the cache: {', '.join(cached)}"
