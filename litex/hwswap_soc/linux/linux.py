# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux`: Linux on the simulated SoC swaps in every mode, and says what its allocator costs."""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from hwswap.bench import lines
from hwswap.project import provenance
from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import EngineInfo, InputError
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hwswap_soc.linux import devicetree, linux_image, linux_table
from hwswap_soc.linux.linux_result import DONE, Collected, failures
from hwswap_soc.simulation.run import LATENCY, Result
from hwswap_soc.simulation.run import run as simulate

OUTPUT = BUILD / "soc-linux"
"""Where results go."""

MODEL = BUILD / "soc-model-rocket"
"""The Verilated SoC (`sim/setup/build soc-model-rocket`)."""

ENGINE = BUILD / "rtl-soc/engine.json"
"""What the engine in the model was built as (`sim/setup/build rtl-soc`)."""

MODES = ("off", "hint")
"""Those of the driver that are compared."""

MAX_MCYCLES = 400
"""Millions of cycles after which a run that has not ended is given up."""


class Watch:
    """Collects the console and shows how far the run is: a live line on a terminal, else a line now and then."""

    def __init__(self, console: Console, log: Path, name: str) -> None:
        """Makes the display.

        Args:
            console: where to.
            name: what lines begin with.
            log: file that gets every line of the simulated console, and before it when it came, in millions of cycles.
        """
        self.collected = Collected()
        self.cycle = 0
        self._console = console
        self._name = name
        self._log = log.open("w")
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
        )
        self._task = self._progress.add_task("starting the simulated SoC", total=None)
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        """Starts the display."""
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_) -> None:
        """Ends it."""
        self._progress.stop()
        self._log.close()

    @property
    def phase(self) -> str:
        """Name of the part of the run that is under way."""
        return self.collected.phases[-1][0] if self.collected.phases else "reset"

    def on_line(self, line: str) -> None:
        """Takes a line of the simulated console."""
        before = self.phase
        self.collected.feed(line, self.cycle)
        self._log.write(f"{self.cycle / 1e6:7.1f} {line}\n")
        self._log.flush()
        if self.phase != before and not self._console.is_terminal:
            self._console.print(f"{self._name}: {self.phase} at {self.cycle / 1e6:.1f} Mcycles")

    def on_progress(self, cycle: int, seconds: float) -> None:
        """Takes the number of cycles simulated so far, and how long that took."""
        self.cycle = cycle
        text = f"{self.phase}: {cycle / 1e6:.1f} Mcycles, {cycle / 1e3 / max(seconds, 1e-3):.0f} kcycles/s"
        if self._console.is_terminal:
            self._progress.update(self._task, description=text)
        elif time.monotonic() - self._told > 30:
            self._told = time.monotonic()
            self._console.print(f"{self._name}: {text}, {seconds:.0f} s")


@dataclass(frozen=True)
class Made:
    """What is built for a run, but for the SoC.

    Attributes:
        engine: what the engine in the SoC was built as (engine.json).
        kernel: Linux.
        initramfs: with our init program and the driver.
        cure: what makes what is missing.
    """

    engine: Path = ENGINE
    kernel: Path = field(default_factory=lambda: linux_image.KERNEL)
    initramfs: Path = field(default_factory=lambda: linux_image.INITRAMFS)
    cure: str = "run 'make soc-linux'"


def prepare(model: Path, folder: Path, bootargs: str, made: Made | None = None) -> Path:
    """Makes what RAM holds at the start; returns the file.

    Args:
        model: folder of the Verilated SoC.
        folder: where to.
        bootargs: appended to the kernel's command line; hwswap_NAME=VALUE go to init (litex/linux/init/init.h).
        made: what else is built; for one hart when None.
    """
    made = made or Made()
    initramfs = linux_image.read(made.initramfs, made.cure)
    devicetree.write(
        model / "soc.json",
        made.engine,
        "sim",
        folder / "hwswap.dts",
        folder / "hwswap.dtb",
        bootargs=bootargs,
        initramfs_size=len(initramfs),
    )
    parts = {
        devicetree.FIRMWARE: linux_image.read(linux_image.OPENSBI, "run 'sim/setup/build fpga'"),
        devicetree.KERNEL: linux_image.read(made.kernel, made.cure),
        devicetree.INITRAMFS: initramfs,
        devicetree.DEVICE_TREE: linux_image.read(folder / "hwswap.dtb", made.cure),
    }
    linux_image.ram(parts, folder / "ram.bin")
    return folder / "ram.bin"


def facts(model: Path, latency: int, engine: Path = ENGINE) -> dict:
    """What a run is made with, to be written as JSON.

    Args:
        model: folder of the Verilated SoC.
        latency: of the DRAM, cycles to the first beat.
        engine: what the engine in it was built as.
    """
    return {
        "model": json.loads((model / "model.json").read_text()),
        "engine": json.loads(engine.read_text()),
        "dram_latency": latency,
        "clock_hz": devicetree.SIM_CLOCK_HZ,
        "commits": {"hwswap": provenance.commit(), "patches": provenance.patches()},
    }


def unfinished(result: Result, watch: Watch, max_mcycles: int) -> list[str]:
    """Says why a run did not come to its end; nothing if it did.

    Args:
        result: what the simulation ended with.
        watch: who listened.
        max_mcycles: what it was limited to.
    """
    if result.reason == "stop":
        return []
    up = result.cycles >= max_mcycles * 1_000_000
    why = f"{max_mcycles} Mcycles were up" if up else "the simulation was ended from outside"
    return [f"After {result.cycles / 1e6:.1f} Mcycles, in '{watch.phase}', {why}."]


def boot(options: argparse.Namespace, image: Path, console: Console, name: str) -> tuple[Watch, Result]:
    """Boots Linux, and shows how far it is; returns who listened, and what the simulation ended with.

    Args:
        options: of the command: model, output, dram_latency, max_mcycles.
        image: what RAM holds at the start.
        console: where it is shown.
        name: what its lines begin with.
    """
    with Watch(console, options.output / "console.log", name) as watch:
        result = simulate(
            options.model,
            image,
            stop=f"{DONE.pattern}|Kernel panic",
            max_cycles=options.max_mcycles * 1_000_000,
            dram_latency=options.dram_latency,
            on_line=watch.on_line,
            on_progress=watch.on_progress,
        )
    return watch, result


def report(collected: Collected, result: Result, failed: list[str]) -> dict:
    """What came of a run, to be written as JSON."""
    return collected.report() | {
        "cycles": result.cycles,
        "seconds": round(result.seconds, 1),
        "ended_by": result.reason,
        "failures": failed,
    }


def remarks(model: dict) -> list[str]:
    """What the numbers are, and what they depend on.

    Args:
        model: what the simulated SoC was built as (model.json).
    """
    notes = [
        "Cycles are the CPU's own counter; CPU and engine run in the same clock.",
        "The bench calls the allocator without I/O and waits before each call, outside of the measured time.",
        "Means are over all calls: hits, misses, and those that an interrupt fell into.",
    ]
    if model["variant"] == "linux":
        notes.append(
            "This Rocket has direct-mapped caches of 4 KiB and TLBs of 4 entries: an instruction takes 4 to 9 cycles, "
            "by what shares a cache line with what, so a few ten per cent between two modes may be no more than that."
        )
    return notes


def show(collected: Collected, result: Result, notes: list[str], console: Console) -> None:
    """Prints the tables and the notes."""
    for table in (
        phases_table := linux_table.phases_table(collected, result.cycles),
        linux_table.swap_table(collected, devicetree.SIM_CLOCK_HZ),
        linux_table.placed_table(collected),
        linux_table.cycles_table(collected),
    ):
        if table is phases_table or collected.modes:
            console.print(table)
    for note in notes:
        console.print(f"- {note}", highlight=False)
    console.print(
        f"{result.cycles / 1e6:.1f} Mcycles in {result.seconds / 60:.1f} minutes, {result.rate / 1e3:.0f} kcycles/s",
        highlight=False,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="Verilated SoC with a Rocket CPU")
    parser.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument("--max-mcycles", type=int, default=MAX_MCYCLES, help="give up after so many million cycles")
    parser.add_argument("--modes", help=f"of {', '.join(MODES)}; in this order (default: all that the engine can do)")
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")


def run(options: argparse.Namespace) -> int:
    """Boots Linux, and shows and writes what came of it; returns the exit status."""
    console = Console(stderr=True, highlight=False)
    try:
        if options.modes is None:
            modes = tuple(linux_image.modes(EngineInfo.load(ENGINE.parent)))
        else:
            modes = tuple(options.modes.split(","))
        if set(modes) - set(MODES):
            raise InputError(f"--modes takes some of {', '.join(MODES)}, separated by commas")
        options.output.mkdir(parents=True, exist_ok=True)
        bootargs = f"hwswap_modes={','.join(modes)} {options.bootargs}".strip()
        image = prepare(options.model, options.output, bootargs)
        # Before the run: somebody may build something else meanwhile.
        made_of = facts(options.model, options.dram_latency)
        watch, result = boot(options, image, console, "soc-linux")
    except (InputError, OSError, subprocess.SubprocessError) as error:
        print(f"soc-linux: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("soc-linux: interrupted", file=sys.stderr)
        return 130
    collected = watch.collected
    failed = unfinished(result, watch, options.max_mcycles) + failures(collected, modes)
    content = report(collected, result, failed) | made_of
    (options.output / "linux.json").write_text(json.dumps(content, indent=1) + "\n")
    show(collected, result, remarks(content["model"]), Console(width=None if sys.stdout.isatty() else 120))
    if collected.orders and not failed:
        schema.save(
            "soc-linux",
            lines.figures(
                ((mode, "", line) for mode, found in content["modes"].items() for line in found["benches"]),
                "CPU cycles",
            ),
            title="Linux on the SoC",
            command=f"make soc-linux MODES={','.join(modes)}",
            platform=f"simulated SoC, Rocket and engine in one clock, DRAM latency {options.dram_latency} cycles",
            leaves_out="a second level of caches",
            kernel=True,
            engine=str(content["engine"]["build_hash"]),
        )
    console.print(f"soc-linux: linux.json, console.log, hwswap.dts are in {options.output}")
    if failed:
        print(f"soc-linux: failed: {' '.join(failed[:4])} See {options.output / 'console.log'}", file=sys.stderr)
    return 1 if failed else 0
