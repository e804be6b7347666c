# SPDX-License-Identifier: Apache-2.0
"""Public reports of faults of the swap allocator, each made again in a guest, on three kernels.

A report is a folder of tests/reports (docs/fault-reports.md): report.toml says what was seen and what must hold, run.sh
tries it in the guest. Each report has a guest of its own for each kernel: `unpatched`, and the patched one with the
driver in mode `off` and `hint`, the last with the engine. The exit status is 1 when something does not hold.
"""

import argparse
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hwswap.guest.initramfs import kernel_modules
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import arguments, artifacts, paths, printed
from hwswap.results import schema
from hwswap.rtl.device_server import EngineServer

FOLDER = paths.ROOT / "tests" / "reports"
OUTPUT = paths.BUILD / "reports-corpus"
WORKLOADS = paths.ROOT / "sw" / "driver" / "workloads"

PATIENCE = 3.0
"""Factor on time-outs, for hosts that have other work."""

HOLDS, FAILS, KNOWN, GONE = "holds", "fails", "known fault", "gone"
"""Results of a run; KNOWN and GONE are of reports that name the kernel that has the fault."""

_FIGURE = re.compile(r"^figure: (\S+) (\d+)$", re.MULTILINE)
_SAID = re.compile(r"^(holds|fails): (.*)$", re.MULTILINE)


UNPATCHED, OFF = "unpatched", "off"
MODES = (UNPATCHED, OFF, "hint")
"""The kernel without the series, and the driver's modes; the engine is there for the last."""


ENGINE_CPUS = 4
"""CPUs that the simulated engine was built for: a guest that has it has no more."""


@dataclass(frozen=True)
class Report:
    """The content of report.toml."""

    name: str
    seen: str
    where: Sequence[str]
    holds: str
    checks: int
    """Lines that run.sh has to print."""
    short: bool = False
    needs: Mapping[str, Any] = field(default_factory=dict)
    """Fields of Machine, and timeout_s, the seconds that run.sh may take."""
    fault_of: str = ""
    """The version of Linux that has this fault itself: a failure is a known fault then."""
    permits: str = ""
    """A regular expression of lines of the kernel log that the report provokes; others that mean trouble fail it."""
    same: Mapping[str, float] = field(default_factory=dict)
    """Figures that mode off must have as the unpatched kernel has them, and the part that they may differ by."""

    @property
    def folder(self) -> Path:
        """Return its folder."""
        return FOLDER / self.name

    @property
    def machine(self) -> Machine:
        """The guest that it needs."""
        return Machine(**{"cpus": 2, **{name: value for name, value in self.needs.items() if name != "timeout_s"}})


@dataclass
class Outcome:
    """The result of a run."""

    status: str
    said: list[str] = field(default_factory=list)
    """The lines of run.sh."""
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    figures: dict[str, int] = field(default_factory=dict)


def load(name: str, text: str) -> Report:
    """Return the report that a report.toml describes."""
    try:
        report = Report(name=name, **tomllib.loads(text))
        assert report.machine  # which names fields that it does not know
        return report
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"tests/reports/{name}/report.toml: {error}") from error


def every() -> list[Report]:
    """Return all reports, by name."""
    return [load(file.parent.name, file.read_text()) for file in sorted(FOLDER.glob("*/report.toml"))]


def judge(report: Report, output: str, code: int, beside: Iterable[str] = ()) -> Outcome:
    """Return the result of a run.

    Args:
        report: that was run.
        output: of run.sh.
        code: its exit status.
        beside: other errors: of the guest, its kernel log, or the driver.
    """
    said = [f"{verdict}: {text}" for verdict, text in _SAID.findall(output)]
    failed = [line for line in said if line.startswith("fails")]
    beside = list(beside)
    if code:
        beside.append(f"run.sh ended with code {code}: {output[-500:]}")
    if len(said) != report.checks:
        beside.append(f"run.sh made {len(said)} checks of {report.checks}")
    if report.fault_of and not beside:
        gone = [f"the fault of {report.fault_of} is gone, and report.toml says that it is there"]
        return Outcome(KNOWN if failed else GONE, said, failed or gone)
    return Outcome(FAILS if failed or beside else HOLDS, said, failed + beside)


def kernel_of(mode: str) -> artifacts.Artifact:
    """Return the kernel that boots."""
    return artifacts.KERNEL_UNPATCHED if mode == UNPATCHED else artifacts.KERNEL


def with_engine(mode: str) -> bool:
    """Say whether the engine is there."""
    return mode not in (UNPATCHED, OFF)


def machine(report: Report, mode: str) -> Machine:
    """Return the guest of a report on a kernel."""
    its = report.machine
    return replace(its, cpus=min(its.cpus, ENGINE_CPUS)) if with_engine(mode) else its


def files(report: Report, mode: str) -> dict[str, bytes]:
    """Return the guest's files: scripts, programs, of the report and of all, and the kernel's own modules."""
    programs = OUTPUT / report.name / "bin"
    given = {"reports/lib.sh": FOLDER / "lib.sh", "reports/run.sh": report.folder / "run.sh"}
    for source in sorted([*FOLDER.glob("*.c"), *report.folder.glob("*.c")]):
        name = source.stem
        command = ["make", "-s", "-C", str(WORKLOADS), f"OUT={programs}", f"PROGRAMS={name}", f"VPATH={source.parent}"]
        done = subprocess.run([*command, "CFLAGS=-O2 -g0 -I."], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{report.name}: {name}.c cannot be built:\n{done.stderr}")
        given[f"bin/{name}"] = programs / name
    return {name: path.read_bytes() for name, path in sorted(given.items())} | kernel_modules(kernel_of(mode).path())


def attempt(report: Report, mode: str) -> Outcome:
    """Run a report in a guest, with the driver loaded in that mode."""
    began, output, code, beside = time.monotonic(), "", 0, []
    log = OUTPUT / report.name / f"{mode}.kernel.log"
    kernel = {"kernel": kernel_of(mode), "log": log, "permits": report.permits, "patience": PATIENCE}
    try:
        with (
            tempfile.TemporaryDirectory(prefix="hwswap-") as folder,
            Guest(
                machine(report, mode),
                EngineServer(Path(folder)) if with_engine(mode) else None,
                files=files(report, mode),
                **kernel,
            ) as guest,
        ):
            if mode != UNPATCHED:
                guest.run(f". /reports/lib.sh; driver_on {mode}").check()
            done = guest.run(
                "cd /tmp && sh -c '. /reports/lib.sh && . /reports/run.sh'",
                report.needs.get("timeout_s", 120),
            )
            output, code = done.output, done.code
            if mode != UNPATCHED:
                said = guest.run(f". /reports/lib.sh; driver_holds {mode}").check()
                beside += [text for verdict, text in _SAID.findall(said) if verdict == "fails"]
    except (RuntimeError, OSError) as error:
        beside.append(str(error))
    log = OUTPUT / report.name / f"{mode}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join([output, *beside]))
    outcome = judge(report, output, code, beside)
    outcome.figures = {name: int(value) for name, value in _FIGURE.findall(output)}
    outcome.seconds = round(time.monotonic() - began, 1)
    return outcome


Results = dict[str, Outcome]
"""Outcomes by step: "REPORT, MODE"."""


def compare(reports: Iterable[Report], results: Results) -> list[str]:
    """Return a sentence for each figure in which mode off differs from the unpatched kernel, of the runs there are."""
    found = []
    for report in reports:
        pair = [results.get(f"{report.name}, {mode}") for mode in (UNPATCHED, OFF)]
        if not all(pair):
            continue
        for name, part in report.same.items():
            stock, patched = (each.figures.get(name, -1) for each in pair if each)
            if min(stock, patched) < 0 or abs(patched - stock) > part * stock:
                found.append(f"{report.name}: {name} is {patched} in mode off, {stock} on the unpatched kernel")
    return found


def save(reports: Sequence[Report], options: argparse.Namespace, results: Results) -> None:
    """Write the result, unless reports or modes were named: of each run how many of its checks fail."""
    if options.names or options.modes != list(MODES):
        return
    schema.save(
        "fault-reports",
        [
            schema.Figure(
                f"{report.name}{', a fault of Linux ' + report.fault_of if report.fault_of else ''}",
                mode,
                len(results[f"{report.name}, {mode}"].wrong),
                "checks that fail",
                {"of": report.checks},
                0,
                "less",
            )
            for report in reports
            for mode in options.modes
        ],
        title="Public fault reports, made again",
        command="./hwswap check reports",
        platform="Linux 7.3.4 in guests, unpatched and with the driver; the RTL as a PCI device",
        leaves_out="more than four CPUs with the engine",
        kernel=True,
        short=options.short,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    name = arguments.name("report", (report.name for report in every()))
    parser.add_argument(
        "names", nargs="*", type=name, metavar="NAME", help="reports, folders of tests/reports (default: all)"
    )
    parser.add_argument(
        "--modes",
        type=arguments.names("mode", MODES),
        default=list(MODES),
        metavar="LIST",
        help=f"kernels and modes (default: {','.join(MODES)})",
    )


def chosen(options: argparse.Namespace) -> list[Report]:
    """Return the reports that are asked for."""
    reports = every()
    named = [report for report in reports if not options.names or report.name in options.names]
    return [report for report in named if report.short or not options.short]


def run(options: argparse.Namespace) -> int:
    """Run the chosen reports; return the exit status."""
    console, progress = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)
    reports = chosen(options)
    results: Results = {}
    steps = {f"{report.name}, {mode}": (report, mode) for report in reports for mode in options.modes}
    for number, (step, (report, mode)) in enumerate(steps.items(), 1):
        results[step] = attempt(report, mode)
        said = f"{results[step].status}, {results[step].seconds:.0f} s"
        progress.print(f"step {number} of {len(steps)}: {step}: {said}")
    rows = [[each.name, *(results[f"{each.name}, {mode}"].status for mode in options.modes)] for each in reports]
    heads = ("report", *options.modes)
    console.print(printed.table("public fault reports, made again", heads, rows, range(len(heads))))
    save(reports, options, results)
    for step in steps:
        if results[step].status in (FAILS, GONE):
            console.print(*(f"{step}: {line}" for line in results[step].wrong), sep="\n", markup=False)
    differ = compare(reports, results)
    if differ:
        console.print(*differ, sep="\n", markup=False)
    console.print(f"logs: {OUTPUT}")
    return 1 if differ or any(results[step].status == FAILS for step in steps) else 0
