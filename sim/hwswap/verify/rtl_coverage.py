# SPDX-License-Identifier: Apache-2.0
"""`make coverage`: the parts of the engine that the simulations reach, and those that they do not.

Runs random streams, recorded traces, scripts of bus accesses and the cocotb cases on engines built with line and toggle
coverage, adds the files up, and counts the functional bins of the streams and traces. Fails when lines or toggles are
reached by less than 95 %, or when a functional bin is empty. build/coverage/missed.txt has the points missed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from hwswap.kernel import convert
from hwswap.project import paths, printed
from hwswap.results import schema
from hwswap.stimulus.registry import SCRIPTS, STREAMS
from hwswap.traces import stream, trace
from hwswap.verify.code_coverage import CoverageError, Summary, read_counts, read_waivers, summarise
from hwswap.verify.functional_coverage import Functional, goals

OUT = Console()
ERR = Console(stderr=True, highlight=False)

WAIVERS = paths.ROOT / "tests/coverage/waivers.toml"
DATA = paths.ROOT / "tests/data"
GOALS = {"line": 95, "toggle": 95}
"""Percent of them that must be reached."""
SHORT_GOALS = {"line": 93, "toggle": 82}
"""The least that the short form reaches: less means that something it runs does less than it did."""

SHAPES = [
    *[STREAMS[name] for name in ("small", "medium", "large", "one-cpu", "full")],
    *[replace(STREAMS["full"], seed=seed, devices=2, span=span) for seed, span in ((152, 2), (153, 3))],
    *[replace(STREAMS["whole-store"], seed=140 + i, span=span) for i, span in enumerate((1024, 1024, 400, 1024) * 2)],
    *[replace(STREAMS["everything"], seed=110 + i, span=span) for i, span in enumerate((2, 4, 6, 8, 12, 16, 24, 40))],
]
SHORT_SHAPES = [replace(STREAMS["everything"], seed=seed, ops=8_000, span=span) for seed, span in ((121, 4), (122, 16))]
PLAYED = {"operations": 500, "lists": 12, "registers": None, "errors": None, "tables": 30, "stops": None}
"""Scripts of the short form, and how many rounds of those that have any; the long form has four times as many."""

PLAYED_LONG = ("windows", "large")
"""Scripts of the long form alone."""

PACES = ((), ("--latency", "60"), ("--stall", "60", "--reorder"), ("--registers",))
COCOTB = "none or both"
"""The paces of the buses that the cocotb cases are run at."""

EXAMPLES = 3
"""The most points to name for a waiver that is wrong about them."""

TIMEOUT = 3600.0
"""Seconds for one run on the engine."""

PROGRAMS = paths.BUILD / "model-coverage"
OUTPUT = paths.BUILD / "coverage"


def runs(short: bool, functional: Functional, folder: Path) -> Iterator[tuple[str, list[str | Path]]]:
    """Yield the name and the command of each run on the engine; its file is written to a folder when it is asked for.

    What streams, traces and commands on swap tables come to is counted meanwhile.
    """

    def of(name: str, operations: trace.Trace, *options: str) -> tuple[str, list[str | Path]]:
        functional.add(operations)
        file = folder / f"{name}.hwst"
        trace.write(file, operations.header, operations.records)
        return name, [PROGRAMS / "hwswap-replay", file, *options]

    for i, shape in enumerate(SHORT_SHAPES if short else SHAPES):
        base = random.Random(shape.seed).getrandbits(48) << 16
        options = (*PACES[i % len(PACES)], "--memory-base", str(base), "--seed", str(shape.seed))
        yield of(f"stream-{shape.seed}", stream.generate(shape), *options)
    for path in trace.of_one_cpu(DATA):
        name = path.name.removesuffix(".hwst.gz")
        if not short or name == "discard":
            yield of(name, convert.for_engine(trace.read(path)))
    for i, (name, text) in enumerate(scripts(short, functional)):
        file = folder / f"{name}.txt"
        file.write_text(text)
        yield name, [PROGRAMS / "hwswap-play", file, *PACES[i % 3]]


def scripts(short: bool, functional: Functional) -> Iterator[tuple[str, str]]:
    """Yield names and texts of scripts: each about other parts of the engine, all of them random otherwise."""
    times = 1 if short else 4
    for seed in (131,) if short else (131, 132):
        for name, rounds in PLAYED.items():
            seen = {"seen": functional.tables} if name == "tables" else {}
            yield f"{name}-{seed}", SCRIPTS[name].text(seed, rounds and rounds * times, **seen)
        if not short:
            for name in PLAYED_LONG:
                yield f"{name}-{seed}", SCRIPTS[name].text(seed)
    if not short:
        yield "alike", SCRIPTS["alike"].text()


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


def run_on_engine(name: str, command: list[str | Path]) -> None:
    """Carry a run out and leave its coverage; the engine's results must be right."""
    command = [*command, "--coverage", OUTPUT / f"{name}.dat"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise CoverageError(f"{name} goes wrong, so its coverage means nothing: {done.stdout}{done.stderr}")


def simulate(short: bool, functional: Functional) -> None:
    """Run everything but the cocotb cases, as many at a time as there are processors."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for old in OUTPUT.glob("*.dat"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="hwswap-coverage-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            running = [pool.submit(run_on_engine, *run) for run in runs(short, functional, Path(folder))]
            for one in as_completed(running):
                one.result()
        finally:
            pool.shutdown(cancel_futures=True)


def faults(summary: Summary, functional: Functional, short: bool) -> Iterator[str]:
    """Yield a sentence for each thing that is not as it must be; the short form need not reach everything."""
    for reason, points in summary.refuted.items():
        named = "; ".join(" ".join(map(str, point)) for point in points[:EXAMPLES])
        yield f"{len(points):,} points were reached that {WAIVERS.name} leaves out because {reason}: {named}"
    for kind, goal in (SHORT_GOALS if short else GOALS).items():
        if summary.percent(kind) < goal:
            yield f"{kind} coverage is below {goal} %: see build/coverage/missed.txt"
    for bin_ in functional.impossible():
        yield f"hit, but not among the goals: {bin_}"
    if not short:
        for waiver in summary.idle_waivers:
            yield f"a waiver that nothing needs: {waiver.module} {waiver.what}"
        for bin_ in functional.missed():
            yield f"never happened: {' '.join(map(str, bin_))}"


def report(summary: Summary, functional: Functional, short: bool, folder: Path = OUTPUT) -> int:
    """Print and write the coverage; return the exit status."""
    table = printed.table("coverage of the engine's Verilog", ("module", "lines", "toggles"))
    for module in sorted({module for module, _ in summary.points}):
        both = ((module, "line"), (module, "toggle"))
        table.add_row(module, *(f"{summary.reached[kind]:,} / {summary.points[kind]:,}" for kind in both))
    OUT.print(table)
    for reason, number in summary.waived.most_common():
        OUT.print(f"left out: {number:,} points: {reason}", highlight=False, soft_wrap=True)
    (folder / "missed.txt").write_text("".join(f"{' '.join(map(str, point))}\n" for point in summary.missed))
    wrong = list(faults(summary, functional, short))
    for sentence in wrong:
        ERR.print(f"hwswap: {sentence}", highlight=False, soft_wrap=True, markup=False)
    missed, bins = len(functional.missed()), len(list(goals()))
    shares = {f"{kind}s": summary.percent(kind) for kind in GOALS}
    schema.save(
        "coverage",
        [
            *(
                schema.Figure(f"{kind} reached", "", round(share, 2), "%", {}, 0.01, "more")
                for kind, share in shares.items()
            ),
            schema.exact("functional bins missed", missed, "bins", "less"),
        ],
        title="What the simulations reach of the engine",
        command="make coverage" + " SHORT=1" * short,
        platform="Verilator",
        leaves_out="the part for grants, which this engine has not; what is waived (tests/coverage/waivers.toml)",
        short=short,
    )
    reached = ", ".join(f"{kind} {share:.1f} %" for kind, share in shares.items())
    OUT.print(f"{reached}, functional {bins - missed} of {bins} bins", highlight=False)
    return 1 if wrong else 0


def run(options: argparse.Namespace) -> int:
    """Run everything and report; return the exit status."""
    paths.need(PROGRAMS)
    functional = Functional()
    waivers = read_waivers(WAIVERS)
    with ERR.status("streams, traces and scripts") as status:
        simulate(options.short, functional)
        if not options.short:
            status.update("cocotb")
            cocotb()
    verilog = paths.need(paths.RTL).read_text().splitlines()
    counts = read_counts(verilog, sorted(OUTPUT.glob("*.dat")))
    return report(summarise(counts, waivers), functional, options.short)
