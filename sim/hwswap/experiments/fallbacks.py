# SPDX-License-Identifier: Apache-2.0
"""Large folios that are split on their way out for want of room: on Linux 6.12, on 7.3, and by the engine's placements.

A mix of all sizes that changes (swapmix; folio_mix.py is the same on models) keeps one device at a level. The folios
that go out, and the order in which they are freed, are the same for all: the golden model's allocator with the
placements of the kernels before and after the cluster scan series, and with the engine's: indexed, and grants with
open clusters.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from hwswap.experiments import kernels, published
from hwswap.experiments.comparison import Result, Row
from hwswap.experiments.folio_mix import Folios, Mix, swap_out
from hwswap.experiments.kernels import LINUX_6_12, LINUX_7_3, Kernel
from hwswap.experiments.offsets import device
from hwswap.guest.qemu import GuestError, Machine
from hwswap.model import grant_entries
from hwswap.model.granted import GrantedAllocator
from hwswap.model.grants import Grants
from hwswap.model.policy import Placement, Policy, Scan
from hwswap.model.rows import SLOTS
from hwswap.project import printed

SWAP_MB, SHORT_SWAP_MB = 256, 64
PAGES_A_MB = 256
SCRIPT = "folio-mix.sh"
ENGINE_EVERY = 4
"""Folios between two times that the engine has its say."""

ALL_SIZES = (1, 4, 8, 16, 32, 64, 128, 256, 512)
"""Pages of a folio; the kernel has no anonymous folios of two."""

ALONE = (1, 16)
BEFORE, AFTER = "before", "after"
"""The cluster scan series."""


@dataclass(frozen=True)
class Load:
    """A mix of folios at a level."""

    sizes: tuple[int, ...]
    percent: int
    """Of swap that is kept in use."""

    published: tuple[int, ...]
    """kB, the sizes of which figures were published under such a mix."""

    @property
    def said(self) -> str:
        """Say it in words."""
        mix = "all sizes" if self.sizes == ALL_SIZES else "4 and 64 kB"
        return f"{mix}, {self.percent} % full"

    def mix(self, swap_mb: int, seed: int) -> Mix:
        """Return the mix for the program: all is freed and written anew once."""
        fill = swap_mb * self.percent // 100
        return Mix(fill, fill, seed, self.sizes)


LOADS = (
    Load(ALONE, 90, (64,)),
    Load(ALL_SIZES, 80, (512, 2048)),
    Load(ALL_SIZES, 90, (512, 2048)),
)


@dataclass(frozen=True)
class Run:
    """The result of a load."""

    system: str
    era: str
    load: Load
    folios: Folios

    def tried(self, kb: int) -> int:
        """Return how many folios of a size went out."""
        return self.folios.whole[kb] + self.folios.split[kb]

    def share(self, kb: int) -> float:
        """Return which part of them was split."""
        return self.folios.split[kb] / max(1, self.tried(kb))


def published_share(kb: int, era: str) -> float:
    """Return which part of the published folios was split."""
    split, whole = published.FOLIOS_SPLIT[kb][era == AFTER]
    return split / (split + whole)


# Guests

ERAS = {LINUX_6_12: BEFORE, LINUX_7_3: AFTER}


def variables(load: Load, swap_mb: int, seed: int) -> dict[str, str]:
    """Return the variables of the guest's script."""
    return {"MIX": load.mix(swap_mb, seed).command(), "SIZES": " ".join(str(4 * pages) for pages in load.sizes[1:])}


def counted(load: Load, said: Sequence[Sequence[str]]) -> Folios:
    """Read the output of the guest's script for a load; raise GuestError if it is not right."""
    found = Folios()
    for words in said:
        if words[0] in ("before", "after"):
            sign = 1 if words[0] == "after" else -1
            found.whole[int(words[1])] += sign * int(words[2])
            found.split[int(words[1])] += sign * int(words[3])
    mix = next((json.loads(words[1]) for words in said if words[0] == "mix"), None)
    if mix is None or mix["mismatches"] or not mix["verified_bytes"]:
        raise GuestError(f"{load.said}: swapped data was not what was written: {mix}")
    for pages in load.sizes[1:]:
        kb = 4 * pages
        if found.whole[kb] + found.split[kb] != mix[f"paged_out_{kb}"]:
            raise GuestError(
                f"{load.said}: of {mix[f'paged_out_{kb}']} folios of {kb} kB {found.whole[kb]} went out whole and "
                f"{found.split[kb]} were split"
            )
    return found


def measured(kernel: Kernel, swap_mb: int, seed: int) -> Iterator[Run]:
    """Run the loads on a kernel, each in a guest of its own."""
    machine = Machine(cpus=1, icount=True, memory_mb=768 + 2 * swap_mb, disks=1, disk_mb=swap_mb)
    for load in LOADS:
        said = kernels.run(kernel, machine, SCRIPT, variables(load, swap_mb, seed))
        yield Run(kernel.name, ERAS[kernel], load, counted(load, said))


# The golden model


PLACEMENTS = {
    "engine, free-first": (BEFORE, Policy(scan=Scan.FREE_FIRST)),
    "engine, linux": (AFTER, Policy()),
    "engine, indexed": (AFTER, Policy(placement=Placement.INDEXED)),
}
"""The era of which they are, and how the golden model is told."""

OPEN = "engine, open"


def modelled(load: Load, swap_mb: int, seed: int) -> Iterator[Run]:
    """Run a load on the golden model, by each placement."""
    mix, clusters = load.mix(swap_mb, seed), swap_mb * PAGES_A_MB // SLOTS
    for system, (era, policy) in PLACEMENTS.items():
        yield Run(system, era, load, swap_out(device(clusters, 1, policy), mix))
    granted = GrantedAllocator(1, clusters, lambda arrays, lines: Grants(arrays, lines, grant_entries.Placement.OPEN))

    def engine(number: int) -> None:
        if number % ENGINE_EVERY == 0:
            granted.engine()

    yield Run(OPEN, AFTER, load, swap_out(granted, mix, engine))


# Rows and tables


def rows(found: Sequence[Run]) -> list[Row]:
    """Return the figures that were published, and ours."""
    return [
        Row(
            f"% of folios of {kb} kB that are split, {run.load.said}: {run.system}",
            100 * run.share(kb),
            100 * published_share(kb, era),
            published.CLUSTER_SCAN,
            digits=2,
        )
        for load in LOADS
        for kb in load.published
        for era in (BEFORE, AFTER)
        for run in found
        if (run.load, run.era) == (load, era)
    ]


def grid(load: Load, found: Sequence[Run]) -> Table:
    """Return how many folios of each size were split."""
    sizes = [4 * pages for pages in load.sizes[1:]]
    lines = [
        [run.system, *(f"{run.folios.split[kb]:,} of {run.tried(kb):,}" for kb in sizes)]
        for run in found
        if run.load == load
    ]
    return printed.table(f"Folios that are split, {load.said}", ("", *(f"{kb} kB" for kb in sizes)), lines)


def run(seed: int, short: bool) -> Result:
    """Do the experiment."""
    swap_mb = SHORT_SWAP_MB if short else SWAP_MB
    found = [one for kernel in kernels.KERNELS for one in measured(kernel, swap_mb, seed)]
    found += [one for load in LOADS for one in modelled(load, swap_mb, seed)]
    return Result(
        "Large folios that are split on their way out, of all that go out",
        rows(found),
        [grid(load, found) for load in LOADS],
        (
            "Time in the kernel (half of what it was, of 64 kB folios): nothing is timed.",
            (
                "The sizes of the load: of a build's folios most are small; here each size has as many pages, but for "
                "one that has four times as many for a while."
            ),
        ),
    )
