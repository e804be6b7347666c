# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: operation x order x cluster state x policy, of the operations replayed on the engine.

And, of commands on swap tables, command x status x kind of slot.

The states are the golden model's. That is sound because a replay compares every decision and lets the engine check all
its lists and counts in the end: where they agree, the engine's clusters had the same states.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hwswap_map import Flag, Status

from hwswap.compare.operations import compare
from hwswap.model.clusters import Cluster, Device
from hwswap.model.follower import Mismatch
from hwswap.model.golden import TOP_ORDER, Allocator
from hwswap.model.observed_tables import TableBin, table_goals
from hwswap.model.policy import DeviceOrder, Hint, Placement, Scan
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.traces.records import FAILED, Op
from hwswap.traces.trace import ClusterMap, Trace

NOWHERE = "none"
"""The state of an allocation that fails."""

KINDS = {"scan": Scan, "device": DeviceOrder, "hint": Hint, "placement": Placement}
POLICIES = [f"{kind}={choice.name}" for kind, of in KINDS.items() for choice in of]


class Bin(NamedTuple):
    """One thing to have happened: `alloc`, `fail` or `free`, order, cluster state before, one choice of policy.

    A free's order is that of the largest power of two not above the number of slots.
    """

    operation: str
    order: int
    state: str
    policy: str


def goals() -> Iterator[Bin | TableBin]:
    """Yield all that can happen.

    A cluster that serves the highest order is empty before and full after it; nothing is given from FULL or DISCARD,
    and nothing in use is on FREE or DISCARD.
    """
    yield from table_goals()
    for policy in POLICIES:
        for order in range(ORDERS):
            yield Bin("fail", order, NOWHERE, policy)
            given = ("FREE",) if order == TOP_ORDER else ("FREE", "NONFULL", "FRAG")
            yield from (Bin("alloc", order, state, policy) for state in given)
            freed = ("FULL",) if order == TOP_ORDER else ("NONFULL", "FRAG", "FULL")
            yield from (Bin("free", order, state, policy) for state in freed)


class Observed(Allocator):
    """The golden model, which notes the state a cluster had before slots in it were given or freed."""

    state = NOWHERE
    isolated = Flag.NONE

    def isolate(self, device: Device, flag: Flag, order: int) -> Cluster | None:  # the model's needs no self
        """Note the list a cluster comes from: it is off its list when its slots are given."""
        self.isolated = flag
        return Allocator.isolate(device, flag, order)

    def take(self, cluster: Cluster, mask: int) -> None:
        """Note the state of a cluster that slots are given of."""
        self.state = (self.isolated if cluster.flag == Flag.NONE else cluster.flag).name
        super().take(cluster, mask)

    def free(self, type_: int, offset: int, nr: int) -> Status:
        """Note the state of a cluster that slots are freed of."""
        self.state = self.devices[type_].clusters[offset // SLOTS].flag.name
        return super().free(type_, offset, nr)


class Functional:
    """The hits of each bin, over all traces that were added, and all commands on swap tables."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.hits: Counter[Bin] = Counter()
        self.tables: Counter[TableBin] = Counter()

    def add(self, trace: Trace) -> None:
        """Run a trace of operations through the model and count its bins."""
        header = trace.header
        model = Observed(max(header.devices, 1), header.cpus, max(header.clusters, 1))
        clusters = ClusterMap()
        for number, record in enumerate(trace.records):
            try:
                compare(model, clusters, record)
            except Mismatch as mismatch:
                raise ValueError(f"operation {number} of a trace: the model does not agree: {mismatch}") from mismatch
            if record.op == Op.ALLOC:
                failed = record.type == FAILED
                found = ("fail", record.order, NOWHERE) if failed else ("alloc", record.order, model.state)
            elif record.op == Op.FREE:
                found = "free", record.b.bit_length() - 1, model.state
            else:
                continue
            for kind in KINDS:
                self.hits[Bin(*found, f"{kind}={getattr(model.policy, kind).name}")] += 1

    def missed(self) -> list[Bin | TableBin]:
        """Return the bins that nothing hit."""
        hit = self.hits.keys() | self.tables.keys()
        return [bin_ for bin_ in goals() if bin_ not in hit]

    def impossible(self) -> list[Bin | TableBin]:
        """Return bins that were hit and cannot be: the model or the list of goals is wrong."""
        return sorted((self.hits.keys() | self.tables.keys()) - set(goals()))
