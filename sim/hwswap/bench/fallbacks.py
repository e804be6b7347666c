# SPDX-License-Identifier: Apache-2.0
"""The second half of `make bench-offload`: large folios that are split on their way out, by placement, over five seeds.

swapmix keeps swap at a level with folios of 4 to 128 kB that come and go; the kernel counts those that it has to split
as it finds no room (swpout_fallback). One guest CPU whose clock counts instructions.
Swap is two devices of one priority. Grants are given by the engine in software, which runs every PERIOD_US of that
clock, and for the first seed also by the Verilated one, which is clocked by it in steps of ENGINE_PERIOD_US. Every byte
that is swapped in again is verified.
"""

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Table

from hwswap.bench.offload_targets import Rates
from hwswap.guest import mirror
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import paths, printed
from hwswap.results.schema import Figure
from hwswap.rtl.device_server import clocked_by_guest

GUEST = paths.ROOT / "sim/guest"
PLACEMENTS = ("linux", "indexed", "open")
"""The kernel's own; grants by the engine in software."""

RTL_PLACEMENTS = ("engine-indexed", "engine-open")
"""Grants by the Verilated engine, which takes many times as long: with the first seed alone."""

SEEDS = (1, 2, 3, 4, 7)
"""One says little: the kernel splits 16 times as many folios with one of them as with another."""
DEVICES = 2
PERCENT = 92
"""How full they are kept."""

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


def placements(seed: int) -> tuple[str, ...]:
    """Return the placements that are measured with a seed."""
    return PLACEMENTS + (RTL_PLACEMENTS if seed == SEEDS[0] else ())


def job(seed: int) -> str:
    """Return the guest's script; each run churns through half of what is kept in swap."""
    size = SWAP_MB * PERCENT // 100
    disks = " ".join(f"{disk}:5" for disk in range(DEVICES))
    names = " ".join(placements(seed))
    return (
        f"SEED={seed}\nSIZES='{' '.join(map(str, SIZES))}'\nDISKS='{disks}'\nPLACEMENTS='{names}'\n"
        f"PERIOD_US={PERIOD_US}\nENGINE_PERIOD_US={ENGINE_PERIOD_US}\nFILLS='{PERCENT} {size} {size // 2}'\n"
        ". /bench-fallbacks\n"
    )


def entries(seed: int, output: str) -> list[Entry]:
    """Return what the guest has printed, an entry for each run; raises GuestError if that is not right."""
    found: dict[str, Entry] = {}
    for line in output.splitlines():
        words = line.split(" ")
        if not line.startswith("@") or len(words) < 4:
            continue
        kind, placement = words[:2]
        where = f"{placement}, seed {seed}"
        entry = found.setdefault(placement, {"placement": placement, "seed": seed, "whole": {}, "split": {}})
        if kind == "@count":
            sign = 1 if words[3] == "after" else -1
            for name, value in (("whole", words[5]), ("split", words[6])):
                entry[name][words[4]] = entry[name].get(words[4], 0) + sign * int(value)
        elif kind == "@mix":
            entry["mix"] = json.loads(" ".join(words[3:]))
            if entry["mix"]["mismatches"] or not entry["mix"]["verified_bytes"]:
                raise GuestError(f"{where}: swapped data was not what was written: {entry['mix']}")
        elif kind == "@verify" and (wrong := mirror.differences(" ".join(words[3:]))) > 0:
            raise GuestError(f"{where}: {wrong} words of the mirror are not what the kernel's tables say")
    wanted = len(placements(seed))
    if len(found) != wanted or any("mix" not in entry or set(entry["split"]) != set(LARGE) for entry in found.values()):
        raise GuestError(f"{len(found)} of {wanted} runs; the guest's last words:\n{output[-1500:]}")
    return list(found.values())


def progress(line: str) -> None:
    """Says that a run has come to its end, when the guest prints what swapmix found."""
    if line.startswith("@mix "):
        print(f"bench-offload: {line.split(' ')[1]}: done", file=sys.stderr)


def measure_seed(seed: int, output: Path) -> tuple[str, list[Entry]]:
    """Run a guest; return its kernel's release, and an entry for each run."""
    machine = Machine(cpus=1, icount=True, disks=DEVICES, disk_mb=SWAP_MB // DEVICES)
    log = output / f"fallbacks-seed{seed}.kernel.log"
    files = {"bench-fallbacks": (GUEST / "bench-fallbacks.sh").read_bytes()}
    with (
        clocked_by_guest(output / "engine.log") as engine,
        Guest(machine, engine, files=files, job=job(seed), log=log, boot_timeout=600) as guest,
    ):
        return guest.release, entries(seed, guest.wait_job(7200, progress).check())


def measure(output: Path) -> dict[str, Any]:
    """Run a guest for each seed; return the report."""
    report: dict[str, Any] = {"runs": []}
    for step, seed in enumerate(SEEDS, 1):
        print(f"bench-offload: guest {step} of {len(SEEDS)}, seed {seed}", file=sys.stderr)
        report["linux"], found = measure_seed(seed, output)
        report["runs"] += found
    return report


def rates(report: dict[str, Any]) -> Rates:
    """Return the share of large folios that were split, of each run."""
    return {
        (run["placement"], run["seed"]): sum(run["split"].values())
        / max(1, sum(run["split"].values()) + sum(run["whole"].values()))
        for run in report["runs"]
    }


def figures(report: dict[str, Any]) -> list[Figure]:
    """Return the large folios that were split, in the mean of the seeds, by placement."""
    cells: dict[str, list[int]] = {}
    for run in report["runs"]:
        cells.setdefault(run["placement"], []).append(sum(run["split"].values()))
    of = sum(sum(run["whole"].values()) + sum(run["split"].values()) for run in report["runs"]) / len(report["runs"])
    what = f"{DEVICES} devices, {PERCENT} % full"
    return [
        Figure(
            what, placement, sum(split) / len(split), "folios", {"least": min(split), "greatest": max(split), "of": of}
        )
        for placement, split in cells.items()
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
    sizes = ", ".join(map(str, SIZES))
    title = f"Large folios that were split, of those swapped out; two devices {PERCENT} % full, folios of {sizes} kB"
    heads = ("placement", "seed", "all large ones", *(f"{size} kB" for size in LARGE), "verified")
    view = printed.table(title, heads)

    def place(run: Entry) -> int:
        return (*PLACEMENTS, *RTL_PLACEMENTS).index(run["placement"])

    for _, group in groupby(sorted(report["runs"], key=place), key=place):
        runs = list(group)
        for run in runs:
            view.add_row(run["placement"], str(run["seed"]), *_cells([run]))
        if len(runs) > 1:
            view.add_row(runs[0]["placement"], "mean", *_cells(runs))
    return view
