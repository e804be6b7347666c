# SPDX-License-Identifier: Apache-2.0
"""Runs of nextpnr, two at a time (one with JOBS=1), with a display of each one's progress."""

import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hwswap_soc.fpga import fmax_report, fpga_tools, steps

# Two places-and-routes of a whole SoC take 4 GB.
_PARALLEL = 2
# nextpnr's words when it enters a phase, and the phase's name here.
_PHASES = {
    "Packing": "packing",
    "Creating initial analytic placement": "placing",
    "simulated annealing placer": "refining the placement",
    "Routing globals": "routing",
    "Critical path report": "timing",
}


@dataclass(frozen=True)
class Run:
    """One run of nextpnr.

    Attributes:
        name: of its files, and in the display.
        options: for nextpnr: device, netlist, constraints, seed.
        config: write the bitstream's source; nextpnr cannot when it works out of context.
        tool: which nextpnr.
    """

    name: str
    options: list[str]
    config: bool = True
    tool: str = "nextpnr-ecp5"

    def is_done(self, output: Path) -> bool:
        """Whether its results are in a folder."""
        files = [f"{self.name}.json", *([f"{self.name}.config"] if self.config else [])]
        return all((output / name).is_file() for name in files)

    def mark(self, output: Path) -> Path:
        """The file that says after how many minutes it was given up."""
        return output / f"{self.name}.minutes"

    def given_up(self, output: Path) -> float:
        """After how many minutes it was given up, by the mark in a folder; 0 without one."""
        mark = self.mark(output)
        return float(mark.read_text()) if mark.is_file() else 0.0


def place(
    runs: Iterable[Run], output: Path, *, minutes: float = float("inf"), enough: int | None = None
) -> dict[str, dict]:
    """Place and route. A run whose results are in the folder already is not done again: an interrupted call goes on.

    Args:
        runs: the runs to make.
        output: folder for <name>.json and <name>.log, and <name>.config where it is asked for; whoever changes the
            netlist or an option names another one.
        minutes: a run that takes longer is ended and given up: a router that does not converge would go on for ever. It
            is not tried again unless it is given more minutes.
        enough: the number wanted, of the first that are not given up; all when left out.

    Returns:
        Timing (`fmax_report.timing`) by name, in the order of the runs, of those that were not given up.
    """
    runs = list(runs)
    reports = {run.name: output / f"{run.name}.json" for run in runs}
    parallel = 1 if os.environ.get("JOBS") == "1" else _PARALLEL
    done = [run.name for run in runs if run.is_done(output)][:enough]
    results = {name: fmax_report.timing(reports[name]) for name in done}
    waiting = [run for run in runs if run.name not in results and minutes > run.given_up(output)]
    running: dict[str, tuple[Run, subprocess.Popen, int, float]] = {}
    with steps.shown() as progress:
        try:
            wanted = len(runs) if enough is None else enough
            while running or (waiting and len(results) < wanted):
                while waiting and len(running) < min(parallel, wanted - len(results)):
                    run = waiting.pop(0)
                    # Under its name only when all of it is written: a report that is there is a run that is done.
                    command = [run.tool, *run.options, "--timing-allow-fail", "--report", f"{run.name}.part"]
                    command += ["--textcfg", f"{run.name}.config"] if run.config else []
                    task = progress.add_task(f"seed {run.name}", total=1)
                    process = fpga_tools.start(command, output / f"{run.name}.log", output)
                    running[run.name] = run, process, task, time.monotonic() + 60 * minutes
                time.sleep(0.5)
                for name, (run, process, task, end) in list(running.items()):
                    log = output / f"{name}.log"
                    progress.update(task, description=f"seed {name}: {_phase(log.read_text(errors='replace'))}")
                    if process.poll() is None:
                        if time.monotonic() > end:
                            steps.end([process])
                            run.mark(output).write_text(f"{minutes}\n")
                            text = f"seed {name}: not routed in {minutes:g} minutes"
                            progress.update(task, completed=1, description=text)
                            del running[name]
                        continue
                    fpga_tools.check(process, log)
                    (output / f"{name}.part").replace(reports[name])
                    results[name] = fmax_report.timing(reports[name])
                    speed = 100 * fmax_report.slack(results[name])
                    progress.update(task, completed=1, description=f"seed {name}: {speed:.0f} % of the speed required")
                    del running[name]
        finally:
            steps.end([process for _, process, *_ in running.values()])
    return {run.name: results[run.name] for run in runs if run.name in results}


def _phase(log: str) -> str:
    """Return the phase of a run of nextpnr, from its output so far."""
    reached = [(log.rfind(mark), name) for mark, name in _PHASES.items()]
    position, name = max(reached)
    return name if position >= 0 else "reading the netlist"
