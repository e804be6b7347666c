# SPDX-License-Identifier: Apache-2.0
"""Reading and writing trace files, format version 1 (docs/traces.md)."""

import gzip
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from hwswap.rows import ORDERS, SLOTS

MAGIC = b"HWSWAPTR"
VERSION = 1
FORMAT = "hwswap-trace"
MAX_HEADER = 1 << 20
MAX_TYPES = 32
FAILED = 255
"""The type of an ALLOC record whose allocation failed."""

_PREFIX = struct.Struct("<8sII")
_RECORD = struct.Struct("<BBBBIIi")
_GZIP = b"\x1f\x8b"


class TraceError(ValueError):
    """A trace cannot be read or makes no sense; the message is one sentence for the user."""


class Op(IntEnum):
    """What a record says was done."""

    PREPARE = 1
    BAD = 2
    SWAPON = 3
    SWAPOFF_BEGIN = 4
    SWAPOFF = 5
    ALLOC = 6
    FREE = 7


class Record(NamedTuple):
    """One record; a, b and c mean what docs/traces.md says for each op. c is signed."""

    op: int
    cpu: int
    order: int
    type: int
    a: int = 0
    b: int = 0
    c: int = 0


def prepare(type_: int, pages: int, flags: int, priority: int) -> Record:
    """Return the record of a device of `pages` slots (header included) with its flags and priority."""
    return Record(Op.PREPARE, 0, 0, type_, pages, flags, priority)


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


def alloc(cpu: int, order: int, result: tuple[int, int] | None) -> Record:
    """Return the record of an allocation and its result, (device, offset) or None."""
    type_, offset = result or (FAILED, 0)
    return Record(Op.ALLOC, cpu, order, type_, offset)


def free(cpu: int, type_: int, offset: int, nr: int) -> Record:
    """Return the record of `nr` slots given back."""
    return Record(Op.FREE, cpu, 0, type_, offset, nr)


@dataclass
class Header:
    """The header's fields (docs/traces.md); `counts`, `devices` and `clusters` are worked out when written."""

    kind: str
    kernel: str
    source: str
    recipe: str
    seed: int | None
    cpus: int
    commits: dict[str, str] = field(default_factory=dict)
    devices: int = 0
    clusters: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    format: str = FORMAT


@dataclass
class Trace:
    """A trace: its header and all its records in order."""

    header: Header
    records: list[Record]


def count(records: Iterable[Record]) -> dict[str, int]:
    """Return the header's `counts` of some records."""
    counts = dict.fromkeys(
        ["records", *(op.name.lower() for op in Op), "alloc_failed", "slots_allocated", "slots_freed"], 0
    )
    names = {int(op): op.name.lower() for op in Op}
    for record in records:
        counts["records"] += 1
        counts[names[record.op]] += 1
        if record.op == Op.ALLOC:
            if record.type == FAILED:
                counts["alloc_failed"] += 1
            else:
                counts["slots_allocated"] += 1 << record.order
        elif record.op == Op.FREE:
            counts["slots_freed"] += record.b
    return counts


class ClusterMap:
    """The engine's clusters: first fit in rising order, as docs/traces.md says every replayer does."""

    def __init__(self) -> None:
        """Start with nothing claimed."""
        self.claimed: dict[int, tuple[int, int]] = {}
        self.needed = 0

    def claim(self, type_: int, pages: int) -> int:
        """Claim the clusters of a device of `pages` slots; return the first."""
        clusters = -(-pages // SLOTS)
        base = 0
        for first, end in sorted(self.claimed.values()):
            if first - base >= clusters:
                break
            base = end
        self.claimed[type_] = (base, base + clusters)
        self.needed = max(self.needed, base + clusters)
        return base

    def release(self, type_: int) -> None:
        """Give a device's clusters back."""
        del self.claimed[type_]


def clusters_needed(records: Iterable[Record]) -> int:
    """Return how many clusters an engine must have to replay the records."""
    clusters = ClusterMap()
    for record in records:
        if record.op == Op.PREPARE:
            clusters.claim(record.type, record.a)
        elif record.op == Op.SWAPOFF:
            clusters.release(record.type)
    return clusters.needed


def complete(header: Header, records: list[Record]) -> Trace:
    """Fill in what a header says about its records, and return both as a trace."""
    header.counts = count(records)
    header.devices = max((record.type + 1 for record in records if record.op == Op.PREPARE), default=0)
    header.clusters = clusters_needed(records)
    return Trace(header, records)


def write(path: Path, header: Header, records: list[Record]) -> None:
    """Write a trace, compressed unless the name ends in .hwst; fills in the header's counts.

    The same trace gives the same bytes. The file is only there when it is complete.
    """
    validate(records, header.cpus)
    complete(header, records)
    text = json.dumps(asdict(header), sort_keys=True).encode()
    text += b" " * (-len(text) % 16)
    data = _PREFIX.pack(MAGIC, VERSION, len(text)) + text + b"".join(_RECORD.pack(*record) for record in records)
    if path.suffix != ".hwst":
        data = gzip.compress(data, 9, mtime=0)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    partial.replace(path)


def read(path: Path) -> Trace:
    """Read a trace; anything wrong with it is a TraceError that names the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    try:
        return parse(data)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


def parse(data: bytes) -> Trace:
    """Read a trace from bytes, compressed or not."""
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TraceError(f"the compressed data is cut off or damaged ({error})") from error
    if len(data) < _PREFIX.size:
        raise TraceError(f"truncated: {len(data)} bytes are too few for a trace")
    magic, version, length = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise TraceError("not a trace: it does not begin with HWSWAPTR")
    if version != VERSION:
        raise TraceError(f"trace format version {version}; this program reads version {VERSION}")
    if length > MAX_HEADER or _PREFIX.size + length > len(data):
        raise TraceError(f"truncated: the header shall have {length} bytes, {len(data) - _PREFIX.size} are there")
    header = parse_header(data[_PREFIX.size : _PREFIX.size + length])
    body = data[_PREFIX.size + length :]
    if len(body) % _RECORD.size:
        raise TraceError(f"truncated: the last record has {len(body) % _RECORD.size} of {_RECORD.size} bytes")
    records = [Record(*fields) for fields in _RECORD.iter_unpack(body)]
    validate(records, header.cpus)
    actual = count(records)
    for name, number in actual.items():
        if header.counts.get(name) != number:
            raise TraceError(f"the header counts {header.counts.get(name)} {name}, the file has {number}")
    return Trace(header, records)


def parse_header(text: bytes) -> Header:
    """Read and check the JSON header."""
    try:
        values: Any = json.loads(text)
    except ValueError as error:
        raise TraceError(f"the header is not JSON ({error})") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise TraceError(f"the header's format is not {FORMAT}")
    wanted: dict[str, Any] = get_type_hints(Header)
    for name, kind in wanted.items():
        if name not in values:
            raise TraceError(f"the header lacks {name}")
        value = values[name]
        plain = dict if name in ("commits", "counts") else kind
        if not isinstance(value, plain) or isinstance(value, bool):
            raise TraceError(f"the header's {name} has the wrong type ({type(value).__name__})")
    for name, kind in (("commits", str), ("counts", int)):
        if not all(isinstance(value, kind) for value in values[name].values()):
            raise TraceError(f"the header's {name} holds something other than {kind.__name__}")
    if not 1 <= values["cpus"] <= 256:
        raise TraceError(f"the header's cpus is {values['cpus']}: it must be 1 to 256")
    return Header(**{name: values[name] for name in wanted})


def validate(records: Iterable[Record], cpus: int) -> None:
    """Check every record by itself and the order of each device's life; TraceError names the first bad one."""
    state: dict[int, str] = {}
    sizes: dict[int, int] = {}
    for number, record in enumerate(records):
        if fault := _fault(record, cpus, state, sizes):
            raise TraceError(f"record {number}: {fault}")


_LIFE = {
    Op.PREPARE: (None, "prepared"),
    Op.SWAPON: (("prepared", "going"), "on"),
    Op.SWAPOFF_BEGIN: (("on",), "going"),
    Op.SWAPOFF: (("going",), None),
}


def _fault(record: Record, cpus: int, state: dict[int, str], sizes: dict[int, int]) -> str | None:
    """Return what is wrong with a record, None if nothing; keeps track of the devices' lives in `state`."""
    op, cpu, order, type_, a, b, c = record
    if op == Op.ALLOC:
        if cpu >= cpus or order >= ORDERS or b or c:
            return f"an ALLOC by CPU {cpu} of order {order}: CPUs are 0 to {cpus - 1}, orders 0 to {ORDERS - 1}"
        if type_ == FAILED:
            return None if a == 0 else "a failed ALLOC with an offset"
        if state.get(type_) != "on" or not 0 < a <= sizes[type_] - (1 << order):
            return f"an ALLOC that got slot {a} of device {type_}, which has no such slot to give"
        return None
    if op not in Op._value2member_map_:
        return f"unknown op {op}"
    name = Op(op).name
    if type_ >= MAX_TYPES or cpu >= cpus or order or (c and op != Op.PREPARE):
        return f"a {name} with device {type_}, CPU {cpu}, order {order}, c {c}"
    now = state.get(type_)
    if op in _LIFE:
        before, after = _LIFE[Op(op)]
        if (now is not None) if before is None else (now not in before):
            return f"a {name} of device {type_}, which is {now or 'not there'}"
        if op == Op.PREPARE:
            if a < 2 or not -32768 <= c <= 32767:
                return f"a PREPARE with {a} slots and priority {c}"
            sizes[type_] = a
        if after is None:
            del state[type_]
        else:
            state[type_] = after
        return None
    if (now != "prepared") if op == Op.BAD else (now not in ("on", "going")):
        return f"a {name} on device {type_}, which is {now or 'not there'}"
    if not a or not 1 <= b <= SLOTS - a % SLOTS or a + b > sizes[type_]:
        return f"a {name} of slots {a} to {a + b - 1} of device {type_}: not inside one cluster of it"
    return None
