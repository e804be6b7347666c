# SPDX-License-Identifier: Apache-2.0
"""`hwswap bench loads`: swap benchmarks by the names that maintainers use, on kernels and in modes of the driver.

A guest of 768 MB with one CPU whose clock counts instructions, and four RAM disks for swap. In the columns of the
driver's modes the engine is the Verilated one, as a PCI device. Each load runs several times, with another seed each
time; a table has the median and, in brackets, the least and the greatest.
"""

import argparse
import json
import sys
import time
from contextlib import nullcontext
from typing import Any

from rich.console import Console

from hwswap.guest.machine import counting
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.loads import catalogue
from hwswap.loads.figures import Collected, faults, figures, spread
from hwswap.project import arguments, artifacts, paths, printed
from hwswap.project.arguments import count
from hwswap.results import schema, tables
from hwswap.rtl.device_server import clocked_by_guest

OUTPUT = paths.BUILD / "bench-loads"
GUEST = paths.ROOT / "sim/guest"
KERNELS = {"unpatched": artifacts.KERNEL_UNPATCHED}
"""Columns of kernels without the driver; all others are modes of it."""

ENGINE = artifacts.DEVICE_GRANTS_ONLY
"""One without a core, as it is simulated faster."""

COLUMNS = ("unpatched", "off", "hint")
DISKS, DISK_MB = 4, 64
TICK_US = 100
"""Of the guest's time, between two steps of the simulated engine."""

SHORT_LOADS = ("usemem-sequential", "usemem-random", "mixed-90")
SHORT_SCALE = 25
TIMEOUT = 4 * 3600
"""Seconds for all loads in one column."""


def job(column: str, loads: list[catalogue.Load], runs: int, seed: int, scale: int) -> str:
    """Return the guest's script."""
    names = " ".join(load.name for load in loads)
    return (
        f"COLUMN={column}\nLOADS='{names}'\nRUNS={runs}\nSEED={seed}\nSCALE={scale}\n"
        f"SWAP_MB={DISKS * DISK_MB}\nTICK_US={TICK_US}\n. /bench-loads\n"
    )


def run_column(column: str, loads: list[catalogue.Load], options: argparse.Namespace) -> tuple[Collected, str]:
    """Run all loads in a guest; return its output, and the kernel's release."""
    files = {"bench-loads": (GUEST / "bench-loads.sh").read_bytes()}
    for load in loads:
        files |= load.files()
    collected = Collected()
    kernel = KERNELS.get(column, artifacts.KERNEL)
    engine = nullcontext() if column in KERNELS else clocked_by_guest(options.output / "engine.log", ENGINE)
    machine = Machine(cpus=1, icount=True, disks=DISKS, disk_mb=DISK_MB)
    script = job(column, loads, options.runs, options.seed, options.scale)
    with printed.progress_bar(Console(stderr=True)) as progress:
        task = progress.add_task(f"{column}: booting Linux", total=None)

        def on_line(line: str) -> None:
            if line.startswith("@phase "):
                progress.update(task, description=f"{column}: {line.removeprefix('@phase ')}")
            collected.feed(line)

        with (
            engine as server,
            Guest(
                machine,
                server,
                files=files,
                job=script,
                log=options.output / f"{column}.kernel.log",
                kernel=kernel,
                boot_timeout=600,
            ) as guest,
        ):
            output = guest.wait_job(TIMEOUT, on_line).check()
            if not collected.done:
                raise GuestError(f"{column}: it did not come to its end; its last words:\n{output[-1500:]}")
            return collected, guest.release


def measure(loads: list[catalogue.Load], options: argparse.Namespace) -> dict[str, Any]:
    """Run a guest for each column; return the report, which is written after each column, so that none is lost."""
    measured: dict[str, dict[str, list[dict[str, float | None]]]] = {load.name: {} for load in loads}
    report: dict[str, Any] = {
        "seed": options.seed,
        "runs": options.runs,
        "scale": options.scale,
        "titles": {load.name: load.title for load in loads},
        "loads": measured,
        "failures": [],
    }
    for column in options.columns:
        collected, report["linux"] = run_column(column, loads, options)
        report["failures"] += [f"{column}: {fault}" for fault in faults(collected.runs)]
        for load in loads:
            runs = (collected.runs[load.name, number] for number in range(options.runs))
            measured[load.name][column] = [figures(run) for run in runs]
        paths.write(options.output / "loads.json", f"{json.dumps(report, indent=1)}\n".encode())
    return report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    load = arguments.name("load", (load.name for load in catalogue.loads()))
    parser.add_argument("loads", nargs="*", type=load, metavar="LOAD", help="loads (default: all of sim/guest/loads)")
    parser.add_argument(
        "--columns",
        type=arguments.names("column", COLUMNS),
        default=list(COLUMNS),
        help=f"of {', '.join(COLUMNS)}, with commas between (default: all)",
    )
    parser.add_argument("--runs", type=count, default=3, help="runs of each load (default 3)")
    parser.add_argument("--scale", type=count, default=100, help="percent of the loads' sizes (default 100)")


def run(options: argparse.Namespace) -> int:
    """Measure; return 1 if bytes came back wrong or nothing was swapped."""
    started = time.monotonic()
    if options.short:
        options.loads = options.loads or list(SHORT_LOADS)
        options.runs, options.scale = 1, SHORT_SCALE
    loads = catalogue.loads(options.loads)
    for column in options.columns:
        # Before the first guest, lest what is missing is found after some minutes.
        KERNELS.get(column, artifacts.KERNEL).path()
        if column not in KERNELS:
            ENGINE.path()
    options.output.mkdir(parents=True, exist_ok=True)
    report = measure(loads, options)
    saved = schema.save(
        "bench-loads",
        [
            schema.Figure(f"{load}: {row}", column, values[0], row, {"least": values[1], "greatest": values[2]})
            for load, columns in report["loads"].items()
            for column, runs in columns.items()
            for row, values in spread(runs).items()
            if values is not None and any(values)
        ],
        title="Whole loads",
        command="make bench-loads",
        platform=f"{counting(report['linux'])}; {DISKS} RAM disks of {DISK_MB} MB, the "
        f"RTL as a PCI device; medians of {options.runs} runs",
        leaves_out="waiting, cache misses, what the engine does itself",
        kernel=True,
        seed=options.seed,
        short=options.short,
    )
    Console(width=170).print(tables.view(saved.title, saved.figures))
    print(
        "instructions are those of one guest CPU, blind to waiting and cache misses; the engine's own are not in them"
    )
    for failure in report["failures"]:
        print(f"bench loads: {failure}", file=sys.stderr)
    print(f"{time.monotonic() - started:.0f} s; {options.output / 'loads.json'}")
    return 1 if report["failures"] else 0
