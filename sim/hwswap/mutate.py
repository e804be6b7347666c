# SPDX-License-Identifier: Apache-2.0
"""`make mutate`: how many seeded faults the project's own checks find.

Each fault of the model with faults (build/mutants, see mutants.py) is switched on in turn while the killers run: two
scripts (exercise.py) and two streams (stream.py), short, fixed by their seeds, and passed by the engine without fault.
A fault is killed by a decision or a word that differs, by one of the RTL's assertions, by the check of the bus
protocol, or by a hang. What survives is listed. Results are kept as they come, so that an interrupted run goes on
where it stopped.
"""

import argparse
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hwswap import exercise, mutants, paths, provenance, stream, trace

OUT = Console()
ERR = Console(stderr=True, highlight=False)

FOLDER = paths.BUILD / "mutate"
MUTANTS = paths.BUILD / "mutants"
MODEL = paths.BUILD / "model-mutants"
WAVE_MODEL = paths.BUILD / "model-mutants-wave"
PASS = 0.9
"""Score from which on the exit status is 0."""

SHORT = 20
"""Faults of a short run."""

PATIENCE = 40
"""A killer that takes so many times as long as without fault, and a minute, hangs."""

STREAM_FEATURES = frozenset({"discard", "rotating", "scan", "sequential", "shared"})


class MutateError(RuntimeError):
    """The run cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class Killer:
    """A check: the program that runs it, its file, and options."""

    name: str
    program: str
    file: str
    options: tuple[str, ...] = ()

    def command(self, model: Path, tests: Path, fault: int) -> list[str]:
        """Return the command that runs it on a fault."""
        return [str(model / self.program), str(tests / self.file), "--fault", str(fault), *self.options]


KILLERS = (
    Killer("commands, pages and registers", "hwswap-play", "authoritative.txt"),
    Killer("advisory mode, slow bus", "hwswap-play", "advisory.txt", ("--stall", "30", "--latency", "5")),
    Killer("stream by ring", "hwswap-replay", "ring.hwst"),
    Killer("stream by pages, slow bus", "hwswap-replay", "pages.hwst", ("--registers", "--stall", "40")),
    Killer("advisory mode, another seed", "hwswap-play", "advisory-2.txt"),
)


@dataclass
class Outcome:
    """What became of a fault: `by` which killer ("" for a survivor), how ("difference", ...), and what was said."""

    number: int
    by: str
    how: str
    said: str
    seconds: float


def sizes() -> exercise.Sizes:
    """Return what the engine with faults was built for."""
    values = json.loads(paths.need(paths.BUILD / "rtl-mutants" / "engine.json").read_text())
    return exercise.Sizes(**values)


def write_tests(folder: Path, built: exercise.Sizes) -> str:
    """Write the killers' files; return a hash of them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "authoritative.txt").write_text(exercise.authoritative(1, 600, built))
    (folder / "advisory.txt").write_text(exercise.advisory(1, 24, built))
    (folder / "advisory-2.txt").write_text(exercise.advisory(2, 40, built))
    for name, seed, ops in (("ring", 3, 3000), ("pages", 4, 700)):
        shape = stream.Shape(seed, ops, built.devices, built.cpus, built.clusters, 6, STREAM_FEATURES)
        made = stream.generate(shape)
        trace.write(folder / f"{name}.hwst", made.header, made.records)
    digest = hashlib.sha256(repr(KILLERS).encode())
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def how(said: str) -> str:
    """Tell by what a killer found a fault."""
    for kind, pattern in (
        ("assertion", r"an assertion of the RTL failed"),
        ("hang", r"waited \d+ cycles|has not (completed|answered)|hangs|did not converge"),
        ("protocol", r"AXI"),
        ("difference", r"must be|expected|carries the number"),
    ):
        if re.search(pattern, said):
            return kind
    return "other"


def attempt(killer: Killer, model: Path, tests: Path, fault: int, limit: float) -> tuple[bool, str]:
    """Run a killer on a fault; return whether it passed, and the last of what it said."""
    try:
        done = subprocess.run(
            killer.command(model, tests, fault), capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"waited {limit:.0f} s: hangs"
    said = (done.stdout + done.stderr).strip()
    if done.returncode not in (0, 1):
        said += f" (ended with status {done.returncode})"
    return done.returncode == 0, said[-400:]


def try_fault(number: int, model: Path, tests: Path, limits: dict[str, float]) -> Outcome:
    """Run killers on a fault until one finds it."""
    begin = time.monotonic()
    for killer in KILLERS:
        passed, said = attempt(killer, model, tests, number, limits[killer.name])
        if not passed:
            return Outcome(number, killer.name, how(said), said, round(time.monotonic() - begin, 2))
    return Outcome(number, "", "", "", round(time.monotonic() - begin, 2))


def without_fault(model: Path, tests: Path) -> dict[str, float]:
    """Run all killers without a fault, which they must pass; return how long each may take with one."""
    limits = {}
    for killer in KILLERS:
        begin = time.monotonic()
        passed, said = attempt(killer, model, tests, 0, 600)
        if not passed:
            raise MutateError(f"without a fault, '{killer.name}' fails, so it cannot find one: {said}")
        limits[killer.name] = 60 + PATIENCE * (time.monotonic() - begin)
    return limits


class Results:
    """Outcomes on disk, a line each as they come; those of another model or other killers do not count."""

    def __init__(self, path: Path, key: str) -> None:
        """Read what is there."""
        self.path = path
        self.key = key
        self.known: dict[int, Outcome] = {}
        self.lock = threading.Lock()
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    values = json.loads(line)
                except ValueError:
                    continue  # cut short by an interruption
                if values.pop("key", None) == key:
                    self.known[values["number"]] = Outcome(**values)

    def add(self, outcome: Outcome) -> None:
        """Note an outcome."""
        with self.lock:
            self.known[outcome.number] = outcome
            with self.path.open("a") as file:
                file.write(json.dumps({"key": self.key, **asdict(outcome)}) + "\n")


def run(numbers: Sequence[int], jobs: int, results: Results, tests: Path) -> None:
    """Try faults, `jobs` at a time, with progress."""
    left = [number for number in numbers if number not in results.known]
    if not left:
        return
    limits = without_fault(MODEL, tests)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR) as progress, ThreadPoolExecutor(jobs) as pool:
        task = progress.add_task("faults", total=len(numbers), completed=len(numbers) - len(left))

        def one(number: int) -> None:
            results.add(try_fault(number, MODEL, tests, limits))
            progress.advance(task)

        pending = [pool.submit(one, number) for number in left]
        try:
            for job in pending:
                job.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def again(number: int, tests: Path) -> int:
    """Run one fault once more, with waves; return 0 if it was found."""
    _, all_mutants = mutants.load(paths.need(MUTANTS))
    if not 1 <= number <= len(all_mutants):
        raise MutateError(f"there is no fault {number}: choose 1 to {len(all_mutants)}")
    OUT.print(f"fault {number}: {all_mutants[number - 1]}", highlight=False, soft_wrap=True)
    model = WAVE_MODEL if WAVE_MODEL.exists() else MODEL
    for killer in KILLERS:
        command = killer.command(model, tests, number)
        if model == WAVE_MODEL:
            command += ["--waves", str(FOLDER / f"fault-{number}.fst")]
        OUT.print(" ".join(command), highlight=False, soft_wrap=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        OUT.print((done.stdout + done.stderr).strip(), highlight=False, soft_wrap=True, markup=False)
        if done.returncode:
            return 0
    return 1


def report(outcomes: Sequence[Outcome], listed: Sequence[mutants.Mutant], seed: int) -> dict[str, object]:
    """Print tables; return the values of the JSON file."""
    by_number = {mutant.number: mutant for mutant in listed}
    modules: dict[str, list[bool]] = {}
    for outcome in outcomes:
        modules.setdefault(by_number[outcome.number].kind, []).append(bool(outcome.by))
    table = Table("module", "faults", "killed")
    for module, found in sorted(modules.items()):
        table.add_row(module, str(len(found)), str(sum(found)))
    OUT.print(table)
    kinds = Counter(outcome.how for outcome in outcomes if outcome.by)
    killers = Counter(outcome.by for outcome in outcomes if outcome.by)
    for title, counts in (("killed by", kinds), ("first found by", killers)):
        OUT.print(f"{title}: " + ", ".join(f"{name} {number}" for name, number in counts.most_common()))
    survivors = [outcome.number for outcome in outcomes if not outcome.by]
    for number in survivors:
        OUT.print(f"survivor: fault {number}: {by_number[number]}", highlight=False, soft_wrap=True)
    score = 1 - len(survivors) / len(outcomes)
    return {
        "commit": provenance.commit(),
        "seed": seed,
        "faults": len(outcomes),
        "killed": len(outcomes) - len(survivors),
        "score": round(score, 4),
        "by": dict(kinds),
        "first_found_by": dict(killers),
        "modules": {module: {"faults": len(found), "killed": sum(found)} for module, found in modules.items()},
        "survivors": [asdict(by_number[number]) | {"text": str(by_number[number])} for number in survivors],
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def mutate(short: bool, count: int | None, jobs: int, sample: int) -> int:
    """Try all faults, or some; print the score; return the exit status."""
    seed, listed = mutants.load(paths.need(MUTANTS))
    paths.need(MODEL)
    key = hashlib.sha256(f"{os.path.realpath(MODEL)} {write_tests(FOLDER / 'tests', sizes())}".encode()).hexdigest()
    numbers = [mutant.number for mutant in listed]
    wanted = SHORT if short else count
    if wanted is not None:
        if not 1 <= wanted <= len(numbers):
            raise MutateError(f"--count is {wanted}: choose 1 to {len(numbers)}")
        numbers = sorted(random.Random(sample).sample(numbers, wanted))
    begin = time.monotonic()
    results = Results(FOLDER / "results.jsonl", key[:16])
    run(numbers, jobs, results, FOLDER / "tests")
    outcomes = [results.known[number] for number in numbers]
    values = report(outcomes, listed, seed)
    values["seconds"] = round(time.monotonic() - begin, 1)
    values["sample"] = sample if wanted is not None else None
    (FOLDER / "mutate.json").write_text(json.dumps(values, indent=2) + "\n")
    OUT.print(
        f"mutate: {values['killed']} of {values['faults']} faults killed, {100 * values['score']:.1f} % "
        f"(seed {seed}{f', sample {sample}' if wanted is not None else ''}); {values['seconds']:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    return 0 if values["score"] >= PASS else 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--short", action="store_true", help=f"{SHORT} faults only")
    parser.add_argument("--count", type=int, metavar="N", help="N faults only, drawn by --sample")
    parser.add_argument("--sample", type=int, default=1, help="seed of that draw (default 1)")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (default 2)")
    parser.add_argument("--fault", type=int, metavar="N", help="run this fault again, with waves if they were built")


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if args.fault is not None:
        write_tests(FOLDER / "tests", sizes())
        return again(args.fault, FOLDER / "tests")
    return mutate(args.short, args.count, args.jobs, args.sample)
