# SPDX-License-Identifier: Apache-2.0
"""Show the driver's state and counters, live, on this machine or in a guest: `hwswap top`.

The counters are allocations placed by grants, and grants in the rings, taken, and refused by reason: since the driver
was attached, and per second. On this machine that takes root. --workload boots a guest with the engine, in mode hint,
and ends with the workload; without it, Ctrl-C ends.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from hwswap.guest.qemu import Guest
from hwswap.kernel import record
from hwswap.project import arguments, paths, printed
from hwswap.rtl.device_server import EngineServer

FOLDER = Path("/sys/kernel/debug/hwswap")
FILES = ("state", "stats", "engine")
SECONDS = 1.0
"""Between two looks."""
REFUSED = "grants_refused_"
LOOKED_AT = ("grants_popped", "grants_taken_back")
"""Counters of entries that CPUs have read from the rings, beside those of REFUSED."""


@dataclass(frozen=True)
class Look:
    """The driver's state, in words, and its counters, at a time in seconds."""

    at: float
    state: str
    counters: dict[str, int]

    @classmethod
    def parse(cls, texts: dict[str, str], at: float) -> "Look":
        """Read the text of each of FILES; of the engine's lines those with a decimal number are counters."""
        lines = [line.split() for name in ("stats", "engine") for line in texts[name].splitlines()]
        pairs = {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdecimal()}
        return cls(at, texts["state"].strip(), pairs)

    def rows(self) -> dict[str, int]:
        """Return what is shown, by its name: reasons for which no grant was refused are left out."""
        counters = self.counters
        refused = {name.removeprefix(REFUSED): n for name, n in counters.items() if name.startswith(REFUSED)}
        read = sum(counters[name] for name in LOOKED_AT) + sum(refused.values())
        rows = {"allocations placed by grants": counters["grant_units"]}
        if "grants" in counters:
            rows["grants in the rings"] = counters["grants"] - read
        rows["grants taken"] = counters["grants_popped"]
        rows["grants refused"] = sum(refused.values())
        rows |= {f"  refused: {reason}": n for reason, n in refused.items() if n}
        rows["places that were taken meanwhile"] = counters["grants_stale"] + counters["grants_stray"]
        rows["large folios that fail at once"] = counters["grants_no_run"]
        if "beats" in counters:
            rows["DMA transfers of 8 bytes"] = counters["beats"]
        return rows


def table(look: Look, before: Look) -> Table:
    """Return a look as a table, with what changed per second since the look before it."""
    made = printed.table(look.state, ("", "since attached", "per second"))
    past, seconds = before.rows(), look.at - before.at
    for name, value in look.rows().items():
        rate = f"{(value - past.get(name, 0)) / seconds:,.0f}" if seconds else ""
        made.add_row(name, f"{value:,}", "" if name == "grants in the rings" else rate)
    return made


def here() -> Look:
    """Look at the driver of this machine."""
    try:
        return Look.parse({name: (FOLDER / name).read_text() for name in FILES}, time.monotonic())
    except PermissionError:
        raise RuntimeError(f"{FOLDER} cannot be read: run it as root") from None
    except FileNotFoundError:
        raise RuntimeError(f"{FOLDER} is not there: load hwswap.ko, or give --workload for a guest") from None


@contextmanager
def in_guest(workload: str, seed: int) -> Iterator[Callable[[], Look | None]]:
    """Boot a guest that does a workload; yield a function that looks at its driver, and returns None after the end."""
    script = (record.WORKLOADS / f"{workload}.sh").read_text()
    machine = replace(record.machine(workload, script, None), icount=False)
    with (
        tempfile.TemporaryDirectory(prefix="hwswap-") as folder,
        Guest(
            machine, EngineServer(Path(folder)), files=record.files(script), log=paths.BUILD / "top/kernel.log"
        ) as guest,
    ):
        attached = f"until grep -q ^attached {FOLDER}/state; do sleep 0.1; done"
        guest.run(f"insmod /lib/modules/hwswap.ko mode=hint && {attached}").check()
        guest.run(f"(SEED={seed}; (. /workload); echo $? >/tmp/ended) </dev/null >/tmp/output 2>&1 &").check()

        def look() -> Look | None:
            said = guest.run(f"cd {FOLDER} && for f in {' '.join(FILES)}; do cat $f; echo @; done; cat /tmp/ended")
            *texts, ended = said.output.split("@\n")
            if ended.strip().isdecimal():
                if int(ended):
                    raise RuntimeError(f"{workload} failed in the guest: {guest.run('tail /tmp/output').output}")
                return None
            return Look.parse(dict(zip(FILES, texts, strict=True)), time.monotonic())

        yield look


def follow(look: Callable[[], Look | None], console: Console) -> None:
    """Show look after look, until there is none."""
    before = look()
    with Live(console=console, auto_refresh=False) as live:
        while before and (now := look()):
            live.update(table(now, before), refresh=True)
            before = now
            time.sleep(SECONDS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    known = arguments.name("workload", record.workloads())
    parser.add_argument("--workload", type=known, metavar="NAME", help="boot a guest that swaps by it")


def run(options: argparse.Namespace) -> int:
    """Show the driver's state and counters; return the exit status."""
    console = Console()
    if options.workload is None:
        follow(here, console)
        return 0
    with in_guest(options.workload, options.seed) as look:
        follow(look, console)
    return 0
