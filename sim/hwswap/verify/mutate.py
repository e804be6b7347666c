# SPDX-License-Identifier: Apache-2.0
"""`make mutate`: how many mutants the project's own checks find.

Each fault of the model with faults (build/mutants, see make_mutants.py) is switched on in turn while the tests run:
scripts (hwswap.stimulus) and streams (hwswap.traces.stream), short, fixed by their seeds, and passed by the engine
without fault. A fault is found by a decision or a word that differs, by one of the RTL's assertions, by the check of
the bus protocol, or by a hang; one that only costs cycles is not found. Survivors are listed, without those that are
proved to be no faults at all (equivalence.py). Outcomes are kept as they come, so that an interrupted run goes on where
it stopped; they hold as long as model and tests are the same.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from hwswap.project import paths
from hwswap.results import schema
from hwswap.stimulus.registry import SCRIPTS, STREAMS
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream, trace
from hwswap.verify import make_mutants, yosys
from hwswap.verify.equivalence import Prover

OUT = Console()
ERR = Console(stderr=True, highlight=False)

PASS = 0.9
"""Score from which on the exit status is 0."""

SHORT, SAMPLE = 100, 1
"""Faults of a short run, and the seed that draws them."""

PATIENCE = 20
"""A test that takes so many times the cycles it takes without fault hangs."""

CPU_SECONDS = 1800
"""No test takes so much CPU time, with a fault or without: one that does is ended, without a verdict."""

HURRY = 5000
"""A register access, or an operation, that takes so many cycles hangs: the small engine is cleared in less."""

NONE = "none"
"""A survivor that is proved to be no fault: it changes nothing, in any state and with any input."""

OUT_OF_TIME = "out of time"
"""A survivor whose proof was ended by the time it took: a survivor, and named."""

NO_VERDICT = "no verdict"
"""The end of a test that says nothing of a fault: the program was killed, or the simulation itself gave up."""


class MutateError(RuntimeError):
    """The run cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class MutationTest:
    """A check: a script with a seed and rounds, or a stream of so many operations, and options of its program."""

    what: str
    seed: int | None
    size: int | None
    options: tuple[str, ...] = ()
    span: int | None = None
    """Clusters of one device of a stream; half of the engine's if none are named."""

    def __str__(self) -> str:
        """Return its name."""
        return self.what if self.seed is None else f"{self.what}-{self.seed}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self}.hwst" if self.what == STREAM else f"{self}.txt"

    def write(self, folder: Path, built: Sizes) -> None:
        """Write its file for an engine of these sizes."""
        if self.what != STREAM:
            (folder / self.file).write_text(SCRIPTS[self.what].text(self.seed, self.size, built))
            return
        of_engine = {"devices": built.devices, "cpus": built.cpus, "clusters": built.clusters}
        span = self.span or built.clusters // 2
        made = stream.generate(replace(STREAMS["everything"], seed=self.seed, ops=self.size, span=span, **of_engine))
        trace.write(folder / self.file, made.header, made.records)

    def command(self, model: Path, tests: Path, fault: int, cycles: int) -> list[str]:
        """Return the command that runs it on a fault, for so many cycles at most; 0: without a limit."""
        program = model / ("hwswap-replay" if self.what == STREAM else "hwswap-play")
        limits = ["--patience", str(HURRY), "--max-cycles", str(cycles)]
        return [str(program), str(tests / self.file), "--fault", str(fault), *limits, *self.options]


STREAM = "stream"
SLOW = ("--stall", "30", "--latency", "5")

MUTATION_TESTS = (
    MutationTest("operations", 1, 600),
    MutationTest("operations", 2, 600, SLOW),
    MutationTest("lists", 9, 12),
    MutationTest("registers", 6, None),
    MutationTest("errors", 7, None),
    MutationTest(STREAM, 3, 3000),
    MutationTest(STREAM, 4, 700, ("--registers", "--stall", "40"), span=6),
    MutationTest(STREAM, 13, 1500, ("--latency", "200"), span=5),
    MutationTest("lists", 8, 8, SLOW),
    MutationTest("registers", 16, None, ("--stall", "30", "--latency", "120")),
    MutationTest("index", 22, 16),
    MutationTest("index", 27, 8),
    MutationTest("index", 30, 8),
    MutationTest("index", 26, 8),
    MutationTest("tables", 4, 40),
    MutationTest("tables", 11, 60, SLOW),
    MutationTest("corners", 31, None, ("--stall", "20", "--latency", "30")),
    MutationTest("single", 41, None),
    MutationTest("runs", 51, None),
    MutationTest("operations", 3, 2500),
    MutationTest("tables", 21, 120, SLOW),
    MutationTest("alike", None, None),
    MutationTest("windows", 61, None),
    MutationTest("stops", 62, None, ("--reorder",)),
)
"""In this order until one finds the fault. The score on record is of these."""

OUTPUT = paths.BUILD / "mutate"
TESTS = OUTPUT / "tests"
MUTANTS = paths.BUILD / "mutants"
"""The engine's Verilog with the faults, and the list of them."""
MODEL = paths.BUILD / "model-mutants"
"""Its programs."""


@dataclass
class Outcome:
    """The outcome of a fault: found `by` a test ("" for a survivor), how ("difference", ...), and the test's output.

    How is "" for a survivor, NONE or OUT_OF_TIME by the proof that it is no fault.
    """

    number: int
    by: str = ""
    how: str = ""
    said: str = ""
    seconds: float = 0.0


class Outcomes:
    """Outcomes by their faults, kept on disk as they come, a line of JSON each."""

    def __init__(self, path: Path, key: str) -> None:
        """Read the outcomes that are there.

        One with another key, which names model and tests, or without a verdict does not count.
        """
        self.path, self.key = path, key
        self.lock = threading.Lock()
        self.known: dict[int, Outcome] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            with contextlib.suppress(ValueError):  # cut short by an interruption
                values = json.loads(line)
                if values.pop("key") == key and values["how"] != NO_VERDICT:
                    self.known[values["number"]] = Outcome(**values)

    def add(self, outcome: Outcome) -> None:
        """Note an outcome."""
        self.known[outcome.number] = outcome
        with self.lock, self.path.open("a") as file:
            file.write(json.dumps(asdict(outcome) | {"key": self.key}) + "\n")


def write_tests(folder: Path) -> str:
    """Write the tests' files; return a hash of all that the tests are."""
    built = Sizes(**json.loads(paths.need(paths.BUILD / "rtl-mutants/engine.json").read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    found = hashlib.sha256()
    for test in MUTATION_TESTS:
        test.write(folder, built)
        found.update(repr(test).encode() + (folder / test.file).read_bytes())
    return found.hexdigest()


def how(said: str) -> str:
    """Return how a test found a fault; any other output is no verdict on it."""
    for kind, pattern in (
        ("assertion", r"an assertion of the RTL failed"),
        ("hang", r"waited \d+ cycles|has not (completed|answered|ended)|hangs"),
        ("protocol", r"AXI"),
        ("difference", r"must be|expected|carries the number|the trace needs|does not have the policy"),
    ):
        if re.search(pattern, said):
            return kind
    return NO_VERDICT


def attempt(test: MutationTest, model: Path, tests: Path, fault: int, cycles: int = 0) -> tuple[str | None, str]:
    """Run a test on a fault, for `cycles` cycles at most; return how it found the fault, and its output.

    A hang is a number of cycles: time would find other hangs on another machine, or beside other programs. A test that
    passed has found nothing: None. One that was killed, or whose simulation gave up (a loop of gates that does not
    settle), gives no verdict.
    """
    command = test.command(model, tests, fault, cycles)
    limited = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(CPU_SECONDS), *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return None, said
    if done.returncode != 1:
        return NO_VERDICT, f"{said} (ended with status {done.returncode})"
    return (NO_VERDICT if "did not converge" in said else how(said)), said


def try_fault(number: int, those: Sequence[MutationTest], model: Path, tests: Path, limits: dict[str, int]) -> Outcome:
    """Run tests on a fault until one finds it."""
    begin = time.monotonic()
    best = Outcome(number)
    for test in those:
        found, said = attempt(test, model, tests, number, limits[str(test)])
        if found:
            best = Outcome(number, str(test), found, said[-400:])
        if found not in (None, NO_VERDICT):
            break
    return replace(best, seconds=round(time.monotonic() - begin, 2))


def without_fault(those: Sequence[MutationTest], model: Path, tests: Path) -> dict[str, int]:
    """Run tests without a fault, which they must pass; return how many cycles each may take with one."""
    limits = {}
    for test in those:
        found, said = attempt(test, model, tests, 0)
        if found is not None:
            raise MutateError(f"without a fault, '{test}' fails, so it cannot find one: {said[-400:]}")
        taken = re.findall(r"(\d+) cycles", said)
        if not taken:
            raise MutateError(f"'{test}' does not say how many cycles it took: {said[-400:]}")
        limits[str(test)] = PATIENCE * int(taken[-1])
    return limits


def try_all(numbers: Sequence[int], jobs: int, outcomes: Outcomes) -> None:
    """Try faults, `jobs` at a time, and find out which survivors are no faults."""
    left = [number for number in numbers if number not in outcomes.known]
    if not left:
        return
    limits = without_fault(MUTATION_TESTS, MODEL, TESTS)
    prover = Prover(MUTANTS / make_mutants.GATES, make_mutants.TOP, make_mutants.SELECT, OUTPUT)

    def one(number: int) -> None:
        outcome = try_fault(number, MUTATION_TESTS, MODEL, TESTS, limits)
        if not outcome.by:
            try:
                outcome.how = NONE if prover.no_fault(number) else ""
            except yosys.OutOfTimeError:
                outcome.how = OUT_OF_TIME
        outcomes.add(outcome)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            pending = [pool.submit(one, number) for number in left]
            for job in track(as_completed(pending), "faults", len(left), console=ERR):
                job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def report(outcomes: Sequence[Outcome], listed: Sequence[make_mutants.Mutant]) -> dict[str, int]:
    """Print tables; return how many faults there are of each kind."""
    by_number = {mutant.number: mutant for mutant in listed}
    faults = [outcome for outcome in outcomes if outcome.how != NONE]
    killed = [outcome for outcome in faults if outcome.by and outcome.how != NO_VERDICT]
    table = Table("module", "faults", "killed")
    all_kinds, killed_kinds = (Counter(by_number[one.number].kind for one in those) for those in (faults, killed))
    for kind, number in sorted(all_kinds.items()):
        table.add_row(kind, str(number), str(killed_kinds[kind]))
    OUT.print(table)
    for title, field in (("killed by", "how"), ("first found by", "by")):
        counts = Counter(getattr(outcome, field) for outcome in killed)
        OUT.print(f"{title}: " + ", ".join(f"{name} {number}" for name, number in counts.most_common()))
    unknown = [outcome for outcome in faults if outcome.how == NO_VERDICT]
    survivors = [outcome for outcome in faults if not outcome.by]
    for word, those in ((NO_VERDICT, unknown), ("survivor", survivors)):
        for outcome in those:
            OUT.print(f"{word}: fault {outcome.number}: {by_number[outcome.number]}", highlight=False, soft_wrap=True)
    return {
        "seeded": len(outcomes),
        "none": len(outcomes) - len(faults),
        "faults": len(faults),
        "killed": len(killed),
        "without verdict": len(unknown),
        "out of time": sum(outcome.how == OUT_OF_TIME for outcome in survivors),
    }


def run(options: argparse.Namespace) -> int:
    """Try all faults, in the short form some; print the score; return the exit status."""
    seed, listed = make_mutants.load(paths.need(MUTANTS))
    key = os.path.realpath(paths.need(MODEL)) + " " + write_tests(TESTS)
    numbers = [mutant.number for mutant in listed]
    if options.short:
        numbers = sorted(random.Random(SAMPLE).sample(numbers, SHORT))
    begin = time.monotonic()
    outcomes = Outcomes(OUTPUT / "outcomes.jsonl", key)
    try_all(numbers, options.jobs, outcomes)
    counts = report([outcomes.known[number] for number in numbers], listed)
    killed, faults, seeded = counts["killed"], counts["faults"], counts["seeded"]
    score = killed / max(faults, 1)
    schema.save(
        "mutate",
        [
            schema.Figure("mutants found", "", killed, "mutants", {"of": faults}),
            schema.Figure("mutants found", "share", round(100 * score, 1), "%", {}, 0.03, "more"),
        ],
        title="Mutants of a small engine",
        command="make mutate" + " SHORT=1" * options.short,
        platform="small Verilated engine",
        leaves_out="the part for grants, which this engine has not; what was proved to be no fault",
        seed=seed,
        short=options.short,
    )
    OUT.print(
        f"mutate: {seeded} seeded, {counts['none']} of them proved to be no faults; "
        f"{killed} of {faults} faults killed, {100 * score:.1f} %; "
        f"no verdict on {counts['without verdict']}, which count as not found, as do {counts['out of time']} "
        f"of which a proof was ended by time; raw: {100 * killed / seeded:.1f} % "
        f"(seed {seed}); {time.monotonic() - begin:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    return 0 if score >= PASS else 1
