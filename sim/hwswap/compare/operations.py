# SPDX-License-Identifier: Apache-2.0
"""The records of a trace carried out by the golden model, one by one, each decision compared."""

from hwswap_map import Status

from hwswap.compare.outcome import place
from hwswap.model.follower import Mismatch
from hwswap.model.golden import Allocator
from hwswap.model.policy import Policy
from hwswap.traces.records import FAILED, Op, Record
from hwswap.traces.trace import ClusterMap, Trace


def model_for(trace: Trace) -> Allocator:
    """Return an empty model that is large enough for a trace."""
    header = trace.header
    return Allocator(devices=max(header.devices, 1), cpus=header.cpus, clusters=max(header.clusters, 1))


def compare(model: Allocator, clusters: ClusterMap, record: Record) -> None:
    """Carry a record out; Mismatch tells what the model decides otherwise."""
    if record.op == Op.ALLOC:
        found = model.alloc(record.cpu, record.order) or (FAILED, 0)
        if found != (record.type, record.a):
            raise Mismatch(place(record.type, record.a), place(*found))
        return
    if record.op == Op.DISCARD_TAKE:
        _, offset = model.discard_take(record.type)
        if offset != record.a:
            raise Mismatch(f"offset {record.a}", f"offset {offset}")
        return
    if record.op == Op.SWAPOFF and (left := in_use(model, record.type)):
        raise Mismatch("the device gone", f"still has {left} slots in use")
    status = step(model, clusters, record)
    if status != Status.OK:
        raise Mismatch("it done", f"refuses it with {status.name}")


def in_use(model: Allocator, type_: int) -> int:
    """Return the slots of a device that are in use and not bad."""
    clusters = model.devices[type_].clusters
    return sum((cluster.used & ~cluster.bad).bit_count() for cluster in clusters)


def step(model: Allocator, clusters: ClusterMap, record: Record) -> Status:
    """Carry out a record that holds no decision; return the model's status."""
    op, type_ = record.op, record.type
    if op == Op.FREE:
        return model.free(type_, record.a, record.b)
    if op == Op.DISCARD_DONE:
        return model.discard_done(type_, record.a)
    if op == Op.PREPARE:
        base = clusters.claim(type_, record.a)
        return model.prepare(type_, record.a, base, record.b, record.c, node=record.cpu)
    if op == Op.BAD:
        return model.mark_bad(type_, record.a, record.b)
    if op == Op.SWAPON:
        return model.swapon(type_)
    if op == Op.SWAPOFF_BEGIN:
        return model.swapoff_begin(type_)
    if op == Op.SWAPOFF:
        clusters.release(type_)
        return model.swapoff(type_)
    if op == Op.POLICY:
        model.set_policy(Policy.unpack(record.a | record.b << 32))
    else:
        assert op == Op.NODE
        model.nodes[record.cpu] = record.a
    return Status.OK
