# SPDX-License-Identifier: Apache-2.0
"""Looks at each grant of an engine while host and engine are at work."""

from collections import defaultdict
from dataclasses import dataclass

from hwswap.model.cluster_map import LISTED, WORD_SLOTS, WORDS, Word
from hwswap.model.grant_entries import ENTRY, DeviceEntry, Grant, ring_place
from hwswap.model.grant_rules import Ring, granted_once, may_serve, offered
from hwswap.model.rows import ORDERS
from hwswap.model.steering import Host, fit
from hwswap_map import Flag

from cases.grants_bench import Bench


@dataclass(frozen=True)
class Reading:
    """A cluster as the reader has read it, in a round: of one on FREE no bitmap, and all is free."""

    round: int
    word: Word
    used: int = 0


class Watch:
    """Looks at each grant that the engine writes, while host and engine are at work.

    Attributes:
        readings: of each cluster, the last two with which something may be granted; the index may be one behind.
        words: of each cluster, the word that the reader has read last.
        used: words of the bitmap that is being read.
        grants: of each cluster, its last grant: ring, and number of the entry.
        seen: what the reader has read of each cluster since HEAD passed that grant.
        tails: entries written, by CPU and order.
        again: grants of a cluster that had been let go.
    """

    def __init__(self, bench: Bench, host: Host) -> None:
        """Begin to look."""
        self.bench = bench
        self.host = host
        self.placement = bench.placement
        self.readings: dict[int, list[Reading]] = defaultdict(list)
        self.words: dict[int, Word] = {}
        self.used: list[int] = []
        self.grants: dict[int, tuple[Ring, int]] = {}
        self.seen: dict[int, set[str]] = defaultdict(set)
        self.tails: dict[Ring, int] = defaultdict(int)
        self.entries: dict[int, DeviceEntry] = {}
        self.granted = self.taken_back = self.again = 0
        bench.memory.on_entry = self.entry
        bench.memory.on_bitmap = self.bitmap
        bench.memory.on_word = self.word

    def set_device(self, entry: DeviceEntry) -> None:
        """Take note of a device's new entry: nothing is granted of it any more."""
        self.entries[entry.type] = entry
        self.grants = {cluster: grant for cluster, grant in self.grants.items() if not entry.holds(cluster)}

    def cpu_gone(self, cpu: int) -> None:
        """Take note that nothing is granted to a CPU any more."""
        self.grants = {cluster: grant for cluster, grant in self.grants.items() if grant[0][0] != cpu}

    def bitmap(self, cluster: int, number: int, value: int) -> None:
        """Keep what the reader reads: a bitmap, word by word."""
        if number == 0:
            self.reads(cluster, "bitmap")
            self.used = []
        self.used.append(value)
        if number == WORDS - 1:
            used = sum(word << WORD_SLOTS * i for i, word in enumerate(self.used))
            self.keep(cluster, used)

    def word(self, cluster: int, value: int) -> None:
        """Keep what the reader reads: a word."""
        word = self.words[cluster] = Word.unpack(value)
        self.reads(cluster, "word")
        if word.list not in LISTED:
            self.reads(cluster, "bitmap")  # which says no more
        if word.list == Flag.FREE:
            self.keep(cluster, 0)

    def keep(self, cluster: int, used: int) -> None:
        """Keep a reading, of the word that was read last."""
        reading = Reading(self.bench.rounds, self.words[cluster], used)
        self.readings[cluster] = [*self.readings[cluster][-1:], reading]

    def reads(self, cluster: int, what: str) -> None:
        """Take note that the reader begins to read something of a cluster."""
        if cluster in self.grants:
            (cpu, order), number = self.grants[cluster]
            if self.bench.memory.lines.head[cpu][order] - number >= 2:
                self.seen[cluster].add(what)

    def entry(self, place: int, word: int) -> None:
        """Look at an entry."""
        lines = self.bench.memory.lines
        ring, at = divmod(place, ENTRY << lines.log2)
        cpu, order = divmod(ring, ORDERS)
        tail = self.tails[cpu, order]
        if not word >> 62 & 1:
            # Taken back: in its place with its phase, so that the host finds it.
            index = next(i for i in range(tail - (1 << lines.log2), tail) if i % (1 << lines.log2) == at // ENTRY)
            assert Grant.unpack(word, index, lines.log2) == Grant(0, 0, order, 0, valid=False)
            self.grants = {c: grant for c, grant in self.grants.items() if grant != ((cpu, order), index)}
            self.taken_back += 1
            return
        assert ring_place(cpu, order, tail, lines.log2) == place, "an entry is not the next one of its ring"
        grant = Grant.unpack(word, tail, lines.log2)
        assert grant is not None, "an entry has the phase of another lap"
        self.tails[cpu, order] = tail + 1
        self.granted += 1
        self.legal(grant, order)
        self.read_before((cpu, order), tail, grant)
        self.alone()

    def legal(self, grant: Grant, order: int) -> None:
        """See whether a grant is what the specification allows."""
        entry = self.entries[grant.type]
        assert entry.live
        assert entry.serves(order)
        assert (grant.order, grant.epoch) == (order, entry.epoch)
        assert grant.cluster < entry.clusters
        readings = self.readings[entry.base + grant.cluster]
        assert any(
            reading.round >= self.bench.rounds - 2
            and may_serve(reading.word, entry, order, self.placement)
            and fit(reading.used, order, 0) >= 0
            for reading in readings
        ), f"{grant} after {readings}"

    def read_before(self, ring: Ring, number: int, grant: Grant) -> None:
        """See whether the cluster of a grant was read since HEAD passed its grant before."""
        cluster = self.entries[grant.type].base + grant.cluster
        if cluster in self.grants:
            assert self.seen[cluster] == {"word", "bitmap"}, "is granted again, and was not read before"
            self.again += 1
        self.grants[cluster] = ring, number
        self.seen[cluster] = set()

    def offered(self, type_: int | None = None) -> list[tuple[Ring, Grant]]:
        """Return the grants that no CPU has popped and none would skip, of a device or all."""
        return offered(self.bench.memory.lines, self.tails, type_)

    def alone(self) -> None:
        """See whether no cluster is granted twice."""
        granted_once(self.bench.memory.lines, self.tails, self.host)
