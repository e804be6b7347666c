# SPDX-License-Identifier: Apache-2.0
"""The state a trace begins with: lists, slots in use, next offsets, the available list, as records."""

from collections.abc import Iterator

from hwswap_map import Flag

from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS, run, runs
from hwswap.traces import records
from hwswap.traces.records import FAILED, TAKEN, Op, Record


def save(model: Allocator) -> Iterator[Record]:
    """Yield the records that bring an empty model to the state of this one.

    Policy and nodes are among them; the generator of random trunks starts from its present state.
    """
    for cpu, number in enumerate(model.nodes):
        if number:
            yield records.node(cpu, number)
    policy = model.policy
    if policy.pack():
        seed = model.trunks.state
        yield records.policy(type(policy)(policy.scan, policy.device, policy.hint, policy.placement, seed))
    for device in sorted(model.devices.values(), key=lambda device: device.base):
        yield records.prepare(device.type, device.pages, device.flags, device.priority, device.node)
        for cluster in device.clusters:
            first = cluster.index * SLOTS
            for slot, nr in runs(cluster.bad):
                end = min(first + slot + nr, device.pages)
                start = max(first + slot, 1)
                if end > start:
                    yield records.bad(device.type, start, end - start)
        if not device.listed:
            continue
        yield Record(Op.INIT_DEVICE, 0, 0, device.type, device.writeok, device.number)
        for flag, _, clusters in device.lists():
            for cluster in clusters.values():
                yield Record(Op.INIT_CLUSTER, 0, cluster.order, device.type, cluster.index, flag)
        for cluster in device.clusters:
            if cluster.taken:
                yield Record(Op.INIT_CLUSTER, 0, cluster.order, device.type, cluster.index, Flag.DISCARD | TAKEN)
            for slot, nr in runs(cluster.used & ~cluster.bad):
                yield Record(Op.INIT_USED, 0, 0, device.type, cluster.index * SLOTS + slot, nr)
        for order, offset in enumerate(device.next_offset):
            if offset:
                yield Record(Op.INIT_SHARED_NEXT, 0, order, device.type, offset)
    for cpu, orders in enumerate(model.next_offsets):
        for order, hint in enumerate(orders):
            if hint.offset or hint.device:
                type_ = hint.device.type if hint.device else FAILED
                yield Record(Op.INIT_NEXT, cpu, order, type_, hint.offset)
    for device in model.available:
        yield Record(Op.INIT_AVAILABLE, 0, 0, device.type)


def restore(model: Allocator, record: Record) -> None:
    """Apply one record of the initial state."""
    op, cpu, order, type_, a, b, _ = record
    device = model.devices.get(type_)
    if op == Op.INIT_NEXT:
        hint = model.next_offsets[cpu][order]
        hint.device = device
        hint.offset = a
        return
    assert device is not None  # the validator saw to that
    if op == Op.INIT_DEVICE:
        device.listed = True
        device.writeok = bool(a)
        device.number = b
        model.swapons = max(model.swapons, b)
    elif op == Op.INIT_CLUSTER:
        cluster = device.clusters[a]
        cluster.flag = Flag(b & ~TAKEN)
        cluster.order = order
        cluster.taken = bool(b & TAKEN)
        if not cluster.taken:
            device.list_of(cluster.flag, order)[a] = cluster
    elif op == Op.INIT_USED:
        cluster = device.clusters[a // SLOTS]
        cluster.used |= run(a % SLOTS, b)
        cluster.count = cluster.used.bit_count()
        device.used += b
    elif op == Op.INIT_SHARED_NEXT:
        device.next_offset[order] = a
    elif op == Op.INIT_AVAILABLE:
        model.available.append(device)
