# SPDX-License-Identifier: Apache-2.0
"""Replay step by step: from tracepoint text by hand, and from models that write down what they do."""

import random
from collections.abc import Iterator

import pytest
from hwswap import check, ftrace, records, trace
from hwswap.clusters import BLKDEV, DISCARD, SOLIDSTATE
from hwswap.golden import Allocator
from hwswap.guided import LATE, RECLAIMED_CLUSTER, RECLAIMED_SLOTS, SKIPPED, SLEPT_FOR_TABLE, WITHOUT_TABLE
from hwswap.hwswap_map import Flag, Status
from hwswap.records import FAILED, Op, Record
from hwswap.rows import ORDERS, SLOTS
from hwswap.steps import Operation

SSD = BLKDEV | SOLIDSTATE


def text(*lines: str) -> list[str]:
    """Make tracepoint lines of `CPU task event key=value...`, stamped by a clock that counts."""
    made = []
    for number, line in enumerate(lines):
        cpu, task, event, values = line.split(" ", 3)
        made.append(f"  kswapd-{task}   [{int(cpu):03d}] .....   {number}: swap_{event}: {values}\n")
    return made


def made_of(lines: list[str]) -> trace.Trace:
    found, cpus = ftrace.parse(lines)
    header = trace.Header("recorded", "7.3.4", "tracepoints", "by hand", None, cpus)
    return trace.complete(header, found)


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


def test_the_text_of_one_cpu_becomes_records_and_the_model_agrees():
    found = made_of(text(*ON, *FIRST, *SECOND, *FREES))
    assert [record.op for record in found.records[:4]] == [Op.PREPARE, Op.SWAPON, Op.AVAILABLE, Op.BEGIN]
    assert found.records[6] == Record(Op.ISOLATE, 0, 0, 0, 1, Flag.FREE, 1)
    assert found.detailed
    outcome = check.replay(found)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.decisions == 2
    assert not outcome.guided


def changed(lines: tuple[str, ...], before: str, after: str) -> tuple[str, ...]:
    assert sum(before in line for line in lines) == 1
    return tuple(line.replace(before, after) for line in lines)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "cluster_isolate type=0 cluster=1",
            "cluster_isolate type=0 cluster=2",
            "the trace has cluster 2, the model clu",
        ),
        ("offset=512 nr=16", "offset=528 nr=16", "device 0 offset 528, the model device 0 offset 512"),
        ("flag=3 order=4", "flag=2 order=4", "cluster 1 moved to NONFULL, the model moves it to FRAG"),
        (
            "cluster=-1 flag=2 order=4",
            "cluster=-1 flag=3 order=4",
            "a look at FRAG[4] of device 0, the model looks at NON",
        ),
        ("cluster_table type=0 cluster=1", "cluster_table type=0 cluster=2", "a table for cluster 2"),
    ],
)
def test_each_step_is_compared(before, after, message):
    outcome = check.replay(made_of(text(*ON, *changed(FIRST, before, after))))
    assert message in str(outcome.difference)


@pytest.mark.parametrize("missing", range(len(FIRST) - 1))
def test_a_missing_step_is_noticed(missing):
    """All but the last, without which the allocation would just go on."""
    lines = [line for number, line in enumerate((*FIRST, *SECOND)) if number != missing]
    try:
        outcome = check.replay(made_of(text(*ON, *lines)))
    except trace.TraceError:
        return
    assert outcome.difference is not None


def test_a_free_of_another_cpu_between_the_steps_is_seen():
    """CPU 1 frees while CPU 0 sleeps for a table; CPU 0 ends as CPU 2."""
    steps = list(FIRST)
    steps[4] = "2 7 cluster_table type=0 cluster=2 state=1"
    steps[3] = steps[3].replace("cluster=1", "cluster=2")
    steps[5] = "2 7 slots_alloc order=4 type=0 offset=1024 nr=16"
    steps[6] = "2 7 cluster_move type=0 cluster=2 flag=3 order=4"
    steps[7] = "2 7 alloc_end order=4 found=1"
    steps[2] = steps[2].replace("cluster=-1 flag=2 order=4", "cluster=-1 flag=2 order=4")
    nine = (
        "1 5 alloc_begin order=9",
        "1 5 device_visit type=0 state=1",
        "1 5 cluster_isolate type=0 cluster=1 flag=1 order=0",
        "1 5 cluster_table type=0 cluster=1 state=0",
        "1 5 slots_alloc order=9 type=0 offset=512 nr=512",
        "1 5 cluster_move type=0 cluster=1 flag=4 order=9",
        "1 5 alloc_end order=9 found=1",
    )
    between = ("1 5 slots_free type=0 offset=512 nr=512", "1 5 cluster_move type=0 cluster=1 flag=1 order=9")
    again = (
        "2 9 alloc_begin order=4",
        "2 9 slots_alloc order=4 type=0 offset=1040 nr=16",
        "2 9 alloc_end order=4 found=1",
    )
    outcome = check.replay(made_of(text(*ON, *nine, *steps[:4], *between, *steps[4:], *again)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {SLEPT_FOR_TABLE: 1}


FULL_AND_FREED = (
    f"0 1 device_on type=0 max=3 pages=2 prio=-1 flags={SSD}",
    "0 1 device_writeok type=0 state=1",
    "0 1 device_available type=0 state=1",
    "0 7 alloc_begin order=0",
    "0 7 device_visit type=0 state=1",
    "0 7 cluster_isolate type=0 cluster=0 flag=2 order=0",
    "0 7 slots_alloc order=0 type=0 offset=1 nr=1",
    "0 7 cluster_move type=0 cluster=0 flag=3 order=0",
    "0 7 alloc_end order=0 found=1",
    "0 7 alloc_begin order=0",
    "0 7 device_available type=0 state=0",
    "0 7 slots_alloc order=0 type=0 offset=2 nr=1",
    "0 7 cluster_move type=0 cluster=0 flag=4 order=0",
    "0 7 alloc_end order=0 found=1",
    "0 8 device_available type=0 state=1",
    "0 8 slots_free type=0 offset=1 nr=1",
    "0 8 cluster_move type=0 cluster=0 flag=2 order=0",
    "1 9 alloc_begin order=0",
    "1 9 device_visit type=0 state=1",
    "1 9 cluster_isolate type=0 cluster=0 flag=2 order=0",
    "1 9 slots_alloc order=0 type=0 offset=1 nr=1",
    "1 9 cluster_move type=0 cluster=0 flag=4 order=0",
    "1 9 alloc_end order=0 found=1",
    "0 8 slots_free type=0 offset=2 nr=1",
    "0 8 cluster_move type=0 cluster=0 flag=2 order=0",
)


def test_a_free_under_way_keeps_a_full_device_available():
    """CPU 0 counts slot 2 as free, CPU 1 takes slot 1, and then the trace says that slot 2 was freed."""
    outcome = check.replay(made_of(text(*FULL_AND_FREED)))
    assert outcome.difference is None, str(outcome.difference)


@pytest.mark.parametrize(
    "behind", [(), ("0 8 alloc_begin order=0", *FULL_AND_FREED[-2:]), FULL_AND_FREED[-2:] * 2], ids=len
)
def test_without_that_free_a_full_device_is_not_available(behind):
    """The free is missing, or its CPU does something else before, or it comes a second time."""
    assert check.replay(made_of(text(*FULL_AND_FREED[:-2], *behind))).difference is not None


def test_a_cluster_whose_lock_is_taken_is_passed_over():
    steps = (*FIRST[:3], "0 7 cluster_skip type=0 cluster=1 state=1", *FIRST[3:])
    steps = tuple(
        line.replace("cluster=1 flag", "cluster=2 flag").replace("cluster=1 state=0", "cluster=2 state=0")
        for line in steps
    )
    steps = tuple(line.replace("offset=512", "offset=1024") for line in steps)
    outcome = check.replay(made_of(text(*ON, *steps)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {SKIPPED: 1}


def test_without_memory_for_a_table_the_kernel_is_followed():
    lines = (
        "0 7 alloc_begin order=9",
        "0 7 device_visit type=0 state=1",
        "0 7 cluster_isolate type=0 cluster=1 flag=1 order=0",
        "0 7 cluster_table type=0 cluster=1 state=2",
        "0 7 cluster_move type=0 cluster=1 flag=1 order=0",
        "0 7 half_used type=0 state=0",
        "0 7 slots_alloc order=9 type=0 offset=0 nr=0",
        "0 7 alloc_end order=9 found=0",
    )
    outcome = check.replay(made_of(text(*ON, *lines)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {WITHOUT_TABLE: 1}
    wrong = check.replay(made_of(text(*ON, *changed(lines, "half_used type=0 state=0", "half_used type=0 state=1"))))
    assert "half used: True, the model half used: False" in str(wrong.difference)


def test_slots_may_be_given_just_after_write_permission_went():
    """Another CPU had seen it before; the allocation's event is under another lock than the flag's."""
    steps = (*FIRST[:5], "1 3 device_writeok type=0 state=0", "1 3 device_available type=0 state=0", *FIRST[5:])
    outcome = check.replay(made_of(text(*ON, *steps)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {LATE: 1}


def test_slots_may_be_refused_just_before_write_permission_is_seen_to_go():
    """The flag goes under swap_avail_lock, its event follows; a scan reads the flag under its cluster's lock."""
    going = ("1 3 device_writeok type=0 state=0", "1 3 device_available type=0 state=0")
    refused = (
        *FIRST[:5],
        "0 7 cluster_scan type=0 offset=512 order=4",
        *going,
        "0 7 cluster_move type=0 cluster=1 flag=1 order=0",
        "0 7 half_used type=0 state=0",
        "0 7 cluster_isolate type=0 cluster=-1 flag=3 order=4",
        "0 7 slots_alloc order=4 type=0 offset=0 nr=0",
        "0 7 alloc_end order=4 found=0",
    )
    outcome = check.replay(made_of(text(*ON, *refused)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {LATE: 1}
    staying = tuple(line for line in refused if line not in going)
    assert "nothing, the model device 0 offset 512" in str(check.replay(made_of(text(*ON, *staying))).difference)


RECLAIM = (
    "1 9 alloc_begin order=4",
    "1 9 device_visit type=0 state=1",
    "1 9 cluster_isolate type=0 cluster=-1 flag=2 order=4",
    "1 9 cluster_isolate type=0 cluster=-1 flag=1 order=0",
    "1 9 half_used type=0 state=0",
    "1 9 cluster_isolate type=0 cluster=1 flag=3 order=4",
    "1 9 slots_alloc order=4 type=0 offset=528 nr=16",
    "1 9 cluster_move type=0 cluster=1 flag=3 order=4",
    "1 9 alloc_end order=4 found=1",
    "0 7 alloc_begin order=4",
    "0 7 reclaim_begin type=0 offset=528 order=4",
    "0 7 slots_free type=0 offset=528 nr=16",
    "0 7 cluster_move type=0 cluster=1 flag=2 order=4",
    "0 7 reclaim_end type=0 offset=528 order=4 usable=1 clear=1",
    "0 7 slots_alloc order=4 type=0 offset=528 nr=16",
    "0 7 cluster_move type=0 cluster=1 flag=3 order=4",
    "0 7 alloc_end order=4 found=1",
)


def test_what_is_reclaimed_in_a_scan_is_free_for_it():
    small = changed(ON, "max=2048 pages=2047", "max=1024 pages=1023")
    outcome = check.replay(made_of(text(*small, *FIRST, *RECLAIM)))
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.guided == {RECLAIMED_SLOTS: 1}
    for before, after, message in (
        ("reclaim_begin type=0 offset=528", "reclaim_begin type=0 offset=560", "takes slot 32 before that"),
        ("usable=1 clear=1", "usable=1 clear=0", "usable 1, clear 0, the model usable 1, clear 1"),
    ):
        outcome = check.replay(made_of(text(*small, *FIRST, *changed(RECLAIM, before, after))))
        assert message in str(outcome.difference)


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
        """Wrap what changes lists."""
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
        """Write what a scan found."""
        if step.offset:
            self.out.append(trace.alloc(self.cpu, order, (step.device.type, step.offset), self.number))
        else:
            offset = step.cluster.index * SLOTS + step.start
            self.detail(Op.SCANNED, step.device.type, order, offset)

    def on_attempt(self, step, order):
        """Order 0: now and then reclaim a slot of what is held in the cluster, on the way."""
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

    def run(self, steps: int) -> Iterator[None]:
        """Allocate, free, discard."""
        for _ in range(steps):
            kind = self.rng.random()
            if kind < (0.8 if self.cached else 0.6) or not self.held:
                self.alloc()
            elif kind < 0.97:
                self.free_now(*self.held.pop(self.rng.randrange(len(self.held))))
            else:
                self.discard()
            yield

    def discard(self) -> None:
        """Discard a cluster of each device."""
        for device in self.model.devices.values():
            status, offset = self.model.discard_take(device.type)
            if status == Status.OK:
                self.out.append(trace.discard_take(device.type, offset))
                self.out.append(trace.discard_done(device.type, offset))
                assert self.model.discard_done(device.type, offset) == Status.OK

    def trace(self) -> trace.Trace:
        """Return what was written."""
        header = trace.Header("recorded", "7.3.4", "tracepoints", "a model", None, 4)
        return trace.complete(header, self.out)


KINDS = [(SSD,), (SSD, SSD, SSD), (SSD | DISCARD, SSD), (BLKDEV, SSD), (SOLIDSTATE, BLKDEV | DISCARD, SSD)]


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("cached", [False, True], ids=["", "cached"])
def test_a_model_that_writes_down_its_steps_is_followed_without_a_difference(kinds, cached, tmp_path):
    guided = 0
    for seed in range(3 if cached else 6):
        writer = Writer(seed, kinds, cached)
        for _ in writer.run(2500 if cached else 500):
            pass
        written = writer.trace()
        trace.write(tmp_path / "a.hwst.gz", written.header, written.records)
        again = trace.read(tmp_path / "a.hwst.gz")
        outcome = check.replay(again)
        assert outcome.difference is None, str(outcome.difference)
        assert outcome.decisions > 150
        guided += outcome.guided[RECLAIMED_SLOTS] + outcome.guided[RECLAIMED_CLUSTER]
    assert (guided > 20) == cached


def test_a_changed_result_is_named_wherever_it_is():
    writer = Writer(3, (SSD, SSD | DISCARD))
    for _ in writer.run(200):
        pass
    written = writer.trace()
    rng = random.Random(1)
    allocated = [i for i, r in enumerate(written.records) if r.op == Op.ALLOC and r.type != FAILED]
    for at in rng.sample(allocated, 20):
        record = written.records[at]
        records_ = list(written.records)
        records_[at] = record._replace(a=record.a ^ 1 << record.order)
        outcome = check.replay(trace.Trace(written.header, records_))
        assert outcome.difference is not None
        assert outcome.difference.number == at
