# SPDX-License-Identifier: Apache-2.0
"""Looks at an engine's own state, by commands whose answers the golden model knows; the state stays as it was.

DUMP would tell clusters, and nothing of the lists; but an engine refuses a STEP command that does not fit. So:

  - STEP_VISIT of each available device in turn tells which is the first, and which comes behind: the list, which is as
    it was when each has been visited
  - STEP_TAKE of the first cluster of a list, which has to be the first, and STEP_PUT of it to the tail, for each of the
    list: then members and sequence are the model's, and are so afterwards
  - STEP_PUT is refused unless order and count fit: an empty cluster has no slot in use, one on FULL has no free one
  - the slots of another one: STEP_GIVE of all that the model has as free is refused if one is not; then the cluster has
    to go to FULL, which is refused if any other is free as well; then FREE gives them back

CHECK, which the replayer runs before and after each look, ties counts to bitmaps, and looks at links. Where CPUs go on
cannot be read; the decisions that follow depend on it.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace

from hwswap_map import Flag

from hwswap.compare import operations
from hwswap.compare.linear import unequal
from hwswap.compare.operations import Asking
from hwswap.model.clusters import Cluster, Device
from hwswap.model.rows import SLOTS
from hwswap.traces.records import Op, Record
from hwswap.traces.trace import ClusterMap, Trace, complete

DECISIONS = (Op.ALLOC, Op.ASK, Op.ANSWER, Op.DISCARD_TAKE)
LOOKS = 8
"""Looks at the state in a trace; one is a few hundred commands, or some thousands on devices full of holes."""

LEAVING = (Op.SWAPOFF_BEGIN, Op.SWAPOFF)


@dataclass
class Looked:
    """A trace whose STEP commands have their answers, with looks at the state in it."""

    trace: Trace
    looks: list[tuple[int, int]] = field(default_factory=list)
    """The records of each: the number of the first, and one more than that of the last."""
    clusters: int = 0
    """Clusters looked at, in all looks."""

    @property
    def options(self) -> list[str]:
        """What the replayer has to be told."""
        return [word for look in self.looks for word in ("--aside", *map(str, look))]


def places(sequence: list[Record]) -> list[int]:
    """Return before which records to look: after equal shares of the decisions, and when all of them have been made.

    The last place is before the devices go, as a trace may end when there is nothing left to look at.
    """
    decisions = [at for at, record in enumerate(sequence) if record.op in DECISIONS]
    if not decisions:
        return []
    last = decisions[-1] + 1
    end = next((at for at in range(last, len(sequence)) if sequence[at].op in LEAVING), len(sequence))
    return sorted({decisions[len(decisions) * share // LOOKS] for share in range(1, LOOKS)} | {end})


def quiet(model: Asking) -> bool:
    """Tell whether nothing is half done: no allocation waits, no cluster is off its list, the devices are right."""
    devices = [device for device in model.devices.values() if device.listed]
    return model.search is None and all(
        (device in model.available) == (device.writeok and device.used < device.total)
        and all(cluster.flag != Flag.NONE for cluster in device.clusters)
        for device in devices
    )


def free_runs(cluster: Cluster) -> Iterator[tuple[int, int]]:
    """Yield the first slot and the length of each run of free slots."""
    bits = f"{cluster.used:0{SLOTS}b}"[::-1]
    at = bits.find("0")
    while at >= 0:
        end = bits.find("1", at)
        end = SLOTS if end < 0 else end
        yield at, end - at
        at = bits.find("0", end)


def of_cluster(device: Device, cluster: Cluster) -> Iterator[Record]:
    """Yield the look at a cluster that is the first of its list; it comes to the tail."""
    flag, order, type_, index = cluster.flag, cluster.order, device.type, cluster.index
    yield Record(Op.STEP_TAKE, 0, order, type_, index, flag)
    if 0 < cluster.count < SLOTS:
        runs = [(index * SLOTS + at, nr) for at, nr in free_runs(cluster)]
        for offset, nr in runs:
            yield Record(Op.STEP_GIVE, 0, order, type_, offset, nr)
        yield Record(Op.STEP_PUT, 0, order, type_, index, Flag.FULL)
        for offset, nr in runs:
            yield Record(Op.FREE, 0, 0, type_, offset, nr)
        yield Record(Op.STEP_TAKE, 0, order, type_, index, Flag.NONFULL)
    yield Record(Op.STEP_PUT, 0, order, type_, index, flag)


def look(model: Asking) -> Iterator[Record]:
    """Yield the look at a whole state; the model has to carry out each record before the next is asked for."""
    for device in list(model.available):
        yield Record(Op.STEP_VISIT, 0, 0, device.type)
    for device in list(model.devices.values()):
        if device.listed:
            for _, _, clusters in device.lists():
                for cluster in list(clusters.values()):
                    yield from of_cluster(device, cluster)


def with_looks(sequence: Trace) -> Looked:
    """Carry a sequence out on the golden model; return it with the answers of its STEPs, and looks at the state."""
    header = sequence.header
    model = Asking(max(header.devices, 1), header.cpus, max(header.clusters, 1))
    clusters = ClusterMap()
    looked = Looked(sequence)
    found: list[Record] = []

    def carry_out(record: Record) -> None:
        answered = operations.with_answer(model, record)
        if difference := operations.compare(model, clusters, len(found), answered):
            raise AssertionError(f"the golden model does not do its own sequence: {difference}")
        found.append(answered)

    def look_now() -> None:
        before, begin = deepcopy(model), len(found)
        for record in look(model):
            looked.clusters += record.op == Op.STEP_TAKE
            carry_out(record)
        if difference := unequal(before, model):
            raise AssertionError(f"a look at the state has changed it: {difference}")
        looked.looks.append((begin, len(found)))

    due = places(sequence.records)
    for at, record in enumerate(sequence.records):
        while due and due[0] <= at and quiet(model):
            del due[0]
            look_now()
        carry_out(record)
    if due and quiet(model):
        look_now()
    looked.trace = complete(replace(header), found)
    return looked
