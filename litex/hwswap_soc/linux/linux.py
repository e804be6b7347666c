# SPDX-License-Identifier: Apache-2.0
"""`make soc-linux`: Linux on the simulated SoC swaps in every mode, and prints the cost of its allocator.

With --harts (`make soc-linux-smp`) it does so on several harts: a check of what bare metal measured on 1, 2 and 4
(`make bench-harts`). The kernel's own bench makes the same calls on as many CPUs at once, back to back.
"""

import argparse
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from hwswap.project.arguments import names
from hwswap.project.paths import BUILD
from hwswap.results import schema, tables
from hwswap_litex import EngineInfo, InputError
from rich.console import Console

from hwswap_soc.linux import devicetree, linux_figures, linux_image, linux_plan
from hwswap_soc.linux.linux_result import DONE, Collected, failures
from hwswap_soc.simulation import shown
from hwswap_soc.simulation.run import LATENCY, latency
from hwswap_soc.simulation.run import run as simulate


@dataclass(frozen=True)
class Made:
    """The parts and names of a run.

    Attributes:
        name: of the target in the Makefile, and of the result.
        title: of the result.
        platform: in the result: the SoC, but for the latency of its DRAM.
        leaves_out: in the result.
        model: folder in build/ of the Verilated SoC.
        engine: folder of the engine in it.
        suffix: of the folders of the kernel and the initramfs.
        mcycles: millions of cycles after which a run that has not ended is given up.
    """

    name: str
    title: str
    platform: str
    leaves_out: str
    model: str
    engine: str
    suffix: str
    mcycles: int


ONE = Made(
    name="soc-linux",
    title="Linux on the SoC",
    platform="Rocket and engine in one clock",
    leaves_out="a second level of caches",
    model="soc-model-rocket",
    engine="rtl-soc",
    suffix="",
    mcycles=500,
)

SEVERAL = Made(
    name="soc-linux-smp",
    title="Linux on several harts of the SoC",
    platform="four Rocket harts, calls back to back",
    leaves_out="other load, a second level of caches",
    model="soc-model-rocket4",
    engine="rtl-soc4",
    suffix="-smp",
    mcycles=1500,
)


class Watch(shown.Live):
    """Collect the console, and show how far the run is."""

    def __init__(self, name: str, log: Path, over: threading.Event) -> None:
        """Make the display.

        Args:
            name: begins each line.
            log: file that gets every line of the simulated console, and before it when it came, in millions of cycles.
            over: set when the simulation is to end.
        """
        super().__init__(name, alone=False)
        self._over = over
        self.collected = Collected()
        self.cycle = 0
        self._log = log.open("w")

    def __exit__(self, *_) -> None:
        """End it."""
        super().__exit__()
        self._log.close()

    @property
    def phase(self) -> str:
        """Name of the part of the run that is under way."""
        return self.collected.phases[-1] if self.collected.phases else "reset"

    def on_line(self, line: str) -> None:
        """Take a line of the simulated console."""
        before = self.phase
        self.collected.feed(line)
        self._log.write(f"{self.cycle / 1e6:7.1f} {line}\n")
        self._log.flush()
        if self.phase != before:
            self.console.print(f"{self.name}: {self.phase} at {self.cycle / 1e6:.1f} Mcycles")

    def on_progress(self, cycle: int, seconds: float) -> None:
        """Take the number of cycles simulated so far, and how long that took."""
        if self._over.is_set():
            raise InputError(f"{self.name}: stopped, as the other kernel's run failed or was interrupted")
        self.cycle = cycle
        self.progress(cycle, seconds, f"{self.phase}: ")


def prepare(made: Made, folder: Path, kernel: str, bootargs: str) -> Path:
    """Write the content of RAM at the start; return the file.

    Args:
        made: the parts and names of the run.
        folder: the folder to write to.
        kernel: its folder in build/.
        bootargs: appended to the kernel's command line; hwswap_NAME=VALUE go to init (litex/linux/init/init.c).
    """
    cure = f"run 'make {made.name}'"
    initramfs = linux_image.read(BUILD / f"initramfs-riscv{made.suffix}/initramfs.cpio", cure)
    tree = folder / "hwswap.dtb"
    soc, engine = BUILD / made.model / "soc.json", BUILD / made.engine / "engine.json"
    devicetree.write(soc, engine, "sim", tree, bootargs=bootargs, initramfs_size=len(initramfs))
    parts = {
        devicetree.FIRMWARE: linux_image.read(linux_image.OPENSBI, "run 'sim/setup/build fpga'"),
        devicetree.KERNEL: linux_image.read(BUILD / kernel / "Image", cure),
        devicetree.INITRAMFS: initramfs,
        devicetree.DEVICE_TREE: tree.read_bytes(),
    }
    linux_image.ram(parts, folder / "ram.bin")
    return folder / "ram.bin"


def hart_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of harts that are named, with commas between; the first is 1."""
    words = text.split(",")
    if not set(words) <= set("1234") or words[0] != "1" or sorted(set(words)) != words:
        raise argparse.ArgumentTypeError(f"'{text}': give rising numbers of harts up to 4, 1 first, as in 1,2")
    return tuple(map(int, words))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--harts", type=hart_numbers, default=(), help="numbers of harts, as in 1,2,4 (default: one)")
    parser.add_argument("--dram-latency", type=latency, default=LATENCY, help="cycles to the first beat of data")
    modes = names("mode", linux_plan.MODES)
    parser.add_argument("--modes", type=modes, help=f"of {', '.join(linux_plan.MODES)} (default: all that can be done)")
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/NAME)")


def possible(harts: Sequence[int], made: Made) -> tuple[str, ...]:
    """Return the modes that can be measured."""
    wanted = {linux_plan.UNPATCHED, *linux_plan.modes(EngineInfo.load(BUILD / made.engine)), linux_plan.ORACLE}
    if len(harts) > 1:
        wanted.add(linux_plan.THREAD)
    return tuple(mode for mode in linux_plan.MODES if mode in wanted)


def chosen(options: argparse.Namespace, made: Made) -> tuple[str, ...]:
    """Return the modes that are asked for, in the order of a table."""
    if options.modes is None:
        return possible(options.harts, made)
    if linux_plan.THREAD in options.modes and len(options.harts) < 2:
        raise InputError("--modes thread takes a hart for the thread: give --harts 1,2 or more")
    return tuple(mode for mode in linux_plan.MODES if mode in options.modes)


def boot(
    options: argparse.Namespace, made: Made, output: Path, modes: Sequence[str], kernel: str, over: threading.Event
) -> tuple[Collected, str]:
    """Boot a kernel that does the plan in these modes; return its output, and the engine's build hash.

    Raises InputError if something was wrong.

    Args:
        options: of the command.
        made: the parts and names of the run.
        output: folder that is written to.
        modes: in which the plan is done.
        kernel: folder in build/.
        over: set when it is to end.
    """
    output.mkdir(parents=True, exist_ok=True)
    words = linux_plan.bootargs(modes, options.harts)
    image = prepare(made, output, kernel, f"{words} {options.bootargs}".strip())
    # Before the run: somebody may build something else meanwhile.
    build_hash = EngineInfo.load(BUILD / made.engine).build_hash
    with Watch(f"{made.name}: {kernel}", output / "console.log", over) as watch:
        result = simulate(
            BUILD / made.model,
            image,
            stop=f"{DONE.pattern}|Kernel panic",
            max_cycles=made.mcycles * 1_000_000,
            dram_latency=options.dram_latency,
            on_line=watch.on_line,
            on_progress=watch.on_progress,
        )
    failed = failures(watch.collected, modes)
    if result.reason != "stop":
        failed.insert(0, f"After {result.cycles / 1e6:.1f} Mcycles, in '{watch.phase}', it was over: {result.reason}.")
    print(f"{made.name}: console.log and hwswap.dts are in {output}", file=sys.stderr)
    if failed:
        raise InputError(f"{made.name}: failed: {' '.join(failed[:4])} See {output / 'console.log'}")
    return watch.collected, build_hash


def run(options: argparse.Namespace) -> int:
    """Boot Linux, and show and write the results; return the exit status."""
    made = SEVERAL if options.harts else ONE
    output, modes = options.output or BUILD / made.name, chosen(options, made)
    kernel = f"kernel-riscv{made.suffix}"
    boots: list[tuple[Path, Sequence[str], str]] = []
    if linux_plan.UNPATCHED in modes:
        boots.append((output / "unpatched", (linux_plan.UNPATCHED,), f"{kernel}/unpatched"))
    if patched := tuple(mode for mode in modes if mode != linux_plan.UNPATCHED):
        boots.append((output, patched, kernel))
    over = threading.Event()
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(boot, options, made, *each, over) for each in boots]
        try:
            done, _ = wait(running, return_when=FIRST_EXCEPTION)
            # If one has failed, that is the one that is done, and says why.
            found = [each.result() for each in (running if len(done) == len(running) else done)]
        except BaseException:
            over.set()
            raise
    collected, build_hash = found[0]
    for other, _ in found[1:]:
        collected.modes |= other.modes
    if options.harts:
        said, missing = linux_figures.on_harts(collected, options.harts, modes)
        if missing:
            raise InputError(f"{made.name}: failed: {' '.join(missing[:4])} See {output / 'console.log'}")
    else:
        said = linux_figures.calls(collected)
    view = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    view.print(tables.view("CPU cycles, median over all calls (ratio to the first mode)", said))
    for note in linux_figures.swapped(collected):
        view.print(f"- {note}", soft_wrap=True)
    if options.bootargs:
        # Another plan, perhaps: no figures to be compared.
        return 0
    schema.save(
        made.name,
        said,
        title=made.title,
        command=f"make {made.name}" + (f" MODES={','.join(options.modes)}" if options.modes else ""),
        platform=f"simulated SoC, {made.platform}, DRAM latency {options.dram_latency} cycles",
        leaves_out=made.leaves_out,
        kernel=True,
        engine=build_hash,
    )
    return 0
