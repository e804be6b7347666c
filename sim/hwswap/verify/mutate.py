# SPDX-License-Identifier: Apache-2.0
"""`make mutate`: how many mutants the project's own checks find.

Each fault of the model with faults (build/mutants, see make_mutants.py) is switched on in turn while the tests run:
scripts (hwswap.stimulus) and streams (hwswap.traces.stream), short, fixed by their seeds, and passed by the engine
without fault. A fault is found by a decision or a word that differs, by one of the RTL's assertions, by the check of
the bus protocol, or by a hang; one that only costs cycles is not found. What survives is listed, without those that are
proved to be no faults at all (equivalence.py). Results are kept as they come, so that an interrupted run goes on where
it stopped; a fault that was killed stays so as long as model and test are the same.
"""

import argparse
import json
import os
import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hwswap.project import paths, provenance
from hwswap.results import schema
from hwswap.stimulus.registry import SCRIPTS, STREAMS
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream, trace
from hwswap.verify import make_mutants, yosys
from hwswap.verify.equivalence import Prover
from hwswap.verify.mutation_results import NO_VERDICT, NONE, OUT_OF_TIME, Outcome, Proofs, Results, digest

OUT = Console()
ERR = Console(stderr=True, highlight=False)

PASS = 0.9
"""Score from which on the exit status is 0."""


SHORT, SAMPLE = 100, 1
"""Faults of a short run, and the seed that draws them."""


PATIENCE = 20
"""A test that takes so many times the cycles it takes without fault hangs."""

CPU_SECONDS = 1800
"""So much CPU time no test takes, with a fault or without: what does is ended, without a verdict."""

HURRY = 5000
"""A register access, or an operation, that takes so many cycles hangs: the small engine is cleared in less."""


class MutateError(RuntimeError):
    """The run cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class MutationTest:
    """A check: the program that runs it, its file, and options."""

    name: str
    program: str
    file: str
    options: tuple[str, ...] = ()
    patience: int = HURRY
    """Cycles after which a register access or an operation hangs."""

    def command(self, model: Path, tests: Path, fault: int, cycles: int = 0) -> list[str]:
        """Return the command that runs it on a fault, for so many cycles at most; 0: without a limit."""
        limits = ["--patience", str(self.patience), "--max-cycles", str(cycles)]
        return [str(model / self.program), str(tests / self.file), "--fault", str(fault), *limits, *self.options]


PLAY, REPLAY = "hwswap-play", "hwswap-replay"
SLOW = ("--stall", "30", "--latency", "5")

MUTATION_TESTS = (
    MutationTest("random operations", PLAY, "operations.txt"),
    MutationTest("random operations, another seed, slow bus", PLAY, "operations-3.txt", SLOW),
    MutationTest("clusters filled and emptied", PLAY, "lists.txt"),
    MutationTest("registers and refusals", PLAY, "registers.txt"),
    MutationTest("errors of the bus", PLAY, "errors.txt"),
    MutationTest("stream by ring", REPLAY, "ring.hwst"),
    MutationTest("stream by pages, slow bus", REPLAY, "pages.hwst", ("--registers", "--stall", "40")),
    MutationTest("stream by ring, slow memory", REPLAY, "ring-2.hwst", ("--latency", "200")),
    MutationTest("clusters filled and emptied, another seed, slow bus", PLAY, "lists-2.txt", SLOW),
    MutationTest("registers and refusals, slow bus", PLAY, "registers-2.txt", ("--stall", "30", "--latency", "120")),
    MutationTest("the index", PLAY, "index.txt"),
    MutationTest("the index, another seed", PLAY, "index-2.txt"),
    MutationTest("the index, a third seed", PLAY, "index-3.txt"),
    MutationTest("the index, a fourth seed", PLAY, "index-4.txt"),
    MutationTest("swap tables", PLAY, "tables.txt"),
    MutationTest("swap tables, another seed, slow bus", PLAY, "tables-2.txt", SLOW),
    MutationTest("corners, slow memory", PLAY, "corners.txt", ("--stall", "20", "--latency", "30")),
    MutationTest("one thing decides", PLAY, "single.txt"),
    MutationTest("free runs in each word", PLAY, "runs.txt"),
    MutationTest("random operations, longer", PLAY, "operations-2.txt"),
    MutationTest("swap tables, longer, slow bus", PLAY, "tables-3.txt", SLOW),
    MutationTest("large swap tables", PLAY, "alike.txt"),
    MutationTest("DMA windows", PLAY, "windows.txt"),
    MutationTest("stops and a bus that hangs, out of order", PLAY, "stops.txt", ("--reorder",)),
)


PLAYED: dict[str, tuple[str, int | None, int | None]] = {
    "operations": ("operations", 1, 600),
    "operations-2": ("operations", 3, 2500),
    "operations-3": ("operations", 2, 600),
    "registers": ("registers", 6, None),
    "registers-2": ("registers", 16, None),
    "lists": ("lists", 9, 12),
    "lists-2": ("lists", 8, 8),
    "errors": ("errors", 7, None),
    "tables": ("tables", 4, 40),
    "tables-2": ("tables", 11, 60),
    "tables-3": ("tables", 21, 120),
    "index": ("index", 22, 16),
    "index-2": ("index", 27, 8),
    "index-3": ("index", 30, 8),
    "index-4": ("index", 26, 8),
    "corners": ("corners", 31, None),
    "single": ("single", 41, None),
    "runs": ("runs", 51, None),
    "alike": ("alike", None, None),
    "windows": ("windows", 61, None),
    "stops": ("stops", 62, None),
}
"""The tests' scripts: which, and with what seed and rounds. The score on record is of these."""

REPLAYED = {"ring": (3, 3000, 0), "ring-2": (13, 1500, 5), "pages": (4, 700, 6)}
"""The tests' streams: seed, operations, and span; 0 is half of the engine's clusters."""


OUTPUT = paths.BUILD / "mutate"
MUTANTS = paths.BUILD / "mutants"
"""The engine's Verilog with the faults, and the list of them."""
MODEL = paths.BUILD / "model-mutants"
"""Its programs."""
WAVE_MODEL = paths.BUILD / "model-mutants-wave"
"""Programs that can write waves."""


def write_tests() -> dict[str, str]:
    """Write the tests' files; return for each test, by its name, a hash of it and its file."""
    folder = OUTPUT / "tests"
    built = Sizes(**json.loads(paths.need(paths.BUILD / "rtl-mutants/engine.json").read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    for file, (name, seed, rounds) in PLAYED.items():
        (folder / f"{file}.txt").write_text(SCRIPTS[name].text(seed, rounds, built))
    of_engine = {"devices": built.devices, "cpus": built.cpus, "clusters": built.clusters}
    for file, (seed, ops, span) in REPLAYED.items():
        shape = replace(STREAMS["everything"], seed=seed, ops=ops, span=span or built.clusters // 2, **of_engine)
        made = stream.generate(shape)
        trace.write(folder / f"{file}.hwst", made.header, made.records)
    return {test.name: digest(repr(test).encode(), (folder / test.file).read_bytes()) for test in MUTATION_TESTS}


def how(said: str) -> str:
    """Tell by what a test found a fault; what is none of these is no verdict on it."""
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
    """Run a test on a fault, for `cycles` cycles at most; return how it found the fault, and what it said.

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
    best = Outcome(number, "", "", "", 0.0)
    for test in those:
        found, said = attempt(test, model, tests, number, limits[test.name])
        if found:
            best = Outcome(number, test.name, found, said[-400:], 0.0)
        if found not in (None, NO_VERDICT):
            break
    return replace(best, seconds=round(time.monotonic() - begin, 2))


def without_fault(those: Sequence[MutationTest], model: Path, tests: Path) -> dict[str, int]:
    """Run tests without a fault, which they must pass; return how many cycles each may take with one."""
    limits = {}
    for test in those:
        found, said = attempt(test, model, tests, 0)
        if found is not None:
            raise MutateError(f"without a fault, '{test.name}' fails, so it cannot find one: {said[-400:]}")
        taken = re.findall(r"(\d+) cycles", said)
        if not taken:
            raise MutateError(f"'{test.name}' does not say how many cycles it took: {said[-400:]}")
        limits[test.name] = PATIENCE * int(taken[-1])
    return limits


def try_all(numbers: Sequence[int], jobs: int, results: Results) -> None:
    """Try faults, `jobs` at a time, with progress."""
    left = [n for n in numbers if n not in results.known or results.known[n].how == NO_VERDICT]
    if not left:
        return
    folder = OUTPUT / "tests"
    limits = without_fault(MUTATION_TESTS, MODEL, folder)
    in_parallel(
        lambda number: results.add(try_fault(number, MUTATION_TESTS, MODEL, folder, limits)),
        left,
        "faults",
        len(numbers) - len(left),
        jobs,
    )


def in_parallel(work: Callable[[int], None], numbers: Sequence[int], title: str, before: int, jobs: int) -> None:
    """Do something for each number, `jobs` at a time, with progress; `before`: how many are done already."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR) as progress, ThreadPoolExecutor(jobs) as pool:
        task = progress.add_task(title, total=before + len(numbers), completed=before)

        def one(number: int) -> None:
            work(number)
            progress.advance(task)

        pending = [pool.submit(one, number) for number in numbers]
        try:
            for job in pending:
                job.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def prove(survivors: Sequence[int], proofs: Proofs, jobs: int) -> None:
    """Find out which survivors are no faults."""
    left = [number for number in survivors if number not in proofs.known]
    if not left:
        return
    prover = Prover(MUTANTS / make_mutants.GATES, make_mutants.TOP, make_mutants.SELECT)
    building = threading.Lock()

    def one(number: int) -> None:
        # One at a time, as the graph grows; the proof itself is another process.
        try:
            with building:
                how = NONE if prover.no_fault(number, OUTPUT) else ""
        except yosys.OutOfTimeError:
            how = OUT_OF_TIME
        proofs.add(number, how)

    in_parallel(one, left, "survivors: proofs that they are no faults", 0, jobs)


def again(number: int) -> int:
    """Run one fault once more, with waves; return 0 if it was found."""
    _, all_mutants = make_mutants.load(paths.need(MUTANTS))
    if not 1 <= number <= len(all_mutants):
        raise MutateError(f"there is no fault {number}: choose 1 to {len(all_mutants)}")
    OUT.print(f"fault {number}: {all_mutants[number - 1]}", highlight=False, soft_wrap=True)
    model = WAVE_MODEL if WAVE_MODEL.exists() else MODEL
    waves = ("--waves", str(OUTPUT / f"fault-{number}.fst")) if model == WAVE_MODEL else ()
    tests = OUTPUT / "tests"
    limits = without_fault(MUTATION_TESTS, MODEL, tests)
    for test in MUTATION_TESTS:
        limit = limits[test.name]
        shown = replace(test, options=(*test.options, *waves))
        OUT.print(" ".join(shown.command(model, tests, number, limit)), highlight=False, soft_wrap=True)
        found, said = attempt(shown, model, tests, number, limit)
        OUT.print(said, highlight=False, soft_wrap=True, markup=False)
        if found not in (None, NO_VERDICT):
            OUT.print(f"found: {found}", highlight=False)
            return 0
    return 1


def report(outcomes: Sequence[Outcome], listed: Sequence[make_mutants.Mutant], seed: int) -> dict[str, object]:
    """Print tables; return the values of the JSON file."""
    seeded, proved = len(outcomes), Counter(outcome.how for outcome in outcomes)
    outcomes = [outcome for outcome in outcomes if outcome.how != NONE]
    by_number = {mutant.number: mutant for mutant in listed}
    modules: dict[str, list[bool]] = {}
    for outcome in outcomes:
        modules.setdefault(by_number[outcome.number].kind, []).append(outcome.how)
    spread = {
        module: {"faults": len(found), "killed": sum(how not in ("", OUT_OF_TIME, NO_VERDICT) for how in found)}
        for module, found in sorted(modules.items())
    }
    table = Table("module", "faults", "killed")
    for module, counts in spread.items():
        table.add_row(module, *map(str, counts.values()))
    OUT.print(table)
    kinds = Counter(outcome.how for outcome in outcomes if outcome.by)
    tests = Counter(outcome.by for outcome in outcomes if outcome.by)
    for title, counts in (("killed by", kinds), ("first found by", tests)):
        OUT.print(f"{title}: " + ", ".join(f"{name} {number}" for name, number in counts.most_common()))
    survivors = [outcome.number for outcome in outcomes if not outcome.by]
    unknown = [outcome.number for outcome in outcomes if outcome.how == NO_VERDICT]
    for word, numbers in ((NO_VERDICT, unknown), ("survivor", survivors)):
        for number in numbers:
            OUT.print(f"{word}: fault {number}: {by_number[number]}", highlight=False, soft_wrap=True)
    killed = len(outcomes) - len(survivors) - len(unknown)
    return {
        "commit": provenance.commit(),
        "seed": seed,
        "seeded": seeded,
        "proved_to_be_none": proved[NONE],
        "faults": len(outcomes),
        "killed": killed,
        "score": round(killed / max(len(outcomes), 1), 4),
        "without_verdict": len(unknown),
        "proofs_out_of_time": sum(outcome.how == OUT_OF_TIME for outcome in outcomes),
        "by": dict(kinds),
        "first_found_by": dict(tests),
        "modules": spread,
        "survivors": [asdict(by_number[number]) | {"text": str(by_number[number])} for number in survivors],
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def mutate(short: bool, jobs: int) -> int:
    """Try all faults, in the short form some; print the score; return the exit status."""
    seed, listed = make_mutants.load(paths.need(MUTANTS))
    paths.need(MODEL)
    tests = write_tests()
    numbers = [mutant.number for mutant in listed]
    if short:
        numbers = sorted(random.Random(SAMPLE).sample(numbers, SHORT))
    begin = time.monotonic()
    results = Results(OUTPUT / "results.jsonl", os.path.realpath(MODEL), tests)
    try_all(numbers, jobs, results)
    proofs = Proofs(OUTPUT / "proofs.jsonl", os.path.realpath(MUTANTS))
    prove([number for number in numbers if not results.known[number].by], proofs, jobs)
    outcomes = [results.known[number] for number in numbers]
    outcomes = [one if one.by else replace(one, how=proofs.known[one.number]) for one in outcomes]
    values = report(outcomes, listed, seed)
    values["seconds"] = round(time.monotonic() - begin, 1)
    (OUTPUT / "mutate.json").write_text(json.dumps(values, indent=2) + "\n")
    schema.save(
        "mutate",
        [
            schema.Figure("mutants found", "", values["killed"], "mutants", {"of": values["faults"]}),
            schema.Figure("mutants found", "share", round(100 * values["score"], 1), "%", {}, 0.03, "more"),
        ],
        title="Mutants of a small engine",
        command="make mutate" + " SHORT=1" * short,
        platform="small Verilated engine",
        leaves_out="what was proved to be no fault",
        seed=seed,
        short=short,
    )
    OUT.print(
        f"{OUTPUT.name}: {values['seeded']} seeded, "
        f"{values['proved_to_be_none']} of them proved to be no faults; "
        f"{values['killed']} of {values['faults']} faults killed, {100 * values['score']:.1f} %; "
        f"no verdict on {values['without_verdict']}, which count as not found, as do {values['proofs_out_of_time']} "
        f"of which a proof was ended by time; raw: {values['killed']} of "
        f"{values['seeded']}, {100 * values['killed'] / values['seeded']:.1f} % "
        f"(seed {seed}); {values['seconds']:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    return 0 if values["score"] >= PASS else 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--fault", type=int, metavar="N", help="run this fault again, with waves if they were built")


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    if options.fault is not None:
        write_tests()
        return again(options.fault)
    return mutate(options.short, options.jobs)
