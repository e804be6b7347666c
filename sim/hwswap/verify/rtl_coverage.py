# SPDX-License-Identifier: Apache-2.0
"""`make coverage`: what the simulations reach of the engine, and what they do not.

Runs random streams, recorded traces, scripts of bus accesses and the cocotb cases on engines built with line and toggle
coverage, adds the files up, and counts the functional bins of the streams and traces. Fails when lines or toggles are
reached by less than 95 %, or when a functional bin is empty. Results: build/coverage/coverage.json and missed.txt.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hwswap.kernel import convert
from hwswap.project import paths, printed, provenance
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.stimulus.registry import SCRIPTS, STREAMS
from hwswap.traces import stream, trace
from hwswap.traces.stream import Shape
from hwswap.verify.code_coverage import CoverageError, Modules, Point, Reader, Summary, read_waivers, summarise
from hwswap.verify.functional_coverage import Functional, choices

OUT = Console()
ERR = Console(stderr=True, highlight=False)

WAIVERS = paths.ROOT / "tests/coverage/waivers.toml"
DATA = paths.ROOT / "tests/data"
GOALS = {"line": 0.95, "toggle": 0.95}

SHORT_GOALS = {"line": 0.93, "toggle": 0.82}
"""What the short form reaches at least: less means that something it runs does less than it did."""

POLICIES = choices()

SHAPES = [
    *[STREAMS[name] for name in ("small", "medium", "large", "one-cpu", "full")],
    *[replace(STREAMS["full"], seed=seed, devices=2, span=span) for seed, span in ((152, 2), (153, 3))],
    *[replace(STREAMS["whole-store"], seed=140 + i, span=span) for i, span in enumerate((1024, 1024, 400, 1024) * 2)],
    *[replace(STREAMS["everything"], seed=110 + i, span=span) for i, span in enumerate((2, 4, 6, 8, 12, 16, 24, 40))],
]
SHORT_SHAPES = [replace(STREAMS["everything"], seed=seed, ops=8_000, span=span) for seed, span in ((121, 4), (122, 16))]
PLAYED = {
    "operations": 500,
    "lists": 12,
    "registers": None,
    "errors": None,
    "tables": 30,
    "stops": None,
}
"""Scripts of the short form, and how many rounds of those that have any; the long form has four times as many."""

PLAYED_LONG = ("windows", "large")
"""Scripts of the long form alone."""

PACES = ((), ("--latency", "60"), ("--stall", "60", "--reorder"), ("--registers",))
COCOTB = "none or both"
"""The paces of the buses that the cocotb cases are run at."""

EXAMPLES = 3
"""How many of the points that a waiver is wrong about are named."""

TIMEOUT = 3600.0
"""Seconds for one run on the engine."""


PROGRAMS = paths.REPLAY_COVERAGE.parent
OUTPUT = paths.BUILD / "coverage"


def counts() -> Counter[Point]:
    """Add up the files of all runs."""
    reader = Reader(Modules(paths.need(paths.RTL)))
    found: Counter[Point] = Counter()
    for path in sorted(OUTPUT.glob("*.dat")):
        reader.add(path, found)
    return found


@dataclass(frozen=True)
class Job:
    """One run on the engine: the program, what makes its file, and options."""

    name: str
    program: str
    make: Callable[[Path], None]
    options: tuple[str, ...] = ()

    def run(self, file: Path) -> None:
        """Carry it out and leave its coverage; what the engine does must be right."""
        output = OUTPUT / f"{self.name}.dat"
        build = PROGRAMS / self.program
        if self.program == paths.REPLAY_COVERAGE.name:
            outcome = replay.replay(file, [*self.options, "--coverage", str(output)], TIMEOUT, build)
            equal, said = outcome.equal, outcome.output
        else:
            command = [replay.program(build), file, *self.options, "--coverage", output]
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            equal, said = done.returncode == 0, done.stdout + done.stderr
        if not equal:
            raise CoverageError(f"{self.name} goes wrong, so its coverage means nothing: {said}")


def of_stream(shape: Shape, see: Callable[[trace.Trace], None] | None = None) -> Callable[[Path], None]:
    """Return what writes a random stream as a trace, which `see` is shown."""

    def make(path: Path) -> None:
        generated = stream.generate(shape)
        if see:
            see(generated)
        trace.write(path, generated.header, generated.records)

    return make


def jobs(short: bool, functional: Functional) -> Iterator[Job]:
    """Yield all runs; what streams and traces of operations come to is counted when they are made."""

    def of_trace(source: Path) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            operations = convert.for_engine(trace.read(source))
            functional.add(operations)
            trace.write(path, operations.header, operations.records)

        return make

    def of_script(text: Callable[[], str]) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            path.write_text(text())

        return make

    for i, shape in enumerate(SHORT_SHAPES if short else SHAPES):
        pace = PACES[i % len(PACES)]
        base = random.Random(shape.seed).getrandbits(48) << 16
        yield Job(
            f"stream-{shape.seed}",
            "hwswap-replay",
            of_stream(shape, functional.add),
            (*pace, "--memory-base", str(base), "--seed", str(shape.seed)),
        )
    for path in trace.of_one_cpu(DATA):
        name = path.name.removesuffix(".hwst.gz")
        if not short or name == "discard":
            yield Job(name, "hwswap-replay", of_trace(path))
    for i, (name, script) in enumerate(scripts(short, functional)):
        yield Job(name, "hwswap-play", of_script(script), PACES[i % 3])


def scripts(short: bool, functional: Functional) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield names and makers of scripts: each about other parts of the engine, all of them random otherwise.

    What commands on swap tables come to is counted when their script is made.
    """
    times = 1 if short else 4
    for seed in (131,) if short else (131, 132):
        for name, rounds in PLAYED.items():
            seen = {"seen": functional.tables} if name == "tables" else {}
            yield f"{name}-{seed}", partial(SCRIPTS[name].text, seed, rounds and rounds * times, **seen)
        if not short:
            for name in PLAYED_LONG:
                yield f"{name}-{seed}", partial(SCRIPTS[name].text, seed)
    if not short:
        yield "alike", SCRIPTS["alike"].text


def cocotb() -> None:
    """Run the cocotb cases on an engine with coverage, with the seeds that its goals were measured with."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "-k", COCOTB]
    for old in (paths.BUILD / "cocotb").glob("*/coverage.dat"):
        old.unlink()
    done = subprocess.run(
        [*command, str(paths.ROOT / "tests/cocotb/test_engine.py")],
        env={**os.environ, "HWSWAP_COVERAGE": "1", "HWSWAP_SEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CoverageError(f"the cocotb cases fail: {done.stdout[-3000:]}")
    for place in sorted((paths.BUILD / "cocotb").glob("*/coverage.dat")):
        place.replace(OUTPUT / f"cocotb-{place.parent.name}.dat")


def simulate(todo: list[Job]) -> None:
    """Run the jobs, each of which leaves a coverage file."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for old in OUTPUT.glob("*.dat"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="hwswap-coverage-") as temporary, Progress(console=ERR) as progress:
        task = progress.add_task("replaying", total=len(todo))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running: list[Future[None]] = []
            try:
                for job in todo:
                    file = Path(temporary) / f"{job.name}.hwst"
                    job.make(file)
                    running.append(pool.submit(job.run, file))
                    running[-1].add_done_callback(lambda _: progress.advance(task))
                    for one in running:
                        if one.done():
                            one.result()
                for one in running:
                    one.result()
            finally:
                pool.shutdown(cancel_futures=True)


def table_of(summary: Summary) -> Table:
    """Return what was reached of each module as a table."""
    table = printed.table("coverage of the engine's Verilog", ("module", "lines", "", "toggles", ""))
    for module in sorted({module for module, _ in summary.tallies}):
        cells = []
        for kind in ("line", "toggle"):
            tally = summary.tallies.get((module, kind))
            cells += [f"{100 * tally.share:.1f} %", f"{tally.reached:,} / {tally.points:,}"] if tally else ["", ""]
        table.add_row(module, *cells)
    return table


def report_code(summary: Summary, goals: Mapping[str, float], folder: Path) -> tuple[int, dict[str, Any]]:
    """Print what was reached of the Verilog, and write missed.txt.

    Args:
        summary: what was reached.
        goals: the shares of lines and toggles to be reached at least, 0 to 1.
        folder: for results.

    Returns:
        Exit status, and the part of coverage.json about the Verilog.
    """
    OUT.print(table_of(summary))
    status = 0
    for reason, number in summary.waived.most_common():
        OUT.print(f"left out: {number:,} points: {reason}", highlight=False, soft_wrap=True)
    folder.joinpath("missed.txt").write_text("".join(f"{' '.join(map(str, p))}\n" for p in summary.missed))
    for reason, points in summary.refuted.items():
        named = "; ".join(" ".join(map(str, point)) for point in points[:EXAMPLES])
        ERR.print(
            f"hwswap: {len(points):,} points were reached that {WAIVERS.name} leaves out because {reason}: {named}",
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
        status = 1
    figures = {kind: summary.total(kind) for kind in ("line", "toggle")}
    for kind, tally in figures.items():
        if tally.share < goals[kind]:
            missed = folder.relative_to(paths.ROOT) if folder.is_relative_to(paths.ROOT) else folder
            ERR.print(f"hwswap: {kind} coverage is below {100 * goals[kind]:.0f} %: see {missed}/missed.txt")
            status = 1
    return status, {
        "provenance": {"hwswap": provenance.commit()},
        **{kind: {"reached": tally.reached, "points": tally.points} for kind, tally in figures.items()},
        "waived": summary.waived,
        "modules": {
            f"{module} {kind}": [tally.reached, tally.points] for (module, kind), tally in summary.tallies.items()
        },
    }


def report(summary: Summary, functional: Functional, short: bool, folder: Path = OUTPUT) -> int:
    """Print and write what was reached of the engine with its clusters on chip; return the exit status."""
    status, document = report_code(summary, SHORT_GOALS if short else GOALS, folder)
    missed = functional.missed(POLICIES)
    bins = len(missed) + sum(1 for bin_ in functional.hits if bin_.policy in POLICIES) + len(functional.tables)
    for bin_ in functional.impossible(POLICIES):
        ERR.print(f"hwswap: hit, but not among the goals: {bin_}", highlight=False)
        status = 1
    if not short:
        for waiver in summary.idle_waivers:
            ERR.print(f"hwswap: a waiver that nothing needs: {waiver.module.pattern} {waiver.what.pattern}")
            status = 1
        for bin_ in missed:
            ERR.print(f"hwswap: never happened: {' '.join(map(str, bin_))}", highlight=False)
            status = 1
    document |= {
        "short": short,
        "functional": {"hit": bins - len(missed), "bins": bins, "missed": [list(bin_) for bin_ in missed]},
    }
    folder.joinpath("coverage.json").write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    schema.save(
        "coverage",
        [
            *(
                schema.Figure(f"{kind}s reached", "", round(100 * summary.total(kind).share, 2), "%", {}, 0.01, "more")
                for kind in ("line", "toggle")
            ),
            schema.exact("functional bins missed", len(missed), "bins", "less"),
        ],
        title="What the simulations reach of the engine",
        command="make coverage" + " SHORT=1" * short,
        platform="Verilator",
        leaves_out="what is waived (tests/coverage/waivers.toml)",
        short=short,
    )
    reached = ", ".join(f"{kind}s {100 * summary.total(kind).share:.1f} %" for kind in ("line", "toggle"))
    OUT.print(f"{reached}, functional {bins - len(missed)} of {bins} bins", highlight=False)
    return status


def run(options: argparse.Namespace) -> int:
    """Run everything and report; return the exit status."""
    functional = Functional()
    waivers = read_waivers(WAIVERS)
    simulate(list(jobs(options.short, functional)))
    if not options.short:
        with ERR.status("cocotb"):
            cocotb()
    return report(summarise(counts(), waivers), functional, options.short)
