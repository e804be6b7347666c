# SPDX-License-Identifier: Apache-2.0
"""Replay step by step: frees, and changes of clusters' lists and of the list of available devices."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hwswap_map import Flag

from hwswap.compare.operations import compare
from hwswap.compare.outcome import Outcome
from hwswap.model.clusters import Cluster, Device, Slots
from hwswap.model.follower import Follower, Mismatch
from hwswap.model.golden import Search_
from hwswap.model.rows import SLOTS
from hwswap.model.steps import Operation, ReclaimFull
from hwswap.traces.records import NO_CLUSTER, Record
from hwswap.traces.trace import ClusterMap, Trace

# Causes for which a step follows the trace.
SKIPPED = "a cluster's lock was taken"
SLEPT_FOR_TABLE = "slept for a table"
WITHOUT_TABLE = "no memory for a table"
RECLAIMED_SLOTS = "a scan stopped to reclaim"
RECLAIMED_CLUSTER = "a full cluster was reclaimed"
OTHER_MOMENT = "half used was asked at another moment"
LATE = "write permission went meanwhile"
GONE = "the remembered device was going"


@dataclass
class Running:
    """An allocation under way: its search, the step the search waits at (None: it has ended), its result."""

    op: Operation
    search: Search_
    step: Any = None
    found: Slots | None = None
    recorded: tuple[int, int] | None = None
    skipped: set[int] = field(default_factory=set)
    begun: bool = False
    reclaims: bool = False
    at: int = 0
    """The record with which it began."""

    def advance(self, answer: Any = None) -> None:
        """Let the search go on to its next step."""
        try:
            self.step = self.search.send(answer if self.begun else None)
            self.begun = True
        except StopIteration as end:
            self.step = None
            self.found = end.value


class Lists:
    """A trace's events of lists, compared with a model whose lists change when the trace says so."""

    def __init__(self, trace: Trace) -> None:
        """Prepare an empty model for a trace."""
        header = trace.header
        self.trace = trace
        self.model = Follower(max(header.devices, 1), header.cpus, max(header.clusters, 1))
        self.clusters = ClusterMap()
        self.running: dict[int, Running] = {}
        self.unsettled: set[int] = set()
        self.outcome = Outcome()
        self.forced: Counter[str] = self.outcome.forced

    def first(self, record: Record, skipped: set[int]) -> Cluster | None:
        """Take the first cluster off a list that was not passed over, and compare it with the trace's."""
        device = self.model.devices[record.type]
        clusters = device.list_of(Flag(record.b), record.order)
        cluster = next((cluster for index, cluster in clusters.items() if index not in skipped), None)
        skipped.clear()
        index = NO_CLUSTER if cluster is None else cluster.index
        if index != record.a:
            expected = "no cluster" if record.a == NO_CLUSTER else f"cluster {record.a}"
            raise Mismatch(expected, "no cluster" if cluster is None else f"cluster {index}")
        if cluster is not None:
            self.settled(device, cluster)
            del clusters[index]
            cluster.flag = Flag.NONE
        return cluster

    def free(self, record: Record) -> None:
        """Free slots."""
        device = self.model.devices[record.type]
        self.settled(device, device.clusters[record.a // SLOTS])
        compare(self.model, self.clusters, record)
        self.unsettled.discard(record.type)
        running = self.running.get(record.c)
        if running is not None and isinstance(running.step, ReclaimFull) and not running.reclaims:
            running.reclaims = True
            self.forced[RECLAIMED_CLUSTER] += 1

    def move(self, record: Record) -> None:
        """Compare where a cluster goes, and move it there."""
        model = self.model
        device = model.devices[record.type]
        cluster = device.clusters[record.a]
        key = record.type, record.a
        if key not in model.waiting and record.c:
            running = self.running.get(record.c)
            if running is not None and isinstance(running.step, ReclaimFull):
                running.advance()
        if key not in model.waiting and not record.c and cluster.flag == Flag.NONE:
            model.relocate(device, cluster)  # by the reclaim that goes on in the background
        flag = model.waiting.get(key)
        if flag != record.b:
            got = "leaves it where it is" if flag is None else f"moves it to {flag.name}"
            raise Mismatch(f"cluster {record.a} moved to {Flag(record.b).name}", got)
        if flag != Flag.FREE and cluster.order != record.order:
            raise Mismatch(f"cluster {record.a} of order {record.order}", f"order {cluster.order}")
        model.moved(device, cluster)

    def settled(self, device: Device, cluster: Cluster) -> None:
        """Insist that a cluster that is locked anew is where it goes."""
        flag = self.model.waiting.get((device.type, cluster.index))
        if flag is not None:
            raise Mismatch(f"cluster {cluster.index} locked", f"has it still on its way to {flag.name}")

    def available(self, record: Record) -> None:
        """Follow a device that comes to the available list or leaves it; `quiet` compares."""
        device = self.model.devices[record.type]
        self.unsettled.add(record.type)
        if record.b:
            self.model.join(device)
        elif device in self.model.available:
            self.model.available.remove(device)

    def quiet(self) -> None:
        """Compare the available list while no allocation is under way and no device in between.

        On several CPUs a free may be under way: `swap_usage_sub()` comes before its record. There each visit compares
        the device that is found on the list.
        """
        if self.running:
            return
        for device in self.model.devices.values():
            there = device in self.model.available
            if not device.availability(there):
                self.unsettled.discard(device.type)
            elif device.type not in self.unsettled and self.trace.header.cpus == 1:
                raise Mismatch(
                    f"device {device.type} {'' if there else 'not '}available",
                    f"{device.used} of {device.total} slots in use",
                )

    def discard_take(self, record: Record) -> None:
        """Compare the cluster that is discarded next."""
        self.outcome.decisions += 1
        device = self.model.devices[record.type]
        if device.discard:
            self.settled(device, next(iter(device.discard.values())))
        compare(self.model, self.clusters, record)
