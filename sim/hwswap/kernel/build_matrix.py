# SPDX-License-Identifier: Apache-2.0
"""`make test-matrix`: the patches compile, or cannot be chosen, in many configurations of the kernel.

One source tree, to which the patches are added one by one. Each prefix of the series is built in two configurations,
the whole series in all: the objects of mm/ alone, at warning level 1. A warning in a file that the series touches fails
the cell. A configuration asks for every option of the series but those that it says otherwise of, and what it refuses
must not be in the result.

Folders to build in are shared and begin empty, so what cells have in common is compiled, and warned of, in the first.
Logs: build/test-patches/matrix. The exit status is 1 if a cell failed, 2 if something to build with is missing.
"""

import argparse
import itertools
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hwswap.kernel.patch_steps import (
    OUR_OPTIONS,
    OUTPUT,
    PATCHES,
    StepError,
    Tree,
    kernel_source,
    not_taken,
    work_folder,
)
from hwswap.project import printed

LOGS = OUTPUT / "matrix"
COMMON = "CONFIG_DEBUG_FS=y\nCONFIG_TRANSPARENT_HUGEPAGE=y\n"
"""Asked for everywhere, as options of ours need it; there are kernels that cannot have it."""

BACKEND = ("SWAP_GRANTS",)
"""Options that need clusters of 512 slots, 64 bits and little-endian numbers."""

_WARNING = re.compile(r"\bwarning:", re.IGNORECASE)
_PLACE = re.compile(r":\d+(?::\d+)?(?=[: ])")

COMPILERS = {"x86_64": "", "i386": "", "arm64": "aarch64-linux-gnu-", "riscv": "riscv64-linux-gnu-"}
"""The prefix of each architecture's compiler."""


@dataclass(frozen=True)
class Cell:
    """A configuration, and the expected outcome."""

    name: str
    lines: tuple[str, ...] = ()
    """Differences from the base: option=value."""
    refused: tuple[str, ...] = ()
    """Options of ours that cannot be chosen with that."""
    arch: str = "x86_64"
    base: str = "defconfig"
    """That of the architecture, or the name of one of Debian's."""
    builds: bool = True
    """Else only its options are looked at, which takes no compiler but the host's."""

    def fragment(self, known: Sequence[str]) -> str:
        """Return the cell's options; of ours only those that are `known`."""
        values = dict.fromkeys(known, "y") | dict(line.split("=", 1) for line in self.lines)
        return "".join(
            f"CONFIG_{option}={value}\n"
            for option, value in values.items()
            if option in known or option not in OUR_OPTIONS
        )

    def fault(self, known: Sequence[str], config: str) -> str:
        """Return the difference of a configuration made of that from the expected one; "" if there is none."""
        taken = [option for option in self.refused if f"CONFIG_{option}=y" in config.splitlines()]
        if taken:
            return f"{', '.join(taken)} can be chosen"
        missing = not_taken(self.fragment([option for option in known if option not in self.refused]), config)
        return f"the configuration did not take {', '.join(missing)}" if missing else ""


def combinations() -> list[Cell]:
    """Return a cell for each subset of the series' options except the full set."""
    cells = []
    for count in range(len(OUR_OPTIONS)):
        for chosen in itertools.combinations(OUR_OPTIONS, count):
            lines = tuple(f"{option}={'y' if option in chosen else 'n'}" for option in OUR_OPTIONS)
            cells.append(Cell(" + ".join(chosen) or "no option", lines))
    return cells


EACH_PREFIX = (Cell("HIBERNATION=y", ("HIBERNATION=y",)), combinations()[0])

WHOLE_SERIES = (
    Cell("HIBERNATION=n", ("HIBERNATION=n",)),
    *combinations()[1:],
    Cell("MEMCG=n", ("MEMCG=n",)),
    Cell("TRANSPARENT_HUGEPAGE=n", ("TRANSPARENT_HUGEPAGE=n",), BACKEND),
    Cell("SWAP=n", ("SWAP=n",), OUR_OPTIONS),
    Cell("DEBUG_VM=y", ("DEBUG_KERNEL=y", "DEBUG_VM=y")),
    Cell("JUMP_LABEL=n", ("JUMP_LABEL=n",)),
    Cell("SMP=n", ("SMP=n",)),
    Cell("Debian's", base="config.amd64_none_amd64"),
    Cell("Debian's, PREEMPT_RT", ("PREEMPT_RT=y",), BACKEND, base="config.amd64_none_rt-amd64"),
    Cell("PREEMPT_RT=y", ("EXPERT=y", "PREEMPT_RT=y"), BACKEND, builds=False),
    Cell("32 bits", (), OUR_OPTIONS, "i386"),
    Cell("4 KiB pages", ("ARM64_4K_PAGES=y",), (), "arm64"),
    Cell("16 KiB pages", ("ARM64_16K_PAGES=y",), BACKEND, "arm64", builds=False),
    Cell("64 KiB pages", ("ARM64_64K_PAGES=y",), BACKEND, "arm64", builds=False),
    Cell("defconfig", (), (), "riscv"),
    Cell("16 KiB pages", ("PAGE_SIZE_16KB=y",), BACKEND, "loongarch", builds=False),
    Cell("big-endian", ("CPU_BIG_ENDIAN=y",), BACKEND, "s390", builds=False),
)


@dataclass
class Outcome:
    """The outcome of a cell."""

    patch: str
    cell: Cell
    warnings: list[str] = field(default_factory=list)
    """Those in files that the series touches."""
    fault: str = ""

    def passed(self) -> bool:
        """Say whether all is as expected."""
        return not self.fault and not self.warnings

    def sentence(self) -> str:
        """Say in one sentence what failed, and name the log."""
        why = self.fault or f"{len(self.warnings)} warnings, the first: {self.warnings[0]}"
        return f"patch {self.patch}, {self.cell.arch}, {self.cell.name}: {why} (log: {log_of(self)})"


def log_of(outcome: Outcome) -> Path:
    """Return the file that a cell's build logs to."""
    name = re.sub(r"[^A-Za-z0-9_=]+", "-", f"{outcome.patch} {outcome.cell.arch} {outcome.cell.name}")
    return LOGS / f"{name}.log"


def touched(patches: Sequence[Path]) -> set[str]:
    """Return the files that patches change or add."""
    return {name for patch in patches for name in re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.MULTILINE)}


def warnings(log: str) -> set[str]:
    """Return a build's warnings, without line numbers, which patches move."""
    return {_PLACE.sub("", line).strip() for line in log.splitlines() if _WARNING.search(line)}


def is_in(warning: str, files: set[str]) -> bool:
    """Say whether a warning is one of these files'."""
    return any(re.search(rf"(?:^|[ /]){re.escape(name)}[: ]", warning) for name in files)


def first_error(log: str) -> str:
    """Return the first line of a build's log that names an error."""
    found = re.search(r"^.*(?:\berror: |\bError \d|\*\*\* ).*$", log, re.MULTILINE | re.IGNORECASE)
    return found[0].strip() if found else "make failed"


class Builds(Tree):
    """A source tree that patches are added to, and a folder to build in for each architecture and base."""

    def call(self, cell: Cell, goal: Sequence[str], log: Path, what: str) -> None:
        """Call the kernel's make in the folder that a cell and its like are built in."""
        self.make(what, self.folder(cell), goal, log, cell.arch, COMPILERS[cell.arch] if cell.builds else "")

    def folder(self, cell: Cell) -> Path:
        """Return that folder."""
        return self.work / "-".join(("build", cell.arch, cell.base, *([] if cell.builds else ["options"])))

    def configure(self, cell: Cell, bases: Path, log: Path, what: str) -> str:
        """Make a cell's configuration; return its difference from the expected one."""
        folder = self.folder(cell)
        folder.mkdir(exist_ok=True)
        base = folder / "base"
        if not base.exists():
            if cell.base == "defconfig":
                self.call(cell, ["defconfig"], log, what)
                (folder / ".config").rename(base)
            else:
                shutil.copy(bases / cell.base, base)
        known = self.known()
        (folder / ".config").write_text(base.read_text() + COMMON + cell.fragment(known))
        self.call(cell, ["olddefconfig"], log, what)
        return cell.fault(known, (folder / ".config").read_text())

    def fill(self, outcome: Outcome, bases: Path, files: set[str], what: str) -> None:
        """Configure and build a cell, and fill in the outcome."""
        cell, log = outcome.cell, log_of(outcome)
        try:
            outcome.fault = self.configure(cell, bases, log, what)
            if not outcome.fault and cell.builds:
                self.call(cell, ["W=1", "mm/"], log, what)
        except StepError:
            outcome.fault = first_error(log.read_text(errors="replace"))
        found = warnings(log.read_text(errors="replace"))
        outcome.warnings = sorted(line for line in found if is_in(line, files))


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the outcomes, one a row."""
    heads = ("patches", "architecture", "configuration", "refuses", "warnings", "")
    rows = [
        (
            *(each.patch, each.cell.arch, each.cell.name, ", ".join(each.cell.refused)),
            *(len(each.warnings), "ok" if each.passed() else "FAILED"),
        )
        for each in outcomes
    ]
    return printed.table("the patches in configurations", heads, rows, left=(0, 1, 2, 3, 5))


def matrix(console: Console, source: Path, bases: Path) -> list[Outcome]:
    """Build all cells."""
    patches = sorted(PATCHES.glob("*.patch"))
    cells = [(number, cell) for number in range(1, len(patches) + 1) for cell in EACH_PREFIX]
    cells += [(len(patches), cell) for cell in WHOLE_SERIES]
    outcomes: list[Outcome] = []
    LOGS.mkdir(parents=True, exist_ok=True)
    with work_folder("kernel-matrix") as work, printed.progress_bar(console) as progress:
        builds, applied = Builds(work, source, progress), 0
        for step, (number, cell) in enumerate(cells, 1):
            for patch in patches[applied:number]:
                builds.patch(patch, LOGS / "patch.log")
            applied = number
            outcome = Outcome(f"{number:04}", cell)
            what = f"{step} of {len(cells)}: patch {outcome.patch}, {cell.arch}, {cell.name}"
            builds.fill(outcome, bases, touched(patches[:number]), what)
            outcomes.append(outcome)
    return outcomes


def run(_: argparse.Namespace) -> int:
    """Build all cells and show them."""
    console = Console(stderr=True, highlight=False)
    lacking = [f"{prefix}gcc" for prefix in COMPILERS.values() if not shutil.which(f"{prefix}gcc")]
    if lacking:
        console.print(f"{', '.join(lacking)} is missing: run sim/setup/apt-packages cross")
        return 2
    try:
        outcomes = matrix(console, kernel_source(), kernel_source("config"))
    except subprocess.CalledProcessError:
        return 2  # it has said why
    Console().print(table(outcomes))
    failed = [outcome for outcome in outcomes if not outcome.passed()]
    for outcome in failed:
        console.print(outcome.sentence(), markup=False)
    return 1 if failed else 0
