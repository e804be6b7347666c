# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux`: Linux on the simulated SoC swaps in every mode, and says what its allocator costs."""

import argparse
import sys
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import EngineInfo, InputError
from rich.console import Console

from hwswap_soc.linux import devicetree, linux_figures, linux_image, linux_plan
from hwswap_soc.linux.linux_result import DONE, Collected, failures
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY
from hwswap_soc.simulation.run import run as simulate

NAME = "soc-linux"
"""Of the target in the Makefile, and of the folder of results."""

MODEL, ENGINE = BUILD / "soc-model-rocket", BUILD / "rtl-soc"
"""The Verilated SoC, and the engine in it."""

CURE = f"run 'make {NAME}'"
"""What makes what is missing."""

MCYCLES = 400
"""Millions of cycles after which a run that has not ended is given up."""


class Watch(shown.Live):
    """Collects the console, and shows how far the run is."""

    def __init__(self, log: Path) -> None:
        """Makes the display.

        Args:
            log: file that gets every line of the simulated console, and before it when it came, in millions of cycles.
        """
        super().__init__(NAME)
        self.collected = Collected()
        self.cycle = 0
        self._log = log.open("w")

    def __exit__(self, *_) -> None:
        """Ends it."""
        super().__exit__()
        self._log.close()

    @property
    def phase(self) -> str:
        """Name of the part of the run that is under way."""
        return self.collected.phases[-1] if self.collected.phases else "reset"

    def on_line(self, line: str) -> None:
        """Takes a line of the simulated console."""
        before = self.phase
        self.collected.feed(line)
        self._log.write(f"{self.cycle / 1e6:7.1f} {line}\n")
        self._log.flush()
        if self.phase != before and not self.console.is_terminal:
            self.console.print(f"{self.name}: {self.phase} at {self.cycle / 1e6:.1f} Mcycles")

    def on_progress(self, cycle: int, seconds: float) -> None:
        """Takes the number of cycles simulated so far, and how long that took."""
        self.cycle = cycle
        self.progress(cycle, seconds, f"{self.phase}: ")


def prepare(folder: Path, bootargs: str) -> Path:
    """Makes what RAM holds at the start; returns the file.

    Args:
        folder: where to.
        bootargs: appended to the kernel's command line; hwswap_NAME=VALUE go to init (litex/linux/init/init.c).
    """
    initramfs = linux_image.read(linux_image.INITRAMFS, CURE)
    tree = folder / "hwswap.dtb"
    devicetree.write(
        MODEL / "soc.json", ENGINE / "engine.json", "sim", tree, bootargs=bootargs, initramfs_size=len(initramfs)
    )
    parts = {
        devicetree.FIRMWARE: linux_image.read(linux_image.OPENSBI, "run 'sim/setup/build fpga'"),
        devicetree.KERNEL: linux_image.read(linux_image.KERNEL, CURE),
        devicetree.INITRAMFS: initramfs,
        devicetree.DEVICE_TREE: tree.read_bytes(),
    }
    linux_image.ram(parts, folder / "ram.bin")
    return folder / "ram.bin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument(
        "--modes", help=f"of {', '.join(linux_plan.MODES)}; in this order (default: all that the engine can do)"
    )
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")
    parser.add_argument("-o", "--output", type=Path, default=BUILD / NAME, metavar="DIR", help="folder to write to")


def chosen(options: argparse.Namespace) -> tuple[str, ...]:
    """Returns the modes of the driver that are asked for."""
    if options.modes is None:
        return linux_plan.modes(EngineInfo.load(ENGINE))
    modes = tuple(options.modes.split(","))
    if set(modes) - set(linux_plan.MODES):
        raise InputError(f"--modes takes some of {', '.join(linux_plan.MODES)}, separated by commas")
    return modes


def run(options: argparse.Namespace) -> int:
    """Boots Linux, and shows and writes what came of it; returns the exit status."""
    output, modes = options.output, chosen(options)
    output.mkdir(parents=True, exist_ok=True)
    image = prepare(output, f"{linux_plan.bootargs(modes)} {options.bootargs}".strip())
    # Before the run: somebody may build something else meanwhile.
    build_hash = EngineInfo.load(ENGINE).build_hash
    with Watch(output / "console.log") as watch:
        result = simulate(
            MODEL,
            image,
            stop=f"{DONE.pattern}|Kernel panic",
            max_cycles=MCYCLES * 1_000_000,
            dram_latency=options.dram_latency,
            on_line=watch.on_line,
            on_progress=watch.on_progress,
        )
    collected = watch.collected
    failed = failures(collected, modes)
    if result.reason != "stop":
        failed.insert(0, f"After {result.cycles / 1e6:.1f} Mcycles, in '{watch.phase}', it was over: {result.reason}.")
    kept, full = linux_figures.calls(collected)
    view = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    view.print(shown.table("CPU cycles, median over all calls (ratio to the first mode)", kept + full))
    for note in linux_figures.swapped(collected):
        view.print(f"- {note}", soft_wrap=True)
    if kept and not failed:
        schema.save(
            NAME,
            kept,
            title="Linux on the SoC",
            command=f"make soc-linux MODES={','.join(modes)}",
            platform=f"simulated SoC, Rocket and engine in one clock, DRAM latency {options.dram_latency} cycles",
            leaves_out="a second level of caches",
            kernel=True,
            engine=build_hash,
        )
    print(f"{NAME}: console.log and hwswap.dts are in {output}", file=sys.stderr)
    if failed:
        raise InputError(f"{NAME}: failed: {' '.join(failed[:4])} See {output / 'console.log'}")
    return 0
