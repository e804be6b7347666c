# SPDX-License-Identifier: Apache-2.0
"""The second half of `make bench-offload`: large folios that are split on their way out, by placement, over five seeds.

swapmix keeps swap at a level with folios that come and go, of 4 to 128 kB unless other sizes are named; the kernel
counts those that it has to split as it finds no room (swpout_fallback). One guest CPU whose clock counts instructions.
Grants are given by the engine in software, which runs every PERIOD_US of that clock, and for the first seed also by the
Verilated one, which is clocked by it in steps of ENGINE_PERIOD_US. Every byte that is swapped in again is verified.
"""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any

from rich.table import Table

from hwswap.bench.offload_targets import Rates
from hwswap.guest import mirror
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import artifacts, paths, printed, provenance
from hwswap.results.schema import Figure
from hwswap.rtl.device_server import clocked_by_guest

GUEST = paths.ROOT / "sim/guest"
PLACEMENTS = ("linux", "indexed", "open")
"""The kernel's own; grants by the engine in software."""

RTL_PLACEMENTS = ("engine-indexed", "engine-open")
"""Grants by the Verilated engine, which takes many times as long: with the first seed alone, on SHORT_SETUPS."""

SEEDS = (1, 2, 3, 4, 7)
"""One says little: the kernel splits 16 times as many folios with one of them as with another."""
FILLS: Sequence[int] = (85, 92, 96)
SHORT_FILLS: Sequence[int] = (92,)
Setup = tuple[int, ...]
"""The priorities of the swap devices, a device each; all are of one size."""

SETUPS: Sequence[Setup] = ((5,), (5, 5), (5, 5, 5, 5), (7, 5), (7, 7, 5, 5))
SHORT_SETUPS: Sequence[Setup] = ((5, 5),)
MOST_DEVICES = 8
"""Swap devices of a setup, as many as the Verilated engine has."""
SWAP_MB = 256
"""Of all devices together."""

Sizes = tuple[int, ...]
"""Of folios that come and go, kB, rising."""
SIZES: Sizes = (4, 16, 32, 64, 128)
"""What targets are for."""
PAGE_KB = 4
HUGE_KB = 2048
PERIOD_US = 50
"""Of the guest's clock: less than a folio takes on its way out."""
ENGINE_PERIOD_US = 200
"""As for the calls: each step costs the host the simulation of some rounds of polling, however short it is."""
CHURN = 1
"""Times what is kept in swap that is freed and written anew."""

Entry = dict[str, Any]


def devices_of(run: Entry) -> str:
    """Returns what a run's table calls its devices: how many, and their priorities if they differ."""
    priorities = run["priorities"]
    return (
        str(len(priorities)) if len(set(priorities)) == 1 else f"{len(priorities)} ({' '.join(map(str, priorities))})"
    )


def placements(setup: Setup, first: bool) -> tuple[str, ...]:
    """Return the placements that are measured on a setup of devices, with the first seed or a later one."""
    return PLACEMENTS + (RTL_PLACEMENTS if first and setup in SHORT_SETUPS else ())


@dataclass(frozen=True)
class Form:
    """What is measured.

    Attributes:
        setups: of swap devices, a guest each.
        fills: how full they are kept, percent.
        short: each run churns through half of what is kept in swap, not all of it.
        sizes: of folios.
        seeds: of the load, a guest each.
    """

    setups: Sequence[Setup]
    fills: Sequence[int]
    short: bool
    sizes: Sizes = SIZES
    seeds: Sequence[int] = SEEDS

    @classmethod
    def of(
        cls,
        short: bool,
        setups: Sequence[Setup] = (),
        fills: Sequence[int] = (),
        sizes: Sizes = SIZES,
        seeds: Sequence[int] = SEEDS,
    ) -> "Form":
        """Return the short or the long form, or of it what is named."""
        return cls(
            setups or (SHORT_SETUPS if short else SETUPS),
            fills or (SHORT_FILLS if short else FILLS),
            short,
            sizes,
            seeds,
        )

    @property
    def large(self) -> Sizes:
        """Sizes of which the kernel counts how many folios it had to split."""
        return tuple(size for size in self.sizes if size > PAGE_KB)


def setup_of(text: str) -> Setup:
    """Reads the priorities of swap devices, as of `7,5`; raises ArgumentTypeError."""
    try:
        found = tuple(int(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= MOST_DEVICES or not all(0 <= priority <= 32767 for priority in found):
        raise ArgumentTypeError(
            f"'{text}' is no list of devices: give 1 to {MOST_DEVICES} priorities from 0 to 32767, as 7,5"
        )
    return found


def fill_of(text: str) -> int:
    """Reads how full the devices are to be kept, percent; raises ArgumentTypeError."""
    if not text.isdecimal() or not 50 <= int(text) <= 98:
        raise ArgumentTypeError(f"'{text}' is no level to keep swap at: give 50 to 98 percent")
    return int(text)


def sizes_of(text: str) -> Sizes:
    """Reads sizes of folios, as of `64,2048`; raises ArgumentTypeError."""
    found = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    rising = all(a < b for a, b in pairwise(found))
    if not rising or not all(PAGE_KB <= size <= HUGE_KB and size.bit_count() == 1 for size in found) or 8 in found:
        raise ArgumentTypeError(
            f"'{text}' is no list of sizes: give powers of two from 4 to 2048 but 8, kB, rising, as 64,2048"
        )
    if found == (PAGE_KB,):
        raise ArgumentTypeError(f"'{text}' is no large folio, and no other one is split: name a larger size, too")
    return found


def job(setup: Setup, seed: int, form: Form) -> str:
    """Returns the guest's script."""
    fills = []
    for percent in form.fills:
        size = SWAP_MB * percent // 100
        fills.append(f"{percent} {size} {size // 2 if form.short else CHURN * size}")
    disks = " ".join(f"{disk}:{priority}" for disk, priority in enumerate(setup))
    names = " ".join(placements(setup, seed == form.seeds[0]))
    return (
        f"SEED={seed}\nSIZES='{' '.join(map(str, form.sizes))}'\nDISKS='{disks}'\nPLACEMENTS='{names}'\n"
        f"PERIOD_US={PERIOD_US}\n"
        f"ENGINE_PERIOD_US={ENGINE_PERIOD_US}\nFILLS='" + "\n".join(fills) + "'\n. /bench-fallbacks\n"
    )


def entries(setup: Setup, seed: int, output: str, form: Form) -> list[Entry]:
    """Return what the guest has printed, an entry for each run; raises GuestError if that is not right."""
    found: dict[tuple[str, int], Entry] = {}
    for line in output.splitlines():
        words = line.split(" ")
        if not line.startswith("@") or len(words) < 4:
            continue
        kind, placement, percent = words[0], words[1], int(words[2])
        first: Entry = {"priorities": list(setup), "placement": placement, "percent": percent, "seed": seed}
        where = f"{placement}, {percent} % full, seed {seed}, devices: {devices_of(first)}"
        entry = found.setdefault((placement, percent), first | {"whole": {}, "split": {}, "stats": {}})
        if kind == "@count":
            sign = 1 if words[3] == "after" else -1
            for name, value in (("whole", words[5]), ("split", words[6])):
                entry[name][words[4]] = entry[name].get(words[4], 0) + sign * int(value)
        elif kind == "@mix":
            entry["mix"] = json.loads(" ".join(words[3:]))
            if entry["mix"]["mismatches"] or not entry["mix"]["verified_bytes"]:
                raise GuestError(f"{where}: swapped data was not what was written: {entry['mix']}")
        elif kind == "@stats":
            entry["stats"][words[3]] = int(words[4])
        elif kind == "@verify" and (wrong := mirror.differences(" ".join(words[3:]))) > 0:
            raise GuestError(f"{where}: {wrong} words of the mirror are not what the kernel's tables say")
    wanted = len(placements(setup, seed == form.seeds[0])) * len(form.fills)
    counted = {str(size) for size in form.large}
    if len(found) != wanted or any("mix" not in entry or set(entry["split"]) != counted for entry in found.values()):
        raise GuestError(f"{len(found)} of {wanted} runs; the guest's last words:\n{output[-1500:]}")
    return list(found.values())


def progress(line: str) -> None:
    """Says that a run has come to its end, when the guest prints what swapmix found."""
    if line.startswith("@mix "):
        _, placement, percent, _ = line.split(" ", 3)
        print(f"bench-offload: {placement}, {percent} % full: done", file=sys.stderr)


def measure_setup(setup: Setup, seed: int, form: Form, output: Path) -> tuple[str, list[Entry]]:
    """Runs a guest with these devices; returns its kernel's release, and an entry for each run."""
    machine = Machine(cpus=1, icount=True, disks=len(setup), disk_mb=SWAP_MB // len(setup))
    log = output / f"fallbacks-{'-'.join(map(str, setup))}-seed{seed}.kernel.log"
    files = {"bench-fallbacks": (GUEST / "bench-fallbacks.sh").read_bytes()}
    script = job(setup, seed, form)
    with (
        clocked_by_guest(output / "engine.log") as engine,
        Guest(machine, engine, files=files, job=script, log=log, kernel=artifacts.KERNEL, boot_timeout=600) as guest,
    ):
        return guest.release, entries(setup, seed, guest.wait_job(7200, progress).check(), form)


def measure(form: Form, output: Path) -> dict[str, Any]:
    """Run a guest for each setup of devices and each seed; return the report.

    What an interrupted run of the same commit has measured is in `output/fallbacks.part.json`, and not measured again.
    """
    report: dict[str, Any] = {
        "seeds": list(form.seeds),
        "short": form.short,
        "fills": list(form.fills),
        "sizes": list(form.sizes),
        "commits": {"hwswap": provenance.commit(), "patches": provenance.patches()},
        "qemu": provenance.qemu(),
        "runs": [],
    }
    kept = output / "fallbacks.part.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    clean = not report["commits"]["hwswap"].endswith("-dirty")
    if clean and all(
        before.get(name) == report[name] for name in ("seeds", "short", "fills", "sizes", "commits", "qemu")
    ):
        report = before
    done = {(tuple(run["priorities"]), run["seed"]) for run in report["runs"]}
    guests = list(product(form.setups, form.seeds))
    for step, (setup, seed) in enumerate(guests, 1):
        where = f"bench-offload: guest {step} of {len(guests)}: priorities {', '.join(map(str, setup))}, seed {seed}"
        print(where + (": kept from an interrupted run" if (setup, seed) in done else ""), file=sys.stderr)
        if (setup, seed) not in done:
            report["linux"], found = measure_setup(setup, seed, form, output)
            report["runs"] += found
            part = kept.with_suffix(".new")
            part.write_text(json.dumps(report) + "\n")
            part.replace(kept)
    kept.unlink(missing_ok=True)
    return report


def rates(report: dict[str, Any]) -> Rates:
    """Return the share of large folios that were split, of each run."""
    return {
        (devices_of(run), run["percent"], run["placement"], run["seed"]): sum(run["split"].values())
        / max(1, sum(run["split"].values()) + sum(run["whole"].values()))
        for run in report["runs"]
    }


def figures(report: dict[str, Any]) -> list[Figure]:
    """Return the large folios that were split, in the mean of the seeds, by devices, fill and placement."""
    cells: dict[tuple[str, str], list[int]] = {}
    for run in report["runs"]:
        cells.setdefault((f"{devices_of(run)} devices, {run['percent']} % full", run["placement"]), []).append(
            sum(run["split"].values())
        )
    of = sum(sum(run["whole"].values()) + sum(run["split"].values()) for run in report["runs"]) / len(report["runs"])
    return [
        Figure(
            what, placement, sum(split) / len(split), "folios", {"least": min(split), "greatest": max(split), "of": of}
        )
        for (what, placement), split in cells.items()
    ]


def _cells(runs: Sequence[Entry], sizes: Sequence[str]) -> list[str]:
    """Return a row's cells: folios split, of all, in the mean of the runs, and bytes verified in all of them."""

    def of(chosen: Sequence[str]) -> str:
        split = sum(run["split"][size] for run in runs for size in chosen) / len(runs)
        whole = sum(run["whole"][size] for run in runs for size in chosen) / len(runs)
        share = f" ({100 * split / max(1, split + whole):.2f} %)" if len(chosen) == len(sizes) else ""
        return f"{split:,.0f} of {split + whole:,.0f}{share}"

    return [
        of(sizes),
        *(of([size]) for size in sizes),
        f"{sum(run['mix']['verified_bytes'] for run in runs) >> 20:,} MB",
    ]


def table(report: dict[str, Any]) -> Table:
    """Return a table with a row for each run, and one for the mean of each placement's seeds."""
    sizes = [str(size) for size in report["sizes"] if size > PAGE_KB]
    mix = ", ".join(map(str, report["sizes"]))
    title = f"Large folios that were split, of those that were swapped out; folios of {mix} kB"
    of_sizes = (f"{size} kB" for size in sizes)
    heads = ("devices", "full", "placement", "seed", "all large ones", *of_sizes, "verified")
    view = printed.table(title, heads, left=(2,))

    def place(run: Entry) -> tuple[str, int, int]:
        return devices_of(run), run["percent"], (*PLACEMENTS, *RTL_PLACEMENTS).index(run["placement"])

    for _, group in groupby(sorted(report["runs"], key=place), key=place):
        runs = list(group)
        head = [devices_of(runs[0]), f"{runs[0]['percent']} %", runs[0]["placement"]]
        for run in runs:
            view.add_row(*head, str(run["seed"]), *_cells([run], sizes))
        if len(runs) > 1:
            view.add_row(*head, "mean", *_cells(runs, sizes))
    return view
