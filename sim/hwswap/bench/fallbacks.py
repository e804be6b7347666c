# SPDX-License-Identifier: Apache-2.0
"""The second half of `make bench-offload`: large folios that are split on their way out, by placement, over five seeds.

swapmix keeps swap at a level with folios of 4 to 128 kB that come and go; the kernel counts those that it has to split
as it finds no room (swpout_fallback). One guest CPU whose clock counts instructions.
Grants are given by the engine in software, which runs every PERIOD_US of that clock, and for the first seed also by the
Verilated one, which is clocked by it in steps of ENGINE_PERIOD_US. Every byte that is swapped in again is verified.
"""

import json
import sys
from collections.abc import Sequence
from itertools import groupby, product
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
SWAP_MB = 256
"""Of all devices together."""

SIZES = (4, 16, 32, 64, 128)
"""Of folios that come and go, kB."""

LARGE = [str(size) for size in SIZES[1:]]
"""Sizes of which the kernel counts how many folios it had to split."""

PERIOD_US = 50
"""Of the guest's clock: less than a folio takes on its way out."""
ENGINE_PERIOD_US = 200
"""As for the calls: each step costs the host the simulation of some rounds of polling, however short it is."""
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


def fills(short: bool) -> Sequence[int]:
    """Return how full the devices are kept, percent."""
    return SHORT_FILLS if short else FILLS


def job(setup: Setup, seed: int, short: bool) -> str:
    """Return the guest's script; each run churns through what is kept in swap once, in the short form half of it."""
    levels = []
    for percent in fills(short):
        size = SWAP_MB * percent // 100
        levels.append(f"{percent} {size} {size // 2 if short else size}")
    disks = " ".join(f"{disk}:{priority}" for disk, priority in enumerate(setup))
    names = " ".join(placements(setup, seed == SEEDS[0]))
    return (
        f"SEED={seed}\nSIZES='{' '.join(map(str, SIZES))}'\nDISKS='{disks}'\nPLACEMENTS='{names}'\n"
        f"PERIOD_US={PERIOD_US}\n"
        f"ENGINE_PERIOD_US={ENGINE_PERIOD_US}\nFILLS='" + "\n".join(levels) + "'\n. /bench-fallbacks\n"
    )


def entries(setup: Setup, seed: int, output: str, short: bool) -> list[Entry]:
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
    wanted = len(placements(setup, seed == SEEDS[0])) * len(fills(short))
    if len(found) != wanted or any("mix" not in entry or set(entry["split"]) != set(LARGE) for entry in found.values()):
        raise GuestError(f"{len(found)} of {wanted} runs; the guest's last words:\n{output[-1500:]}")
    return list(found.values())


def progress(line: str) -> None:
    """Says that a run has come to its end, when the guest prints what swapmix found."""
    if line.startswith("@mix "):
        _, placement, percent, _ = line.split(" ", 3)
        print(f"bench-offload: {placement}, {percent} % full: done", file=sys.stderr)


def measure_setup(setup: Setup, seed: int, short: bool, output: Path) -> tuple[str, list[Entry]]:
    """Runs a guest with these devices; returns its kernel's release, and an entry for each run."""
    machine = Machine(cpus=1, icount=True, disks=len(setup), disk_mb=SWAP_MB // len(setup))
    log = output / f"fallbacks-{'-'.join(map(str, setup))}-seed{seed}.kernel.log"
    files = {"bench-fallbacks": (GUEST / "bench-fallbacks.sh").read_bytes()}
    script = job(setup, seed, short)
    with (
        clocked_by_guest(output / "engine.log") as engine,
        Guest(machine, engine, files=files, job=script, log=log, kernel=artifacts.KERNEL, boot_timeout=600) as guest,
    ):
        return guest.release, entries(setup, seed, guest.wait_job(7200, progress).check(), short)


def measure(short: bool, output: Path) -> dict[str, Any]:
    """Run a guest for each setup of devices and each seed; return the report."""
    report: dict[str, Any] = {
        "seeds": list(SEEDS),
        "short": short,
        "commits": {"hwswap": provenance.commit(), "patches": provenance.patches()},
        "qemu": provenance.qemu(),
        "runs": [],
    }
    guests = list(product(SHORT_SETUPS if short else SETUPS, SEEDS))
    for step, (setup, seed) in enumerate(guests, 1):
        where = f"guest {step} of {len(guests)}: priorities {', '.join(map(str, setup))}, seed {seed}"
        print(f"bench-offload: {where}", file=sys.stderr)
        report["linux"], found = measure_setup(setup, seed, short, output)
        report["runs"] += found
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


def _cells(runs: Sequence[Entry]) -> list[str]:
    """Return a row's cells: folios split, of all, in the mean of the runs, and bytes verified in all of them."""

    def of(chosen: Sequence[str]) -> str:
        split = sum(run["split"][size] for run in runs for size in chosen) / len(runs)
        whole = sum(run["whole"][size] for run in runs for size in chosen) / len(runs)
        share = f" ({100 * split / max(1, split + whole):.2f} %)" if chosen is LARGE else ""
        return f"{split:,.0f} of {split + whole:,.0f}{share}"

    return [
        of(LARGE),
        *(of([size]) for size in LARGE),
        f"{sum(run['mix']['verified_bytes'] for run in runs) >> 20:,} MB",
    ]


def table(report: dict[str, Any]) -> Table:
    """Return a table with a row for each run, and one for the mean of each placement's seeds."""
    title = f"Large folios that were split, of those that were swapped out; folios of {', '.join(map(str, SIZES))} kB"
    heads = ("devices", "full", "placement", "seed", "all large ones", *(f"{size} kB" for size in LARGE), "verified")
    view = printed.table(title, heads, left=(2,))

    def place(run: Entry) -> tuple[str, int, int]:
        return devices_of(run), run["percent"], (*PLACEMENTS, *RTL_PLACEMENTS).index(run["placement"])

    for _, group in groupby(sorted(report["runs"], key=place), key=place):
        runs = list(group)
        head = [devices_of(runs[0]), f"{runs[0]['percent']} %", runs[0]["placement"]]
        for run in runs:
            view.add_row(*head, str(run["seed"]), *_cells([run]))
        if len(runs) > 1:
            view.add_row(*head, "mean", *_cells(runs))
    return view
