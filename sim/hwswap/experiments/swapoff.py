# SPDX-License-Identifier: Apache-2.0
"""Swapoff over page_cluster: readahead windows that are adaptive, and fixed.

A process's pages are swapped out, by the golden model's allocator; then swapoff walks its page tables and reads back
what is not in the swap cache, by the golden model's windows. Nobody faults meanwhile, so no window has hits.

Time is modelled as LATENCY for each time that the walk waits, and PAGE_COST a page. Both are those of a guest in which
the same was measured: a device that answers any number of requests after 100 µs, and what is left of a swapoff with
windows of 128 slots.
"""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table

from hwswap.experiments import published
from hwswap.experiments.comparison import Result, Row
from hwswap.experiments.offsets import device
from hwswap.model.readahead import Policy, Readahead
from hwswap.model.rows import SLOTS
from hwswap.project import printed
from hwswap.results import schema

PAGE_CLUSTERS = range(1, 9)
CLUSTERS, SHORT_CLUSTERS = 16, 4
"""Of the device: 32 MiB, as in the guest."""

LEFT_OUT = 256
"""Slots of the device that are not filled: 1 MiB, as in the guest."""

BATCH = 32
"""Pages that reclaim takes off a list in a row (SWAP_CLUSTER_MAX)."""

LATENCY = 100.0
PAGE_COST = 37_000 / 3_981
"""Microseconds, in the guest of results/swapoff-guest.json: a swapoff with windows of 128 slots."""

MEASURED = schema.RECORD / "swapoff-guest.json"
"""The same, measured in a guest."""

FITTED_AT = 5
"""The page_cluster at which a device's latency is fitted to the published one: where fixed windows win most."""

DEFAULT_PAGE_CLUSTER = 3


@dataclass(frozen=True)
class Load:
    """The way in which pages come into swap."""

    name: str
    shuffled: bool
    """They leave in batches of 32 neighbours, the batches in random order; else in the order of their addresses."""

    freed: float
    """The share of them that is freed again, at random."""


GUEST = Load("half freed", shuffled=False, freed=0.5)
"""As that guest had it (sw/driver/workloads/swapfrag.c)."""

WHOLE = Load("batches", shuffled=True, freed=0.0)
"""The nearest to the published load: all memory of a machine that hibernated."""

LOADS = (Load("in order", shuffled=False, freed=0.0), WHOLE, GUEST)


@dataclass
class Walk:
    """The work of a swapoff."""

    waits: int = 0
    """The number of pages it came to that had to be read."""

    pages: int = 0
    requests: int = 0
    """To the device: neighbours of a window are one."""

    sizes: Counter[int] = field(default_factory=Counter)
    """Windows by their size."""

    def time(self, latency: float = LATENCY, page_cost: float = PAGE_COST) -> float:
        """Return the microseconds that it takes."""
        return self.waits * latency + self.pages * page_cost


def swapped_out(load: Load, clusters: int, seed: int) -> list[int]:
    """Return the slots of a process's pages in the order of their addresses, as the golden model gives them."""
    rng = random.Random(seed)
    allocator = device(clusters)
    pages = clusters * SLOTS - LEFT_OUT
    firsts = list(range(0, pages, BATCH))
    if load.shuffled:
        rng.shuffle(firsts)
    slots = {}
    for first in firsts:
        for page in range(first, min(first + BATCH, pages)):
            found = allocator.alloc(0, 0)
            assert found is not None  # the device has room for all
            slots[page] = found.offset
    for page in rng.sample(range(pages), int(pages * load.freed)):
        allocator.free(0, slots.pop(page), 1)
    return [slots[page] for page in sorted(slots)]


def runs(offsets: Sequence[int]) -> int:
    """Return how many runs of neighbours there are in rising offsets."""
    return sum(1 for at, offset in enumerate(offsets) if not at or offset != offsets[at - 1] + 1)


def walk(slots: Sequence[int], end: int, page_cluster: int, policy: Policy, every_page: bool = False) -> Walk:
    """Read the pages in these slots back, in this order.

    Args:
        slots: of the pages that swapoff comes to.
        end: of the device.
        page_cluster: as vm.page-cluster.
        policy: of the windows.
        every_page: ask for a window at each page, as Linux 5.6; else only for pages that are not in the swap cache.

    Returns:
        What was read, and how often the walk waited.
    """
    unread = set(slots)
    readahead = Readahead()
    done = Walk()
    for offset in slots:
        wanted = offset in unread
        if not (wanted or every_page):
            continue
        window = readahead.window(offset, 0, page_cluster, end, policy)
        done.sizes[window.nr] += 1
        reads = [at for at in range(window.first, window.first + window.nr) if at in unread]
        done.waits += wanted
        done.pages += len(reads)
        done.requests += runs(reads)
        unread.difference_update(reads)
    return done


Walks = dict[tuple[str, int, Policy, bool], Walk]
"""By load, page_cluster, policy, and whether every page asks."""


def walks(clusters: int, seed: int) -> Walks:
    """Do all of them."""
    found = {}
    for load in LOADS:
        slots = swapped_out(load, clusters, seed)
        for manner in itertools.product(PAGE_CLUSTERS, Policy, (False, True)):
            found[load.name, *manner] = walk(slots, clusters * SLOTS, *manner)
    return found


def ratio(
    found: Walks,
    page_cluster: int,
    every_page: bool = False,
    latency: float = LATENCY,
    page_cost: float = PAGE_COST,
) -> float:
    """Return the time with fixed windows by that with adaptive ones, of the load WHOLE."""
    walked = (found[WHOLE.name, page_cluster, policy, every_page] for policy in Policy)
    adaptive, fixed = (done.time(latency, page_cost) for done in walked)
    return fixed / adaptive


def fitted_latency(found: Walks) -> float:
    """Return the latency, in costs of a page, with which the published ratio comes out at FITTED_AT."""
    adaptive, fixed = (found[WHOLE.name, FITTED_AT, policy, True] for policy in Policy)
    wanted = published_ratio(FITTED_AT)
    return (fixed.pages - wanted * adaptive.pages) / (wanted * adaptive.waits - fixed.waits)


def published_ratio(page_cluster: int) -> float:
    """Return the published seconds with fixed windows by those with adaptive ones."""
    adaptive, fixed = published.SWAPOFF_SECONDS[page_cluster]
    return fixed / adaptive


def rows(found: Walks) -> list[Row]:
    """Return the figures that were published, and ours."""
    made = [
        Row(
            f"fixed : adaptive, page_cluster {page_cluster}",
            ratio(found, page_cluster),
            published_ratio(page_cluster),
            published.READAHEAD,
        )
        for page_cluster in PAGE_CLUSTERS
    ]
    fitted = fitted_latency(found)
    made += [
        Row(
            f"the same, walk of Linux 5.6, latency fitted at {FITTED_AT}: page_cluster {page_cluster}",
            ratio(found, page_cluster, every_page=True, latency=fitted, page_cost=1),
            published_ratio(page_cluster),
            published.READAHEAD,
        )
        for page_cluster in PAGE_CLUSTERS
    ]
    sizes = found[WHOLE.name, DEFAULT_PAGE_CLUSTER, Policy.ADAPTIVE, True].sizes
    return made + [
        Row(
            f"% of adaptive windows of size {size}, walk of Linux 5.6, page_cluster {DEFAULT_PAGE_CLUSTER}",
            100 * sizes[size] / sizes.total(),
            100 * windows / sum(published.WINDOW_SIZES.values()),
            published.WINDOWS,
            digits=1,
        )
        for size, windows in published.WINDOW_SIZES.items()
    ]


def waits_grid(found: Walks) -> Table:
    """Return how often swapoff waits, by load."""
    lines = []
    for load, policy in itertools.product(LOADS, Policy):
        walked = [found[load.name, page_cluster, policy, False] for page_cluster in PAGE_CLUSTERS]
        cells = [f"{done.waits:,} / {done.pages / done.waits:.2f}" for done in walked]
        lines.append([f"{load.name}, {policy.name.lower()}", *cells])
    columns = ("waits / pages a wait; page_cluster", *map(str, PAGE_CLUSTERS))
    return printed.table("How often swapoff waits for a read", columns, lines)


def guest_grid(found: Walks) -> Table:
    """Return the model beside the guest."""
    lines = []
    measured = {(figure.what, figure.of): figure.value for figure in schema.read(MEASURED).figures}
    for policy in Policy:
        name = policy.name.lower()
        walked = [found[GUEST.name, page_cluster, policy, False] for page_cluster in PAGE_CLUSTERS]
        reads = [measured[f"reads, page_cluster {page_cluster}", name] for page_cluster in PAGE_CLUSTERS]
        cells = [f"{done.requests:,} : {guest:,g}" for done, guest in zip(walked, reads, strict=True)]
        lines.append([f"{name}, reads", *cells])
        times = [measured[f"time, page_cluster {page_cluster}", name] for page_cluster in PAGE_CLUSTERS]
        cells = [f"{done.time() / 1000:.0f} : {guest:g}" for done, guest in zip(walked, times, strict=True)]
        lines.append([f"{name}, ms", *cells])
    title = "Model : guest (results/swapoff-guest.json), half of the pages freed"
    return printed.table(title, ("page_cluster", *map(str, PAGE_CLUSTERS)), lines)


def run(seed: int, short: bool) -> Result:
    """Do the experiment."""
    clusters = SHORT_CLUSTERS if short else CLUSTERS
    found = walks(clusters, seed)
    grids = [waits_grid(found)]
    if not short:  # of a device of another size there is nothing to be compared
        grids.append(guest_grid(found))
    return Result(
        "swapoff with fixed windows by swapoff with adaptive ones, in time; fitted, a wait costs "
        f"{fitted_latency(found):.1f} times what a page does",
        rows(found),
        grids,
        (
            "Seconds: theirs are of an NVMe device behind a virtual machine's file system, ours are modelled.",
            "The load: theirs is a hibernated machine with 85 % of 8 GB in use, ours one process.",
        ),
    )
