# SPDX-License-Identifier: Apache-2.0
"""Tracepoint text: by hand, and by a model that writes down its steps."""

import random

from allocators import SSD
from hwswap.kernel import ftrace
from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.model.golden import Allocator
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.steps import Operation
from hwswap.traces import records, trace
from hwswap.traces.records import Op, Record
from hwswap_map import Status


def text(*lines: str) -> list[str]:
    """Make tracepoint lines of `CPU task event key=value...`, stamped by a clock that counts."""
    made = []
    for number, line in enumerate(lines):
        cpu, task, event, values = line.split(" ", 3)
        made.append(f"  kswapd-{task}   [{int(cpu):03d}] .....   {number}: swap_{event}: {values}\n")
    return made


def recorded(found: list[Record], cpus: int) -> trace.Trace:
    return trace.complete(trace.Header("recorded", "7.3.4", "tracepoints", "by hand", None, cpus), found)


def made_of(lines: list[str]) -> trace.Trace:
    return recorded(*ftrace.parse(lines))


ON = (
    f"0 1 device_on type=0 max=2048 pages=2047 prio=-1 flags={SSD}",
    "0 1 device_writeok type=0 state=1",
    "0 1 device_available type=0 state=1",
)
FIRST = (
    "0 7 alloc_begin order=4",
    "0 7 device_visit type=0 state=1",
    "0 7 cluster_isolate type=0 cluster=-1 flag=2 order=4",
    "0 7 cluster_isolate type=0 cluster=1 flag=1 order=0",
    "0 7 cluster_table type=0 cluster=1 state=0",
    "0 7 slots_alloc order=4 type=0 offset=512 nr=16",
    "0 7 cluster_move type=0 cluster=1 flag=3 order=4",
    "0 7 alloc_end order=4 found=1",
)
SECOND = (
    "0 7 alloc_begin order=4",
    "0 7 slots_alloc order=4 type=0 offset=528 nr=16",
    "0 7 alloc_end order=4 found=1",
)
FREES = (
    "0 8 slots_free type=0 offset=512 nr=16",
    "0 8 cluster_move type=0 cluster=1 flag=2 order=4",
    "0 8 slots_free type=0 offset=528 nr=16",
    "0 8 cluster_move type=0 cluster=1 flag=1 order=4",
)


class Writer:
    """A machine that writes down each step of a model that it runs at once, as the kernel's tracepoints do.

    It knows nothing of how a replay works: it listens at the model's own methods.
    """

    hosted = True

    def __init__(self, seed: int, kinds: tuple[int, ...], cached: bool = False) -> None:
        """Make a machine of devices of the given flags, with slots that may be reclaimed if `cached`."""
        self.rng = random.Random(seed)
        self.out: list[Record] = []
        self.number = 0
        self.count = 0
        self.cpu = 0
        self.cached = cached
        self.model = model = Allocator(devices=len(kinds), cpus=4)
        model.hosted = True
        self.held: list[tuple[int, int, int]] = []
        self.listen()
        base = 0
        for type_, flags in enumerate(kinds):
            clusters = self.rng.randint(1, 2) if cached else self.rng.randint(2, 6)
            pages = clusters * SLOTS - self.rng.choice((0, 9))
            priority = self.rng.choice((-1, -1, 3))
            assert model.prepare(type_, pages, base, flags, priority) == Status.OK
            self.out += [trace.prepare(type_, pages, flags, priority), trace.swapon(type_)]
            assert model.swapon(type_) == Status.OK
            base += clusters

    def detail(self, op: Op, type_: int, order: int = 0, a: int = 0, b: int = 0) -> None:
        """Write a detail of the present allocation."""
        self.out.append(Record(op, self.cpu, order, type_, a, b, self.number))

    def listen(self) -> None:
        """Wrap the functions that change lists."""
        model = self.model
        move, make, usage = model.move, model.make_available, model.add_usage

        def moved(device, cluster, flag):
            self.detail(Op.MOVE, device.type, cluster.order, cluster.index, flag)
            move(device, cluster, flag)

        def available(device):
            if device not in model.available and device.used != device.total:
                self.detail(Op.AVAILABLE, device.type, b=1)
            make(device)

        def used(device, nr):
            if device.used + nr == device.total:
                self.detail(Op.AVAILABLE, device.type, b=0)
            usage(device, nr)

        def requeue(device):
            model.available.remove(device)
            make(device)

        model.move, model.make_available, model.add_usage, model.requeue = moved, available, used, requeue

    def alloc(self) -> None:
        """Allocate for some CPU."""
        self.cpu = self.rng.randrange(4)
        weights = (60 if self.cached else 9, 2, 4, 1, 6, 1, 1, 1, 1, 2)
        order = self.rng.choices(range(ORDERS), weights)[0]
        self.count += 1
        self.number = self.count
        self.detail(Op.BEGIN, 0, order)
        self.op = Operation(self.cpu, order)
        search = self.model.allocation(self.op)
        answer, refusing = None, None
        while True:
            try:
                step = search.send(answer)
            except StopIteration as end:
                found = end.value
                break
            name = type(step).__name__
            if refusing is not None and name != "Attempt" and not (name == "Scanned" and step.device is refusing[0]):
                self.detail(Op.REFUSED, refusing[0].type, order, refusing[1])
            refusing = None
            answer = getattr(self, f"on_{name.lower()}", lambda step, order: None)(step, order)
            if name == "Resume":
                cluster = step.device.clusters[step.offset // SLOTS]
                if not self.model.usable(cluster, order):
                    refusing = step.device, step.offset
        if refusing is not None:
            self.detail(Op.REFUSED, refusing[0].type, order, refusing[1])
        if found is None:
            self.out.append(trace.alloc(self.cpu, order, None, self.number))
        else:
            self.held.append((found.type, found.offset, 1 << order))
        self.detail(Op.END, 0, order)
        self.number = 0

    def on_visit(self, step, order):
        """Turn to a device."""
        answer = self.model.visit(step.device, self.cpu)
        if answer[0] is not None:
            self.detail(Op.VISIT, answer[0].type)
        return answer

    def on_isolate(self, step, order):
        """Take a cluster off a list."""
        cluster = self.model.isolate(step.device, step.flag, step.order)
        index = records.NO_CLUSTER if cluster is None else cluster.index
        self.detail(Op.ISOLATE, step.device.type, step.order, index, step.flag)
        return cluster

    def on_populate(self, step, order):
        """Have a table at once, after a sleep on another CPU, or not."""
        how = self.rng.choices((records.AT_ONCE, records.SLEPT, records.NO_MEMORY), (90, 6, 4))[0]
        if how == records.SLEPT:
            self.cpu = self.op.cpu = self.rng.randrange(4)
        self.detail(Op.TABLE, step.device.type, 0, step.cluster.index, how)
        return how != records.NO_MEMORY

    def on_halfused(self, step, order):
        """Look whether more than half is used."""
        full = self.model.half_used
        self.detail(Op.HALF_USED, self.last_device(), 0, int(full))
        return full

    def last_device(self) -> int:
        """Return the device that was turned to last."""
        return next(record.type for record in reversed(self.out) if record.op == Op.VISIT)

    def on_scanned(self, step, order):
        """Write the result of a scan."""
        if step.offset:
            self.out.append(trace.alloc(self.cpu, order, (step.device.type, step.offset), self.number))
        else:
            offset = step.cluster.index * SLOTS + step.start
            self.detail(Op.SCANNED, step.device.type, order, offset)

    def on_attempt(self, step, order):
        """Order 0: now and then reclaim a slot that is held in the cluster, on the way."""
        if not self.cached or order or not self.model.half_used or self.rng.random() < 0.5:
            return None
        first = step.cluster.index * SLOTS
        end = first + (step.slot if step.slot >= 0 else SLOTS)
        for at, (type_, offset, nr) in enumerate(self.held):
            if type_ == step.device.type and nr == 1 and first + step.start <= offset < end:
                self.detail(Op.RECLAIM, type_, order, offset)
                if self.rng.random() < 0.8:
                    del self.held[at]
                    self.free_now(type_, offset, 1)
                usable = self.model.usable(step.cluster, order)
                clear = usable and (not step.cluster.count or not step.cluster.used >> offset % SLOTS & 1)
                self.detail(Op.RECLAIMED, type_, order, offset, usable | clear << 1)
                return offset % SLOTS
        return None

    def on_reclaimfull(self, step, order):
        """Reclaim two slots of a full cluster."""
        first = step.cluster.index * SLOTS
        inside = [h for h in self.held if h[0] == step.device.type and first <= h[1] < first + SLOTS and h[2] == 1]
        if self.cached:
            for held in inside[:2]:
                self.held.remove(held)
                self.free_now(*held)

    def free_now(self, type_: int, offset: int, nr: int) -> None:
        """Free slots."""
        self.out.append(trace.free(self.cpu, type_, offset, nr, self.number))
        assert self.model.free(type_, offset, nr) == Status.OK

    def run(self, steps: int) -> trace.Trace:
        """Allocate, free, discard; return the records as a trace."""
        for _ in range(steps):
            kind = self.rng.random()
            if kind < (0.8 if self.cached else 0.6) or not self.held:
                self.alloc()
            elif kind < 0.97:
                self.free_now(*self.held.pop(self.rng.randrange(len(self.held))))
            else:
                self.discard()
        return recorded(self.out, 4)

    def discard(self) -> None:
        """Discard a cluster of each device."""
        for device in self.model.devices.values():
            status, offset = self.model.discard_take(device.type)
            if status == Status.OK:
                self.out.append(trace.discard_take(device.type, offset))
                self.out.append(trace.discard_done(device.type, offset))
                assert self.model.discard_done(device.type, offset) == Status.OK


KINDS = [(SSD,), (SSD, SSD, SSD), (SSD | DISCARD, SSD), (BLKDEV, SSD), (SOLIDSTATE, BLKDEV | DISCARD, SSD)]
