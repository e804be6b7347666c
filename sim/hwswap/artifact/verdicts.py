# SPDX-License-Identifier: Apache-2.0
"""Run the commands that the figures on record came from, and say of each figure whether this run has it, too.

A figure holds when it is within its tolerance of the record. What passed is not run again at the same commit, so an
interrupted run goes on where it was; --fresh runs all. Results and logs are in build/artifact. Exit status 1 when a
figure does not hold, or a command fails.
"""

import argparse
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hwswap.artifact import claims, keep, page, selection
from hwswap.artifact.claims import Command, Figure
from hwswap.project import paths, processes, provenance

OUTPUT = paths.BUILD / "artifact"
"""Where results and logs go."""

RESULT = "artifact.json"
"""The verdicts, in that folder."""


@dataclass(frozen=True)
class Verdict:
    """What became of a figure."""

    command: str
    figure: str
    record: float
    measured: float | None
    tolerance: str
    unit: str
    passed: bool
    said: str = ""
    """Why there is no number, or what is wrong with it."""


def compare(command: Command, figure: Figure, root: Path, since: float | None) -> Verdict:
    """Look a figure up in what its command left.

    Args:
        command: that has run.
        figure: one of its.
        root: the repository's top.
        since: when it began, as a file's time of change; a result from before is none of it. None: any result will do.
    """

    def verdict(measured: float | None, *, passed: bool, said: str = "") -> Verdict:
        return Verdict(
            command.name, figure.name, figure.value, measured, figure.tolerance, figure.unit, passed=passed, said=said
        )

    file = root / figure.file
    try:
        if since is not None and file.stat().st_mtime < since:
            return verdict(None, passed=False, said=f"{figure.file} was not written: it is of an earlier run")
        result = json.loads(file.read_text())
        measured = selection.number(result, figure.at, how=figure.how, per=figure.per)
    except FileNotFoundError:
        return verdict(None, passed=False, said=f"{figure.file} is missing: '{command.run}' leaves it")
    except (ValueError, OSError) as error:
        return verdict(None, passed=False, said=f"{figure.file}: {error}")
    if not figure.holds(measured):
        return verdict(measured, passed=False, said=f"is not {figure.tolerance}")
    return verdict(measured, passed=True)


def carry_out(command: Command, root: Path, log: Path, tell: Callable[[float], None]) -> tuple[int, float]:
    """Run a command.

    Args:
        command: to be run.
        root: the repository's top.
        log: file for its output.
        tell: is called several times a second with the seconds it has taken.

    Returns:
        Its exit status, and the seconds it took.
    """
    began = time.monotonic()
    log.unlink(missing_ok=True)
    process = processes.start(["env", "-C", root, "bash", "-c", command.run], log)
    try:
        while process.poll() is None:
            tell(time.monotonic() - began)
            time.sleep(0.2)
    finally:
        if process.poll() is None:
            # What make has started is in its process group, and ends by the same signal as by Ctrl-C.
            os.killpg(process.pid, signal.SIGINT)
            processes.stop(process)
    return process.returncode, time.monotonic() - began


def judge(
    command: Command, root: Path, output: Path, *, run: bool = True, tell: Callable[[float], None] = lambda _: None
) -> dict[str, Any]:
    """Run a command, unless `run` says not to, and compare its figures; `tell` is as for `carry_out`."""
    log = output / f"{command.name}.log"
    # A file system's clock may be coarser than ours.
    since = time.time() - 2 if run else None
    status, seconds = carry_out(command, root, log, tell) if run else (0, 0.0)
    verdicts = [compare(command, figure, root, since) for figure in command.figures]
    well = status == 0 or command.misses
    said = "" if well else f"ended with status {status}; the end of {log}:\n{processes.tail(log, 5)}"
    return {
        "command": command.name,
        "run": command.run,
        "seconds": round(seconds, 1),
        "status": status,
        "ended_well": well,
        "said": said,
        "passed": well and all(verdict.passed for verdict in verdicts),
        "figures": [asdict(verdict) for verdict in verdicts],
    }


def table(entries: Sequence[dict[str, Any]]) -> Table:
    """Return a row a figure."""
    view = Table(title="figures on record, and this run")
    for name in ("command", "figure", "unit", "record", "this run", "has to be", ""):
        view.add_column(name, justify="right" if name in ("record", "this run") else "left")
    for entry in entries:
        for row in entry["figures"]:
            measured = "-" if row["measured"] is None else f"{row['measured']:,.4g}"
            passed = "pass" if row["passed"] and entry["ended_well"] else "FAIL"
            view.add_row(
                row["command"],
                row["figure"],
                row["unit"],
                f"{row['record']:,.4g}",
                measured,
                row["tolerance"],
                passed,
            )
    return view


def kept(output: Path, commit: str) -> dict[str, dict[str, Any]]:
    """Return what passed at this commit, by the commands' names; nothing where files differ from the commit."""
    if commit.endswith("-dirty") or commit == "unknown":
        return {}
    try:
        before = json.loads((output / RESULT).read_text())
    except (OSError, ValueError):
        return {}
    if before.get("commit") != commit:
        return {}
    return {entry["command"]: entry for entry in before["commands"] if entry["passed"]}


def write(output: Path, commit: str, entries: Iterable[dict[str, Any]]) -> None:
    """Write the verdicts; the file is there whole, or as it was."""
    part = output / f"{RESULT}.part"
    part.write_text(json.dumps({"commit": commit, "commands": list(entries)}, indent=2) + "\n")
    part.replace(output / RESULT)


def work(commands: Sequence[Command], options: argparse.Namespace, root: Path, console: Console) -> int:
    """Run, compare and show; return the exit status."""
    output: Path = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    commit = provenance.commit()
    before = kept(output, commit)
    entries: list[dict[str, Any]] = []
    progress = Console(stderr=True, highlight=False)
    for number, command in enumerate(commands, 1):
        head = f"{number} of {len(commands)}: {command.run}"
        if command.name in before and not options.fresh and not options.no_run:
            progress.print(f"{head}: passed before, at this commit", markup=False)
            entries.append(before[command.name])
            continue
        with progress.status(head) as status:

            def tell(seconds: float, head: str = head, of: float = command.minutes) -> None:
                status.update(f"{head}: {seconds / 60:.1f} minutes, of {of:g} or so; {output.name}/*.log")

            entry = judge(command, root, output, run=not options.no_run, tell=tell)
        progress.print(f"{head}: {'pass' if entry['passed'] else 'FAIL'}, {entry['seconds']:.0f} s", markup=False)
        entries.append(entry)
        if not options.no_run:
            before[command.name] = entry
            write(output, commit, before.values())
    console.print(table(entries))
    wrong = 0
    for entry in entries:
        faults = [entry["said"]] if entry["said"] else []
        faults += [f"{row['figure']}: {row['said']}" for row in entry["figures"] if row["said"]]
        wrong += bool(faults)
        for fault in faults:
            console.print(f"hwswap: {entry['command']}: {fault}", markup=False)
    figures = [row for entry in entries for row in entry["figures"]]
    passed = sum(row["passed"] for row in figures)
    console.print(f"{passed} of {len(figures)} figures hold" + ("" if options.no_run else f"; {output / RESULT}"))
    return 1 if wrong else 0


def show_kept(copies: Sequence[keep.Copy], console: Console) -> int:
    """Say what was kept and what was not; return the exit status."""
    for copy in copies:
        console.print(f"{copy.place}: {copy.fault or f'kept, {copy.size:,} bytes'}", markup=False)
    if not copies:
        console.print("hwswap: there are no results in build/: run 'hwswap artifact' first", markup=False)
    return 1 if not copies or any(copy.fault for copy in copies) else 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--full", action="store_true", help="everything: hours; otherwise what takes minutes")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these commands of the list alone")
    parser.add_argument("--list", action="store_true", help="show what would be run, and end")
    parser.add_argument("--no-run", action="store_true", help="only compare the results that are there")
    parser.add_argument("--fresh", action="store_true", help="run again what passed before")
    parser.add_argument("--keep", action="store_true", help="copy results of build/ to docs/measured, and end")
    parser.add_argument("--docs", choices=("write", "check"), help=f"the list's table in {page.PAGE.name}, and end")


def run(options: argparse.Namespace) -> int:
    """Do what the options say; return the exit status."""
    if options.short and options.full:
        raise claims.ClaimError("--short and --full are both given: choose one of them")
    console = Console(soft_wrap=True, highlight=False)
    everything = claims.load()
    if options.docs:
        return page.document(everything, check=options.docs == "check")
    if options.keep:
        return show_kept(keep.keep(everything, paths.BUILD), console)
    commands = claims.chosen(everything, full=options.full, only=options.only)
    if options.list:
        console.print(page.commands_table(commands))
        return 0
    return work(commands, options, paths.ROOT, console)
