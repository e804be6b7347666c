# SPDX-License-Identifier: Apache-2.0
"""`make coverage`: what the simulations reach of the engine, and what they do not.

Runs random streams, recorded traces and the cocotb cases on engines built with line and toggle coverage, adds the files
up, and counts the functional bins of the streams and traces. Fails when lines or toggles are reached by less than 95 %,
or when a functional bin is empty. Results: build/coverage/coverage.json and missed.txt.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hwswap import paths, provenance, replay, stream, trace
from hwswap.code_coverage import CoverageError, Modules, Point, Summary, read, read_waivers, summarise
from hwswap.functional_coverage import Functional, choices
from hwswap.stream import Shape

OUT = Console()
ERR = Console(stderr=True, highlight=False)

FOLDER = paths.BUILD / "coverage"
WAIVERS = paths.ROOT / "tests/coverage/waivers.toml"
TRACES = ("random-churn", "sequential-mixed-orders")
GOAL = 0.95

FEATURES = frozenset(stream.FEATURES)
"""What streams may have: all kinds of devices, all policies."""

POLICIES = choices()

SHAPES = [
    Shape(101, ops=30_000, span=3),
    Shape(102, ops=30_000, span=24),
    Shape(103, ops=20_000, span=128),
    Shape(104, ops=30_000, span=12, cpus=1),
    *[Shape(110 + i, ops=30_000, span=span, features=FEATURES) for i, span in enumerate((2, 4, 6, 8, 12, 16, 24, 40))],
]
MEMORIES = ((), ("--latency", "60"), ("--stall", "60"), ("--registers",))


def replay_one(path: Path, options: tuple[str, ...], output: Path) -> None:
    """Replay a trace on the engine with coverage; the decisions must be equal."""
    outcome = replay.replay(path, [*options, "--coverage", str(output)], 3600, paths.REPLAY_COVERAGE)
    if not outcome.equal:
        raise CoverageError(f"{path.name} is decided otherwise, so its coverage means nothing: {outcome.output}")


def cocotb(output: Path) -> None:
    """Run all cocotb cases on an engine with coverage."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", str(paths.ROOT / "tests/cocotb")]
    done = subprocess.run(command, env={**os.environ, "COVERAGE": "1"}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoverageError(f"the cocotb cases fail: {done.stdout[-3000:]}")
    for place in sorted((paths.BUILD / "cocotb").glob("*/coverage.dat")):
        place.replace(output / f"cocotb-{place.parent.name}.dat")


def run(short: bool, functional: Functional) -> None:
    """Make all coverage files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.dat"):
        old.unlink()
    shapes = SHAPES[4:6] if short else SHAPES
    with tempfile.TemporaryDirectory(prefix="hwswap-coverage-") as temporary, Progress(console=ERR) as progress:
        jobs: list[tuple[str, Callable[[], Path], tuple[str, ...]]] = []
        for i, shape in enumerate(shapes):

            def made(shape: Shape = shape) -> Path:
                path = Path(temporary) / f"{shape.seed}.hwst.gz"
                generated = stream.generate(shape)
                functional.add(generated)
                trace.write(path, generated.header, generated.records)
                return path

            jobs.append((f"stream-{shape.seed}", made, MEMORIES[i % len(MEMORIES)]))
        for name in () if short else TRACES:
            path = paths.ROOT / "tests/data" / f"{name}.hwst.gz"

            def there(path: Path = path) -> Path:
                functional.add(trace.read(path))
                return path

            jobs.append((name, there, ()))
        task = progress.add_task("replaying", total=len(jobs))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running = []
            for name, source, options in jobs:
                running.append(pool.submit(replay_one, source(), options, FOLDER / f"{name}.dat"))
                running[-1].add_done_callback(lambda _: progress.advance(task))
            for one in running:
                one.result()
        if not short:
            task = progress.add_task("cocotb", total=None)
            cocotb(FOLDER)
            progress.update(task, total=1, completed=1)


def report(summary: Summary, functional: Functional, short: bool) -> int:
    """Print and write what was reached; return the exit status."""
    table = Table(title="coverage of the engine's Verilog")
    for name in ("module", "lines", "", "toggles", ""):
        table.add_column(name, justify="left" if name == "module" else "right")
    for module in sorted({module for module, _ in summary.tallies}):
        cells = []
        for kind in ("line", "toggle"):
            tally = summary.tallies.get((module, kind))
            cells += [f"{100 * tally.share:.1f} %", f"{tally.reached:,} / {tally.points:,}"] if tally else ["", ""]
        table.add_row(module, *cells)
    OUT.print(table)
    for reason, number in summary.waived.most_common():
        OUT.print(f"left out: {number:,} points: {reason}", highlight=False, soft_wrap=True)
    missed = functional.missed(POLICIES)
    bins = len(missed) + sum(1 for bin_ in functional.hits if bin_.policy in POLICIES)
    status = 0
    FOLDER.joinpath("missed.txt").write_text("".join(f"{' '.join(map(str, p))}\n" for p in summary.missed))
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
    figures = {kind: summary.total(kind) for kind in ("line", "toggle")}
    for kind, tally in figures.items():
        if not short and tally.share < GOAL:
            ERR.print(f"hwswap: {kind} coverage is below {100 * GOAL:.0f} %: see build/coverage/missed.txt")
            status = 1
    document = {
        "provenance": {"hwswap": provenance.commit()},
        "short": short,
        **{kind: {"reached": tally.reached, "points": tally.points} for kind, tally in figures.items()},
        "functional": {"hit": bins - len(missed), "bins": bins, "missed": [list(bin_) for bin_ in missed]},
        "waived": summary.waived,
        "modules": {
            f"{module} {kind}": [tally.reached, tally.points] for (module, kind), tally in summary.tallies.items()
        },
    }
    FOLDER.joinpath("coverage.json").write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    OUT.print(
        ", ".join(f"{kind}s {100 * tally.share:.1f} %" for kind, tally in figures.items())
        + f", functional {bins - len(missed)} of {bins} bins",
        highlight=False,
    )
    return status


def main(arguments: list[str] | None = None) -> int:
    """Run everything and report."""
    parser = argparse.ArgumentParser(prog="make coverage", description=__doc__)
    parser.add_argument("--short", action="store_true", help="two streams only, no goals")
    parser.add_argument("--report-only", action="store_true", help="add up the files of the last run, code only")
    options = parser.parse_args(arguments)
    functional = Functional()
    try:
        waivers = read_waivers(WAIVERS)
        if not options.report_only:
            run(options.short, functional)
        modules = Modules(paths.need(paths.RTL))
        counts: Counter[Point] = Counter()
        for path in sorted(FOLDER.glob("*.dat")):
            counts.update(read(path, modules))
        return report(summarise(counts, waivers), functional, options.short or options.report_only)
    except (CoverageError, replay.ReplayError) as error:
        ERR.print(f"hwswap: {error}", soft_wrap=True, highlight=False)
        return 1


if __name__ == "__main__":
    sys.exit(main())
