# SPDX-License-Identifier: Apache-2.0
"""The records of a trace: their kinds, functions that make each, and checks of their fields (docs/traces.md)."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from hwswap.model.policy import Policy
from hwswap.model.rows import ORDERS, SLOTS

MAX_TYPES = 32
FAILED = 255
"""The type of an ALLOC record whose allocation failed."""
NO_CLUSTER = 0xFFFF_FFFF
"""The cluster of an ISOLATE record when none could be had."""


class TraceError(ValueError):
    """A trace cannot be read or makes no sense; the message is one sentence for the user."""


class Op(IntEnum):
    """The kind of a record.

    Those below 32 are operations, from 32 on details, from 64 on windows of readahead.
    """

    PREPARE = 1
    BAD = 2
    SWAPON = 3
    SWAPOFF_BEGIN = 4
    SWAPOFF = 5
    ALLOC = 6
    FREE = 7
    DISCARD_TAKE = 8
    DISCARD_DONE = 9
    POLICY = 10
    NODE = 11
    BEGIN = 32
    END = 33
    VISIT = 34
    REFUSED = 35
    SCANNED = 36
    ISOLATE = 37
    SKIP = 38
    TABLE = 39
    HALF_USED = 40
    RECLAIM = 41
    RECLAIMED = 42
    MOVE = 43
    AVAILABLE = 44
    READAHEAD_STATE = 64
    READAHEAD = 65


NAMES = {int(op): op.name.lower() for op in Op}
FIRST_VERSION = tuple(op for op in Op if op <= Op.FREE)
"""The kinds in format version 1."""
KNOWN = {1: FIRST_VERSION, 2: tuple(op for op in Op if op <= Op.AVAILABLE), 4: tuple(Op)}
"""The kinds in each format version. There is no version 3: it had steps of an allocation that an engine was told."""
FIRST_DETAIL, FIRST_READAHEAD = 32, 64

AT_ONCE, SLEPT, NO_MEMORY = range(3)
"""A TABLE record's ways in which a cluster's table was had, or not."""


class Record(NamedTuple):
    """One record; docs/traces.md has the meaning of a, b and c for each op. c is signed."""

    op: int
    cpu: int
    order: int
    type: int
    a: int = 0
    b: int = 0
    c: int = 0


def prepare(type_: int, pages: int, flags: int, priority: int, node: int = 0) -> Record:
    """Return the record of a device of `pages` slots (header included) with its flags and priority."""
    return Record(Op.PREPARE, node, 0, type_, pages, flags, priority)


def bad(type_: int, offset: int, nr: int) -> Record:
    """Return the record of `nr` bad slots of a prepared device."""
    return Record(Op.BAD, 0, 0, type_, offset, nr)


def swapon(type_: int) -> Record:
    """Return the record of a device that becomes available."""
    return Record(Op.SWAPON, 0, 0, type_)


def swapoff_begin(type_: int) -> Record:
    """Return the record of a device that loses its write permission."""
    return Record(Op.SWAPOFF_BEGIN, 0, 0, type_)


def swapoff(type_: int) -> Record:
    """Return the record of a device that is gone."""
    return Record(Op.SWAPOFF, 0, 0, type_)


def alloc(cpu: int, order: int, result: tuple[int, int] | None, number: int = 0) -> Record:
    """Return the record of an allocation and its result, (device, offset) or None."""
    type_, offset = result or (FAILED, 0)
    return Record(Op.ALLOC, cpu, order, type_, offset, 0, number)


def free(cpu: int, type_: int, offset: int, nr: int, number: int = 0) -> Record:
    """Return the record of `nr` slots given back."""
    return Record(Op.FREE, cpu, 0, type_, offset, nr, number)


def discard_take(type_: int, offset: int) -> Record:
    """Return the record of a cluster that was taken off DISCARD, by its first slot; 0 when there was none."""
    return Record(Op.DISCARD_TAKE, 0, 0, type_, offset)


def discard_done(type_: int, offset: int) -> Record:
    """Return the record of a cluster that has been discarded, by one of its slots."""
    return Record(Op.DISCARD_DONE, 0, 0, type_, offset)


def policy(policy_: Policy) -> Record:
    """Return the record of a write of the register POLICY."""
    value = policy_.pack()
    return Record(Op.POLICY, 0, 0, 0, value & 0xFFFF_FFFF, value >> 32)


def node(cpu: int, number: int) -> Record:
    """Return the record of a CPU that belongs to a node, 0 to 15."""
    return Record(Op.NODE, cpu, 0, 0, number)


def readahead(
    cpu: int,
    type_: int,
    offset: int,
    page_cluster: int,
    hits: int,
    fixed: bool,
    state: tuple[int, int],
    first: int,
    nr: int,
) -> list[Record]:
    """Return the records of a window of readahead around slot `offset`: the state it was made from, and the window.

    `state`: the offset it was last asked for without hits, and the slots of the last window.
    """
    return [
        Record(Op.READAHEAD_STATE, cpu, int(fixed), type_, *state, hits),
        Record(Op.READAHEAD, cpu, page_cluster, type_, offset, first, nr),
    ]


_LIFE = {
    Op.PREPARE: (None, "prepared"),
    Op.SWAPON: (("prepared", "going"), "on"),
    Op.SWAPOFF_BEGIN: (("on",), "going"),
    Op.SWAPOFF: (("going",), None),
}


class Validator:
    """Checks every record by itself and the order of each device's life."""

    def __init__(self, cpus: int, version: int) -> None:
        """Prepare for a trace of so many CPUs in a format version."""
        self.cpus = cpus
        self.version = version
        self.state: dict[int, str] = {}
        self.sizes: dict[int, int] = {}
        self.operations = 0
        self.window_of: tuple[int, int] | None = None

    def fault(self, record: Record) -> str | None:
        """Return the error in the next record, None if there is none."""
        op, cpu, order, type_, a, b, c = record
        if op not in KNOWN[self.version]:
            return f"unknown op {op}"
        if op == Op.ALLOC:
            return self.alloc_fault(record)
        name = Op(op).name
        if op in (Op.POLICY, Op.NODE):
            return self.register_fault(record)
        if op >= FIRST_READAHEAD:
            return self.window_fault(record)
        if op >= FIRST_DETAIL:
            return self.detail_fault(record)
        places = 16 if op == Op.PREPARE and self.version > 1 else self.cpus
        numbered = op == Op.PREPARE or (op == Op.FREE and self.version > 1 and c >= 0)
        if type_ >= MAX_TYPES or cpu >= places or order or (c and not numbered):
            return f"a {name} with device {type_}, CPU {cpu}, order {order}, c {c}"
        now = self.state.get(type_)
        if op in _LIFE:
            return self.life_fault(record)
        if (now != "prepared") if op == Op.BAD else (now not in ("on", "going")):
            return f"a {name} on device {type_}, which is {now or 'not there'}"
        if op in (Op.DISCARD_TAKE, Op.DISCARD_DONE):
            inside = a < -(-self.sizes[type_] // SLOTS) * SLOTS
            return None if inside and not b else f"a {name} of slot {a} of device {type_}, which has no such slot"
        if not a or not 1 <= b <= SLOTS - a % SLOTS or a + b > self.sizes[type_]:
            return f"a {name} of slots {a} to {a + b - 1} of device {type_}: not inside one cluster of it"
        return None

    def alloc_fault(self, record: Record) -> str | None:
        """Return the error in an ALLOC."""
        _, cpu, order, type_, a, b, c = record
        if cpu >= self.cpus or order >= ORDERS or b or (c and self.version == 1) or c < 0:
            return f"an ALLOC by CPU {cpu} of order {order}: CPUs are 0 to {self.cpus - 1}, orders 0 to {ORDERS - 1}"
        if type_ == FAILED:
            return None if a == 0 else "a failed ALLOC with an offset"
        late = self.state.get(type_) == "going" and c  # another CPU was on its way when write permission went
        if (self.state.get(type_) != "on" and not late) or not 0 < a <= self.sizes[type_] - (1 << order):
            return f"an ALLOC that got slot {a} of device {type_}, which has no such slot to give"
        return None

    def life_fault(self, record: Record) -> str | None:
        """Return the error in a step of a device's life."""
        op, _, _, type_, a, _, c = record
        now = self.state.get(type_)
        before, after = _LIFE[Op(op)]
        if (now is not None) if before is None else (now not in before):
            return f"a {Op(op).name} of device {type_}, which is {now or 'not there'}"
        if op == Op.PREPARE:
            if a < 2 or not -32768 <= c <= 32767:
                return f"a PREPARE with {a} slots and priority {c}"
            self.sizes[type_] = a
        if after is None:
            del self.state[type_]
        else:
            self.state[type_] = after
        return None

    def register_fault(self, record: Record) -> str | None:
        """Return the error in a POLICY or a NODE, which name no device."""
        op, cpu, _, _, a, b, _ = record
        if op == Op.NODE:
            return f"a NODE of CPU {cpu} with number {a}" if cpu >= self.cpus or a > 15 else None
        try:
            Policy.unpack(a | b << 32)
        except ValueError as error:
            return f"a POLICY that there is not ({error})"
        return None

    def detail_fault(self, record: Record) -> str | None:
        """Return the error in a detail."""
        op, cpu, order, type_, a, b, c = record
        name = Op(op).name
        if cpu >= self.cpus or order >= ORDERS or c < 0:
            return f"a {name} by CPU {cpu}, order {order}, operation {c}"
        if op == Op.BEGIN:
            self.operations += 1
            return None if c == self.operations else f"a BEGIN of operation {c}, the next is {self.operations}"
        if c > self.operations:
            return f"a {name} of operation {c}, which has not begun"
        if op == Op.END:
            return None
        if type_ not in self.state:
            return f"a {name} on device {type_}, which is not there"
        clusters = -(-self.sizes[type_] // SLOTS)
        if op in (Op.ISOLATE, Op.SKIP, Op.TABLE, Op.MOVE):
            if a >= clusters and not (op == Op.ISOLATE and a == NO_CLUSTER):
                return f"a {name} of cluster {a} of device {type_}, which has {clusters}"
            if op in (Op.ISOLATE, Op.MOVE) and not 1 <= b <= 5:
                return f"a {name} with flag {b}"
        elif op in (Op.REFUSED, Op.SCANNED, Op.RECLAIM, Op.RECLAIMED) and a >= clusters * SLOTS:
            return f"a {name} at slot {a} of device {type_}, which has no such slot"
        return None

    def window_fault(self, record: Record) -> str | None:
        """Return the error in a READAHEAD_STATE, or in the READAHEAD after it."""
        op, cpu, order, type_, a, b, c = record
        name = Op(op).name
        before, self.window_of = self.window_of, (cpu, type_) if op == Op.READAHEAD_STATE else None
        if cpu >= self.cpus or type_ not in self.state or c < 0:
            return f"a {name} by CPU {cpu} on device {type_}, c {c}"
        if op == Op.READAHEAD_STATE:
            return f"a {name} of policy {order}, {b} slots before" if order > 1 or b > SLOTS else None
        if before != (cpu, type_):
            return f"a {name} without READAHEAD_STATE before it"
        size = self.sizes[type_]
        if order >= ORDERS or not 0 < a < size or not 0 < b <= a < b + c <= size or c > SLOTS:
            return f"a {name} with page_cluster {order} of {c} slots from {b} on, around {a}, of {size}"
        return None


def version_of(records: Iterable[Record]) -> int:
    """Return the lowest format version that holds the records."""
    version = 1
    for record in records:
        if record.op >= FIRST_READAHEAD:
            return 4
        numbered = record.op in (Op.ALLOC, Op.FREE) and record.c
        if record.op > Op.FREE or (record.op == Op.PREPARE and record.cpu) or numbered:
            version = 2
    return version
