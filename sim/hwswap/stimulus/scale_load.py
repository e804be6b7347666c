# SPDX-License-Identifier: Apache-2.0
"""Workloads that spread over all clusters of a device of any size, with the golden model's decisions.

A device is brought to a steady state with few operations: allocations of order 9 fill a cluster each, then frees in
clusters drawn at random, of parts and of whole clusters, shuffle the lists, so that what comes next on a list is
nowhere near what came before. The operations that are measured find their clusters all over the device.
"""

import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from hwswap_map import Status

from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.rows import SLOTS
from hwswap.traces import trace
from hwswap.traces.records import Record

CPUS = 4

FILL = 1
"""Memory latency of the phases that only bring the device to its state."""

COMB_ORDER = 4
"""Order of the clusters that are full of holes in phase `scan`."""

FREES_A_SCAN = 8
"""Holes made before each allocation of phase `scan`: about as many scans fail."""


@dataclass(frozen=True)
class Load:
    """What is run: clusters of the device, memory latencies, and operations measured at each of them.

    Attributes:
        clusters: of the device, all of them the engine's.
        seed: of everything that is drawn.
        latencies: in engine cycles; the one in the middle is also that of swapon.
        fresh: allocations on the device as swapon left it.
        churn: allocations and frees, half each, on the nearly full device.
        scan: allocations that find nothing, each after FREES_A_SCAN frees of single slots.
        shuffled: clusters that are freed in part or whole before the churn, at most.
        comb: clusters with holes, at most.
    """

    clusters: int
    seed: int = 1
    latencies: tuple[int, ...] = (20, 50, 100)
    fresh: int = 8_000
    churn: int = 12_000
    scan: int = 300
    shuffled: int = 65_536
    comb: int = 512


@dataclass
class Phase:
    """Consecutive operations with one memory latency; those named alike belong together."""

    name: str
    latency: int
    operations: int = 0


@dataclass
class Made:
    """A load as a trace: its records, phases, and the clusters that each operation scanned."""

    records: list[Record] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    scans: array = field(default_factory=lambda: array("I"))


class Maker:
    """Makes one load."""

    def __init__(self, load: Load, progress: Callable[[str], None]) -> None:
        """Prepare; `progress` is called with the name of each phase that begins."""
        self.load = load
        self.rng = random.Random(load.seed)
        self.model = Allocator(1, CPUS, load.clusters)
        self.made = Made()
        self.progress = progress

    def make(self) -> Made:
        """Make all phases."""
        middle = self.load.latencies[len(self.load.latencies) // 2]
        pages = self.load.clusters * SLOTS
        flags = BLKDEV | SOLIDSTATE
        self.phase("prepare", middle)
        self.note(trace.prepare(0, pages, flags, -1), self.model.prepare(0, pages, 0, flags))
        self.phase("swapon", middle)
        self.note(trace.swapon(0), self.model.swapon(0))
        self.device = self.model.devices[0]
        for latency in self.load.latencies:
            self.phase("fresh", latency)
            for _ in range(min(self.load.fresh, 8 * self.load.clusters)):
                self.alloc(self.rng.choices((0, 2, 4, 9), (60, 20, 18, 2))[0])
        self.phase("fill", FILL)
        self.fill()
        self.phase("shuffle", FILL)
        self.shuffle()
        for latency in self.load.latencies:
            self.phase("churn", latency)
            self.churn()
        self.phase("comb", FILL)
        comb = self.comb()
        for latency in self.load.latencies:
            self.phase("scan", latency)
            for _ in range(self.load.scan):
                for _ in range(FREES_A_SCAN):
                    self.free_piece(self.rng.choice(comb), 1)
                self.alloc(COMB_ORDER)
        return self.made

    def phase(self, name: str, latency: int) -> None:
        """Begin a phase."""
        self.progress(name)
        self.made.phases.append(Phase(name, latency))

    def note(self, record: Record, status: Status = Status.OK, scans: int = 0) -> None:
        """Add an operation that the model took."""
        if status != Status.OK:
            raise AssertionError(f"the model refuses {record} with {status.name}")
        self.made.records.append(record)
        self.made.scans.append(scans)
        self.made.phases[-1].operations += 1

    def alloc(self, order: int, cpu: int | None = None) -> bool:
        """Allocate on some CPU; tell whether it went well."""
        cpu = self.rng.randrange(CPUS) if cpu is None else cpu
        before = self.model.counts.scans
        slots = self.model.alloc(cpu, order)
        self.note(trace.alloc(cpu, order, slots), scans=self.model.counts.scans - before)
        return slots is not None

    def free_piece(self, cluster: int, most: int) -> None:
        """Free a run of at most so many used slots, somewhere in a cluster; nothing if it has none."""
        held = self.device.clusters[cluster]
        used = held.used & ~held.bad
        if not used:
            return
        start = self.rng.randrange(SLOTS)
        rest = used >> start
        if not rest:
            start, rest = 0, used
        skipped = (rest & -rest).bit_length() - 1
        rest >>= skipped
        nr = min((~rest & (rest + 1)).bit_length() - 1, most)
        offset = cluster * SLOTS + start + skipped
        self.note(trace.free(0, 0, offset, nr), self.model.free(0, offset, nr))

    def free_all(self, cluster: int) -> None:
        """Free all slots of a cluster, run by run."""
        while self.device.clusters[cluster].used & ~self.device.clusters[cluster].bad:
            self.free_piece(cluster, SLOTS)

    def fill(self) -> None:
        """Take clusters whole until one in 32 is left."""
        while len(self.device.free) > self.load.clusters // 32:
            self.alloc(9)

    def shuffle(self) -> None:
        """Free a fifth of the drawn clusters as a whole, and 16 to 256 slots of each of the others."""
        for cluster in self.rng.sample(range(self.load.clusters), min(self.load.clusters, self.load.shuffled)):
            if self.rng.random() < 0.2:
                self.free_all(cluster)
            else:
                self.free_piece(cluster, 16 << self.rng.randrange(5))

    def churn(self) -> None:
        """Allocate and free in turn; each free is in a cluster drawn from all."""
        for i in range(self.load.churn):
            if i % 2:
                cluster = self.rng.randrange(self.load.clusters)
                self.free_piece(cluster, SLOTS if self.rng.random() < 0.08 else 1 << self.rng.randrange(5))
            else:
                self.alloc(self.rng.choices((0, 4, 9), (75, 17, 8))[0])

    def comb(self) -> list[int]:
        """Fill clusters with order 4 and all others with order 9, so that nothing is on FREE."""
        wanted = min(self.load.clusters // 8, self.load.comb)
        for cluster in self.rng.sample(range(self.load.clusters), wanted):
            self.free_all(cluster)
        seen: set[int] = set()
        while self.device.free or len(seen) < wanted:
            if not self.alloc(COMB_ORDER if len(seen) < wanted else 9):
                break
            record = self.made.records[-1]
            if record.order == COMB_ORDER:
                seen.add(record.a // SLOTS)
        return sorted(seen)


def make(load: Load, progress: Callable[[str], None] = lambda name: None) -> Made:
    """Make a load; `progress` is called with the name of each phase that begins."""
    return Maker(load, progress).make()


def header(load: Load) -> trace.Header:
    """Return the header of a load's trace."""
    return trace.Header(
        kind="generated",
        kernel="rules of 7.3.4",
        source="golden model",
        workload=str(load),
        seed=load.seed,
        cpus=CPUS,
    )
