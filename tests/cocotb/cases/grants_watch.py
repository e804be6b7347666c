# SPDX-License-Identifier: Apache-2.0
"""Looks at each grant of an engine while host and engine are at work."""

from collections import defaultdict

from hwswap.model.cluster_map import LISTED, WORDS, Word
from hwswap.model.grant_entries import ENTRY, DeviceEntry, Grant, free_units, ring_place, span
from hwswap.model.grant_rules import Ring, granted_once, may_serve, offered
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.steering import Host

from cases.grants_bench import BUILDER, Bench, entry_at


class Watch:
    """Looks at each grant that the engine writes, while host and engine are at work.

    Attributes:
        last: of each cluster, the bitmap that the builder has read last, a word at a time.
        words: of each cluster, the words that the reader has read last; the index may have any of these still.
        grants: of each cluster, its last grant: ring, number of the entry, first slot.
        seen: what the reader has read of each cluster since HEAD passed that grant.
        tails: entries written, by CPU and order.
        again: grants of a cluster that had been let go.
    """

    def __init__(self, bench: Bench, host: Host) -> None:
        """Begin to look."""
        self.bench = bench
        self.host = host
        self.placement = bench.placement
        self.last = defaultdict(lambda: [0] * WORDS)
        self.words: dict[int, list[int]] = defaultdict(list)
        self.grants: dict[int, tuple[Ring, int, int]] = {}
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
        """Keep what the builder reads."""
        if self.bench.memory.client == BUILDER:
            self.last[cluster][number] = value
        elif number == 0:
            self.reads(cluster, "bitmap")

    def word(self, cluster: int, value: int) -> None:
        """Keep what the reader reads."""
        self.words[cluster] = [*self.words[cluster][-3:], value]
        self.reads(cluster, "word")
        if Word.unpack(value).list not in LISTED:
            self.reads(cluster, "bitmap")  # which says no more

    def reads(self, cluster: int, what: str) -> None:
        """Take note that the reader begins to read something of a cluster."""
        if cluster in self.grants:
            (cpu, order), number, _ = self.grants[cluster]
            if self.bench.memory.lines.head[cpu][order] - number >= 2:
                self.seen[cluster].add(what)

    def entry(self, place: int, word1: int) -> None:
        """Look at an entry when its second word is there."""
        lines = self.bench.memory.lines
        ring, at = divmod(place, ENTRY << lines.log2)
        cpu, order = divmod(ring, ORDERS)
        tail = self.tails[cpu, order]
        if not word1 >> 62 & 1:
            # Taken back: in its place with its phase, so that the host finds it.
            index = next(i for i in range(tail - (1 << lines.log2), tail) if i % (1 << lines.log2) == at // ENTRY)
            assert entry_at(lines, place, index) == Grant(0, 0, 0, order, 0, valid=False)
            self.grants = {c: grant for c, grant in self.grants.items() if grant[:2] != ((cpu, order), index)}
            self.taken_back += 1
            return
        assert ring_place(cpu, order, tail, lines.log2) == place, "an entry is not the next one of its ring"
        grant = entry_at(lines, place, tail)
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
        number, slot = divmod(grant.slot, SLOTS)
        assert 0 <= number < entry.clusters
        assert grant.slot % span(order) == 0
        cluster = entry.base + number
        used = sum(word << 64 * i for i, word in enumerate(self.last[cluster]))
        assert grant.mask == free_units(used, order, slot)
        assert grant.mask
        assert any(may_serve(Word.unpack(word), entry, order, self.placement) for word in self.words[cluster])

    def read_before(self, ring: Ring, number: int, grant: Grant) -> None:
        """See whether the cluster of a grant was read since HEAD passed its grant before; or a ring stays in it."""
        cluster = self.entries[grant.type].base + grant.slot // SLOTS
        if cluster in self.grants:
            owner, _, slot = self.grants[cluster]
            stays = owner == ring and slot < grant.slot
            assert stays or self.seen[cluster] == {"word", "bitmap"}, "is granted again, and was not read before"
            self.again += not stays
        self.grants[cluster] = ring, number, grant.slot
        self.seen[cluster] = set()

    def offered(self, type_: int | None = None) -> list[tuple[Ring, Grant]]:
        """Return the grants that no CPU has popped and none would skip, of a device or all."""
        return offered(self.bench.memory.lines, self.tails, type_)

    def alone(self) -> None:
        """See whether no slot is granted twice, and no cluster has two owners."""
        granted_once(self.bench.memory.lines, self.tails, self.host)
