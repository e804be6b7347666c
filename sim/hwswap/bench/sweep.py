# SPDX-License-Identifier: Apache-2.0
"""`hwswap sweep`: the engine's cycles over a grid of engines, loads, policies, latencies, stalls and seeds.

Each point is a task of Dask: it does a load under a policy on the golden model, and replays it on an engine, which has
to decide the same. A point is kept as soon as it is done, so an interrupted run goes on where it was.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from dask.distributed import Client, LocalCluster, as_completed
from rich.console import Console
from rich.progress import Progress

from hwswap.compare.redo import redo
from hwswap.kernel import convert
from hwswap.model.policy import DeviceOrder, Hint, Placement, Policy, Scan
from hwswap.project import paths
from hwswap.results import schema
from hwswap.rtl import replay
from hwswap.traces import stream, trace
from hwswap.traces.records import FAILED, Op

POLICIES = {
    "linux": Policy(),
    "free-first": Policy(scan=Scan.FREE_FIRST),
    "sequential": Policy(device=DeviceOrder.SEQUENTIAL),
    "shared": Policy(hint=Hint.SHARED),
    "random-trunk": Policy(hint=Hint.RANDOM_TRUNK),
    "indexed": Policy(placement=Placement.INDEXED),
}
"""Policies of the engine, by the names that a sweep file has."""

ENGINES = {"default": "model", "wide": "model-wide"}
"""Engine of a sweep file -> folder of build/ that has its replayer."""

AXES = {"engine": ("default",), "policy": ("linux",), "latency": (16,), "stall": (0,), "seed": (1,)}
"""The axes of a grid beside `load`, with their values where a file does not say."""

BOUNDS = {"latency": (1, 100_000), "stall": (0, 90), "seed": (1, 2**31 - 2)}
PATIENCE = 1800.0
"""Seconds after which a replay is given up."""


@dataclass(frozen=True)
class Point:
    """One measurement. A load is a recorded trace or a random stream, as its table in the file says."""

    engine: str
    policy: str
    latency: int
    stall: int
    seed: int
    load: str
    table: str
    """The load's table, as JSON."""

    @property
    def what(self) -> str:
        """Return its row in the result."""
        return f"{self.load}, {self.policy}, latency {self.latency}, stall {self.stall} %, seed {self.seed}"

    def key(self) -> str:
        """Name the measurement; the name changes with the engine's program, the golden model or the load."""
        digest = hashlib.sha256(f"{self} {_made_of(self.engine)}".encode())
        if "trace" in (table := json.loads(self.table)):
            digest.update((paths.ROOT / table["trace"]).read_bytes())
        return digest.hexdigest()[:16]

    def records(self) -> trace.Trace:
        """Return the load by the kernel's own policy."""
        table = json.loads(self.table)
        if "stream" in table:
            features = frozenset(table.pop("features", ()))
            return stream.generate(stream.Shape(seed=self.seed, ops=table.pop("stream"), features=features, **table))
        loaded = trace.read(paths.ROOT / table["trace"])
        if any(record.op >= trace.Op.BEGIN for record in loaded.records):
            loaded = convert.plain(loaded)
        most = table.get("operations") or len(loaded.records)
        return trace.complete(loaded.header, loaded.records[:most])


def _program(engine: str) -> Path:
    """Return an engine's replayer."""
    return paths.BUILD / ENGINES[engine] / "hwswap-replay"


@cache
def _made_of(engine: str) -> str:
    """Return a hash of an engine's replayer, and of the packages that decide beside it."""
    digest = hashlib.sha256(_program(engine).read_bytes())
    for package in ("model", "compare", "traces", "kernel"):
        for source in sorted((paths.ROOT / "sim/hwswap" / package).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def points(path: Path) -> list[Point]:
    """Return all combinations of a sweep file's lists; ValueError names an entry that cannot be measured."""
    try:
        found = tomllib.loads(path.read_text())
        loads, grid = found.pop("load"), found.pop("grid", {})
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is no sweep, TOML with a table [load.NAME]: {error}") from error
    known = {"engine": set(ENGINES), "policy": set(POLICIES), "load": set(loads)}
    if odd := (found.keys() | (grid.keys() - AXES.keys() - {"load"})):
        raise ValueError(f"{path}: nobody knows '{min(odd)}': a grid has load, {', '.join(AXES)}")
    axes = {"load": tuple(loads), **AXES, **grid}
    for axis, values in axes.items():
        low, high = BOUNDS.get(axis, (0, 0))
        for value in values:
            if not (value in known[axis] if axis in known else isinstance(value, int) and low <= value <= high):
                raise ValueError(f"{path}: {axis} cannot be {value!r}: choose {known.get(axis) or f'{low} to {high}'}")
    made = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    found_points = [Point(**one, table=json.dumps(loads[one["load"]], sort_keys=True)) for one in made]
    for point in {(point.engine, point.load): point for point in found_points}.values():
        replay.program(_program(point.engine))
        try:
            point.records()
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: load {point.load} cannot be made: {error}") from error
    return found_points


def measure(point: Point) -> dict[str, Any]:
    """Do a point's load under its policy on the golden model, and replay it on the engine."""
    loaded = point.records()
    policy = POLICIES[point.policy]
    records = redo(loaded, replace(policy, seed=point.seed) if policy.pack() else policy)
    words = [f"--latency={point.latency}", f"--stall={point.stall}", f"--seed={point.seed}"]
    outcome = replay.replay(trace.Trace(loaded.header, records), words, PATIENCE, _program(point.engine))
    if not outcome.equal:
        raise RuntimeError(f"{point.what}: the engine does not decide as the golden model")
    tried = [record for record in records if record.op == Op.ALLOC]
    counts = {"tried": len(tried), "failed": sum(record.type == FAILED for record in tried)}
    return {"key": point.key(), "point": point.what, "cycles": outcome.report["cycles_per_op"], **counts}


@contextlib.contextmanager
def workers(options: argparse.Namespace) -> Iterator[Client]:
    """Yield the client of workers at a scheduler that runs, of Slurm's, or of this machine's."""
    if options.scheduler:
        cluster = contextlib.nullcontext(options.scheduler)
    elif options.slurm:
        from dask_jobqueue import SLURMCluster  # needed for this alone

        if shutil.which("sbatch") is None:
            raise RuntimeError("sbatch is not there: --slurm is for a machine that submits jobs to Slurm")
        cluster = SLURMCluster(cores=1, memory="2GB", python=sys.executable)
        cluster.scale(jobs=options.slurm)
    else:
        cluster = LocalCluster(n_workers=options.jobs, threads_per_worker=1, dashboard_address=None)
    with cluster as address, Client(address, timeout=15) as client:
        yield client


def figures(point: Point, row: dict[str, Any]) -> list[schema.Figure]:
    """Return a point's cycles, and how many of its allocations fall back."""
    return [
        schema.Figure(point.what, f"{point.engine}, cycles", row["cycles"], "cycles per operation", {}, 0),
        schema.Figure(point.what, f"{point.engine}, fall back", row["failed"], "allocations", {"of": row["tried"]}),
    ]


def run(options: argparse.Namespace) -> int:
    """Measure the points that are not there yet, and write the result; return the exit status."""
    wanted = {point.key(): point for point in points(options.file)}
    folder = paths.BUILD / "sweep" / options.file.stem
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "points.jsonl"
    text = journal.read_text() if journal.exists() else ""
    # A crash may have cut the last line off.
    whole = text[: text.rfind("\n") + 1]
    journal.write_text(whole)
    rows = {row["key"]: row for row in map(json.loads, whole.splitlines())}
    left = [point for key, point in wanted.items() if key not in rows]
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("points", total=len(wanted), completed=len(wanted) - len(left))
        with workers(options) if left else contextlib.nullcontext() as client, journal.open("a") as file:
            for future in as_completed(client.map(measure, left, pure=False)) if client else ():
                progress.advance(task)
                if future.status == "finished":
                    row = future.result()
                    rows[row["key"]] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                else:
                    progress.console.print(f"hwswap: {future.exception()}", markup=False)
    failed = len(wanted.keys() - rows.keys())
    schema.save(
        f"sweep-{options.file.stem}",
        [figure for key, point in wanted.items() if key in rows for figure in figures(point, rows[key])],
        title=f"Sweep {options.file.stem}",
        command=f"./hwswap sweep {options.file}",
        platform="Verilated engine, through the rings, its own clock",
        leaves_out="the host's work",
        folder=folder,
    )
    print(f"{len(wanted) - failed} of {len(wanted)} points, {len(left) - failed} of them measured now: {folder}")
    return 1 if failed else 0
