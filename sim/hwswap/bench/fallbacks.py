# SPDX-License-Identifier: Apache-2.0
"""The second half of `make bench-offload`: large folios that are split on their way out, by placement, over five seeds.

swapmix keeps swap at a level with folios of 4 to 128 kB that come and go; the kernel counts those that it has to split
as it finds no room (swpout_fallback). One guest CPU whose clock counts instructions.
Grants are given by the engine in software, which runs every PERIOD_US of that clock, and for the first seed also by the
Verilated one, which is clocked by it in steps of ENGINE_PERIOD_US. Every byte that is swapped in again is verified.

What a placement does to swap in the long run shows in CHURN_MB, some hours of a machine that swaps a megabyte per
second: without a clock that counts instructions, as that is faster, and with a CPU more for the thread that grants.
"""

import itertools
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from hwswap.bench.offload_targets import Rates
from hwswap.guest import bitmaps
from hwswap.guest.qemu import Guest, GuestError, Machine
from hwswap.project import paths
from hwswap.results.schema import Figure
from hwswap.rtl.device_server import EngineServer, clocked_by_guest

GUEST = paths.ROOT / "sim/guest"
PLACEMENTS = ("linux", "devices", "wide-8", "wide", "indexed", "open")
"""The kernel's own; its search in LARGE_SEARCH more clusters of the folio's order; in 8 more, and in as many, of any
order; grants by software, which keep the order of a cluster exclusive, and which do not.
"""

RTL_PLACEMENTS = ("engine-indexed", "engine-open")
"""Grants by the Verilated engine, which takes many times as long: of one case, with the first seed alone."""

LARGE_SEARCH = 32
"""Clusters more that a large folio looks into, where the search is wide."""

SEEDS = (1, 2, 3, 4, 7)
"""One seed says little: the kernel splits 16 times as many folios with one seed as with another."""

CASES: Mapping[int, Sequence[int]] = {2: (92, 96, 85, 98), 1: (92,), 4: (92,)}
"""Devices of one priority -> per cent of swap that is kept in use."""

SHORT_CASES: Mapping[int, Sequence[int]] = {2: (92, 96)}
RTL_CASE = (2, 92)

CHURN_MB = 10_240
CHURN_CASE = (2, 92)
CHURN_PLACEMENTS = ("linux", "wide", "indexed")

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
Run = tuple[int, str]
"""Per cent of swap in use, placement."""


def runs(seed: int, devices: int, percents: Sequence[int]) -> list[Run]:
    """Return the runs of a guest."""
    by_engine = [percent for percent in percents if seed == SEEDS[0] and (devices, percent) == RTL_CASE]
    return [*itertools.product(percents, PLACEMENTS), *itertools.product(by_engine, RTL_PLACEMENTS)]


def job(seed: int, devices: int, wanted: Sequence[Run], churn: int = 0) -> str:
    """Return the guest's script; each run churns through so many MB, or 0: half of the data kept in swap."""
    disks = " ".join(f"{disk}:5" for disk in range(devices))
    lines = []
    for percent, placement in wanted:
        size = SWAP_MB * percent // 100
        lines.append(f"{placement} {percent} {size} {churn or size // 2}")
    listed = "\n".join(lines)
    return (
        f"SEED={seed}\nSIZES='{' '.join(map(str, SIZES))}'\nDISKS='{disks}'\nLARGE_SEARCH={LARGE_SEARCH}\n"
        f"PERIOD_US={PERIOD_US}\nENGINE_PERIOD_US={ENGINE_PERIOD_US}\nRUNS='{listed}'\n. /bench-fallbacks\n"
    )


def entries(seed: int, devices: int, wanted: Sequence[Run], output: str) -> list[Entry]:
    """Return an entry for each run in the guest's output; raise GuestError if that is not right."""
    found: dict[tuple[str, str], Entry] = {}
    for line in output.splitlines():
        words = line.split(" ")
        if not line.startswith("@") or len(words) < 4:
            continue
        kind, placement, percent = words[:3]
        where = f"{placement}, {percent} % full, seed {seed}"
        facts = {"placement": placement, "devices": devices, "percent": int(percent), "seed": seed}
        counts = {"whole": Counter(), "split": Counter(), "ticks": 0}
        entry = found.setdefault((placement, percent), facts | counts)
        sign = 1 if words[3] == "after" else -1
        if kind == "@count":
            for name, value in (("whole", words[5]), ("split", words[6])):
                entry[name][words[4]] += sign * int(value)
        elif kind == "@ticks":
            entry["ticks"] += sign * int(words[4])
        elif kind == "@mix":
            entry["mix"] = json.loads(" ".join(words[3:]))
            if entry["mix"]["mismatches"] or not entry["mix"]["verified_bytes"]:
                raise GuestError(f"{where}: swapped data was not what was written: {entry['mix']}")
        elif kind == "@verify" and (wrong := bitmaps.differences(" ".join(words[3:]))) > 0:
            raise GuestError(f"{where}: {wrong} bitmap or cluster words differ from the kernel's tables")
    whole = [entry for entry in found.values() if "mix" in entry and set(entry["split"]) == set(LARGE)]
    if len(whole) != len(wanted):
        raise GuestError(f"{len(whole)} of {len(wanted)} runs; the guest's last words:\n{output[-1500:]}")
    return list(found.values())


def boot(
    seed: int, devices: int, wanted: Sequence[Run], log: Path, server: EngineServer | None = None, churn: int = 0
) -> tuple[str, list[Entry]]:
    """Run a guest; return its kernel's release, and an entry for each run.

    Args:
        seed: of the churn.
        devices: their number; all have one priority.
        wanted: the runs.
        log: file for the kernel's log.
        server: the Verilated engine, for placements that need it.
        churn: MB that each run frees and writes anew; 0: few.
    """

    def progress(line: str) -> None:
        """Say that a run has come to its end, when the guest prints swapmix's result."""
        if line.startswith("@mix "):
            print("fall-backs: {}, {} % full: done".format(*line.split(" ")[1:3]), file=sys.stderr)

    machine = Machine(cpus=2 if churn else 1, icount=not churn, disks=devices, disk_mb=SWAP_MB // devices)
    files = {"bench-fallbacks": (GUEST / "bench-fallbacks.sh").read_bytes()}
    script = job(seed, devices, wanted, churn)
    with Guest(machine, server, files=files, job=script, log=log, boot_timeout=600) as guest:
        return guest.release, entries(seed, devices, wanted, guest.wait_job(7200, progress).check())


def measure(output: Path, short: bool) -> dict[str, Any]:
    """Run a guest for each number of devices and seed; return the report."""
    report: dict[str, Any] = {"runs": [], "churn": [], "short": short}
    guests = [
        (devices, percents, seed) for devices, percents in (SHORT_CASES if short else CASES).items() for seed in SEEDS
    ]
    for step, (devices, percents, seed) in enumerate(guests, 1):
        print(f"bench-offload: step {step} of {len(guests)}: {devices} devices, seed {seed}", file=sys.stderr)
        log = output / f"fallbacks-{devices}-seed{seed}.kernel.log"
        with clocked_by_guest(output / "engine.log") as server:
            report["linux"], found = boot(seed, devices, runs(seed, devices, percents), log, server)
        report["runs"] += found
    if not short:
        print(f"bench-offload: {CHURN_MB:,} MB of churn", file=sys.stderr)
        devices, percent = CHURN_CASE
        wanted = [(percent, placement) for placement in CHURN_PLACEMENTS]
        log = output / "fallbacks-churn.kernel.log"
        _, report["churn"] = boot(SEEDS[0], devices, wanted, log, churn=CHURN_MB)
    return report


def split(run: Entry) -> int:
    """Return how many large folios a run has split."""
    return sum(run["split"].values())


def tried(run: Entry) -> int:
    """Return how many large folios a run has swapped out, whole or split."""
    return split(run) + sum(run["whole"].values())


def grouped(report: dict[str, Any]) -> dict[tuple[int, int, str], list[Entry]]:
    """Return the runs by devices, level and placement: one of each seed."""
    order = (*PLACEMENTS, *RTL_PLACEMENTS)

    def key(run: Entry) -> tuple[int, int, int]:
        return run["devices"], run["percent"], order.index(run["placement"])

    return {
        (devices, percent, order[place]): list(group)
        for (devices, percent, place), group in itertools.groupby(sorted(report["runs"], key=key), key=key)
    }


def rates(report: dict[str, Any]) -> Rates:
    """Return the share of large folios that are split and the system time in ticks, in the mean of the seeds."""
    return {
        case: (sum(map(split, found)) / max(1, sum(map(tried, found))), mean(run["ticks"] for run in found))
        for case, found in grouped(report).items()
    }


def figures(report: dict[str, Any]) -> list[Figure]:
    """Return the large folios that were split, in the mean of the seeds, by placement, and the system's time."""
    found = []
    for (devices, percent, placement), seeds in grouped(report).items():
        what = f"{devices} device{'s' * (devices > 1)}, {percent} % full"
        spread = {f"seed {run['seed']}": split(run) for run in seeds}
        found.append(
            Figure(what, placement, mean(map(split, seeds)), "folios", {"of": mean(map(tried, seeds)), **spread})
        )
        found.append(Figure(f"{what}, system time", placement, mean(run["ticks"] for run in seeds), "ticks"))
    for run in report["churn"]:
        what = f"{run['devices']} devices, {run['percent']} % full, {CHURN_MB:,} MB of churn on two CPUs"
        found.append(Figure(what, run["placement"], split(run), "folios", {"of": tried(run)}))
    return found
