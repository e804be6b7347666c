# SPDX-License-Identifier: Apache-2.0
"""`make test-patches`: each patch of the series builds and works without those that follow it.

One tree: Linux 7.3 as it is, then patch after patch, then the whole series without grants. After each step the kernel
is built, incrementally (build_matrix.py looks at warnings), boots and swaps in software, every byte verified, and what
the patches so far have added is used. The driver is refused until the kernel has its symbols; with the next patch all
is there that it is built with, and it attaches an engine and has its grants place slots.

Logs: build/test-patches.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths, printed, processes
from hwswap.rtl.device_server import EngineServer

OUTPUT = paths.BUILD / "test-patches"
FRAGMENT = paths.ROOT / "sw/driver/kernel.config"
PATCHES = paths.ROOT / "sw/driver/patches"
MODULE = paths.ROOT / "sw/driver/module"

OUR_OPTIONS = ("SWAP_GRANTS", "SWAP_ALLOC_BENCH")
"""Options that the series adds; a step without them leaves them out of the fragment."""

SYMBOLS, DRIVER = 10, 11
"""The patches with which the kernel has the driver's symbols, and all that its modules are built with."""

LOADS = (
    "swapload --processes 2 --size 8m --limit 6m --folio 4k --access random --rounds 2",
    "swapload --processes 2 --size 16m --limit 16m --folio 64k --access random --rounds 2",
    "swapload --size 24m --limit 16m --folio 2m --access sequential --rounds 2",
)
MACHINE = Machine(cpus=2, disks=2, disk_mb=64)


@dataclass(frozen=True)
class Feature:
    """The addition of a patch, and a shell command that succeeds from that patch on and fails before."""

    name: str
    patch: int
    command: str
    option: str = ""
    """The option that it belongs to, of those that a step leaves out."""


_EVENT = "/sys/kernel/tracing/events/swap/swap_slots_alloc/enable"
_BENCH = "/sys/kernel/debug/swap_alloc_bench"
_SYMBOL = "grep -qw {} /proc/kallsyms"
FEATURES = (
    Feature("wide", 5, "echo 0 >/sys/kernel/mm/swap/large_search && echo false >/sys/kernel/mm/swap/any_order"),
    Feature("bench", 6, f"echo '2 16 0' >{_BENCH} && grep -q '\"avg\"' {_BENCH}"),
    Feature("scripts", 7, "test -w /sys/kernel/debug/swap_alloc_script"),
    Feature(
        "tracepoints",
        8,
        f"echo 1 >{_EVENT} && {LOADS[0]} && echo 0 >{_EVENT} && grep -q swap_slots_alloc: /sys/kernel/tracing/trace",
    ),
    Feature("fixed windows", 1, "echo true >/sys/kernel/mm/swap/swapoff_ra_fixed"),
    Feature("bitmaps", 9, _SYMBOL.format("swap_grants_register"), "SWAP_GRANTS"),
    Feature("grants", 10, _SYMBOL.format("swap_grants_counts"), "SWAP_GRANTS"),
    Feature("granted", 11, f"echo '2 16 0' >{_BENCH} && grep -q '\"granted\"' {_BENCH}"),
    Feature("oracle", 12, f"echo 'known 2 16 0' >{_BENCH}"),
)

Step = tuple[str, int, Sequence[str]]
"""Its name, how many patches it has, and which options of the fragment are off."""

_FILE = re.compile(r"^ +(?:CC|AS) ", re.MULTILINE)


class StepError(RuntimeError):
    """A step that could not be done."""


@dataclass
class Outcome:
    """The outcome of one step."""

    step: str
    patch: str
    built: bool = False
    verified_bytes: int = 0
    features: list[str] = field(default_factory=list)
    driver: str = ""
    error: str = ""


def fragment(text: str, known: Sequence[str], off: Sequence[str] = ()) -> str:
    """Return a fragment without those of our options that are not `known`, and with those in `off` off."""
    lines = []
    for line in text.splitlines():
        option = line.partition("=")[0].removeprefix("CONFIG_")
        if option in OUR_OPTIONS and option not in known:
            continue
        lines.append(f"CONFIG_{option}=n" if option in off else line)
    return "\n".join(lines) + "\n"


def not_taken(wanted: str, config: str) -> list[str]:
    """Return those lines of a fragment that a configuration does not follow."""
    have = set(config.splitlines())
    names = {line.partition("=")[0] for line in have}
    missing = []
    for line in wanted.splitlines():
        name, _, value = line.partition("=")
        if name.startswith("CONFIG_") and (name in names if value == "n" else line not in have):
            missing.append(line)
    return missing


def copy_source(source: Path, copy: Path) -> None:
    """Copy a source, by hard links where they can be had; patch puts a new file in the place of an old one."""

    def link(origin: str, to: str) -> None:
        try:
            os.link(origin, to)
        except OSError:
            shutil.copy2(origin, to)

    mine = shutil.copy2 if (source / ".git").exists() else link
    shutil.copytree(source, copy, symlinks=True, copy_function=mine, ignore=shutil.ignore_patterns(".git", ".pc"))


def kernel_source(*which: str) -> Path:
    """Return where sim/setup/kernel-source has that."""
    script = paths.ROOT / "sim/setup/kernel-source"
    return Path(subprocess.run([script, *which], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


class Tree:
    """A kernel source that patches are added to, and a folder in which it is built."""

    def __init__(self, work: Path, source: Path, progress: Progress) -> None:
        """Copy the source."""
        self.work, self.progress = work, progress
        self.source, self.build = work / "source", work / "build"
        self.task = progress.add_task("copying the source", total=None)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        OUTPUT.mkdir(parents=True, exist_ok=True)
        copy_source(source, self.source)

    def say(self, text: str) -> None:
        """Show the present step."""
        self.progress.update(self.task, description=text)

    def run(self, what: str, command: Sequence[str | Path], log: Path) -> str:
        """Run a command to its end, with progress, and return its output; raise StepError when it fails."""
        log.write_bytes(b"")
        process = processes.start(command, log)
        try:
            while process.poll() is None:
                time.sleep(0.5)
                self.say(f"{what}: {len(_FILE.findall(log.read_text(errors='replace')))} files")
        finally:
            processes.stop(process)
        if process.returncode:
            raise StepError(f"{what}: failed (whole log: {log})\n{processes.tail(log, 15)}")
        return log.read_text(errors="replace")

    def make(
        self, what: str, folder: Path, arguments: Sequence[str], log: Path, arch: str = "x86", prefix: str = ""
    ) -> str:
        """Call the kernel's make for a folder, with the compiler of that prefix."""
        ccache = "ccache " if shutil.which("ccache") else ""
        jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)
        command = ["make", "--no-print-directory", "-C", self.source, f"O={folder}", f"-j{jobs}", f"ARCH={arch}"]
        compilers = [f"CROSS_COMPILE={prefix}", f"CC={ccache}{prefix}gcc", f"HOSTCC={ccache}gcc"]
        return self.run(what, [*command, *compilers, *arguments], log)

    def known(self) -> list[str]:
        """Return those of our options that the source has."""
        kconfig = (self.source / "mm/Kconfig").read_text()
        return [option for option in OUR_OPTIONS if re.search(rf"^config {option}$", kconfig, re.MULTILINE)]

    def patch(self, patch: Path, log: Path) -> None:
        """Add a patch."""
        command = ["patch", "--quiet", "--strip=1", "--fuzz=0", f"--directory={self.source}", f"--input={patch}"]
        self.run(f"patch {patch.name}", command, log)

    def configure(self, name: str, off: Sequence[str]) -> None:
        """Bring the folder to the driver's configuration, as far as the source knows its options."""
        wanted = fragment(FRAGMENT.read_text(), self.known(), off)
        file = self.work / "fragment"
        file.write_text(wanted)
        log = OUTPUT / f"{name}.config.log"
        tiny = self.work / "tiny"
        self.build.mkdir(exist_ok=True)
        if not tiny.exists():
            self.make("configuring", self.build, ["tinyconfig"], log)
            shutil.copy(self.build / ".config", tiny)
        merge = ["scripts/kconfig/merge_config.sh", "-m", "-O", str(self.build), str(tiny), str(file)]
        self.run("configuring", ["env", "-C", str(self.source), *merge], log)
        self.make("configuring", self.build, ["olddefconfig"], log)
        if missing := not_taken(wanted, (self.build / ".config").read_text()):
            raise StepError(f"the configuration did not take {', '.join(missing)}")

    def driver(self, name: str) -> dict[str, bytes]:
        """Build the driver against this tree; return its modules as files for a guest."""
        folder = self.work / "modules"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        arguments = [f"M={MODULE}", f"MO={folder}", "W=1", "KCFLAGS=-Werror", "modules"]
        self.make(f"{name}: the driver", self.build, arguments, OUTPUT / f"{name}.driver.log")
        return {f"lib/modules/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.ko"))}


@contextlib.contextmanager
def work_folder(name: str = "kernel-work") -> Iterator[Path]:
    """The folder of the cache in which kernels are built, for us alone; removed at the end.

    Always the same, that of `make kernel` if nothing else is said: ccache knows files by where they were compiled.
    """
    cache = paths.cache()
    (cache / "locks").mkdir(parents=True, exist_ok=True)
    with (cache / "locks" / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        work = cache / name
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def verified(output: str) -> int:
    """Return how many bytes a load has verified; raise GuestError unless all were right."""
    result = json.loads(output)
    if result["mismatches"] or result.get("died") or not result["verified_bytes"]:
        raise GuestError(f"swapped data was not what was written: {result}")
    return int(result["verified_bytes"])


def swap(guest: Guest) -> int:
    """Swap on two RAM disks; return the bytes verified."""
    read = "awk '$1 == \"pswpout\" { print $2 }' /proc/vmstat"
    before = int(guest.run(read).check())
    total = sum(verified(guest.run(load, 600).check()) for load in LOADS)
    if int(guest.run(read).check()) == before:
        raise GuestError("no page was swapped out")
    return total


def software(outcome: Outcome, patches: int, off: Sequence[str], name: str) -> None:
    """Boot the kernel, swap without the driver, and use the additions of the patches so far, and no others.

    The driver's module has to be refused, unless the outcome expects it to work.
    """
    with Guest(MACHINE, log=OUTPUT / f"{name}.kernel.log", boot_timeout=300) as guest:
        guest.run("swapctl make /dev/ram0 /dev/ram1 && swapctl on /dev/ram0 /dev/ram1").check()
        outcome.verified_bytes += swap(guest)
        for feature in FEATURES:
            expected = patches >= feature.patch and feature.option not in off
            works = guest.run(feature.command, 600).code == 0
            if works != expected:
                raise GuestError(f"{feature.name}: {'there without their patch' if works else 'not to be used'}")
            outcome.features += [feature.name] if works else []
        guest.run("swapctl off /dev/ram0 /dev/ram1", 600).check()
        if outcome.driver == "refused":
            code = guest.run("insmod /lib/modules/hwswap.ko").code
            if code == 0 or not re.search("hwswap: Unknown symbol swap_grants_", guest.kernel_log()):
                raise GuestError("a driver that lacks something was not refused by its symbols")


def with_driver(outcome: Outcome, files: Mapping[str, bytes], name: str) -> None:
    """Boot the kernel with the driver of this tree and an engine, whose grants have to place slots."""
    with tempfile.TemporaryDirectory(prefix="hwswap-") as folder:
        engine = EngineServer(Path(folder))
        with Guest(MACHINE, engine, files=files, log=OUTPUT / f"{name}.driver.kernel.log", boot_timeout=300) as guest:
            guest.run("swapctl make /dev/ram0 /dev/ram1 && swapctl on /dev/ram0 /dev/ram1").check()
            guest.run("insmod /lib/modules/hwswap.ko mode=hint").check()
            wait = "for i in $(seq 300); do grep -q ^attached /sys/kernel/debug/hwswap/state && exit 0; sleep 0.2; done"
            guest.run(f"{wait}; exit 1", 300).check()
            outcome.verified_bytes += swap(guest)
            text = guest.run("grep ^grant_units /sys/kernel/debug/hwswap/stats").check()
            units = int(text.split()[1])
            if not units:
                raise GuestError("no grant placed anything")
            guest.run("rmmod hwswap && swapctl off /dev/ram0 /dev/ram1", 600).check()
            outcome.driver = f"{units:,} folios by grants"


def table(outcomes: Sequence[Outcome]) -> Table:
    """The outcomes, one a row."""
    heads = ("patches", "last one", "verified", "adds", "driver", "")
    rows = [
        (
            outcome.step,
            outcome.patch,
            f"{outcome.verified_bytes / 2**20:,.0f} MB",
            ", ".join(outcome.features),
            outcome.driver,
            "FAILED" if outcome.error else "ok",
        )
        for outcome in outcomes
    ]
    return printed.table("the patches one by one", heads, rows, left=(0, 1, 3, 4, 5))


def run_step(tree: Tree, outcome: Outcome, patches: int, off: Sequence[str]) -> None:
    """Build and boot the present tree."""
    name = outcome.step.replace(" ", "-")
    tree.configure(name, off)
    tree.make(f"{name}: the kernel", tree.build, ["bzImage", "modules"], OUTPUT / f"{name}.build.log")
    outcome.built = True
    os.environ[artifacts.KERNEL.variable] = str(tree.build / "arch/x86/boot/bzImage")
    outcome.driver = "refused" if patches < SYMBOLS or "SWAP_GRANTS" in off else ""
    tree.say(f"{name}: swapping")
    software(outcome, patches, off, name)
    if patches >= DRIVER and not outcome.driver:
        files = tree.driver(name)
        tree.say(f"{name}: swapping with the engine")
        with_driver(outcome, files, name)


def series(console: Console) -> list[Outcome]:
    """Do all steps; a step that cannot be built ends the series, as those that follow build on it."""
    source = kernel_source()
    patches = sorted(PATCHES.glob("*.patch"))
    outcomes: list[Outcome] = []
    with printed.progress_bar(console) as progress, work_folder() as work:
        tree = Tree(work, source, progress)
        last = len(patches)
        steps: list[Step] = [(str(number), number, ()) for number in range(last + 1)]
        steps.append((f"{last} without SWAP_GRANTS", last, ("SWAP_GRANTS",)))
        for name, number, off in steps:
            outcome = Outcome(name, patches[number - 1].name.split("-")[0] if number else "none")
            outcomes.append(outcome)
            try:
                if number and not off:
                    tree.patch(patches[number - 1], OUTPUT / f"{name}.patch.log")
                run_step(tree, outcome, number, off)
            except RuntimeError as error:
                outcome.error = str(error)
                console.print(f"{name}: {error}", markup=False)
            if not outcome.built:
                break
    return outcomes


def run(_: argparse.Namespace) -> int:
    """Do all steps and show them; the exit status is 1 if one failed."""
    os.environ.update(KBUILD_BUILD_TIMESTAMP="@0", KBUILD_BUILD_USER="hwswap", KBUILD_BUILD_HOST="localhost")
    outcomes = series(Console(stderr=True, highlight=False))
    Console().print(table(outcomes))
    return 1 if any(outcome.error for outcome in outcomes) else 0
