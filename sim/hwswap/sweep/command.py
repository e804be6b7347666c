# SPDX-License-Identifier: Apache-2.0
"""`hwswap sweep`: a grid of measurements as a Dask graph.

The operations of a load under a policy are one task, which all points that share them wait for; a point is a task.
Each point is kept as soon as it is done, so the command can be interrupted and goes on where it was.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from dask import delayed
from distributed import Client, as_completed
from distributed.scheduler import KilledWorker
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from hwswap.project import paths, provenance
from hwswap.rtl import replay
from hwswap.sweep import clusters, parquet, plan, work
from hwswap.sweep.journal import Journal, Row
from hwswap.sweep.plan import Plan, Point, SweepError

OUTPUT = paths.BUILD / "sweep"
ERR = Console(stderr=True, highlight=False)


def build(plan_: Plan) -> None:
    """Build engines that a sweep file names by their sizes, and that are not there."""
    for engine in plan_.engines:
        if engine.sized and not engine.program.is_file():
            sizes = {name: str(getattr(engine, name)) for name in ("devices", "cpus", "clusters")}
            variables = os.environ | {name.upper(): value for name, value in sizes.items()}
            command = [paths.ROOT / "sim/setup/build", "rtl-sized", "model-sized"]
            if subprocess.run(command, env=variables, check=False).returncode:
                raise SweepError(f"engine {engine.name} could not be built: see the lines above")


def programs(plan_: Plan) -> dict[str, str]:
    """Return a hash of each engine's program, and stop with one sentence where one is missing."""
    found = {}
    for engine in plan_.engines:
        if engine.sized and not engine.program.is_file():
            raise SweepError(f"{engine.program} is missing: `hwswap sweep --build` makes engines of sizes of one's own")
        program = replay.program(engine.program)
        found[engine.name] = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    return found


def graph(points: dict[str, Point], made_of: str, folder: Path) -> dict[str, Any]:
    """Return the graph: a delayed result a point, by its key."""
    folder.mkdir(parents=True, exist_ok=True)
    loads: dict[str, Any] = {}
    results = {}
    for key, point in points.items():
        name = plan.load_key(point, made_of)
        if name not in loads:
            loads[name] = delayed(work.prepare, pure=True)(point, name, folder, dask_key_name=f"prepare-{name}")
        results[key] = delayed(work.measure, pure=True)(point, loads[name], dask_key_name=f"measure-{key}")
    return results


def _why(error: BaseException) -> str:
    """Say in one sentence why a point failed."""
    if isinstance(error, KilledWorker):
        return "the worker that had it was lost, again and again: is there enough memory?"
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__


def results_of(client: Client, delayed_points: dict[str, Any]) -> Iterator[tuple[str, Row | None, str]]:
    """Yield key, row and fault of each point as it is done; what is left when this is closed is cancelled."""
    futures = dict(zip(client.compute(list(delayed_points.values())), delayed_points, strict=True))
    try:
        for future in as_completed(list(futures)):
            key = futures[future]
            if future.status == "finished":
                yield key, future.result(), ""
            else:
                yield key, None, _why(future.exception() or RuntimeError(f"it is {future.status}"))
    finally:
        client.cancel(list(futures), force=True)


def facts(plan_: Plan, done: int, versions: dict[str, str]) -> dict[str, Any]:
    """Say what a sweep was made with."""
    return {
        "name": plan_.name,
        "file": plan_.text,
        "commit": provenance.commit(),
        "points": len(plan_.points),
        "done": done,
        "versions": versions,
    }


def _versions() -> dict[str, str]:
    import distributed
    import pyarrow

    return {"python": sys.version.split()[0], "dask": distributed.__version__, "pyarrow": pyarrow.__version__}


def table(rows: list[Row]) -> Table:
    """Return the points, one a row."""
    view = Table(title="Engine clock cycles an operation, through the rings; allocations that fall back")
    for title in ("engine", "load", "policy", "latency", "stall", "seed", "operations", "cycles", "fall back"):
        view.add_column(title, justify="left" if title in ("engine", "load", "policy") else "right")
    for row in rows:
        tried = sum(rates["tried"] for rates in row["fall_back"])
        failed = sum(rates["failed"] for rates in row["fall_back"])
        view.add_row(
            row["engine"],
            row["load"],
            row["policy"],
            str(row["latency"]),
            f"{row['stall']} %",
            "-" if row["seed"] is None else str(row["seed"]),
            f"{row['operations']:,}",
            f"{row['cycles_per_operation']:.2f}",
            f"{100 * failed / tried:.2f} %" if tried else "-",
        )
    return view


def _end(_number: int, _frame: FrameType | None) -> None:
    """End a run that is told to end as one that is interrupted: what is done is kept."""
    raise KeyboardInterrupt


def measure(
    options: argparse.Namespace, points: dict[str, Point], journal: Journal, common: dict[str, Any]
) -> list[str]:
    """Measure the points that are not in the journal; return what went wrong, a sentence each."""
    faults: dict[str, None] = {}
    left = {key: point for key, point in points.items() if key not in journal.rows}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=ERR) as progress:
        task = progress.add_task("points", total=len(points), completed=len(points) - len(left))
        if not left:
            return []
        with clusters.client_for(options, journal.path.parent / "slurm") as client:
            delayed_points = graph(left, common["sources"], journal.path.parent / "operations")
            for key, row, fault in results_of(client, delayed_points):
                if row is None:
                    if fault not in faults:
                        progress.console.print(f"hwswap: {fault}", markup=False, soft_wrap=True)
                    faults[fault] = None
                else:
                    program = common["programs"][left[key].engine.name]
                    journal.add({"key": key, "commit": common["commit"], "program": program, **row})
                progress.advance(task)
    return list(faults)


def run(plan_: Plan, options: argparse.Namespace) -> int:
    """Run a sweep; return the exit status: 1 where a point failed, 130 when it was interrupted."""
    if options.build:
        build(plan_)
    common = {"sources": plan.sources(), "programs": programs(plan_), "commit": provenance.commit()}
    folder: Path = options.output or OUTPUT / plan_.name
    journal = Journal(folder / "points.jsonl")
    points = {
        plan.key(point, common["sources"], common["programs"][point.engine.name]): point for point in plan_.points
    }
    before = len(points.keys() & journal.rows.keys())
    if before:
        ERR.print(f"{before} of {len(points)} points are done already")
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, _end)
    interrupted, faults = False, []
    try:
        faults = measure(options, points, journal, common)
    except KeyboardInterrupt:
        interrupted = True
        # What the file holds is done: the signal may have come between a point's line there and its row here.
        journal = Journal(journal.path)
    rows = [journal.rows[key] for key in points if key in journal.rows]
    target = folder / "sweep.parquet"
    parquet.write(target, facts(plan_, len(rows), _versions()), rows)
    if interrupted:
        ERR.print(f"hwswap: interrupted: {len(rows)} of {len(points)} points are done, the same command goes on")
        return 130
    Console(width=None if sys.stdout.isatty() else 140).print(table(rows))
    print(f"{len(rows)} of {len(points)} points, {len(rows) - before} of them measured now; {target}")
    return 1 if faults else 0
