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

from rich.console import Console
from rich.table import Table

from hwswap.verify.mark_race_model import Bus, Label, Memory, Model, Phase, Reader, Rules, State

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
    """Visit the states of a model, nearest first, until one is wrong.

    Args:
        model: of the case.
        alike: whether states that differ only in the CPUs' numbers are one.
        limit: states after which it is given up.

    Returns:
        The outcome.

    Raises:
        RuntimeError: too many states.
    """
    came_from: dict[State, tuple[State, Label] | None] = {model.begin: None}
    waiting = deque([model.begin])
    quiet = 0
    while waiting:
        state = waiting.popleft()
        wrong = model.wrong(state)
        moved = False
        for label, after in model.steps(state):
            moved = moved or after != state
            if alike:
                after = after._replace(cpus=tuple(sorted(after.cpus)))
            if after not in came_from:
                came_from[after] = state, label
                waiting.append(after)
        if model.quiescent(state):
            quiet += 1
        elif not moved and wrong is None:
            wrong = "stuck: something is left to do, and nobody can do anything"
        if wrong is not None:
            return Outcome(len(came_from), quiet, wrong, list(trace(model, came_from, state)))
        if len(came_from) > limit:
            raise RuntimeError(
                f"a case of the marks has more than {limit} states: choose fewer CPUs, marks or clusters"
            )
    return Outcome(len(came_from), quiet)


def trace(model: Model, came_from: dict[State, tuple[State, Label] | None], state: State) -> Iterator[str]:
    """Yield the steps from the beginning to a state."""
    labels = []
    while (before := came_from[state]) is not None:
        state, label = before
        labels.append(label)
    for label in reversed(labels):
        yield text(model, label)


def text(model: Model, label: Label) -> str:
    """Return a step as a line of a trace."""
    who, what, place = label
    if who == "engine":
        if what == 8:
            return "engine: nothing was marked: its round is done"
        if what >= 4:
            return f"engine: {request_text(model.rules, Phase(what - 4))}"
        name = model.name(place)
        return f"engine: {(f'{name} = 0', f'reads {name}', f'reads {name}: 0', f'reads {name}: 1')[what]}"
    if who == "second":
        texts = ("begins to read cluster 0", f"reads {model.name(place)}", "its copy is taken over", "is dropped")
        return f"second reader: {texts[what]}"
    if what == 0:
        return f"{who}: takes the lock of cluster {place}, its stores wait in its buffer"
    name = model.name(place)
    return f"{who}: {('', f'{name} is visible', f'finds {name} 1: no mark', f'finds {name} 0')[what]}"


def request_text(rules: Rules, phase: Phase) -> str:
    """Return what the engine asks for at the end of a phase."""
    if phase is Phase.GROUP:
        return "reads GROUP: 1; asks " + ("to clear it" if rules.group_first else "for DIRTY")
    if phase is Phase.BYTES:
        return "asks for DIRTY" if rules.group_first else "asks to clear GROUP"
    clear = "asks to clear all of DIRTY" if rules.clear_all else "asks to clear DIRTY where it was 1"
    data = "asks for what was marked"
    return clear if (phase is Phase.CLEAR) == rules.bytes_first else data


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


def protocol() -> list[Case]:
    """Return the protocol in each size, memory model and bus."""
    found = []
    for memory in Memory:
        for bus in (Bus.AXI, Bus.PCIE):
            for size, rules in SIZES:
                name = f"{memory.value.lower()}-{bus.value.lower()}-{rules.cpus}x{rules.marks}"
                what = f"the protocol: {memory.value}, {bus.value}, {size}"
                found.append(Case(name, what, replace(rules, memory=memory, bus=bus)))
    return found


def without_fences(tso: Rules, rvwmo: Rules) -> list[Case]:
    """Return marks with a barrier less."""
    found = []
    for memory, rules in (("TSO", tso), ("RVWMO", rvwmo)):
        holds = rules is tso
        why = " (stores keep their order; the compiler's is another matter)" if holds else ""
        clusters = 2 if holds else 1  # a counterexample is shorter with one
        no_data = replace(rules, clusters=clusters, mark=NO_DATA_FENCE)
        no_group = replace(rules, clusters=clusters, mark=NO_GROUP_FENCE)
        name = memory.lower()
        found += [
            Case(f"{name}-no-data-fence", f"{memory}: no barrier between BITMAP and DIRTY{why}", no_data, holds),
            Case(f"{name}-no-group-fence", f"{memory}: no barrier between DIRTY and GROUP{why}", no_group, holds),
        ]
    return found


def cases() -> list[Case]:
    """Return all cases: the protocol, and then with a rule broken."""
    tso, rvwmo = Rules(), Rules(memory=Memory.RVWMO)
    found = protocol() + without_fences(tso, rvwmo)
    compiled = [
        ("dirty-first", "DIRTY before BITMAP", ("dirty", "fence", "data", "fence", "group")),
        ("group-first", "GROUP before DIRTY", ("data", "fence", "group", "fence", "dirty")),
    ]
    found += [
        Case(f"tso-{name}", f"TSO: the compiler puts {what}", replace(tso, clusters=1, mark=mark), False)
        for name, what, mark in compiled
    ]
    weak = replace(rvwmo, bus=Bus.WEAK, clusters=1)
    wrong_engines = [
        ("reads-before-group", "reads DIRTY before it clears GROUP", replace(tso, group_first=False)),
        ("reads-before-bytes", "reads BITMAP before it clears DIRTY", replace(tso, clusters=1, bytes_first=False)),
        ("no-wait-group", "does not wait for the answer to clearing GROUP", replace(weak, wait_group=False)),
        ("no-wait-bytes", "does not wait for the answer to clearing DIRTY", replace(weak, wait_bytes=False)),
        ("clears-all", "clears bytes of DIRTY that it did not read as 1", replace(tso, clear_all=True)),
    ]
    found += [Case(f"engine-{name}", f"the engine {what}", rules, False) for name, what, rules in wrong_engines]
    for rules in (tso, rvwmo):
        memory = rules.memory.value
        looks = [
            ("dirty", "DIRTY is looked at without a full barrier before", LOOKS, False),
            ("dirty-full", "DIRTY is looked at behind a full barrier", LOOKS_FULL, True),
            ("both", "DIRTY and GROUP are looked at, the second without a full barrier before", LOOKS_TWICE, False),
            ("both-full", "DIRTY and GROUP are looked at, each behind a full barrier", LOOKS_TWICE_FULL, True),
        ]
        found += [
            Case(
                f"{memory.lower()}-looks-{name}",
                f"{memory}: {what}",
                replace(rules, clusters=1 if name == "dirty" else 2, mark=mark),
                holds,
            )
            for name, what, mark, holds in looks
        ]
    for bus in (Bus.AXI, Bus.PCIE):
        base = replace(rvwmo, clusters=1, parts=2, bus=bus)
        late, dropped = replace(base, reader=Reader.LATE), replace(base, reader=Reader.DROPPED)
        name = bus.value.lower()
        found += [
            Case(f"{name}-second-late", f"{bus.value}: a second reader; {Reader.LATE.value}", late, False),
            Case(f"{name}-second-dropped", f"{bus.value}: a second reader; {Reader.DROPPED.value}", dropped),
        ]
    for rules in (tso, rvwmo):
        memory = rules.memory.value
        for name, mark, what, holds in (
            ("used-up", USED_UP, "the mark, a barrier, HEAD", True),
            ("used-up-no-fence", USED_UP_NO_FENCE, "the mark, HEAD, no barrier between", True),
            ("used-up-head-first", USED_UP_HEAD_FIRST, "HEAD, no barrier before, then the mark", rules is tso),
        ):
            case = replace(rules, cpus=1, marks=1, clusters=1, parts=3, mark=mark, reader=Reader.HEAD)
            found.append(Case(f"{memory.lower()}-{name}", f"{memory}: a grant is used up: {what}", case, holds))
    return found


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


def choose(names: Sequence[str]) -> list[Case]:
    """Return the cases that are asked for; an unknown name is a RuntimeError."""
    known = {case.name: case for case in cases()}
    for name in names:
        if name not in known:
            raise RuntimeError(f"there is no case '{name}' of the marks: choose of {', '.join(known)}")
    return [known[name] for name in names] or list(known.values())


def run(options: argparse.Namespace) -> int:
    """Search; return the exit status."""
    begin = time.monotonic()
    results = []
    for case in choose(options.names):
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
