# SPDX-License-Identifier: Apache-2.0
"""Try every order in which stores of CPUs and accesses of the engine can happen to marks, and see whether one is lost.

A mark is lost if all is quiet, GROUP is 0, and the engine's copy of a cluster is older than memory. The protocol as it
is must hold under x86-TSO and RISC-V's RVWMO, on AXI and on PCIe. Each of its rules is then broken in turn, and a
counterexample must be found, which is printed: that shows what the rule is for, and that the search can find
something. The exit status is 1 when a case is not as expected.
"""

import argparse
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rich.console import Console
from rich.table import Table

from hwswap.project.arguments import chosen
from hwswap.verify.mark_race_model import Bus, Memory, Model, Reader, Rules, State

OUT = Console()
ERR = Console(stderr=True, highlight=False)

LIMIT = 2_000_000
"""A case of more states than this is a mistake in the case: the search would take all memory."""


@dataclass(frozen=True)
class Case:
    """What is searched, and whether it is expected to hold."""

    name: str
    what: str
    rules: Rules
    holds: bool = True


@dataclass
class Outcome:
    """What a search found.

    Attributes:
        states: states that were reached; the CPUs' numbers do not count, unless a trace had to be found.
        quiet: those of them in which nothing is left to do.
        wrong: what is wrong in the last state of the trace, None if the case holds.
        trace: the shortest way there, a line a step.
        seconds: on the clock.
    """

    states: int
    quiet: int = 0
    wrong: str | None = None
    trace: list[str] = field(default_factory=list)
    seconds: float = 0.0


def explore(rules: Rules, limit: int = LIMIT) -> Outcome:
    """Visit every state of a case, nearest first.

    CPUs that do the same are the same: states that differ only in their numbers are visited once. A trace would then
    change numbers on its way, so that a counterexample is searched for once more, without this.

    Args:
        rules: the case.
        limit: states after which it is given up.

    Returns:
        The outcome; a counterexample is as short as can be.

    Raises:
        RuntimeError: too many states.
    """
    begin = time.monotonic()
    outcome = search(Model(rules), True, limit)
    if outcome.wrong is not None:
        outcome = search(Model(rules), False, limit)
    outcome.seconds = time.monotonic() - begin
    return outcome


def search(model: Model, alike: bool, limit: int) -> Outcome:
    """Visit the states of a model, nearest first, until one is wrong; `alike`: the CPUs' numbers do not count."""
    came_from: dict[State, State | None] = {model.begin: None}
    waiting = deque([model.begin])
    quiet = 0
    while waiting:
        state = waiting.popleft()
        wrong = model.wrong(state)
        moved = False
        for _, after in steps(model, state, alike):
            moved = moved or after != state
            if after not in came_from:
                came_from[after] = state
                waiting.append(after)
        if model.quiescent(state):
            quiet += 1
        elif not moved and wrong is None:
            wrong = "stuck: something is left to do, and nobody can do anything"
        if wrong is not None:
            path = [state]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            trace = [
                next(said for said, after in steps(model, before, alike) if after == then)
                for before, then in pairwise(reversed(path))
            ]
            return Outcome(len(came_from), quiet, wrong, trace)
        if len(came_from) > limit:
            raise RuntimeError(
                f"a case of the marks has more than {limit} states: choose fewer CPUs, marks or clusters"
            )
    return Outcome(len(came_from), quiet)


def steps(model: Model, state: State, alike: bool) -> Iterator[tuple[str, State]]:
    """Yield the steps of a model; if CPUs are `alike`, sort them in the states that follow."""
    for said, after in model.steps(state):
        yield said, after._replace(cpus=tuple(sorted(after.cpus))) if alike else after


SIZES = (
    ("1 CPU x 3 changes, 1 cluster of 3 parts", Rules(cpus=1, marks=3, clusters=1, parts=3)),
    ("2 CPUs x 2 changes, 2 clusters of 2 parts", Rules(cpus=2, marks=2, clusters=2, parts=2)),
    ("3 CPUs x 1 change, 2 clusters of 2 parts", Rules(cpus=3, marks=1, clusters=2, parts=2)),
    ("3 CPUs x 2 changes, 2 clusters", Rules(cpus=3, marks=2, clusters=2)),
)

NO_DATA_FENCE = ("data", "dirty", "fence", "group")
NO_GROUP_FENCE = ("data", "fence", "dirty", "group")
LOOKS = ("data", "fence", "unless dirty", "dirty", "fence", "group")
LOOKS_FULL = ("data", "full", "unless dirty", "dirty", "fence", "group")
LOOKS_TWICE = ("data", "full", "unless dirty", "dirty", "fence", "unless group", "group")
LOOKS_TWICE_FULL = ("data", "full", "unless dirty", "dirty", "full", "unless group", "group")
USED_UP = ("data", "fence", "dirty", "fence", "group", "fence", "head")
USED_UP_NO_FENCE = ("data", "fence", "dirty", "fence", "group", "head")
USED_UP_HEAD_FIRST = ("data", "head", "fence", "dirty", "fence", "group")


def protocol(memory: Memory) -> Iterator[Case]:
    """Yield the protocol in each size and on each bus."""
    for bus in (Bus.AXI, Bus.PCIE):
        for size, rules in SIZES:
            name = f"{memory.value.lower()}-{bus.value.lower()}-{rules.cpus}x{rules.marks}"
            what = f"the protocol: {memory.value}, {bus.value}, {size}"
            yield Case(name, what, replace(rules, memory=memory, bus=bus))


def marks(memory: Memory) -> Iterator[Case]:
    """Yield other ways to mark: with a barrier less, with a look before, and where a grant is used up."""
    tso = memory is Memory.TSO
    why = " (stores keep their order; the compiler's is another matter)" if tso else ""
    few = 2 if tso else 1  # a counterexample is shorter with one cluster
    looks, full = "without a full barrier before", "after a full barrier"
    for name, what, mark, clusters, holds in (
        ("no-data-fence", f"no barrier between BITMAP and DIRTY{why}", NO_DATA_FENCE, few, tso),
        ("no-group-fence", f"no barrier between DIRTY and GROUP{why}", NO_GROUP_FENCE, few, tso),
        ("looks-dirty", f"DIRTY is looked at {looks}", LOOKS, 1, False),
        ("looks-dirty-full", f"DIRTY is looked at {full}", LOOKS_FULL, 2, True),
        ("looks-both", f"DIRTY and GROUP are looked at, the second {looks}", LOOKS_TWICE, 2, False),
        ("looks-both-full", f"DIRTY and GROUP are looked at, each {full}", LOOKS_TWICE_FULL, 2, True),
    ):
        rules = Rules(memory=memory, clusters=clusters, mark=mark)
        yield Case(f"{memory.value.lower()}-{name}", f"{memory.value}: {what}", rules, holds)
    for name, what, mark, holds in (
        ("used-up", "the mark, a barrier, HEAD", USED_UP, True),
        ("used-up-no-fence", "the mark, HEAD, no barrier between", USED_UP_NO_FENCE, True),
        ("used-up-head-first", "HEAD, no barrier before, then the mark", USED_UP_HEAD_FIRST, tso),
    ):
        rules = Rules(memory=memory, cpus=1, marks=1, clusters=1, parts=3, mark=mark, reader=Reader.HEAD)
        yield Case(f"{memory.value.lower()}-{name}", f"{memory.value}: a grant is used up: {what}", rules, holds)


def mistakes() -> Iterator[Case]:
    """Yield what a compiler and an engine could do wrong."""
    one, weak = Rules(clusters=1), Rules(memory=Memory.RVWMO, bus=Bus.WEAK, clusters=1)
    dirty_first, group_first = (
        ("dirty", "fence", "data", "fence", "group"),
        ("data", "fence", "group", "fence", "dirty"),
    )
    clears, waits = "before it clears", "does not wait for the answer to clearing"
    for name, what, rules in (
        ("tso-dirty-first", "TSO: the compiler puts DIRTY before BITMAP", replace(one, mark=dirty_first)),
        ("tso-group-first", "TSO: the compiler puts GROUP before DIRTY", replace(one, mark=group_first)),
        ("engine-reads-before-group", f"the engine reads DIRTY {clears} GROUP", Rules(group_first=False)),
        ("engine-reads-before-bytes", f"the engine reads BITMAP {clears} DIRTY", replace(one, bytes_first=False)),
        ("engine-no-wait-group", f"the engine {waits} GROUP", replace(weak, wait_group=False)),
        ("engine-no-wait-bytes", f"the engine {waits} DIRTY", replace(weak, wait_bytes=False)),
        ("engine-clears-all", "the engine clears bytes of DIRTY that it did not read as 1", Rules(clear_all=True)),
    ):
        yield Case(name, what, rules, False)


def second_readers() -> Iterator[Case]:
    """Yield engines with a second reader of bitmaps."""
    for bus in (Bus.AXI, Bus.PCIE):
        for name, reader in (("late", Reader.LATE), ("dropped", Reader.DROPPED)):
            rules = Rules(memory=Memory.RVWMO, bus=bus, clusters=1, parts=2, reader=reader)
            what = f"{bus.value}: a second reader; {reader.value}"
            yield Case(f"{bus.value.lower()}-second-{name}", what, rules, reader is Reader.DROPPED)


def cases() -> list[Case]:
    """Return all cases: the protocol, and then with a rule broken."""
    of_memory = [case for cases_of in (protocol, marks) for memory in Memory for case in cases_of(memory)]
    return [*of_memory, *mistakes(), *second_readers()]


def expected(case: Case, outcome: Outcome) -> bool:
    """Tell whether a case came out as it is expected to."""
    return (outcome.wrong is None) == case.holds


def report(results: Sequence[tuple[Case, Outcome]]) -> Table:
    """Return the results as a table."""
    table = Table("case", "what", "states", "s", "result", show_lines=False)
    for case, outcome in results:
        color = "green" if expected(case, outcome) else "red"
        said = "holds" if outcome.wrong is None else f"counterexample, {len(outcome.trace)} steps"
        wanted = "" if expected(case, outcome) else f"; expected: {'holds' if case.holds else 'a counterexample'}"
        table.add_row(
            case.name, case.what, f"{outcome.states:,}", f"{outcome.seconds:.1f}", f"[{color}]{said}{wanted}[/]"
        )
    return table


def show(case: Case, outcome: Outcome) -> None:
    """Print a counterexample."""
    OUT.print(f"\n{case.name}: {case.what}", highlight=False, markup=False, soft_wrap=True)
    for i, line in enumerate(outcome.trace, 1):
        OUT.print(f"  {i:2} {line}", highlight=False, markup=False, soft_wrap=True)
    OUT.print(f"  -> {outcome.wrong}", highlight=False, markup=False, soft_wrap=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("names", nargs="*", metavar="CASE", help="which cases (default: all)")


def run(options: argparse.Namespace) -> int:
    """Search; return the exit status."""
    begin = time.monotonic()
    results = []
    for case in chosen("case of the marks", options.names, {case.name: case for case in cases()}):
        with ERR.status(case.name):
            results.append((case, explore(case.rules)))
    bad = [case.name for case, outcome in results if not expected(case, outcome)]
    for case, outcome in results:
        if outcome.wrong is not None:
            show(case, outcome)
    OUT.print(report(results))
    OUT.print(
        f"marks-race: {len(results)} cases, {sum(outcome.states for _, outcome in results):,} states; "
        f"{sum(outcome.wrong is None for _, outcome in results)} hold, "
        f"{sum(outcome.wrong is not None for _, outcome in results)} have counterexamples, "
        f"{len(bad)} not as expected; {time.monotonic() - begin:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    if bad:
        ERR.print(f"marks-race: not as expected: {', '.join(bad)}", soft_wrap=True)
    return 1 if bad else 0
