# SPDX-License-Identifier: Apache-2.0
"""An unpatched kernel as witness: the same script on it, on the patched kernel in mode off, and on the golden model.

A program in the guest (sw/driver/workloads/witness.c) pages folios of every order out, one after the other, reads where
each went from /proc/self/pagemap, and gives pages back as the script says. It uses no tracepoint and no patch. The
golden model does the same by itself: all three have to come to the same slots, each time.
"""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.kernel import page_out_slots
from hwswap.kernel.page_out_slots import Expected
from hwswap.project import artifacts, paths, printed
from hwswap.project.arguments import count
from hwswap.results import schema
from hwswap.stimulus import page_outs
from hwswap.stimulus.page_outs import Scene

OUTPUT = paths.BUILD / "witness"

OPERATIONS = 220_000
"""Of a whole run: enough for FOLIOS."""

FOLIOS = 100_000
"""Folios that a whole run has to compare."""

LEAST = {"free": 500, "nonfull": 5_000, "frag": 500, "steal": 500, "fail": 5_000}
"""The least number of a whole run's allocations by path, as the golden model decides it."""

LEAST_WHOLE = 100
"""Folios of each order that have to go out in one piece in a whole run."""

MOST_THROWN_AWAY = 0
"""Folios that a kernel may have made of another order than asked for, so that another had to be asked for: none of the
36,702 of four runs was (commit 723e64f)."""

JOB = paths.ROOT / "sim/guest/witness.sh"

MACHINE = Machine(
    cpus=page_outs.CPUS, memory_mb=1536, disks=page_outs.DISKS, disk_mb=2 * page_outs.DISK_CLUSTERS, outbox_mb=128
)

TIMEOUT = 5400.0
"""Seconds for all scenes in a guest."""

KERNELS = {"unpatched": artifacts.KERNEL_UNPATCHED, "patched, mode off": artifacts.KERNEL}
"""Kernels that boot; the driver is loaded where there are hooks for it."""

QUIET = ("pswpin", "pgscan_kswapd", "pgsteal_kswapd", "nr_swapcached", "pgscan_khugepaged")
"""Counters of other users of swap, and of reclaimed slots: they must not change."""

_COUNTER = re.compile(r"^@(before|after) (\S+) (\d+)$", re.MULTILINE)
_SCENE = re.compile(r"^@scene (\d+) (\{.*\})$", re.MULTILINE)


@dataclass
class Account:
    """The account of one kernel."""

    kernel: str
    lines: list[list[str]] = field(default_factory=list)
    """The place of each folio, scene by scene."""
    counters: dict[str, int] = field(default_factory=dict)
    """The kernel's counts meanwhile."""
    thrown_away: int = 0
    """Folios that were not of the order asked for, before they were paged out."""
    most_cached: int = 0
    """The most pages in the swap cache, of all the times that it was looked at."""


def files(scenes: Sequence[Scene]) -> dict[str, bytes]:
    """Return the guest's files."""
    made = {}
    for number, scene in enumerate(scenes):
        lines = []
        for disk, area in enumerate(scene.areas):
            priority = "-" if area.priority is None else area.priority
            bad = ",".join(map(str, area.bad)) or "-"
            lines.append(f"{disk} {area.pages * 4096} {priority} {int(area.rotating)} {bad}\n")
        made[f"scenes/{number}/areas"] = "".join(lines).encode()
        made[f"scenes/{number}/script"] = scene.text().encode()
    return made


def take(out: str, account: Account, scenes: int) -> None:
    """Take over the guest's output on its console."""
    counted: dict[str, dict[str, int]] = {"before": {}, "after": {}}
    for when, name, value in _COUNTER.findall(out):
        counted[when][name] = int(value)
    account.counters = {name: value - counted["before"].get(name, 0) for name, value in counted["after"].items()}
    ended = {int(number): json.loads(text) for number, text in _SCENE.findall(out)}
    if len(ended) != scenes:
        raise RuntimeError(f"{account.kernel}: of {scenes} scenes {len(ended)} came to their end")
    for said in ended.values():
        account.thrown_away += said["thrown_away"]
        account.most_cached = max(account.most_cached, said["most_cached"])


def hear(kernel: str, scenes: Sequence[Scene], log: Path, say: Callable[[str], None]) -> Account:
    """Boot a kernel and have it carry all scenes out."""
    account = Account(kernel)
    driver = "no" if kernel == "unpatched" else "yes"
    job = f"DRIVER={driver}\nSCENES={len(scenes)}\n{JOB.read_text()}"

    def on_line(line: str) -> None:
        if found := _SCENE.match(line):
            say(f"{kernel}: scene {int(found[1]) + 1} of {len(scenes)}")

    with Guest(MACHINE, files=files(scenes), job=job, log=log, kernel=KERNELS[kernel], boot_timeout=600) as guest:
        out = guest.wait_job(TIMEOUT, on_line).check()
        if driver == "yes" and "@mode off" not in out:
            raise RuntimeError(f"{kernel}: the driver is not in mode off")
        take(out, account, len(scenes))
        names = " ".join(map(str, range(len(scenes))))
        guest.run(f"cd /tmp && for n in {names}; do cat $n; echo @end; done >all").check()
        text = guest.fetch("/tmp/all", 600).decode()
    account.lines = [part.splitlines() for part in text.removesuffix("@end\n").split("@end\n")]
    return account


def difference(scene: Scene, expected: Expected, lines: Sequence[str]) -> str:
    """Return the first difference of a scene in one sentence, or nothing."""
    outs = [each for each in enumerate(scene.operations) if isinstance(each[1], page_outs.PageOut)]
    for number, (model, kernel) in enumerate(zip(expected.lines, lines, strict=False)):
        if model != kernel:
            at, out = outs[number]
            place = f"folio {number}, order {out.order}, CPU {out.cpu} (operation {at})"
            return f"{place}: the kernel has {shortened(kernel)}, the golden model {shortened(model)}"
    if len(lines) != len(expected.lines):
        return f"the kernel has {len(lines)} folios, the golden model {len(expected.lines)}"
    return ""


def shortened(line: str) -> str:
    """Return a line that people can read: of a folio that was split the first places."""
    words = line.split()
    return line if len(words) <= 6 else f"{' '.join(words[:6])} ... ({len(words)} runs)"


def predicted(expected: Expected) -> dict[str, int]:
    """Return the kernel's counts of large folios that follow from the golden model's attempts."""
    counts = {}
    for order in page_outs.ORDERS:
        if order:
            name = f"hugepages-{4 << order}kB"
            counts[f"{name}/swpout"] = expected.whole[order]
            counts[f"{name}/swpout_fallback"] = expected.split[order]
    counts["pswpout"] = expected.slots
    return counts


def faults_of(account: Account, scenes: Sequence[Scene], expected: Sequence[Expected], total: Expected) -> list[str]:
    """Return the errors in a kernel's account, one sentence each."""
    found = []
    for number, (scene, model, lines) in enumerate(zip(scenes, expected, account.lines, strict=True)):
        if text := difference(scene, model, lines):
            found.append(f"{account.kernel}, scene {number}: {text}")
    for name, value in predicted(total).items():
        if account.counters.get(name) != value:
            found.append(
                f"{account.kernel}: {name} went up by {account.counters.get(name)}, by the golden model {value}"
            )
    for name in QUIET:
        if account.counters.get(name, 0):
            found.append(f"{account.kernel}: {name} changed by {account.counters[name]}: swap had another user")
    if account.most_cached:
        found.append(f"{account.kernel}: {account.most_cached} pages of folios paged out were in the swap cache")
    if account.thrown_away > MOST_THROWN_AWAY:
        found.append(
            f"{account.kernel}: {account.thrown_away} folios were of another order and thrown away, "
            f"more than {MOST_THROWN_AWAY}"
        )
    return found


def missing(total: Expected, folios: int) -> list[str]:
    """Return the requirements that a whole run missed."""
    found = [f"{folios:,} folios, of {FOLIOS:,}"] if folios < FOLIOS else []
    found += [
        f"{total.paths[path]:,} allocations ended at {path}, of {least:,}"
        for path, least in LEAST.items()
        if total.paths[path] < least
    ]
    found += [
        f"{total.whole[order]:,} folios of order {order} went out in one piece, of {LEAST_WHOLE:,}"
        for order in page_outs.ORDERS
        if total.whole[order] < LEAST_WHOLE
    ]
    return found


@dataclass
class Outcome:
    """The result of a run."""

    scenes: list[Scene]
    expected: list[Expected]
    total: Expected = field(default_factory=Expected)
    accounts: list[Account] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def folios(self) -> int:
        """Return the number of folios that were compared on each kernel."""
        return sum(scene.folios for scene in self.scenes)

    def equal(self, account: Account) -> int:
        """Return how many folios went where the golden model has them."""
        return sum(
            model == kernel
            for scene, lines in zip(self.expected, account.lines, strict=True)
            for model, kernel in zip(scene.lines, lines, strict=False)
        )


def work(seed: int, operations: int, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Run everything; return the outcome."""
    scenes = list(page_outs.scenes(seed, operations))
    made = Outcome(scenes, [])
    for number, scene in enumerate(scenes):
        say(f"golden model: scene {number + 1} of {len(scenes)}")
        made.expected.append(page_out_slots.expect(scene))
        made.total.add(made.expected[-1])
    for kernel in KERNELS:
        log = folder / f"{kernel.split(',')[0]}.kernel.log"
        try:
            account = hear(kernel, scenes, log, say)
        except GuestError as error:
            raise RuntimeError(f"{kernel}: {error}") from error
        made.accounts.append(account)
        made.faults += faults_of(account, scenes, made.expected, made.total)
    if operations >= OPERATIONS:
        made.faults += missing(made.total, made.folios)
    return made


def table(made: Outcome, seed: int) -> Table:
    """Return the orders as a table."""
    total = made.total
    rows = (
        (order, f"{total.whole[order]:,}", f"{total.split[order]:,}" if order else "-") for order in page_outs.ORDERS
    )
    return printed.table(
        f"folios paged out, seed {seed}", ("order", "in one piece", "split: no run of slots"), rows, ()
    )


def sentence(made: Outcome) -> str:
    """Return the result in one line."""
    each = "; ".join(f"{account.kernel} {made.equal(account):,}" for account in made.accounts)
    return (
        f"{made.folios:,} folios, {made.total.slots:,} slots; equal to the golden model's: {each}; "
        f"{sum(account.thrown_away for account in made.accounts):,} thrown away for their order, "
        f"{made.total.split.total():,} split for want of a run, {made.total.unplaced:,} pages without a slot"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--operations",
        type=count,
        default=OPERATIONS,
        metavar="M",
        help=f"folios paged out and pieces given back (default: {OPERATIONS}, with {FOLIOS} folios at least)",
    )


def run(options: argparse.Namespace) -> int:
    """Compare the three; return the exit status."""
    seed = options.seed
    progress, console = Console(stderr=True, highlight=False), Console(soft_wrap=True, highlight=False)
    progress.print(f"seed {seed}")
    options.output.mkdir(parents=True, exist_ok=True)
    with progress.status("drawing the script") as status:
        made = work(seed, options.operations, options.output, status.update)
    schema.save(
        "witness",
        [
            schema.Figure("slots compared", "", made.total.slots, "slots"),
            schema.exact("differences", len(made.faults), "slots"),
        ],
        title="An unpatched kernel, the patched one, and the golden model",
        command=f"make witness SEED={seed}",
        platform="Linux 7.3.4 in guests of 1 to 4 CPUs, 1 to 6 RAM disks",
        leaves_out="order 1, discards, swap files, CPUs at the same moment",
        kernel=True,
        seed=seed,
    )
    console.print(table(made, seed))
    for fault in made.faults:
        console.print(f"hwswap: {fault}", markup=False)
    console.print(sentence(made))
    return 1 if made.faults else 0
