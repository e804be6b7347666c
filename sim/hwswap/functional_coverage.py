# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: operation x order x cluster state x policy, of what was replayed on the engine.

And, of commands on swap tables, command x status x kind of slot, and windows by policy and size.

The states are the golden model's. That is sound because a replay compares every decision and lets the engine check all
its lists and counts in the end: where they agree, the engine's clusters had the same states.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hwswap import check
from hwswap import hwswap_map as m
from hwswap.clusters import Cluster, Device
from hwswap.golden import Allocator
from hwswap.hwswap_map import Flag, Opcode, Readahead, Status, TableKind
from hwswap.policy import DeviceOrder, Hint, Placement, Scan
from hwswap.records import FAILED, Op
from hwswap.rows import ORDERS, SLOTS
from hwswap.search import TOP_ORDER
from hwswap.shared import Command
from hwswap.table_words import KINDS, WORD_BYTES, kind_of
from hwswap.tables import Answer, Extent, Memory, Tables, slot_of
from hwswap.trace import ClusterMap, Trace

CHANGING = (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE)
OF_RANGE = (Opcode.TABLE_RANGE, *CHANGING)

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


def choices(engine_has: frozenset[str] | None = None) -> list[str]:
    """Return the policies' choices, `kind=choice`; only those that the engine has, if that is said."""
    kinds = {"scan": Scan, "device": DeviceOrder, "hint": Hint, "placement": Placement}
    names = [f"{kind}={choice.name}" for kind, of in kinds.items() for choice in of]
    return [name for name in names if engine_has is None or name in engine_has]


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


class TableBin(NamedTuple):
    """A command on swap tables, by ring or by register: its opcode, its status, and of what.

    `of` is, for a command that is done, a kind of slot: the one that LOOKUP or SCAN found, or one that was among those
    that RANGE or COUNT looked at, or that FILL, CLEAR or REPLACE changed; for UNEXPECTED, the kind of the first that was
    not as expected; for WINDOW the policy and the slots, as the next power of two. Else it is "".
    """

    command: str
    status: str
    of: str


def table_goals() -> Iterator[TableBin]:
    """Yield all that can happen to commands on swap tables.

    REPLACE changes cached slots alone; taking tables needs no access to memory where the directory is on chip.
    """
    for opcode in Opcode:
        if not Opcode.TABLE_GIVE <= opcode <= Opcode.WINDOW:
            continue
        refusals = [Status.BAD_DEVICE, Status.BAD_RANGE]
        done = [""]
        if opcode not in (Opcode.TABLE_GIVE, Opcode.TABLE_TAKE):
            done = [kind.name for kind in TableKind]
        if opcode == Opcode.TABLE_REPLACE:
            done = [TableKind.CACHED.name, TableKind.UNUSED.name]
        if opcode == Opcode.WINDOW:
            done = [f"{policy.name} {1 << log2}" for policy in Readahead for log2 in range(10)]
        if opcode != Opcode.TABLE_TAKE:
            refusals.append(Status.BUS_ERROR)
        if opcode in OF_RANGE or opcode == Opcode.TABLE_LOOKUP:
            refusals.append(Status.NO_TABLE)
        if opcode == Opcode.TABLE_SCAN:
            refusals.append(Status.NO_SPACE)
        yield from (TableBin(opcode.name, Status.OK.name, of) for of in done)
        yield from (TableBin(opcode.name, status.name, "") for status in refusals)
        if opcode in CHANGING:
            yield from (TableBin(opcode.name, Status.UNEXPECTED.name, kind.name) for kind in TableKind)


class ObservedTables(Tables):
    """The golden model of swap tables, which counts what its commands come to."""

    def __init__(self, memory: Memory, devices: Mapping[int, Extent], seen: Counter[TableBin]) -> None:
        """Begin without tables."""
        super().__init__(memory, devices)
        self.seen = seen

    def carry_out(self, command: Command) -> Answer:
        """Carry a command out and count it."""
        offset = slot_of(command)
        before: list[TableKind] = []
        ranged = command.opcode in OF_RANGE and command.type in self.devices
        if ranged and self.inside(command.type, offset, command.nr):
            before = [kind_of(word) for word in self.words(command.type, *divmod(offset, SLOTS), command.nr)]
        answer = super().carry_out(command)
        for of in self.of_what(command, answer, before):
            self.seen[TableBin(Opcode(command.opcode).name, answer.status.name, of)] += 1
        return answer

    def of_what(self, command: Command, answer: Answer, before: list[TableKind]) -> set[str]:
        """Return what a command was about; `before` are the kinds of a range's slots before it."""
        opcode, status = command.opcode, answer.status
        if status == Status.UNEXPECTED:
            return {before[answer.result - slot_of(command)].name}
        if status != Status.OK or opcode in (Opcode.TABLE_GIVE, Opcode.TABLE_TAKE):
            return {""}
        if opcode == Opcode.WINDOW:
            policy = Readahead(m.MEM_TABLE_WINDOW_WINDOW_POLICY.get(command.arg1))
            slots = m.MEM_NEED_RECLAIM_SLOTS_NR.get(answer.result)
            return {f"{policy.name} {1 << (slots - 1).bit_length()}"}
        if opcode == Opcode.TABLE_LOOKUP:
            return {kind_of(answer.result).name}
        if opcode == Opcode.TABLE_SCAN:
            return {kind_of(self.words(command.type, *divmod(answer.result, SLOTS), 1)[0]).name}
        if opcode == Opcode.TABLE_COUNT:
            counts = self.memory.read(command.arg2, WORD_BYTES * KINDS)
            return {kind.name for kind in TableKind if any(counts[WORD_BYTES * kind : WORD_BYTES * (kind + 1)])}
        return {kind.name for kind in before}


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
            difference = check.compare(model, clusters, number, record)
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
