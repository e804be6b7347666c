# SPDX-License-Identifier: Apache-2.0
"""From the kernel's tracepoint text to trace records (docs/traces.md, "Recording from tracepoints")."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.traces import trace
from hwswap.traces.records import NO_CLUSTER, Op, Record
from hwswap.traces.trace import TraceError

# "task-pid [cpu] flags stamp: event: key=value ..."; tracefs may print a tgid in brackets between pid and cpu. A stamp
# is seconds, or an integer where the clock counts events.
_LINE = re.compile(
    r"-(?P<task>\d+)\s+(?:\([^)]*\)\s+)?\[(?P<cpu>\d+)\]\s.*?\d+(?:\.\d+)?:\s(?P<event>swap_\w+):(?P<values>.*)$"
)
_PAIR = re.compile(r"(\w+)=(-?(?:0[xX][0-9a-fA-F]+|\d+))\b")
_HELD = re.compile(r"entries-in-buffer/entries-written:\s*(\d+)/(\d+)")
_LOST = re.compile(r"LOST (\d+ )?EVENTS")

_KEYS = {
    "swap_device_on": ("type", "max", "prio", "flags"),
    "swap_bad_slot": ("type", "offset"),
    "swap_slots_alloc": ("order", "type", "offset", "nr"),
    "swap_slots_free": ("type", "offset", "nr"),
    "swap_device_off": ("type", "stage"),
    "swap_device_writeok": ("type", "state"),
    "swap_cluster_discard": ("type", "cluster", "state"),
    "swap_alloc_begin": ("order",),
    "swap_alloc_end": ("order",),
    "swap_reclaim_end": ("type", "offset", "order", "usable", "clear"),
    "swap_readahead": ("type", "offset", "page_cluster", "hits", "prev_offset", "prev_pages", "start", "nr"),
}

# Details about a device: the record's kind, and the fields that are its order, a and b.
_DETAILS = {
    "swap_device_visit": (Op.VISIT, None, None, None),
    "swap_device_available": (Op.AVAILABLE, None, None, "state"),
    "swap_half_used": (Op.HALF_USED, None, "state", None),
    "swap_hint_refused": (Op.REFUSED, "order", "offset", None),
    "swap_cluster_scan": (Op.SCANNED, "order", "offset", None),
    "swap_reclaim_begin": (Op.RECLAIM, "order", "offset", None),
    "swap_cluster_isolate": (Op.ISOLATE, "order", "cluster", "flag"),
    "swap_cluster_move": (Op.MOVE, "order", "cluster", "flag"),
    "swap_cluster_skip": (Op.SKIP, None, "cluster", "state"),
    "swap_cluster_table": (Op.TABLE, None, "cluster", "state"),
}
_KEYS |= {event: ("type", *filter(None, keys)) for event, (_, *keys) in _DETAILS.items()}

EVENTS = tuple(sorted(set(_KEYS) - {"swap_readahead"}))
"""The events of a recording that tells how each decision came about."""

OPERATIONS = ("swap_bad_slot", "swap_device_off", "swap_device_on", "swap_slots_alloc", "swap_slots_free")
"""The events of a recording of the allocator's decisions."""

READAHEAD = ("swap_device_off", "swap_device_on", "swap_readahead")
"""The events of a recording of the cluster readahead's windows, and of the state each was made from."""

OFF_BEGIN, OFF_DONE, OFF_ABORTED = range(3)
"""Stages of swap_device_off."""


@dataclass
class _Device:
    """A device seen in the text: the records that bring it on, kept back until the bad slots are all known."""

    pages: int
    prepare: trace.Record
    bad: set[int] = field(default_factory=set)
    position: int = 0
    used: bool = False
    explicit: bool = False  # the text says when write permission came
    going: bool = False


class Parser:
    """Collects the records of tracepoint text, line by line."""

    def __init__(self) -> None:
        """Start with no device on."""
        self.chunks: list[list[trace.Record]] = []
        self.devices: dict[int, _Device] = {}
        self.waiting: dict[int, set[int]] = {}
        self.cpus = 0
        self.operations = 0
        self.running: dict[int, int] = {}
        self.task = 0

    def feed(self, line: str) -> None:
        """Take one line; lines that hold none of the events are skipped. TraceError names an error in it."""
        if _LOST.search(line):
            raise TraceError("the kernel lost events; record with a larger trace buffer")
        held = _HELD.search(line)
        if held and int(held[1]) < int(held[2]):
            raise TraceError(f"the kernel kept {held[1]} of {held[2]} events; record with a larger trace buffer")
        if line.startswith("#") or "swap_" not in line:
            return
        match = _LINE.search(line)
        if not match or match["event"] not in _KEYS:
            return
        values = {key: int(value, 0) for key, value in _PAIR.findall(match["values"])}
        for key in _KEYS[match["event"]]:
            if key not in values:
                raise TraceError(f"{match['event']} without {key}")
        cpu = int(match["cpu"])
        self.cpus = max(self.cpus, cpu + 1)
        self.task = int(match["task"])
        if match["event"] in _DETAILS:
            self._detail(match["event"], cpu, values)
        else:
            getattr(self, f"_{match['event']}")(cpu, values)

    def records(self) -> list[trace.Record]:
        """Return all records so far."""
        for device in self.devices.values():
            self._settle(device)
        return [record for chunk in self.chunks for record in chunk]

    def _add(self, record: trace.Record) -> None:
        self.chunks.append([record])

    @property
    def number(self) -> int:
        """The allocation that the task of the present line is in, 0 if none."""
        return self.running.get(self.task, 0)

    def _detail(self, event: str, cpu: int, values: dict[str, int]) -> None:
        op, order, a, b = _DETAILS[event]
        type_ = values["type"]
        if type_ not in self.devices:
            self._known(type_)
        first = values[a] if a else 0
        if op == Op.ISOLATE and first < 0:
            first = NO_CLUSTER
        self._add(Record(op, cpu, values[order] if order else 0, type_, first, values[b] if b else 0, self.number))

    def _swap_reclaim_end(self, cpu: int, values: dict[str, int]) -> None:
        outcome = values["usable"] | values["clear"] << 1
        self._add(Record(Op.RECLAIMED, cpu, values["order"], values["type"], values["offset"], outcome, self.number))

    def _swap_alloc_begin(self, cpu: int, values: dict[str, int]) -> None:
        if self.task in self.running:
            raise TraceError(f"task {self.task} begins an allocation in an allocation")
        self.operations += 1
        self.running[self.task] = self.operations
        self._add(Record(Op.BEGIN, cpu, values["order"], 0, 0, 0, self.operations))

    def _swap_alloc_end(self, cpu: int, values: dict[str, int]) -> None:
        number = self.running.pop(self.task, None)
        if number is None:
            raise TraceError(f"task {self.task} ends an allocation that did not begin")
        self._add(Record(Op.END, cpu, values["order"], 0, 0, 0, number))

    def _settle(self, device: _Device) -> None:
        """Write the records that bring a device on, now that its bad slots are known."""
        # Slot 0 and the slots past the end are bad without being named.
        slots = sorted(slot for slot in device.bad if 0 < slot < device.pages)
        records = [device.prepare]
        for slot in slots:
            last = records[-1]
            if last.op == trace.Op.BAD and last.a + last.b == slot and slot % SLOTS:
                records[-1] = last._replace(b=last.b + 1)
            else:
                records.append(trace.bad(device.prepare.type, slot, 1))
        if not device.explicit:
            records.append(trace.swapon(device.prepare.type))
        self.chunks[device.position] = records

    def _known(self, type_: int) -> _Device:
        if type_ not in self.devices:
            raise TraceError(
                f"device {type_} is used, but its swapon is not in the recording; start recording before swapon"
            )
        device = self.devices[type_]
        device.used = True
        return device

    def _swap_device_on(self, _cpu: int, values: dict[str, int]) -> None:
        type_, flags = values["type"], values["flags"]
        if type_ in self.devices:
            raise TraceError(f"device {type_} comes on twice")
        record = trace.prepare(type_, values["max"], flags & (BLKDEV | SOLIDSTATE | DISCARD), values["prio"])
        device = _Device(values["max"], record, self.waiting.pop(type_, set()), len(self.chunks))
        self.chunks.append([])
        self.devices[type_] = device

    def _swap_bad_slot(self, _cpu: int, values: dict[str, int]) -> None:
        device = self.devices.get(values["type"])
        if device is None:
            self.waiting.setdefault(values["type"], set()).add(values["offset"])
        elif device.used:
            raise TraceError(f"a bad slot of device {values['type']} after its first allocation")
        else:
            device.bad.add(values["offset"])

    def _swap_slots_alloc(self, cpu: int, values: dict[str, int]) -> None:
        order, type_, offset = values["order"], values["type"], values["offset"]
        if not 0 <= order < ORDERS:
            raise TraceError(f"an allocation of order {order}")
        if not values["nr"]:
            self._add(trace.alloc(cpu, order, None, self.number))
            return
        if values["nr"] != 1 << order:
            raise TraceError(f"an allocation of order {order} with {values['nr']} slots")
        self._known(type_)
        self._add(trace.alloc(cpu, order, (type_, offset), self.number))

    def _swap_slots_free(self, cpu: int, values: dict[str, int]) -> None:
        self._known(values["type"])
        self._add(trace.free(cpu, values["type"], values["offset"], values["nr"], self.number))

    def _swap_readahead(self, cpu: int, values: dict[str, int]) -> None:
        self._known(values["type"])
        asked = (values[key] for key in ("type", "offset", "page_cluster", "hits"))
        fixed, state = bool(values.get("fixed")), (values["prev_offset"], values["prev_pages"])
        self.chunks.append(trace.readahead(cpu, *asked, fixed, state, values["start"], values["nr"]))

    def _swap_device_writeok(self, _cpu: int, values: dict[str, int]) -> None:
        type_ = values["type"]
        device = self._known(type_)
        device.explicit = True
        device.going = not values["state"]
        self._add(trace.swapoff_begin(type_) if device.going else trace.swapon(type_))

    def _swap_cluster_discard(self, _cpu: int, values: dict[str, int]) -> None:
        self._known(values["type"])
        make = trace.discard_done if values["state"] else trace.discard_take
        self._add(make(values["type"], values["cluster"] * SLOTS))

    def _swap_device_off(self, _cpu: int, values: dict[str, int]) -> None:
        type_, stage = values["type"], values["stage"]
        device = self._known(type_)
        if stage in (OFF_BEGIN, OFF_ABORTED):
            if not device.explicit:
                self._add(trace.swapoff_begin(type_) if stage == OFF_BEGIN else trace.swapon(type_))
        elif stage == OFF_DONE:
            self._add(trace.swapoff(type_))
            self._settle(device)
            del self.devices[type_]
        else:
            raise TraceError(f"swap_device_off with stage {stage}")


def parse(lines: Iterable[str]) -> tuple[list[trace.Record], int]:
    """Return the records of tracepoint text and the number of CPUs seen; TraceError names the line."""
    parser = Parser()
    for number, line in enumerate(lines, 1):
        try:
            parser.feed(line)
        except TraceError as error:
            raise TraceError(f"line {number}: {error}") from error
    records = parser.records()
    if not records:
        raise TraceError("no swap events in the text: were the tracepoints enabled before swapon?")
    cpus = max(parser.cpus, 1)
    trace.validate(records, cpus)
    return records, cpus
