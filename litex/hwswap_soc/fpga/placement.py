# SPDX-License-Identifier: Apache-2.0
"""Runs of nextpnr, two at a time (one with JOBS=1), with what each of them is doing shown."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hwswap_soc.fpga import fmax_report, fpga_tools, steps

# Two places-and-routes of a whole SoC take 4 GB.
_PARALLEL = 2
# A round of router2 leaves wires that several nets use, fewer each time where it comes to an end. Where it left no
# fewer than before for so many rounds, and is this far above its best, it would go on for ever.
_ROUND = re.compile(r"iter=(\d+) wires=\d+ overused=(\d+)")
_ROUNDS = 12
_WORSE = 1.25
_ENOUGH = 100
# router1 says something every few seconds. Where it looks for one wire for so many minutes it may come back (after 21,
# once), but another seed is routed sooner.
STUCK_MINUTES = 10
# What nextpnr says when it enters a phase, and what that is called here.
_ROUTING = "routing"
_PHASES = {
    "Packing": "packing",
    "Creating initial analytic placement": "placing",
    "simulated annealing placer": "refining the placement",
    "Routing globals": _ROUTING,
    "Critical path report": "timing",
}


@dataclass(frozen=True)
class Run:
    """One run of nextpnr.

    Attributes:
        name: of its files, and what the display calls it.
        options: for nextpnr: device, netlist, constraints, seed.
        config: write what a bitstream is made of; nextpnr cannot when it works out of context.
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

    def given_up(self, output: Path) -> dict[str, float]:
        """Why it was given up, by the mark in a folder.

        After so many `minutes`, as the router diverged in so many `rounds`, or as it was `silent` for so many minutes;
        empty without a mark.
        """
        mark = output / f"{self.name}.given-up"
        return json.loads(mark.read_text()) if mark.is_file() else {}

    def give_up(self, output: Path, **after: float) -> None:
        """Leaves that mark."""
        (output / f"{self.name}.given-up").write_text(json.dumps(after) + "\n")


def place(
    runs: Iterable[Run], output: Path, *, minutes: float = float("inf"), enough: int | None = None
) -> dict[str, dict]:
    """Places and routes. A run whose results are in the folder already is not done again: an interrupted call goes on.

    Args:
        runs: what is to be done.
        output: folder for <name>.json and <name>.log, and <name>.config where it is asked for; whoever changes the
            netlist or an option names another one.
        minutes: a run that takes longer is ended and given up: a router that does not converge would go on for ever.
            One whose router diverges or is stuck is given up at once. None is tried again, but for one that is now
            given more minutes.
        enough: how many are wanted, the first that are not given up; all when left out.

    Returns:
        Timing (`fmax_report.timing`) by name, in the order of the runs, of those that were not given up.
    """
    runs = list(runs)
    reports = {run.name: output / f"{run.name}.json" for run in runs}
    parallel = 1 if os.environ.get("JOBS") == "1" else _PARALLEL
    done = [run.name for run in runs if run.is_done(output)][:enough]
    results = {name: fmax_report.timing(reports[name]) for name in done}
    tried = {run.name for run in runs if _hopeless(run, output, minutes)}
    waiting = [run for run in runs if run.name not in results and run.name not in tried]
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
                    text = log.read_text(errors="replace")
                    progress.update(task, description=f"seed {name}: {_phase(text)}")
                    if process.poll() is None:
                        if after := _why_to_end(text, log, time.monotonic() > end, minutes):
                            steps.end([process])
                            run.give_up(output, **after)
                            progress.update(task, completed=1, description=f"seed {name}: {said(after)}")
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


def diverged(log: str) -> int:
    """After how many rounds nextpnr's router2 was no longer getting anywhere, by its output so far; 0 when it was."""
    rounds = [(int(overused), int(number)) for number, overused in _ROUND.findall(log)]
    if not rounds:
        return 0
    (best, at), (now, last) = min(rounds), rounds[-1]
    return last if last - at >= _ROUNDS and now > max(_WORSE * best, _ENOUGH) else 0


def _why_to_end(text: str, log: Path, late: bool, minutes: float) -> dict[str, float]:
    """Why a run that goes on is to be ended, as its mark has it; empty when it is not. `text` is what its log has."""
    if rounds := diverged(text):
        return {"rounds": rounds}
    if _phase(text) == _ROUTING and time.time() - log.stat().st_mtime > 60 * STUCK_MINUTES:
        return {"silent": STUCK_MINUTES}
    return {"minutes": minutes} if late else {}


def said(given_up: dict[str, float]) -> str:
    """Why a run was given up (`Run.given_up`), for people."""
    if "rounds" in given_up:
        return f"the router diverged in {given_up['rounds']} rounds"
    if "silent" in given_up:
        return f"the router was stuck for {given_up['silent']:g} minutes"
    return f"not routed in {given_up['minutes']:g} minutes"


def _hopeless(run: Run, output: Path, minutes: float) -> bool:
    """Whether a run was given up before, and would be again within so many minutes."""
    after = run.given_up(output)
    return "rounds" in after or "silent" in after or after.get("minutes", 0) >= minutes


def _phase(log: str) -> str:
    """Where a run of nextpnr is, from its output so far."""
    reached = [(log.rfind(mark), name) for mark, name in _PHASES.items()]
    position, name = max(reached)
    return name if position >= 0 else "reading the netlist"
