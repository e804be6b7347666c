# SPDX-License-Identifier: Apache-2.0
"""Making one sequence of commands for an engine of what many CPUs did at once.

An engine carries a command out before it begins the next, where the kernel's CPUs come between each other's steps. A
trace with details says in which order each thing that they share was used: a cluster, a list's ends, the available
list, a CPU's next offset. Operations that use nothing in common may be exchanged, so they are put in an order in which
each is carried out at once and every shared thing is still used in the recorded order. (In the terms of databases: the
schedule is conflict-serialisable.) An allocation in that order is a decision of the engine's, and is compared.

Where no such order is, since two allocations each were ahead of the other somewhere, one of them is taken apart: its
steps are carried out one by one at their places, as the kernel took them. It is the same where a step went as only the
kernel could know: a cluster's lock was taken, slots were reclaimed. Such an allocation is *forced*; it is counted by
its cause.

Whether an allocation at its new place comes to what the kernel did is tried on a golden model that is kept in the state
the engine is in; and whenever no allocation is under way, that state is compared with the one that replaying the trace
step by step leads to.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations, zip_longest
from typing import Any

from hwswap_map import Flag, Status

from hwswap.compare import operations
from hwswap.compare.forced import (
    GONE,
    LATE,
    OTHER_MOMENT,
    RECLAIMED_SLOTS,
    SKIPPED,
    SLEPT_FOR_TABLE,
    WITHOUT_TABLE,
    ForcedReplay,
    half_used_near,
    in_the_middle,
    names_its_cpu,
    turned,
)
from hwswap.model.clusters import Cluster, Device
from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap.model.stepper import Stepper
from hwswap.model.steps import (
    Attempt,
    HalfUsed,
    Isolate,
    Operation,
    Populate,
    ReclaimFull,
    Resume,
    Scanned,
    Turn,
    Visit,
)
from hwswap.traces.records import FAILED, FIRST_DETAIL, FROM_FULL, NO_CLUSTER, NO_MEMORY, SLEPT, Op, Record
from hwswap.traces.trace import ClusterMap, Trace, complete

INTERLEAVED = "CPUs came between each other's steps"
MIGRATED = "went on at another CPU"
AVAILABLE_LIST = "the available list changed at another moment"

NOBODY = "and no other operation was under way"

CHECKED = 20_000
"""Operations between two comparisons of the whole state."""


class NotOnRecord(AssertionError):
    """What the engine would do otherwise than the kernel has no cause that the trace's records show."""


class Unequal(Exception):  # not an error: then the allocation is forced
    """Carried out at once, an allocation would not do what the kernel did, by this cause."""


class Engine(Stepper):
    """The state of the engine that is given the sequence: operations at once, or steps."""

    hosted = True

    def __init__(self, devices: int, cpus: int, clusters: int) -> None:
        """Start empty."""
        super().__init__(devices, cpus, clusters)
        self.moves: list[tuple[Device, Cluster, Flag]] = []
        """What an allocation has put where, until somebody has noted it."""

    def move(self, device: Device, cluster: Cluster, flag: Flag) -> None:
        """Move a cluster, and note it."""
        super().move(device, cluster, flag)
        self.moves.append((device, cluster, flag))

    def step(self, record: Record) -> None:
        """Carry out the command of a STEP record."""
        status = operations.forced_step(self, record)
        if status != Status.OK:
            raise AssertionError(f"the engine would refuse {record} with {status.name}")


Use = tuple[Any, int]
"""A shared thing, and how it is used: one of the following."""
READ, WRITE, APPEND, POP, REMOVE, EMPTY = range(6)


@dataclass(slots=True, eq=False)
class Node:
    """What is carried out at once: an operation, or one step of an allocation that was taken apart."""

    records: list[Record] = field(default_factory=list)
    uses: list[list[Use]] = field(default_factory=list)
    """For each record what it uses."""
    at: list[int] = field(default_factory=list)
    """For each record its place in the trace."""
    cpu: int = 0
    order: int = 0
    number: int = 0
    apart: bool = False
    """It is a step of an allocation that was taken apart."""

    def overlaps(self, other: "Node") -> bool:
        """Tell whether one of two began before the other had ended."""
        return self.at[0] < other.at[-1] and other.at[0] < self.at[-1]

    def changes(self, type_: int) -> bool:
        """Tell whether it changes how much of a device is in use, or whether that is available."""
        return any(record.type == type_ and record.op in _USAGE for record in self.records)

    def add(self, at: int, record: Record, uses: list[Use]) -> None:
        """Note one more record."""
        self.records.append(record)
        self.uses.append(uses)
        self.at.append(at)


_USAGE = frozenset((Op.ALLOC, Op.FREE, Op.AVAILABLE, Op.SWAPON, Op.SWAPOFF_BEGIN))


class Shared:
    """Who has to come before whom: the uses of all shared things, in the recorded order."""

    def __init__(self) -> None:
        """Start with nothing used."""
        self.last: dict[tuple[Any, int], int] = {}
        self.since: dict[tuple[Any, int], list[int]] = {}
        self.before: dict[int, set[int]] = {}

    def use(self, node: int, thing: Any, how: int) -> None:
        """Note a use.

        On a list, who is appended behind whom matters, and who takes the first away behind whom; a cluster that is
        taken from behind the first, or appended, makes no difference to who takes the first away (that the one who
        takes it comes behind the one who put it there follows from their both using the cluster).
        """
        if how == READ:
            self.behind(node, thing, WRITE)
            self.since.setdefault((thing, READ), []).append(node)
        elif how == WRITE:
            self.behind(node, thing, WRITE)
            self.behind_all(node, thing, READ)
            self.last[thing, WRITE] = node
        elif how == APPEND:
            self.behind(node, thing, APPEND)
            self.behind_all(node, thing, EMPTY)
            self.last[thing, APPEND] = node
        elif how == POP:
            self.behind(node, thing, POP)
            self.behind_all(node, thing, REMOVE)
            self.last[thing, POP] = node
        elif how == REMOVE:
            self.since.setdefault((thing, REMOVE), []).append(node)
        else:
            self.behind(node, thing, POP)
            self.behind(node, thing, APPEND)
            for other in self.since.get((thing, REMOVE), ()):
                self.edge(other, node)
            self.since.setdefault((thing, EMPTY), []).append(node)

    def edge(self, first: int, then: int) -> None:
        """Let one node come before another."""
        if first != then:
            self.before.setdefault(then, set()).add(first)

    def behind(self, node: int, thing: Any, how: int) -> None:
        """Put a node behind the last one that used a thing so."""
        other = self.last.get((thing, how))
        if other is not None:
            self.edge(other, node)

    def behind_all(self, node: int, thing: Any, how: int) -> None:
        """Put a node behind all that have used a thing so."""
        for other in self.since.pop((thing, how), ()):
            self.edge(other, node)


def arrange(nodes: list[Node]) -> list[Node]:
    """Put nodes in an order that keeps all uses in theirs; take allocations apart where there is none."""
    while True:
        shared = Shared()
        uses = sorted(
            (at, index, record_uses)
            for index, node in enumerate(nodes)
            for at, record_uses in zip(node.at, node.uses, strict=True)
        )
        for _, index, record_uses in uses:
            for thing, how in record_uses:
                shared.use(index, thing, how)
        order, left = topological(nodes, shared.before)
        if not left:
            return [nodes[index] for index in order]
        # The longest of those that cannot be ordered, and that can be taken apart.
        victims = [index for index in left if nodes[index].number and not nodes[index].apart]
        if not victims:
            raise AssertionError(f"operations around record {nodes[left[0]].at[0]} have no order")
        victim = max(victims, key=lambda index: len(nodes[index].records))
        nodes = [*nodes[:victim], *pieces(nodes[victim]), *nodes[victim + 1 :]]


def pieces(node: Node) -> list[Node]:
    """Take an allocation apart into its steps."""
    return [
        Node([record], [uses], [at], node.cpu, node.order, node.number, apart=True)
        for record, uses, at in zip(node.records, node.uses, node.at, strict=True)
    ]


def topological(nodes: list[Node], before: dict[int, set[int]]) -> tuple[list[int], list[int]]:
    """Order nodes by their last records, as far as `before` allows; what is left is in circles or behind them.

    Of those left, only the ones in circles are returned.
    """
    waiting = {index: len(others) for index, others in before.items() if others}
    after: dict[int, list[int]] = {}
    for index, others in before.items():
        for other in others:
            after.setdefault(other, []).append(index)
    ready = [(nodes[index].at[-1], index) for index in range(len(nodes)) if index not in waiting]
    heapify(ready)
    order = []
    while ready:
        _, index = heappop(ready)
        order.append(index)
        for other in after.get(index, ()):
            waiting[other] -= 1
            if not waiting[other]:
                del waiting[other]
                heappush(ready, (nodes[other].at[-1], other))
    # What nothing that is left has to come behind is behind a circle, not in one.
    left = set(waiting)
    while True:
        ends = {index for index in left if not left.intersection(after.get(index, ()))}
        if not ends:
            return order, sorted(left)
        left -= ends


class Collector(ForcedReplay):
    """Replays a trace step by step, and collects what uses what until nothing is under way."""

    def __init__(self, trace: Trace) -> None:
        """Start with nothing collected."""
        super().__init__(trace)
        self.nodes: list[Node] = []
        self.open: dict[int, Node] = {}
        self.movers: dict[tuple[int, int], Node] = {}
        self.expected: dict[int, Node] = {}
        """Devices that an operation will bring to the available list, or take off it, and that operation."""
        self.returning: dict[tuple[int, int], Node] = {}
        """CPU and device of a free that has begun: the device has come to the available list."""

    def collect(self, at: int, record: Record) -> list[Node]:
        """Take the next record; return all that was collected when nothing is under way any more, else nothing."""
        self.at = at
        op, cpu, order, type_, a, _, number = record
        model = self.model
        uses: list[Use] = []
        device = model.devices.get(type_)
        node: Node | None = None
        if op == Op.BEGIN:
            node = self.open[number] = Node(cpu=cpu, order=order, number=number)
            self.nodes.append(node)
            uses.append((("next", cpu, order), WRITE))
        elif number and op != Op.PREPARE:
            node = self.open[number]
        elif op == Op.MOVE:
            node = self.movers.get((type_, a))
        elif op == Op.AVAILABLE:
            node = self.expected.pop(type_, None)
        elif op == Op.FREE:
            node = self.returning.pop((cpu, type_), None)
        if node is None:
            node = Node(cpu=cpu)
            self.nodes.append(node)
        if device is not None and op not in (Op.BEGIN, Op.END):
            self.used_by(record, node, device, uses)
        self.record(record)
        key = (type_, a if op == Op.MOVE else a // SLOTS)
        if op == Op.MOVE:
            self.movers.pop(key, None)
        elif key in model.waiting:
            self.movers.setdefault(key, node)
        if op == Op.END:
            del self.open[number]
        node.add(at, record, uses)
        self.expect(record, node)
        if self.running or model.waiting or self.expected or self.returning:
            return []
        done, self.nodes = self.nodes, []
        return done

    def used_by(self, record: Record, node: Node, device: Device, uses: list[Use]) -> None:
        """Note what a record uses, as the state is before it."""
        op, cpu, order, type_, a, b, _ = record
        life = op in (Op.PREPARE, Op.BAD, Op.SWAPON, Op.SWAPOFF_BEGIN, Op.SWAPOFF)
        uses.append((("device", type_), WRITE if life else READ))
        if op == Op.VISIT:
            equals = sum(other.priority == device.priority for other in self.model.available)
            uses.append(("available", WRITE if equals > 1 else READ))
        elif op == Op.AVAILABLE:
            uses.append(("available", WRITE))
        elif op == Op.ISOLATE:
            name = type_, b, order
            if a == NO_CLUSTER:
                uses.append((name, EMPTY))
            else:
                uses.append((("cluster", type_, a), WRITE))
                uses.append((name, POP))
        elif op == Op.MOVE:
            cluster = device.clusters[a]
            uses.append((("cluster", type_, a), WRITE))
            if cluster.flag != Flag.NONE and not cluster.taken:
                own = cluster.order if cluster.flag in (Flag.NONFULL, Flag.FRAG) else 0
                uses.append(((type_, int(cluster.flag), own), REMOVE))
            own = order if b in (Flag.NONFULL, Flag.FRAG) else 0
            uses.append(((type_, b, own), APPEND))
        elif op == Op.DISCARD_TAKE:
            name = type_, int(Flag.DISCARD), 0
            uses.append((name, POP if a else EMPTY))
            uses.append((("cluster", type_, a // SLOTS), WRITE))
        elif op in (Op.FREE, Op.ALLOC, Op.REFUSED, Op.SCANNED, Op.RECLAIM, Op.RECLAIMED, Op.DISCARD_DONE):
            uses.append((("cluster", type_, a // SLOTS), WRITE))
        elif op == Op.TABLE:
            uses.append((("cluster", type_, a), WRITE))
        if op in (Op.ALLOC, Op.REFUSED, Op.SCANNED):
            place = ("shared next", type_, node.order) if device.rotating else ("next", cpu, node.order)
            uses.append((place, WRITE))

    def expect(self, record: Record, node: Node) -> None:
        """Note whether the available list has to follow an operation that is no allocation."""
        op, type_ = record.op, record.type
        if op == Op.SWAPOFF:
            self.expected.pop(type_, None)
        if op == Op.AVAILABLE and record.b and node.at[0] == self.at and not record.c:
            self.returning[record.cpu, type_] = node
        if record.c or op not in (Op.FREE, Op.SWAPON, Op.SWAPOFF_BEGIN):
            return
        device = self.model.devices[type_]
        if (device in self.model.available) != (device.writeok and device.used < device.total):
            self.expected.setdefault(type_, node)


@dataclass
class Linear:
    """What linearising a trace came to: records for a replayer that does one after the other."""

    trace: Trace
    records: list[Record] = field(default_factory=list)
    decisions: int = 0
    """Decisions that are the engine's to make."""
    forced: Counter[str] = field(default_factory=Counter)
    """Allocations that are carried out step by step, by cause; and by AVAILABLE_LIST how often that was put right."""
    steps: int = 0
    """Records of steps."""


class Lineariser:
    """Makes one sequence of a trace with details."""

    def __init__(self, trace: Trace) -> None:
        """Prepare an engine's state and that of a replay step by step."""
        header = trace.header
        self.trace = trace
        self.result = Linear(trace)
        self.collector = Collector(trace)
        self.engine = Engine(max(header.devices, 1), header.cpus, max(header.clusters, 1))
        self.clusters = ClusterMap()
        self.going: set[int] = set()
        """Devices whose swapoff has begun."""
        self.loose: set[tuple[int, int]] = set()
        """Clusters that the reclaim in the background has taken off FULL: devices and numbers."""

    def run(self, progress: Callable[[int], None] | None = None) -> Linear:
        """Do all of it; a Mismatch tells of a trace that the golden model decides otherwise."""
        since = 0
        for at, record in enumerate(self.trace.records):
            if progress is not None and not at % 4096:
                progress(at)
            nodes = self.collector.collect(at, record)
            if not nodes:
                continue
            for node in nodes if len(nodes) == 1 else arrange(nodes):
                self.carry_out(node, nodes)
            self.reconcile(nodes)
            since += len(nodes)
            if since > CHECKED:
                since = 0
                self.compare()
        self.compare()
        if progress is not None:
            progress(len(self.trace.records))
        return self.result

    def carry_out(self, node: Node, others: list[Node]) -> None:
        """Do what a node says, as a command if the engine would come to the same, else in steps.

        A cause is believed only where the trace's records show it. That CPUs came between each other's steps is that
        the allocation was under way together with another operation of those collected, the `others`.
        """
        if not node.number:
            for record in node.records:
                self.operation(record)
            return
        if node.apart:
            self.result.forced[INTERLEAVED] += node.records[0].op == Op.BEGIN
            self.in_steps(node.records, node.order)
            return
        together = (other for other in others if other is not node and node.overlaps(other))
        trial = Trial(self.engine, node, Around(self.trace, together, self.going))
        try:
            trial.run()
        except Unequal as unequal:
            self.result.forced[str(unequal)] += 1
            self.put(*trial.steps)
            self.in_steps(node.records[trial.done :], node.order)
            return
        self.result.decisions += 1
        self.put(*trial.sequence)

    def put(self, *records: Record) -> None:
        """Add records to the sequence."""
        self.result.records += records
        self.result.steps += sum(Op.STEP_TAKE <= record.op <= Op.STEP_AVAILABLE for record in records)

    def operation(self, record: Record) -> None:
        """Do an operation that is no allocation's, or a step of what goes on in the background."""
        op, _, _, type_, a, b, _ = record
        if op >= FIRST_DETAIL:
            if op == Op.ISOLATE and a != NO_CLUSTER:  # from FULL, by the reclaim in the background
                self.step(Record(Op.STEP_TAKE, 0, 0, type_, a, b))
                self.loose.add((type_, a))
            elif op == Op.MOVE:
                self.moved(record)
            return  # the available list is looked after by `reconcile`
        if op == Op.SWAPOFF_BEGIN or (op == Op.INIT_DEVICE and not a):
            self.going.add(type_)
        elif op in (Op.SWAPON, Op.SWAPOFF):
            self.going.discard(type_)
        if op == Op.DISCARD_TAKE:
            self.result.decisions += 1
            self.engine.discard_take(type_)
        else:
            status = operations.step(self.engine, self.clusters, record)
            assert status == Status.OK, f"{record}: {status.name}"
        self.put(record._replace(c=0) if op == Op.FREE else record)

    def moved(self, record: Record) -> None:
        """Put a cluster where the reclaim in the background does; behind another operation it has to be there."""
        _, _, order, type_, index, flag, _ = record
        if (type_, index) in self.loose:
            self.loose.discard((type_, index))
            self.put_back(type_, index, flag, order)
        elif (there := self.engine.devices[type_].clusters[index].flag) != flag:
            raise NotOnRecord(
                f"up to record {self.collector.at}, cluster {index} of device {type_} goes to {Flag(flag).name}, "
                f"and at once to {there.name}"
            )

    def put_back(self, type_: int, index: int, flag: int, order: int) -> None:
        """Put a cluster where the trace has it, unless it is there."""
        cluster = self.engine.devices[type_].clusters[index]
        if cluster.flag != flag:
            self.step(Record(Op.STEP_PUT, 0, order if flag != Flag.FREE else 0, type_, index, flag))

    def step(self, record: Record) -> None:
        """Do a step."""
        self.engine.step(record)
        self.put(record)

    def in_steps(self, records: list[Record], order: int) -> None:
        """Do what is left of an allocation in the steps that the trace has."""
        for record in records:
            op, cpu, own, type_, a, b, _ = record
            if op == Op.VISIT:
                self.step(Record(Op.STEP_VISIT, 0, 0, type_))
            elif op == Op.ISOLATE and a != NO_CLUSTER:
                self.step(Record(Op.STEP_TAKE, 0, own, type_, a, b))
            elif op == Op.MOVE:
                self.put_back(type_, a, b, own)
            elif op == Op.FREE:
                self.operation(record)
            elif op == Op.AVAILABLE:
                if (self.engine.devices[type_] in self.engine.available) != bool(b):
                    self.step(Record(Op.STEP_AVAILABLE, 0, 0, type_, b=b))
            elif op == Op.SCANNED:
                self.step(next_step(self.engine, cpu, order, type_, 0))
            elif op == Op.ALLOC and type_ != FAILED:
                nr = 1 << order
                self.step(Record(Op.STEP_GIVE, 0, order, type_, a, nr))
                cluster = self.engine.devices[type_].clusters[a // SLOTS]
                goes_on = cluster.count < SLOTS and a % SLOTS + 2 * nr <= SLOTS
                self.step(next_step(self.engine, cpu, order, type_, a + nr if goes_on else 0))

    def reconcile(self, nodes: list[Node]) -> None:
        """Let the engine's available list follow the kernel's where operations that overlap changed it in between."""
        engine, model = self.engine, self.collector.model
        mine, theirs = ([device.type for device in model_.available] for model_ in (engine, model))
        if mine == theirs:
            return
        others = {type_ for pair in zip_longest(mine, theirs) if pair[0] != pair[1] for type_ in pair}
        doubtful = set(mine) ^ set(theirs)
        shown = {type_ for type_ in others - {None} if self.changed_between(nodes, type_)}
        if doubtful - shown or not shown:
            raise NotOnRecord(
                f"up to record {self.collector.at}, the available list is {theirs}, and {mine} where operations are "
                "carried out at once, though no two that were under way together changed that"
            )
        self.result.forced[AVAILABLE_LIST] += 1
        for device in list(engine.available):
            self.step(Record(Op.STEP_AVAILABLE, 0, 0, device.type, b=0))
        for device in model.available:
            self.step(Record(Op.STEP_AVAILABLE, 0, 0, device.type, b=1))

    def changed_between(self, nodes: list[Node], type_: int) -> bool:
        """Tell whether two operations that were under way together changed how much of a device is in use.

        One of them may be a free that has not come to its record yet: slots are counted before that.
        """
        records, cpus = self.trace.records, self.trace.header.cpus
        coming = in_the_middle(records, self.collector.at, cpus)
        if any(record.op == Op.FREE and record.type == type_ for record in coming):
            return True
        spans = [(self.begun(node), node.at[-1]) for node in nodes if node.changes(type_)]
        return any(one[0] < two[1] and two[0] < one[1] for one, two in combinations(spans, 2))

    def begun(self, node: Node) -> int:
        """Return behind which record an operation began: the last one of its CPU, where there is no BEGIN."""
        if node.number:
            return node.at[0]
        records = self.trace.records
        before = range(node.at[0] - 1, -1, -1)
        return next((at for at in before if names_its_cpu(records[at]) and records[at].cpu == node.cpu), -1)

    def compare(self) -> None:
        """Insist that the engine's state is that of the replay step by step."""
        if difference := unequal(self.engine, self.collector.model):
            raise AssertionError(f"behind record {self.collector.at}, the sequence leads elsewhere: {difference}")


def unequal(one: Allocator, other: Allocator) -> str | None:
    """Say where two models differ in what decides allocations."""
    if one.devices.keys() != other.devices.keys():
        return f"devices {sorted(one.devices)} and {sorted(other.devices)}"
    for type_, device in one.devices.items():
        twin = other.devices[type_]
        for cluster, second in zip(device.clusters, twin.clusters, strict=True):
            for name in ("used", "count", "order", "flag", "taken"):
                values = getattr(cluster, name), getattr(second, name)
                if values[0] != values[1]:
                    return f"device {type_}, cluster {cluster.index}: {name} {values[0]} and {values[1]}"
        for (flag, order, clusters), (_, _, seconds) in zip(device.lists(), twin.lists(), strict=True):
            if list(clusters) != list(seconds):
                return f"device {type_}, {flag.name}[{order}]: {list(clusters)} and {list(seconds)}"
        if (device.writeok, device.next_offset) != (twin.writeok, twin.next_offset):
            return f"device {type_}: write permission or where it goes on"
    for cpu, (hints, seconds) in enumerate(zip(one.next_offsets, other.next_offsets, strict=True)):
        for order, (hint, second) in enumerate(zip(hints, seconds, strict=True)):
            places = [(at.device.type, at.offset) if at.device and at.offset else None for at in (hint, second)]
            if places[0] != places[1]:
                return f"CPU {cpu}, order {order} goes on at {places[0]} and {places[1]}"
    available = [[device.type for device in model.available] for model in (one, other)]
    return None if available[0] == available[1] else f"available are {available[0]} and {available[1]}"


@dataclass
class Around:
    """What the trace has around an allocation: there a cause has to be seen."""

    trace: Trace
    together: Iterable[Node] = ()
    """Operations that were under way together with it; gone through once, when a cause is looked for."""
    going: Collection[int] = ()
    """Devices whose swapoff has begun."""

    @cached_property
    def others(self) -> list[Node]:
        """Operations that were under way together with it."""
        return list(self.together)

    def turned(self, first: int, last: int, type_: int) -> bool:
        """Tell whether a device was turned on or off from one record until soon behind another."""
        return turned(self.trace.records, first, last, type_)

    def half_used(self, engine: Engine, at: int) -> set[bool]:
        """Return whether more than half may have been used at a record, by what the others did at that time."""
        others = [record for other in self.others for record in other.records]
        return half_used_near(self.trace.records, at, self.trace.header.cpus, engine, others)


class Trial:
    """Carries an allocation out at once on an engine's state, as long as it does what the kernel did."""

    def __init__(self, engine: Engine, node: Node, around: Around) -> None:
        """Prepare the allocation of a node."""
        self.engine = engine
        self.node = node
        self.around = around
        self.done = 0
        """Records of the node that need not be done any more."""
        self.steps: list[Record] = []
        """What has been done, in steps."""
        self.found = FAILED, 0
        self.skipped: set[tuple[int, int]] = set()
        """Clusters of the list looked at next whose lock somebody else had: devices and numbers."""
        self.asked = any(map(reclaims, node.records))
        """It reclaimed, or tried to: the engine asks."""
        self.command = Record(Op.ASK if self.asked else Op.ALLOC, node.cpu, node.order, FAILED)
        """What the engine has been told last, without its outcome."""
        self.dialog: list[Record] = []
        """What has been said before that."""

    @property
    def sequence(self) -> list[Record]:
        """The commands that it was carried out with."""
        type_, offset = self.found
        return [*self.dialog, self.command._replace(type=type_, a=offset)]

    def run(self) -> None:
        """Carry it out; Unequal tells why it has to be forced, when `done` and `steps` tell how far it came."""
        self.engine.moves.clear()
        search = self.engine.allocation(Operation(self.node.cpu, self.node.order))
        answer: Any = None
        try:
            while True:
                step = search.send(answer)
                self.note_moves()
                answer = self.answer(step)
        except StopIteration as end:
            self.note_moves()
            record = self.expect()
            if end.value is None and record is not None and (record.op, record.type) == (Op.ALLOC, FAILED):
                self.done += 1
                record = self.expect()
            if record is not None:
                raise self.unequal() from None
        finally:
            search.close()
            self.engine.waits = False

    def expect(self) -> Record | None:
        """Return the next record that says something of the search; None at the end.

        What follows from the rest is passed over: where clusters go, whether devices are available; that half is used,
        where nothing came of it; and who was skipped, as whom the search meets instead tells whether that mattered.
        """
        records = self.node.records
        while self.done < len(records):
            record = records[self.done]
            if record.op == Op.SKIP:
                self.skipped.add((record.type, record.a))
            elif record.op not in _FOLLOWS and (self.asked or not of_reclaim(record)):
                return record
            self.done += 1
        return None

    def because(self, cause: str, shown: bool) -> Unequal:
        """Return that it has to be forced by a cause, if the trace's records show that."""
        if not shown:
            raise NotOnRecord(
                f"allocation {self.node.number}, up to record {self.node.at[-1]}, differs at once and not in steps, "
                + (NOBODY if cause == INTERLEAVED else f"and the records do not show why ({cause})")
            )
        return Unequal(cause)

    def unequal(self, met: tuple[int, int] | None = None) -> Unequal:
        """Return why the search does not come to the same; `met` is the cluster that it would take, if that is why."""
        if met in self.skipped:
            return Unequal(SKIPPED)
        together = bool(self.around.others)
        if self.slept and (together or self.elsewhere):
            return Unequal(SLEPT_FOR_TABLE)
        return self.because(INTERLEAVED, together)

    @property
    def slept(self) -> bool:
        """Tell whether it has slept for a table."""
        return any(record.op == Op.TABLE and record.b == SLEPT for record in self.node.records[: self.done])

    @property
    def elsewhere(self) -> bool:
        """Tell whether it goes on at another CPU than where it began."""
        return any(record.cpu != self.node.cpu for record in self.node.records[: self.done + 1])

    @property
    def place(self) -> int:
        """Return the record that comes next, by its number in the trace."""
        return self.node.at[min(self.done, len(self.node.at) - 1)]

    def note_moves(self) -> None:
        """Note the steps that put clusters where the search has put them."""
        for device, cluster, flag in self.engine.moves:
            order = cluster.order if flag != Flag.FREE else 0
            self.steps.append(Record(Op.STEP_PUT, 0, order, device.type, cluster.index, flag))
        self.engine.moves.clear()

    def answer(self, step: Any) -> Any:
        """Compare what the search is about to do with the kernel's, and answer it."""
        engine = self.engine
        engine.waits = False
        record = self.expect()
        if isinstance(step, Turn):
            return None
        if isinstance(step, HalfUsed) and not self.asked:
            return False
        if isinstance(step, Resume):
            self.resume(step, record)
            return None
        if record is None:
            raise self.unequal()
        if isinstance(step, Visit):
            return self.visit(step, record)
        if isinstance(step, Isolate):
            return self.isolate(step, record)
        if isinstance(step, Populate):
            step.cluster.bare = False
            if record.op != Op.TABLE or record.a != step.cluster.index:
                raise self.unequal()
            if record.b == NO_MEMORY:
                raise Unequal(WITHOUT_TABLE)
            self.done += 1
            return True
        if isinstance(step, HalfUsed):
            if record.op != Op.HALF_USED:
                raise self.unequal()
            if bool(record.a) != engine.half_used:
                raise self.because(OTHER_MOMENT, bool(record.a) in self.around.half_used(engine, self.place))
            self.done += 1
            return engine.half_used
        if isinstance(step, ReclaimFull):
            self.reclaim_full(step)
            return None
        if isinstance(step, Attempt):
            tried = self.reclaim(step, record)
            if tried is not None:
                return tried
            offset = step.cluster.index * SLOTS + step.slot if step.slot >= 0 and step.device.writeok else 0
            self.at_scan(step, record, offset)
            return None
        assert isinstance(step, Scanned)
        self.at_scan(step, record, step.offset)
        self.done += 1
        nr = 1 << self.node.order
        offset = step.offset
        if offset:
            self.steps.append(Record(Op.STEP_GIVE, 0, self.node.order, record.type, offset, nr))
            self.found = record.type, offset
            offset = offset + nr if step.cluster.count < SLOTS and offset % SLOTS + 2 * nr <= SLOTS else 0
        self.steps.append(next_step(engine, record.cpu, self.node.order, record.type, offset))
        return None

    def resume(self, step: Resume, record: Record | None) -> None:
        """Compare whether a remembered place can be used."""
        if not step.device.writeok:
            raise self.because(GONE, step.device.type in self.around.going)
        usable = self.engine.usable(step.device.clusters[step.offset // SLOTS], self.node.order)
        refused = record is not None and record.op == Op.REFUSED
        if usable == refused:
            raise self.unequal()
        if refused:
            assert record is not None
            if (record.type, record.a) != (step.device.type, step.offset):
                raise self.unequal()
            self.done += 1

    def visit(self, step: Visit, record: Record) -> Any:
        """Compare the device that is turned to, and turn to it."""
        available = self.engine.available
        if not available:
            if (record.op, record.type) != (Op.ALLOC, FAILED):
                raise self.unequal()
            return None, None
        device = step.device if step.device in available else available[0]
        if record.op != Op.VISIT or record.type != device.type:
            raise self.unequal()
        self.done += 1
        self.steps.append(Record(Op.STEP_VISIT, 0, 0, device.type))
        return self.engine.visit(step.device, self.node.cpu)

    def isolate(self, step: Isolate, record: Record) -> Cluster | None:
        """Compare the cluster that is taken off a list, and take it."""
        clusters = step.device.list_of(step.flag, step.order)
        index = next(iter(clusters), NO_CLUSTER)
        wanted = step.device.type, step.flag, step.order, index
        if record.op != Op.ISOLATE or (record.type, record.b, record.order, record.a) != wanted:
            raise self.unequal((step.device.type, index))
        self.skipped.clear()
        self.done += 1
        if index == NO_CLUSTER:
            return None
        self.steps.append(Record(Op.STEP_TAKE, 0, step.order, step.device.type, index, step.flag))
        return self.engine.isolate(step.device, step.flag, step.order)

    def reclaim(self, step: Attempt, record: Record) -> int | None:
        """Answer the engine's question whether there is something to reclaim on the way, if it asks."""
        end = step.slot if step.slot >= 0 else SLOTS
        asks = self.asked and self.engine.half_used and step.start < end
        first = step.cluster.index * SLOTS
        if record.op != Op.RECLAIM:
            if asks:
                self.question(step.device.type, first + step.start, end - step.start)
                self.reply(first + step.start, 0)
            return None
        slot = record.a - first
        if not asks or record.type != step.device.type or not step.start <= slot < end:
            together = bool(self.around.others) or True in self.around.half_used(self.engine, self.place)
            raise self.because(RECLAIMED_SLOTS, together)
        if record.cpu != self.node.cpu:
            raise self.because(MIGRATED, self.slept)
        self.question(step.device.type, first + step.start, end - step.start)
        self.done += 1
        self.frees()
        ended = self.expect()
        if ended is None or ended.op != Op.RECLAIMED:
            raise self.because(RECLAIMED_SLOTS, bool(self.around.others))
        self.done += 1
        self.reply(record.a, 1)
        self.engine.waits = True
        return slot

    def reclaim_full(self, step: ReclaimFull) -> None:
        """Answer the engine's question about a cluster from FULL."""
        first = step.cluster.index * SLOTS
        self.question(step.device.type, first, SLOTS | FROM_FULL)
        self.frees()
        self.reply(first, 0)

    def question(self, type_: int, offset: int, about: int) -> None:
        """Note that the last command ends with a question about so many slots."""
        self.dialog.append(self.command._replace(type=type_, a=offset, b=about))

    def reply(self, offset: int, tried: int) -> None:
        """Note the answer: nothing to reclaim (0), or tried at a slot (1)."""
        self.command = Record(Op.ANSWER, self.node.cpu, self.node.order, FAILED, c=offset << 1 | tried)

    def frees(self) -> None:
        """Free what the kernel freed here."""
        while (record := self.expect()) is not None and record.op == Op.FREE:
            freed = record._replace(c=0)
            status = self.engine.free(record.type, record.a, record.b)
            assert status == Status.OK, f"{record}: {status.name}"
            self.engine.moves.clear()  # the command does that
            self.steps.append(freed)
            self.dialog.append(freed)
            self.done += 1

    def at_scan(self, step: Attempt | Scanned, record: Record, offset: int) -> None:
        """Compare what a scan finds, and on which CPU."""
        if record.op not in (Op.ALLOC, Op.SCANNED) or record.type != step.device.type:
            raise self.unequal()
        if (record.op == Op.ALLOC) != bool(offset) or record.a // SLOTS != step.cluster.index:
            late = step.device.writeok != (record.op == Op.ALLOC)
            if late and self.around.turned(self.node.at[0], self.place, step.device.type):
                raise Unequal(LATE)
            raise self.unequal()
        if offset and record.a != offset:
            raise self.unequal()
        if record.cpu != self.node.cpu and not step.device.rotating:
            raise self.because(MIGRATED, self.slept)


_FOLLOWS = frozenset((Op.BEGIN, Op.END, Op.AVAILABLE, Op.MOVE))
"""Records that say nothing that does not follow from the others."""


def of_reclaim(record: Record) -> bool:
    """Tell whether a record is about a reclaim of full clusters."""
    return record.op == Op.HALF_USED or (record.op == Op.ISOLATE and record.b == Flag.FULL)


def reclaims(record: Record) -> bool:
    """Tell whether a record belongs to an allocation that reclaimed, or looked whether it could."""
    full = record.op == Op.ISOLATE and record.b == Flag.FULL and record.a != NO_CLUSTER
    return full or record.op == Op.RECLAIM


def next_step(engine: Engine, cpu: int, order: int, type_: int, offset: int) -> Record:
    """Return the step that writes where to go on after a scan."""
    shared = engine.devices[type_].rotating
    return Record(Op.STEP_NEXT, 0 if shared else cpu, order, type_, offset, int(shared))


def linearise(trace: Trace, progress: Callable[[int], None] | None = None) -> Linear:
    """Make one sequence of a trace with details; a Mismatch tells where model and trace part."""
    return Lineariser(trace).run(progress)


def as_trace(linear: Linear) -> Trace:
    """Return the sequence as a trace for the replayer, of format version 3 if there are steps in it."""
    return complete(replace(linear.trace.header), linear.records)
