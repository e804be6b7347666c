# SPDX-License-Identifier: Apache-2.0
"""The state a trace begins with, for an engine: devices that come as usual, and steps that put all where it was.

An engine cannot be told a state at once. It has operations and STEP commands, which move clusters, give slots, and set
places to go on. So a device is switched on, all its clusters are taken off the lists they are on then, their slots are
given, and they are put back in the order of the trace; in the end the available list is made anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hwswap_map import Flag

from hwswap.model.rows import SLOTS
from hwswap.traces import records
from hwswap.traces.records import FAILED, FIRST_DETAIL, FIRST_INIT, TAKEN, Op, Record
from hwswap.traces.trace import Trace, complete


def replayable(trace: Trace) -> Trace:
    """Return the trace with its initial state in operations and steps; the same one if it has none."""
    first = [at for at, record in enumerate(trace.records) if FIRST_INIT <= record.op < FIRST_DETAIL]
    if not first:
        return trace
    # The state comes at once: behind its last record nothing is state any more.
    state, rest = trace.records[: first[-1] + 1], trace.records[first[-1] + 1 :]
    return complete(replace(trace.header), [*in_steps(state), *rest])


def in_steps(state: Sequence[Record]) -> Iterator[Record]:
    """Yield what leads an empty engine to a state, from the records of `initial.save`."""
    of: dict[Op, list[Record]] = {op: [] for op in Op}
    for record in state:
        of[Op(record.op)].append(record)
    yield from (record for record in state if record.op < FIRST_INIT)
    # In the sequence of their swapons, which policies look at.
    for device in sorted(of[Op.INIT_DEVICE], key=lambda record: record.b):
        yield records.swapon(device.type)
    pages = {record.type: record.a for record in of[Op.PREPARE]}
    bad = {(record.type, record.a // SLOTS) for record in of[Op.BAD]}
    for device in of[Op.INIT_DEVICE]:
        mine = [record for record in of[Op.INIT_CLUSTER] if record.type == device.type]
        for index in range(-(-pages[device.type] // SLOTS)):
            partial = index == 0 or (index + 1) * SLOTS > pages[device.type] or (device.type, index) in bad
            flag = Flag.NONFULL if partial else Flag.FREE
            yield Record(Op.STEP_TAKE, 0, 0, device.type, index, flag)
        orders = {record.a: record.order for record in mine}
        for used in of[Op.INIT_USED]:
            if used.type == device.type:
                order = orders.get(used.a // SLOTS, 0)
                yield Record(Op.STEP_GIVE, 0, order, device.type, used.a, used.b)
        # What is being discarded goes through the list, while nothing else is there.
        for cluster in sorted(mine, key=lambda record: not record.b & TAKEN):
            flag = Flag(cluster.b & ~TAKEN)
            yield Record(Op.STEP_PUT, 0, cluster.order if flag != Flag.FREE else 0, device.type, cluster.a, flag)
            if cluster.b & TAKEN:
                yield records.discard_take(device.type, cluster.a * SLOTS)
    for place in of[Op.INIT_SHARED_NEXT]:
        yield Record(Op.STEP_NEXT, 0, place.order, place.type, place.a, 1)
    for place in of[Op.INIT_NEXT]:
        if place.a and place.type != FAILED:
            yield Record(Op.STEP_NEXT, place.cpu, place.order, place.type, place.a, 0)
    yield from available(of[Op.INIT_DEVICE], [record.type for record in of[Op.INIT_AVAILABLE]])


def available(devices: Sequence[Record], wanted: Sequence[int]) -> Iterator[Record]:
    """Yield what makes the available list the one that is wanted, after the SWAPONs of these devices."""
    for device in devices:
        if device.a:
            yield Record(Op.STEP_AVAILABLE, 0, 0, device.type, b=0)
        else:
            yield records.swapoff_begin(device.type)
    for type_ in wanted:
        yield Record(Op.STEP_AVAILABLE, 0, 0, type_, b=1)
