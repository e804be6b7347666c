# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux`: Linux on the simulated SoC swaps in every mode, and says what its allocator costs.

With --harts (`make soc-linux-smp`) it does so on several harts: a check of what bare metal measured on 1, 2 and 4
(`make bench-harts`). The kernel's own bench makes the same calls on as many CPUs at once, back to back.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwswap.project import provenance
from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import EngineInfo, InputError
from rich.console import Console

from hwswap_soc.linux import devicetree, linux_figures, linux_image, linux_plan
from hwswap_soc.linux.linux_result import DONE, Collected, failures
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY, Result
from hwswap_soc.simulation.run import run as simulate


@dataclass(frozen=True)
class Made:
    """What is built for a run, by the names of sim/setup/build.

    Attributes:
        name: of the target in the Makefile, and of the folder of results.
        model: the Verilated SoC.
        engine: the engine in it.
        suffix: of the kernel and the initramfs.
        mcycles: millions of cycles after which a run that has not ended is given up.
    """

    name: str = "soc-linux"
    model: str = "soc-model-rocket"
    engine: str = "rtl-soc"
    suffix: str = ""
    mcycles: int = 400

    @property
    def cure(self) -> str:
        """What makes what is missing."""
        return f"run 'make {self.name}'"


ONE = Made()
SEVERAL = Made("soc-linux-smp", "soc-model-rocket4", "rtl-soc4", "-smp", 600)

HARTS_MODES = ("off", "hint")
"""The modes on several harts."""


class Watch(shown.Live):
    """Collects the console, and shows how far the run is."""

    def __init__(self, log: Path, name: str) -> None:
        """Makes the display.

        Args:
            log: file that gets every line of the simulated console, and before it when it came, in millions of cycles.
            name: what lines begin with.
        """
        super().__init__(name)
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
        return self.collected.phases[-1][0] if self.collected.phases else "reset"

    def on_line(self, line: str) -> None:
        """Takes a line of the simulated console."""
        before = self.phase
        self.collected.feed(line, self.cycle)
        self._log.write(f"{self.cycle / 1e6:7.1f} {line}\n")
        self._log.flush()
        if self.phase != before and not self.console.is_terminal:
            self.console.print(f"{self.name}: {self.phase} at {self.cycle / 1e6:.1f} Mcycles")

    def on_progress(self, cycle: int, seconds: float) -> None:
        """Takes the number of cycles simulated so far, and how long that took."""
        self.cycle = cycle
        self.progress(cycle, seconds, f"{self.phase}: ")


def prepare(made: Made, folder: Path, bootargs: str) -> Path:
    """Makes what RAM holds at the start; returns the file.

    Args:
        made: what is built.
        folder: where to.
        bootargs: appended to the kernel's command line; hwswap_NAME=VALUE go to init (litex/linux/init/init.c).
    """
    initramfs = linux_image.read(BUILD / f"initramfs-riscv{made.suffix}/initramfs.cpio", made.cure)
    tree = folder / "hwswap.dtb"
    devicetree.write(
        BUILD / made.model / "soc.json",
        BUILD / made.engine / "engine.json",
        "sim",
        tree,
        bootargs=bootargs,
        initramfs_size=len(initramfs),
    )
    parts = {
        devicetree.FIRMWARE: linux_image.read(linux_image.OPENSBI, "run 'sim/setup/build fpga'"),
        devicetree.KERNEL: linux_image.read(BUILD / f"kernel-riscv{made.suffix}/Image", made.cure),
        devicetree.INITRAMFS: initramfs,
        devicetree.DEVICE_TREE: tree.read_bytes(),
    }
    linux_image.ram(parts, folder / "ram.bin")
    return folder / "ram.bin"


def unfinished(result: Result, watch: Watch, mcycles: int) -> list[str]:
    """Says why a run did not come to its end; nothing if it did.

    Args:
        result: what the simulation ended with.
        watch: who listened.
        mcycles: what it was limited to.
    """
    if result.reason == "stop":
        return []
    up = result.cycles >= mcycles * 1_000_000
    why = f"{mcycles} Mcycles were up" if up else "the simulation was ended from outside"
    return [f"After {result.cycles / 1e6:.1f} Mcycles, in '{watch.phase}', {why}."]


def hart_numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers of harts that are named, with commas between; the first is 1."""
    words = text.split(",")
    if not all(word in ("1", "2", "3", "4") for word in words) or words[0] != "1" or sorted(set(words)) != words:
        raise argparse.ArgumentTypeError(f"'{text}': give rising numbers of harts up to 4, 1 first, as in 1,2")
    return tuple(map(int, words))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--harts", type=hart_numbers, default=(), help="numbers of harts, as in 1,2,4 (default: one)")
    parser.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument(
        "--modes", help=f"of {', '.join(linux_plan.MODES)}; in this order (default: all that the engine can do)"
    )
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/NAME)")


def chosen(options: argparse.Namespace, made: Made) -> tuple[str, ...]:
    """Returns the modes of the driver that are asked for."""
    if options.modes is None:
        return HARTS_MODES if options.harts else linux_plan.modes(EngineInfo.load(BUILD / made.engine))
    modes = tuple(options.modes.split(","))
    if set(modes) - set(linux_plan.MODES):
        raise InputError(f"--modes takes some of {', '.join(linux_plan.MODES)}, separated by commas")
    return modes


def boot(options: argparse.Namespace, made: Made, modes: Sequence[str], output: Path) -> tuple[Watch, Result, dict]:
    """Boots Linux, and shows how far it is.

    Args:
        options: of the command.
        made: what is built.
        modes: of the driver.
        output: folder for console.log, and for what is loaded.

    Returns:
        Who listened, what the simulation ended with, and what was run, to be written as JSON.
    """
    output.mkdir(parents=True, exist_ok=True)
    plan = linux_plan.on_harts(modes, options.harts) if options.harts else linux_plan.bootargs(modes)
    image = prepare(made, output, f"{plan} {options.bootargs}".strip())
    # Before the run: somebody may build something else meanwhile.
    made_of = {
        "model": json.loads((BUILD / made.model / "model.json").read_text()),
        "engine": json.loads((BUILD / made.engine / "engine.json").read_text()),
        "dram_latency": options.dram_latency,
        "clock_hz": devicetree.SIM_CLOCK_HZ,
        "commits": {"hwswap": provenance.commit(), "patches": provenance.patches()},
    }
    with Watch(output / "console.log", made.name) as watch:
        result = simulate(
            BUILD / made.model,
            image,
            stop=f"{DONE.pattern}|Kernel panic",
            max_cycles=made.mcycles * 1_000_000,
            dram_latency=options.dram_latency,
            on_line=watch.on_line,
            on_progress=watch.on_progress,
        )
    return watch, result, made_of


def save(options: argparse.Namespace, modes: Sequence[str], figures: list[schema.Figure], build_hash: str) -> None:
    """Keeps the figures of a run that went well."""
    latency = f"DRAM latency {options.dram_latency}"
    texts: dict[str, Any] = {
        "title": "Linux on the SoC",
        "command": f"make soc-linux MODES={','.join(modes)}",
        "platform": f"simulated SoC, Rocket and engine in one clock, {latency} cycles",
        "leaves_out": "a second level of caches",
    }
    if options.harts:
        texts = {
            "title": "Linux on several harts of the SoC",
            "command": "make soc-linux-smp",
            "platform": f"simulated SoC, four Rocket harts, {latency}; calls back to back",
            "leaves_out": "other load, a second level of caches",
        }
    name = (SEVERAL if options.harts else ONE).name
    schema.save(name, figures, **texts, kernel=True, engine=build_hash)


def run(options: argparse.Namespace) -> int:
    """Boots Linux, and shows and writes what came of it; returns the exit status."""
    made = SEVERAL if options.harts else ONE
    output = options.output or BUILD / made.name
    modes = chosen(options, made)
    watch, result, made_of = boot(options, made, modes, output)
    collected, build_hash = watch.collected, str(made_of["engine"]["build_hash"])
    failed = unfinished(result, watch, made.mcycles) + failures(collected, modes)
    if options.harts:
        failed += linux_figures.missing(collected, options.harts, modes)
        kept = said = linux_figures.on_harts(collected, options.harts, modes)
        commits = made_of["commits"]
        notes = [
            f"hwswap {commits['hwswap']}, patches {commits['patches']}, engine build {build_hash}",
            f"{result.cycles / 1e6:.0f} Mcycles; cycles of calls are each hart's own counter, waiting included",
            "calls that were made while all harts were making theirs",
        ]
    else:
        kept, full = linux_figures.on_one(collected)
        said = kept + full
        notes = [*linux_figures.swapped(collected), *linux_figures.remarks(made_of["model"])]
    content = collected.report() | {"cycles": result.cycles, "seconds": round(result.seconds, 1)}
    content |= {"ended_by": result.reason, "failures": failed} | made_of
    (output / "linux.json").write_text(json.dumps(content, indent=1) + "\n")
    view = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    view.print(shown.table("CPU cycles, median over all calls (ratio to the first mode)", said))
    for note in notes:
        view.print(f"- {note}", soft_wrap=True)
    if kept and not failed:
        save(options, modes, kept, build_hash)
    print(f"{made.name}: linux.json, console.log, hwswap.dts are in {output}", file=sys.stderr)
    if failed:
        raise InputError(f"{made.name}: failed: {' '.join(failed[:4])} See {output / 'console.log'}")
    return 0
