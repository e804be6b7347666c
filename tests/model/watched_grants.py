# SPDX-License-Identifier: Apache-2.0
"""The engine's side of grants and the kernel's, each choice and each allocation compared with the rules as written."""

from hwswap.model.cluster_map import Reader, Word
from hwswap.model.grant_entries import Grant, Placement
from hwswap.model.grants import Grants
from hwswap.model.rows import SLOTS
from hwswap.model.steering import Host
from hwswap_map import Flag


def has_run(used, order):
    size = 1 << order
    return any(not used >> at & (1 << size) - 1 for at in range(0, SLOTS, size))


def legal(entry, summary, order, placement):
    """Tell, by the rules as they are written, whether a cluster may serve an order."""
    if summary.word.epoch != entry.epoch or not entry.live or entry.rotating or (entry.file and order):
        return False
    if summary.run < order:
        return False
    if summary.word.list == Flag.FREE:
        return True
    if summary.word.list not in (Flag.NONFULL, Flag.FRAG) or order == 9:
        return False
    return order == 0 or placement is Placement.OPEN or summary.word.order == order


def has_room(entry, summary):
    """Tell, by the rules as they are written, whether the kernel finds a slot in a cluster."""
    if summary.word.epoch != entry.epoch or not entry.live:
        return False
    return summary.run >= 0 and summary.word.list in (Flag.FREE, Flag.NONFULL, Flag.FRAG)


class Watched(Grants):
    """Reader and builder of grants, with each reading, choice and grant looked at.

    Attributes:
        stale: clusters that a CPU is done with, and that the engine has not begun to read since.
        chosen: the cluster that was chosen last.
    """

    def __init__(self, *arguments):
        """Begin to look."""
        super().__init__(*arguments)
        self.stale = set()
        self.reader.again, self.reader.read = self.again, self.read
        self.spared = 2  # the devices here have few clusters
        self.time = 0
        self.last = {}
        self.chosen = None

    def again(self, cluster):
        """Take note that a cluster is read."""
        self.stale.discard(cluster)
        return Reader.again(self.reader, cluster)

    def release(self, cpu, order):
        """See whether what is let go was read since the CPU has."""
        granted = dict(self.granted)
        super().release(cpu, order)
        assert not self.stale & (granted.keys() - self.granted.keys()), "is let go, and was not read before"

    def forget(self, cpu, order):
        """Let go what a CPU no longer wants, whether it was read or not."""
        self.stale -= {cluster for cluster, owner in self.granted.items() if owner == (cpu, order)}
        return super().forget(cpu, order)

    def set_device(self, entry):
        """Take note of whose turn it is: a device that changes goes behind its equals, and nothing is granted of it."""
        super().set_device(entry)
        self.stale -= set(range(entry.base, entry.base + entry.clusters))
        self.time += 1
        self.last[entry.type] = self.time

    def opens(self, entry, order, alone):
        """Tell, by the rules as they are written, whether a ring may get a cluster off FREE."""
        if self.placement is Placement.OPEN:
            return True
        free = [
            cluster
            for cluster in range(entry.base, entry.base + entry.clusters)
            if self.summaries[cluster].word == Word(0, Flag.FREE, entry.epoch) and cluster not in self.granted
        ]
        return alone and (order in (0, 9) or len(free) >= entry.clusters // 2)

    def choose(self, order, alone=True):
        """Compare a choice with the rules: priority, turn, and the kind of cluster."""
        assert not self.recalling, "what is in the rings may be granted twice"
        room = [
            entry.priority
            for entry in self.devices.values()
            if any(has_room(entry, self.summaries[c]) for c in range(entry.base, entry.base + entry.clusters))
        ]
        ready = {}
        for entry in self.devices.values():
            open_ = self.opens(entry, order, alone)
            found = [
                cluster
                for cluster in range(entry.base, entry.base + entry.clusters)
                if cluster not in self.granted
                and legal(entry, self.summaries[cluster], order, self.placement)
                and (open_ or self.summaries[cluster].word.list != Flag.FREE)
            ]
            if found and entry.priority == max(room):
                ready[entry.type] = found
        self.chosen = cluster = super().choose(order, alone)
        if not ready:
            assert cluster is None
            return None
        type_ = self.type_of(cluster)
        assert type_ == min(ready, key=self.last.__getitem__), "not the one whose turn it is"
        self.time += 1
        self.last[type_] = self.time
        assert cluster in ready[type_]
        words = {c: self.summaries[c].word for c in ready[type_]}
        if self.placement is Placement.OPEN:
            near = {c: 99 if word.list == Flag.FREE else abs(word.order - order) for c, word in words.items()}
            assert near[cluster] == min(near.values())
        else:
            own = [c for c in words if words[c].list != Flag.FREE and words[c].order == order]
            free = [c for c in words if words[c].list == Flag.FREE]
            if order == 0:
                others = {c: word.order for c, word in words.items() if word.order}
                idle = [c for c, other in others.items() if self.summaries[c].run < other]
                highest = [c for c, other in others.items() if other == max(others.values())]
                assert cluster == min(own or idle or highest or free)
            else:
                assert cluster == min(own or free)
        return cluster

    def read(self, cluster, value):
        """See that a summary is of what memory held when each word was read."""
        words = []
        for name in Reader.read(self.reader, cluster, value):
            words.append(self.arrays.bitmap[cluster][len(words)])
            yield name
        summary, used = self.summaries[cluster], sum(word << 64 * i for i, word in enumerate(words))
        assert summary.word == Word.unpack(value)
        if words:
            assert summary.run == max((order for order in range(10) if has_run(used, order)), default=-1)

    def serve(self, cpu, order, head):
        """Look at each grant: of the cluster that was chosen, in its device, and of no other ring."""
        for name in super().serve(cpu, order, head):
            if name == "entry written":
                entry = self.devices[self.type_of(self.chosen)]
                grant = self.lines.entry(cpu, order, self.rings[cpu, order].tail - 1)
                assert grant == Grant(self.chosen - entry.base, entry.type, order, entry.epoch)
                assert self.granted[self.chosen] == (cpu, order)
                assert [c for ring in self.rings.values() for c in ring.out.values()].count(self.chosen) == 1
            yield name


class Checked(Host):
    """The kernel, with each of its allocations looked at, and what it lets go told."""

    stale = frozenset()

    def done_with(self, cpu, order):
        """Tell which cluster a grant was of."""
        held = self.held[cpu][order]
        if held.type in self.devices:
            self.stale |= {self.devices[held.type].entry.base + held.cluster}
        super().done_with(cpu, order)

    def commit(self, device, number, slot, order):
        """See whether an order may go where it goes."""
        cluster = device.clusters[number]
        assert cluster.locked
        assert self.devices[device.entry.type] is device
        assert cluster.list in (Flag.FREE, Flag.NONFULL, Flag.FRAG)
        if cluster.list != Flag.FREE and self.placement is Placement.INDEXED:
            assert order in (0, cluster.order)
        assert cluster.list == Flag.FREE or order < 9
        return super().commit(device, number, slot, order)
