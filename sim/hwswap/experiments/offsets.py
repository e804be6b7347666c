# SPDX-License-Identifier: Apache-2.0
"""The next offset that an allocation begins with: shared, per CPU, or per CPU in random trunks.

CPUs that swap at the same time are modelled as rounds, in each of which every CPU allocates one slot of order 0 once,
in random order. Two CPUs collide that get slots of the same trunk of 64 MiB in a round: there they would have waited
for the same lock of the swap cache, before that became a table per cluster. A run is what a CPU gets at neighbouring
slots one allocation after the other.

Two states of the device are looked at: empty at first, filled to a half at most; and three quarters of the slots used
at random, no cluster empty, where each allocation is followed by the free of a random slot.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hwswap_map import Flag
from rich.table import Table

from hwswap.experiments import published
from hwswap.experiments.comparison import Result, Row
from hwswap.model.golden import Allocator
from hwswap.model.policy import TRUNK, Hint, Policy
from hwswap.model.rows import SLOTS
from hwswap.project import printed

CPUS, SHORT_CPUS = (2, 4, 8, 16, 32), (2, 16)
CLUSTERS, SHORT_CLUSTERS = 512, 128
"""Of the device: 1 GiB, 16 trunks; in short 4 trunks."""

ROUNDS, SHORT_ROUNDS = 512, 64
"""Rounds that are counted, at least. As many go before: each CPU uses up the cluster that it comes to first, and the
lists of a fragmented device become those of the policy."""

ALLOCATIONS = 4_096
"""Allocations that are counted, at least, of few CPUs; not in the short form."""

POLICIES = {"shared": Hint.SHARED, "per-CPU": Hint.PER_CPU, "random trunk": Hint.RANDOM_TRUNK}
LINUX = Policy()
EMPTY, FRAGMENTED = "empty", "fragmented"
STATES = (EMPTY, FRAGMENTED)


@dataclass
class Seen:
    """Count allocations, collisions and runs over rounds."""

    allocations: int = 0
    in_trunk: int = 0
    """Allocations in a trunk that another CPU got a slot of in the same round."""

    in_cluster: int = 0
    """The same of a cluster, which has the lock in Linux 7.3."""

    in_line: int = 0
    """Allocations in a trunk that another CPU got a slot of before, in the same round: they would have had to wait."""

    runs: int = 0
    """Of slots that a CPU got one after the other."""

    device_runs: int = 0
    """Of slots that any CPUs got one after the other."""

    last: dict[int, int] = field(default_factory=dict)
    """The slot that each CPU got last."""

    last_of_all: int = -1

    def round(self, places: Sequence[tuple[int, int]]) -> None:
        """Count the slots of a round: CPU and offset, in the order in which they were given."""
        trunks = Counter(offset // SLOTS // TRUNK for _, offset in places)
        clusters = Counter(offset // SLOTS for _, offset in places)
        self.allocations += len(places)
        self.in_trunk += sum(number for number in trunks.values() if number > 1)
        self.in_cluster += sum(number for number in clusters.values() if number > 1)
        self.in_line += sum(number - 1 for number in trunks.values())
        for cpu, offset in places:
            self.runs += self.last.get(cpu, -1) != offset - 1
            self.device_runs += self.last_of_all != offset - 1
            self.last[cpu] = self.last_of_all = offset

    @property
    def trunk_share(self) -> float:
        """The share of allocations that collide in a trunk."""
        return self.in_trunk / self.allocations

    @property
    def cluster_share(self) -> float:
        """The share of allocations that collide in a cluster."""
        return self.in_cluster / self.allocations

    @property
    def pages_a_run(self) -> float:
        """Return the number of pages that a CPU gets in a row."""
        return self.allocations / self.runs

    @property
    def pages_a_device_run(self) -> float:
        """Return the number of pages in a row, over all CPUs."""
        return self.allocations / self.device_runs


def device(clusters: int, cpus: int = 1, policy: Policy = LINUX) -> Allocator:
    """Return an allocator with one empty device."""
    allocator = Allocator(devices=1, cpus=cpus, clusters=clusters)
    allocator.prepare(0, clusters * SLOTS, 0)
    allocator.swapon(0)
    allocator.set_policy(policy)
    return allocator


def fragment(allocator: Allocator, rng: random.Random) -> None:
    """Have three quarters of the slots of an empty device used, at random; the clusters are listed in random order.

    As slots that are freed at random leave it: each free puts a cluster after all others of NONFULL.
    """
    own = allocator.devices[0]
    clusters = list(own.clusters)
    rng.shuffle(clusters)
    for cluster in clusters:
        more = (rng.getrandbits(SLOTS) | rng.getrandbits(SLOTS)) & ~cluster.used
        allocator.take(cluster, more)
        cluster.count += more.bit_count()
        allocator.add_usage(own, more.bit_count())
        allocator.move(own, cluster, Flag.NONFULL)


def free_one(allocator: Allocator, rng: random.Random) -> None:
    """Free a random slot that is used."""
    own = allocator.devices[0]
    while True:
        offset = rng.randrange(own.pages)
        cluster = own.clusters[offset // SLOTS]
        if (cluster.used & ~cluster.bad) >> offset % SLOTS & 1:
            allocator.free(0, offset, 1)
            return


def rounds(
    allocator: Allocator,
    cpus: int,
    number: int,
    rng: random.Random,
    take: Callable[[Sequence[tuple[int, int]]], None],
    steady: bool,
) -> None:
    """Let all CPUs allocate once a round.

    Args:
        allocator: with the device.
        cpus: their number.
        number: of rounds.
        rng: draws the order in which CPUs come, and what is freed.
        take: gets CPU and offset of each allocation, round by round.
        steady: as many slots are freed as are given.
    """
    order = list(range(cpus))
    for _ in range(number):
        rng.shuffle(order)
        places = []
        for cpu in order:
            found = allocator.alloc(cpu, 0)
            assert found is not None  # a quarter of the device is free at least
            places.append((cpu, found.offset))
        take(places)
        for _ in order if steady else ():
            free_one(allocator, rng)


def measure(hint: Hint, state: str, cpus: int, clusters: int, number: int, seed: int) -> Seen:
    """Count so many rounds under a policy, after as many that are not counted."""
    rng = random.Random(f"{seed} {state} {cpus}")
    allocator = device(clusters, cpus, Policy(hint=hint, seed=seed & 0xFFFF_FFFF))
    seen = Seen()
    steady = state == FRAGMENTED
    if steady:
        fragment(allocator, rng)
    rounds(allocator, cpus, number, rng, lambda _: None, steady)
    rounds(allocator, cpus, number, rng, seen.round, steady)
    return seen


def by_chance(cpus: int, trunks: int) -> float:
    """Return the share of allocations that collide where each CPU's trunk is drawn anew each time."""
    return 1 - (1 - 1 / trunks) ** (cpus - 1)


Measured = dict[tuple[str, str, int], Seen]
"""By state, policy and CPUs."""


def rows(found: Measured) -> list[Row]:
    """Return the figures that were published, and ours."""
    cpus = published.PROCESSES

    def less(policy: str) -> float:
        return found[FRAGMENTED, policy, cpus].in_line / found[FRAGMENTED, "shared", cpus].in_line

    made = []
    for policy, source, before, after in (
        ("per-CPU", published.PER_CPU, published.PER_CPU_BEFORE, published.PER_CPU_AFTER),
        ("random trunk", published.RANDOM_TRUNK, published.RANDOM_TRUNK_BEFORE, published.RANDOM_TRUNK_AFTER),
    ):
        figure = (
            f"{policy} : shared, {cpus} CPUs: lock of the swap cache (at most); CPUs in line for a trunk, fragmented"
        )
        made.append(Row(figure, less(policy), sum(after) / sum(before), source))
    cases = {f"{policy}, {cpus} CPUs, {state}": found[state, policy, cpus] for state in STATES for policy in POLICIES}
    for case, seen in cases.items():
        made.append(Row(f"% of allocations that collide in a trunk, {case}", 100 * seen.trunk_share, digits=1))
    for case, seen in cases.items():
        made.append(Row(f"pages a CPU gets in a row, {case}", seen.pages_a_run))
    return made


def grid(found: Measured, state: str, title: str, cell: Callable[[Seen], str], chance: int = 0) -> Table:
    """Return a table over the number of CPUs; with `chance`, a row for trunks drawn anew, of so many."""
    counts = sorted({cpus for _, _, cpus in found})
    lines = [[policy, *(cell(found[state, policy, cpus]) for cpus in counts)] for policy in POLICIES]
    if chance:
        lines.append(["trunks drawn anew each time", *(f"{100 * by_chance(cpus, chance):.1f}" for cpus in counts)])
    return printed.table(f"{title}, {state} device", ("CPUs", *map(str, counts)), lines)


def run(seed: int, short: bool) -> Result:
    """Do the experiment."""
    clusters = SHORT_CLUSTERS if short else CLUSTERS
    trunks = clusters // TRUNK
    found = {
        (state, policy, cpus): measure(
            hint, state, cpus, clusters, SHORT_ROUNDS if short else max(ROUNDS, ALLOCATIONS // cpus), seed
        )
        for state in STATES
        for policy, hint in POLICIES.items()
        for cpus in (SHORT_CPUS if short else CPUS)
    }
    shares = "% of allocations that collide in a trunk / in a cluster"
    pages = "Pages in a row that a CPU gets / that any CPUs get"
    grids = []
    for state in STATES:
        grids += [
            grid(found, state, shares, lambda of: f"{100 * of.trunk_share:.1f} / {100 * of.cluster_share:.1f}", trunks),
            grid(found, state, pages, lambda of: f"{of.pages_a_run:.2f} / {of.pages_a_device_run:.2f}"),
        ]
    return Result(
        f"Next offset shared, per CPU, and per CPU in random trunks: {trunks} trunks of 64 MiB",
        rows(found),
        grids,
        (
            "Scores of pmbench (15.9 % and 18.5 % more) and throughput: the model has no time.",
            "Random trunk with per-CPU of the published figures: they are of two versions of a kernel.",
            "Pages in a row: no figure was published.",
        ),
    )
