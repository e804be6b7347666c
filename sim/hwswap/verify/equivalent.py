# SPDX-License-Identifier: Apache-2.0
"""`hwswap equivalent`: proves that a change of the sources changes nothing of what the engine does.

Both are given as commits or as folders with emitted Verilog (HwSwap.sv there, or in folders below it, one an engine).
Of a commit, the engines below are emitted, all with the same build hash; the default for the second is what is in this
working tree. docs/verification.md says what is compared. Exit status 1 if an engine is not proved to be the same.
"""

import argparse
import json
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hwswap.project import paths, provenance
from hwswap.verify import same_behaviour
from hwswap.verify.yosys import YosysError

OUT = Console()
ERR = Console(stderr=True, highlight=False)
OUTPUT = paths.BUILD / "equivalent"
TOP = "HwSwap"
VERILOG = f"{TOP}.sv"
SOURCES = ("hw", "sim/setup")
"""What an engine is emitted from."""

ENGINES = {
    "full": "",
    "wide": "--devices 32 --cpus 64 --clusters 512",
    "grants": "--devices 4 --cpus 4 --clusters 2048 --grants",
    "grants-only": "--devices 4 --cpus 1 --clusters 2048 --grants --no-core",
}
"""Arguments of hwswap.Emit: as the simulations have it, as large as can be, with marks and grants, and
with nothing else."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("before", metavar="BEFORE", help="a commit, or a folder with emitted Verilog")
    parser.add_argument("after", metavar="AFTER", nargs="?", help="the same (default: this working tree)")
    parser.add_argument(
        "--engine", action="append", choices=sorted(ENGINES), help="which engine of a commit (default: all)"
    )


def say(error: subprocess.CalledProcessError) -> str:
    """Return the end of what a program said that failed."""
    return " / ".join((error.stdout + error.stderr).strip().splitlines()[-3:])


def source(commit: str, output: Path) -> tuple[str, Path]:
    """Unpack a commit's sources; return its name and the folder."""
    try:
        name = subprocess.run(
            ["git", "-C", str(paths.ROOT), "rev-parse", "--short=12", "--verify", f"{commit}^{{commit}}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except subprocess.CalledProcessError:
        raise YosysError(f"{commit} is neither a folder nor a commit: give one of the two") from None
    folder = output / f"source-{name}"
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "-C", str(paths.ROOT), "archive", name, *SOURCES], check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], check=True, input=archive)
    return name, folder


def emit(what: str | None, names: list[str], output: Path) -> dict[str, Path]:
    """Return the Verilog of each engine, from a commit's sources or, without one, from this working tree's."""
    name, folder = ("tree", paths.ROOT) if what is None else source(what, output)
    target = output / name
    found = {engine: target / engine / VERILOG for engine in names}
    missing = [engine for engine in names if what is None or not found[engine].exists()]
    mains = [f"runMain hwswap.Emit --target-dir {(target / e).resolve()} {ENGINES[e]}".strip() for e in missing]
    if mains:
        try:
            subprocess.run([folder / "sim/setup/sbt", *mains], check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            raise YosysError(f"sbt in {folder} failed: {say(error)}") from None
    return found


def engines(what: str | None, names: list[str], output: Path) -> dict[str, Path]:
    """Return the Verilog of each engine of a folder, or of a commit."""
    folder = Path(what) if what is not None else None
    if folder is None or not folder.is_dir():
        return emit(what, names, output)
    found = {path.parent.name: path for path in sorted(folder.glob(f"*/{VERILOG}"))}
    if (folder / VERILOG).exists():
        found = {"engine": folder / VERILOG}
    if not found:
        raise YosysError(f"{folder} has no {VERILOG}: give a folder that hwswap.Emit has written to")
    return found


def report(results: dict[str, tuple[same_behaviour.Comparison, float]]) -> Table:
    """Return what was compared as a table."""
    table = Table(
        "engine", "register bits", "by what they take in", "outputs", "memories", "assertions", "ABC", "s", ""
    )
    for name, (found, seconds) in results.items():
        said = "[green]the same[/]" if found.same else "[red]not proved[/]"
        counts = (found.registers, found.renamed, found.outputs, found.memories, found.assertions, found.by_solver)
        table.add_row(name, *map(str, counts), f"{seconds:.0f}", said)
    return table


def run(options: argparse.Namespace) -> int:
    """Compare; return the exit status."""
    results: dict[str, tuple[same_behaviour.Comparison, float]] = {}
    names = options.engine or list(ENGINES)
    with ERR.status("emitting") as status:
        before = engines(options.before, names, options.output)
        after = engines(options.after, names, options.output)
        if before.keys() != after.keys():
            both = f"{', '.join(before)} before and {', '.join(after)} after"
            raise YosysError(f"the engines are {both}: give folders with the same ones")
        for name, path in before.items():
            begin = time.monotonic()
            versions = []
            for side, verilog in (("before", path), ("after", after[name])):
                status.update(f"{name}: reading {side}")
                versions.append(same_behaviour.flat(verilog, TOP, options.output / name / side))
            status.update(f"{name}: comparing")
            found = same_behaviour.compare(versions[0], versions[1], options.output / name)
            results[name] = found, time.monotonic() - begin
    values = {"commit": provenance.commit(), "engines": {name: asdict(found) for name, (found, _) in results.items()}}
    (options.output / "equivalent.json").write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
    OUT.print(report(results))
    for name, (found, _) in results.items():
        for sentence in found.differences[: same_behaviour.SHOWN]:
            ERR.print(f"equivalent: {name}: {sentence}", soft_wrap=True, markup=False)
    return 0 if all(found.same for found, _ in results.values()) else 1
