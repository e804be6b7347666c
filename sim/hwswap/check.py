# SPDX-License-Identifier: Apache-2.0
"""Running a trace through the golden model and comparing every decision."""

from collections.abc import Callable
from dataclasses import dataclass

from hwswap.golden import Allocator
from hwswap.hwswap_map import Status
from hwswap.trace import FAILED, ClusterMap, Op, Record, Trace


@dataclass(frozen=True)
class Difference:
    """The first operation at which trace and model disagree."""

    number: int
    record: Record
    expected: str
    got: str

    def __str__(self) -> str:
        """Say it in one sentence."""
        op = Op(self.record.op).name
        what = f"order {self.record.order} on CPU {self.record.cpu}" if op == "ALLOC" else f"device {self.record.type}"
        return f"operation {self.number} ({op}, {what}): the trace has {self.expected}, the model {self.got}"


def place(type_: int, offset: int) -> str:
    """Say where an allocation went."""
    return "no space" if type_ == FAILED else f"device {type_} offset {offset}"


def check(trace: Trace, progress: Callable[[int], None] | None = None) -> Difference | None:
    """Run the model freely over a trace; return the first difference, None when every decision is equal.

    `progress` is told the number of operations done, now and then.
    """
    header = trace.header
    model = Allocator(devices=max(header.devices, 1), cpus=header.cpus, clusters=max(header.clusters, 1))
    clusters = ClusterMap()
    for number, record in enumerate(trace.records):
        if progress is not None and not number % 4096:
            progress(number)
        if record.op == Op.ALLOC:
            type_, offset = model.alloc(record.cpu, record.order) or (FAILED, 0)
            if (type_, offset) != (record.type, record.a):
                return Difference(number, record, place(record.type, record.a), place(type_, offset))
            continue
        if record.op == Op.SWAPOFF and (left := in_use(model, record.type)):
            return Difference(number, record, "the device gone", f"still has {left} slots in use")
        status = step(model, clusters, record)
        if status != Status.OK:
            return Difference(number, record, "it done", f"refuses it with {status.name}")
    if faults := model.faults():
        raise AssertionError(f"the model contradicts itself after the trace: {faults[0]}")
    if progress is not None:
        progress(len(trace.records))
    return None


def in_use(model: Allocator, type_: int) -> int:
    """Return the slots of a device that are in use and not bad."""
    clusters = model.devices[type_].clusters
    return sum((cluster.used & ~cluster.bad).bit_count() for cluster in clusters)


def step(model: Allocator, clusters: ClusterMap, record: Record) -> Status:
    """Do what a record other than ALLOC says; return the model's status."""
    op, type_ = record.op, record.type
    if op == Op.FREE:
        return model.free(type_, record.a, record.b)
    if op == Op.PREPARE:
        base = clusters.claim(type_, record.a)
        return model.prepare(type_, record.a, base, record.b, record.c)
    if op == Op.BAD:
        return model.mark_bad(type_, record.a, record.b)
    if op == Op.SWAPON:
        return model.swapon(type_)
    if op == Op.SWAPOFF_BEGIN:
        return model.swapoff_begin(type_)
    clusters.release(type_)
    return model.swapoff(type_)
