# SPDX-License-Identifier: Apache-2.0
"""`make demo`: a real Linux swaps in software and with the engine; both are shown side by side."""

import argparse
import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from hwswap.bench import demo_table, fallbacks
from hwswap.bench import lines as bench_lines
from hwswap.guest import bitmaps
from hwswap.guest.machine import counting
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.kernel import ftrace
from hwswap.kernel.record import TRACE_OFF, to_trace, trace_on
from hwswap.project import artifacts, paths, printed
from hwswap.results import report, schema
from hwswap.results.schema import Figure
from hwswap.rtl import replay
from hwswap.rtl.device_server import CLOCK_MHZ, EngineServer, clocked_by_guest

OUTPUT = paths.BUILD / "demo"
GUEST = paths.ROOT / "sim/guest"

PLACED_PERCENT = 95.0
"""The share of allocations that have to be of grants in mode hint, at least."""
REFUSED_PERCENT = 1.0
"""The share of grants that the kernel may refuse, at most."""


@dataclass
class Phase:
    """The guest's counters around one run of the load."""

    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    loads: list[dict[str, Any]] = field(default_factory=list)
    verify: str = ""

    def count(self, name: str) -> int:
        """Return how far a counter went up; one that the kernel does not have is an error."""
        return self.after[name] - self.before[name]

    def counts(self) -> dict[str, int]:
        """Return how far each counter went up."""
        return {name: self.count(name) for name in self.after}


@dataclass
class Collected:
    """Everything the guest printed."""

    phases: dict[str, Phase] = field(default_factory=lambda: defaultdict(Phase))
    benches: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    tick_us: dict[str, int] = field(default_factory=dict)
    """Guest time between two steps of the simulated engine, under load and for the bench."""
    done: bool = False
    _counters: dict[str, int] | None = None

    def feed(self, line: str) -> None:
        """Take one line of the guest's output."""
        if self._counters is not None:
            if line == "@end":
                self._counters = None
            else:
                name, value = line.split()
                self._counters[name] = int(value)
            return
        key, _, rest = line.partition(" ")
        name, _, said = rest.partition(" ")
        if key == "@counters":
            self._counters = getattr(self.phases[name], said)
        elif key == "@load":
            self.phases[name].loads.append(json.loads(said))
        elif key == "@verify":
            self.phases[name].verify = said
        elif key == "@bench":
            gap, _, found = said.partition(" ")
            self.benches[name].append({"gap_ns": int(gap), **json.loads(found)})
        elif key == "@tick":
            self.tick_us[name] = int(said)
        elif key == "@done":
            self.done = True


@dataclass(frozen=True)
class Check:
    """One condition for success."""

    text: str
    passed: bool


def check(collected: Collected) -> list[Check]:
    """The conditions of the demo, each with its measured value."""
    checks = []
    for name in ("hint", "fragmented-hint"):
        phase = collected.phases[name]
        placed = 100 * phase.count("grant_units") / max(1, phase.count("allocations"))
        refused = 100 * demo_table.refused(phase.counts()) / max(1, phase.count("grants_popped"))
        text = f"{name}: {placed:.1f} % of the allocations were of grants (at least {PLACED_PERCENT:g} %)"
        checks.append(Check(text, placed >= PLACED_PERCENT))
        text = f"{name}: {refused:.2f} % of the grants were refused (at most {REFUSED_PERCENT:g} %)"
        checks.append(Check(text, refused <= REFUSED_PERCENT))
    for name in ("hint", "fragmented-hint", "end"):
        verify = collected.phases[name].verify
        checks.append(
            Check(f"{name}: bitmaps when quiet: {verify or 'not compared'}", bitmaps.differences(verify) == 0)
        )
    loads = [load for phase in collected.phases.values() for load in phase.loads]
    wrong = sum(load["mismatches"] for load in loads)
    read = sum(load["verified_bytes"] for load in loads)
    text = f"every byte verified: {read:,} bytes in {len(loads)} loads, {wrong} wrong"
    checks.append(Check(text, wrong == 0 and read > 0 and not any(load.get("died") for load in loads)))
    return checks


STEPS = 19
"""Two boots, the phases of both guests (sim/guest/demo.sh), a replay, and a guest whose swap is nearly full."""

NEARLY_FULL = [(92, placement) for placement in ("linux", "wide", "indexed")]
"""Of two devices: large folios by the kernel's search, a wide one, and grants that keep a cluster's order exclusive."""


def run_guest(
    form: str,
    seed: int,
    steps: Iterator[int],
    console: Console,
    collected: Collected,
    folder: Path,
    engine: EngineServer | None = None,
) -> tuple[str, str]:
    """Boot a guest, run one form of the demo (see sim/guest/demo.sh) in it, and collect its output.

    Returns the kernel's release and the tracepoints' text.
    """
    files = {
        "demo": (GUEST / "demo.sh").read_bytes(),
        "allocator-bench": (GUEST / "allocator-bench.sh").read_bytes(),
        "record-on": trace_on(ftrace.OPERATIONS).encode(),
        "record-off": TRACE_OFF.encode(),
    }
    machine = Machine(cpus=1, icount=True, disk_mb=64)
    kernel = artifacts.KERNEL_UNPATCHED if form == "unpatched" else artifacts.KERNEL
    collected.done = False
    with printed.progress_bar(console) as progress:
        what = "with the simulated engine" if engine else "without patches"
        task = progress.add_task(f"step {next(steps)} of {STEPS}: booting Linux {what}", total=None)

        def on_line(line: str) -> None:
            nonlocal task
            if line.startswith("@phase "):
                _, name, text = line.split(" ", 2)
                progress.update(task, total=1, completed=1)
                task = progress.add_task(f"step {next(steps)} of {STEPS}: {name}: {text}", total=None)
            collected.feed(line)

        job = f"SEED={seed}\nFORM={form}\n. /demo\n"
        log = folder / f"{form}.kernel.log"
        with Guest(machine, engine, files=files, job=job, log=log, kernel=kernel) as guest:
            output = guest.wait_job(3600, on_line).check()
            if not collected.done:
                raise GuestError(f"the guest's part did not come to its end; its last words:\n{output[-1500:]}")
            text = guest.outbox_text()
        progress.update(task, total=1, completed=1)
    return guest.release, text


def figures(collected: Collected, splits: Mapping[str, int], checks: Sequence[Check]) -> list[Figure]:
    """Return the figures that are compared with the record: calls by state and mode, folios split, bytes verified."""
    lines = []
    for name, found in collected.benches.items():
        state, column = ("fragmented", name.removeprefix("fragmented-")) if "-" in name else ("after the loads", name)
        lines += [(column, state, line) for line in found]
    loads = [load for phase in collected.phases.values() for load in phase.loads]
    return [
        *bench_lines.figures(lines),
        *(Figure("large folios split, 92 % full", placement, split, "folios") for placement, split in splits.items()),
        Figure("bytes swapped and verified", "", sum(load["verified_bytes"] for load in loads), "bytes"),
        schema.exact("bytes wrong", sum(load["mismatches"] for load in loads), "bytes"),
        schema.exact("conditions not met", sum(not check.passed for check in checks), "conditions"),
    ]


def run(options: argparse.Namespace) -> int:
    """Run the demo; return the exit status."""
    started = time.monotonic()
    with paths.replaced(OUTPUT) as folder:
        failed = run_in(folder, options.seed)
    print(f"The same as a picture of ratios: {OUTPUT / 'demo.html'}")
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stderr)
    for text in failed:
        print(f"hwswap: not met: {text}", file=sys.stderr)
    return 1 if failed else 0


def run_in(folder: Path, seed: int) -> list[str]:
    """Run the demo with its files in a folder, show and save the results; return the conditions that are not met."""
    console = Console(stderr=True)
    collected = Collected()
    steps = itertools.count(1)
    # Its guest has no engine, so it runs on another CPU in the meantime.
    with ProcessPoolExecutor(1) as beside:
        nearly_full = beside.submit(fallbacks.boot, seed, 2, NEARLY_FULL, folder / "nearly-full.kernel.log")
        run_guest("unpatched", seed, steps, console, collected, folder)
        with clocked_by_guest(folder / "engine.log") as engine:
            release, text = run_guest("all", seed, steps, console, collected, folder, engine)
        print(f"step {next(steps)} of {STEPS}: replaying the decisions of mode off on the engine", file=sys.stderr)
        path = folder / "off.hwst.gz"
        to_trace(text, path, release, "demo, mode off", seed)
        cycles = replay.replay(path, timeout=300, build=paths.REPLAY_DRIVER)
        print(f"step {next(steps)} of {STEPS}: large folios on nearly full swap", file=sys.stderr)
        _, runs = nearly_full.result()
    splits = {run["placement"]: fallbacks.split(run) for run in runs}
    checks = check(collected)
    checks.append(Check("the engine, asked again, decides as the kernel did in mode off, every time", cycles.equal))
    out = Console(width=150 if not sys.stdout.isatty() else None)
    demo_table.show(collected, cycles.report, splits, fallbacks.tried(runs[0]), out)
    for each in checks:
        out.print(f"[{'green' if each.passed else 'red'}]{'ok ' if each.passed else 'NOT'}[/] {each.text}")
    result = schema.save(
        "demo",
        figures(collected, splits, checks),
        title="A running kernel",
        command="make demo",
        platform=f"{counting(release)}; the RTL as a PCI device, {CLOCK_MHZ} MHz, {EngineServer.latency} "
        "cycles per transfer; four RAM disks",
        leaves_out="waiting, cache misses; tables of new clusters, which a worker makes beforehand",
        kernel=True,
        seed=seed,
    )
    report.write({"demo": result}, folder / "demo.html")
    return [check.text for check in checks if not check.passed]
