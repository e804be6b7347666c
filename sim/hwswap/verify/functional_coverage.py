# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: operation x order x cluster state x policy, of what was replayed on the engine.

And, of commands on swap tables, command x status x kind of slot, and windows by policy and size.

The states are the golden model's. That is sound because a replay compares every decision and lets the engine check all
its lists and counts in the end: where they agree, the engine's clusters had the same states.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hwswap_map import Flag, Status

from hwswap.compare import operations
from hwswap.model.clusters import Cluster, Device
from hwswap.model.golden import Allocator
from hwswap.model.observed_tables import TableBin, table_goals
from hwswap.model.policy import DeviceOrder, Hint, Placement, Scan
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.search import TOP_ORDER
from hwswap.traces.records import FAILED, Op
from hwswap.traces.trace import ClusterMap, Trace

NOWHERE = "none"
"""The state of an allocation that fails."""


class Bin(NamedTuple):
    """One thing to have happened: `alloc`, `fail` or `free`, order, cluster state before, one choice of policy.

    A free's order is that of the largest power of two not above the number of slots.
    """

    operation: str
    order: int
    state: str
    policy: str


def choices() -> list[str]:
    """Return the policies' choices, `kind=choice`."""
    kinds = {"scan": Scan, "device": DeviceOrder, "hint": Hint, "placement": Placement}
    return [f"{kind}={choice.name}" for kind, of in kinds.items() for choice in of]


def goals(policies: list[str]) -> Iterator[Bin]:
    """Yield all that can happen.

    A cluster that serves the highest order is empty before and full behind it; nothing is given from FULL or DISCARD,
    and nothing in use is on FREE or DISCARD.
    """
    for policy in policies:
        for order in range(ORDERS):
            yield Bin("fail", order, NOWHERE, policy)
            given = ("FREE",) if order == TOP_ORDER else ("FREE", "NONFULL", "FRAG")
            yield from (Bin("alloc", order, state, policy) for state in given)
            freed = ("FULL",) if order == TOP_ORDER else ("NONFULL", "FRAG", "FULL")
            yield from (Bin("free", order, state, policy) for state in freed)


class Observed(Allocator):
    """The golden model, which notes the state a cluster had before slots in it were given or freed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Start empty."""
        super().__init__(*args, **kwargs)
        self.state = NOWHERE
        self.isolated = Flag.NONE

    def isolate(self, device: Device, flag: Flag, order: int) -> Cluster | None:  # the model's needs no self
        """Note the list a cluster comes from: it is off its list when its slots are given."""
        cluster = Allocator.isolate(device, flag, order)
        if cluster is not None:
            self.isolated = flag
        return cluster

    def take(self, cluster: Cluster, mask: int) -> None:
        """Note the state of a cluster that slots are given of."""
        self.state = (self.isolated if cluster.flag == Flag.NONE else cluster.flag).name
        super().take(cluster, mask)

    def free(self, type_: int, offset: int, nr: int) -> Status:
        """Note the state of a cluster that slots are freed of."""
        self.state = self.devices[type_].clusters[offset // SLOTS].flag.name
        return super().free(type_, offset, nr)


@dataclass
class Functional:
    """How often each bin was hit, over all traces that were added."""

    hits: Counter[Bin] = field(default_factory=Counter)
    tables: Counter[TableBin] = field(default_factory=Counter)

    def add(self, trace: Trace) -> None:
        """Run a trace of operations through the model and count what happens."""
        header = trace.header
        model = Observed(max(header.devices, 1), header.cpus, max(header.clusters, 1))
        clusters = ClusterMap()
        for number, record in enumerate(trace.records):
            difference = operations.compare(model, clusters, number, record)
            if difference is not None:
                raise ValueError(f"a trace cannot be counted that the model does not agree with: {difference}")
            if record.op == Op.ALLOC:
                operation, order = ("fail" if record.type == FAILED else "alloc"), record.order
            elif record.op == Op.FREE:
                operation, order = "free", record.b.bit_length() - 1
            else:
                continue
            state = NOWHERE if operation == "fail" else model.state
            policy = model.policy
            for kind in ("scan", "device", "hint", "placement"):
                self.hits[Bin(operation, order, state, f"{kind}={getattr(policy, kind).name}")] += 1

    def missed(self, policies: list[str]) -> list[Bin | TableBin]:
        """Return the bins that nothing hit."""
        operations = [bin_ for bin_ in goals(policies) if not self.hits[bin_]]
        return [*operations, *(bin_ for bin_ in table_goals() if not self.tables[bin_])]

    def impossible(self, policies: list[str]) -> list[Bin | TableBin]:
        """Return bins that were hit and cannot be: the model or the list of goals is wrong."""
        operations = sorted(self.hits.keys() - set(goals(policies)))
        return [*operations, *sorted(self.tables.keys() - set(table_goals()))]
