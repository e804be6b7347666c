# SPDX-License-Identifier: Apache-2.0
"""Reading and writing trace files, format versions 1, 2 and 4 (docs/traces.md)."""

import gzip
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from hwswap.model.rows import SLOTS
from hwswap.project import paths
from hwswap.traces.records import (
    FAILED,
    FIRST_DETAIL,
    FIRST_READAHEAD,
    KNOWN,
    MAX_TYPES,
    NAMES,
    Op,
    Record,
    TraceError,
    Validator,
    alloc,
    bad,
    discard_done,
    discard_take,
    free,
    node,
    policy,
    prepare,
    readahead,
    swapoff,
    swapoff_begin,
    swapon,
    version_of,
)

__all__ = [
    "alloc",
    "bad",
    "discard_done",
    "discard_take",
    "free",
    "node",
    "policy",
    "prepare",
    "readahead",
    "swapoff",
    "swapoff_begin",
    "swapon",
]
"""Makers of records, which those who use traces have from here."""

MAGIC = b"HWSWAPTR"
FORMAT = "hwswap-trace"
MAX_HEADER = 1 << 20

_PREFIX = struct.Struct("<8sII")
_RECORD = struct.Struct("<BBBBIIi")
_GZIP = b"\x1f\x8b"


@dataclass
class Header:
    """The header's fields (docs/traces.md); `counts`, `devices` and `clusters` are worked out when written."""

    kind: str
    kernel: str
    source: str
    workload: str
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

    @property
    def detailed(self) -> bool:
        """Tell whether it says how the decisions came about, too."""
        return any(FIRST_DETAIL <= record.op < FIRST_READAHEAD for record in self.records)

    @property
    def windows(self) -> bool:
        """Tell whether it holds windows of readahead."""
        return any(record.op >= FIRST_READAHEAD for record in self.records)


def count(records: Iterable[Record], version: int) -> dict[str, int]:
    """Return the header's `counts` of some records in a format version."""
    names = (op.name.lower() for op in KNOWN[version])
    counts = dict.fromkeys(["records", *names, "alloc_failed", "slots_allocated", "slots_freed"], 0)
    for record in records:
        counts["records"] += 1
        counts[NAMES[record.op]] += 1
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


def devices_needed(records: Iterable[Record]) -> int:
    """Return how many devices an engine must have to replay the records."""
    return max((record.type + 1 for record in records if record.op == Op.PREPARE), default=0)


def complete(header: Header, records: list[Record]) -> Trace:
    """Fill in a header's counts of its records, and return both as a trace."""
    header.counts = count(records, version_of(records))
    header.devices = devices_needed(records)
    header.clusters = clusters_needed(records)
    return Trace(header, records)


def write(path: Path, header: Header, records: list[Record]) -> None:
    """Write a trace, compressed unless the name ends in .hwst; the file is only there when it is complete."""
    data = pack(header, records)
    paths.write(path, data if path.suffix == ".hwst" else gzip.compress(data, 9, mtime=0))


def pack(header: Header, records: list[Record]) -> bytes:
    """Return a trace as it is in a file that is not compressed; fills in the header's counts.

    The format version is the lowest that holds the records. The same trace gives the same bytes.
    """
    version = version_of(records)
    validate(records, header.cpus, version)
    complete(header, records)
    text = json.dumps(asdict(header), sort_keys=True).encode()
    text += b" " * (-len(text) % 16)
    return _PREFIX.pack(MAGIC, version, len(text)) + text + b"".join(_RECORD.pack(*record) for record in records)


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


def read_header(path: Path) -> Header:
    """Read the header of a compressed trace alone, which takes no time; the records are not looked at."""
    try:
        with gzip.open(path) as file:
            prefix = file.read(_PREFIX.size)
            if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
                raise TraceError("not a trace: it does not begin with HWSWAPTR")
            return parse_header(file.read(_PREFIX.unpack(prefix)[2]))
    except (OSError, EOFError, zlib.error, TraceError) as error:
        raise TraceError(f"{path}: {error}") from error


def of_one_cpu(folder: Path) -> list[Path]:
    """Return the compressed traces of one CPU in a folder: those that an engine can carry out."""
    return [path for path in sorted(folder.glob("*.hwst.gz")) if read_header(path).cpus == 1]


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
    if version not in KNOWN:
        raise TraceError(f"trace format version {version}; this program reads versions 1, 2 and 4")
    if length > MAX_HEADER or _PREFIX.size + length > len(data):
        raise TraceError(f"truncated: the header shall have {length} bytes, {len(data) - _PREFIX.size} are there")
    header = parse_header(data[_PREFIX.size : _PREFIX.size + length])
    body = data[_PREFIX.size + length :]
    if len(body) % _RECORD.size:
        raise TraceError(f"truncated: the last record has {len(body) % _RECORD.size} of {_RECORD.size} bytes")
    records = [Record(*fields) for fields in _RECORD.iter_unpack(body)]
    validate(records, header.cpus, version)
    actual = count(records, version)
    for name, number in actual.items():
        if header.counts.get(name) != number:
            raise TraceError(f"the header counts {header.counts.get(name)} {name}, the file has {number}")
    for name, needed in (("devices", devices_needed(records)), ("clusters", clusters_needed(records))):
        if getattr(header, name) < needed:
            raise TraceError(f"the header's {name} is {getattr(header, name)}, the records need {needed}")
    return Trace(header, records)


def parse_header(text: bytes) -> Header:
    """Read and check the JSON header."""
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
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
    for name, least, most in (("cpus", 1, 256), ("devices", 0, MAX_TYPES), ("clusters", 0, (1 << 32) - 1)):
        if not least <= values[name] <= most:
            raise TraceError(f"the header's {name} is {values[name]}: it must be {least} to {most}")
    return Header(**{name: values[name] for name in wanted})


def validate(records: Iterable[Record], cpus: int, version: int = 4) -> None:
    """Check every record by itself and the order of each device's life; TraceError names the first bad one."""
    validator = Validator(cpus, version)
    for number, record in enumerate(records):
        if fault := validator.fault(record):
            raise TraceError(f"record {number}: {fault}")
