# SPDX-License-Identifier: Apache-2.0
"""Guided steps and NEED_RECLAIM: random ones against the golden model's, and a state set up by them."""

import copy
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cocotb
from hwswap import hwswap_map as m
from hwswap import initial, trace
from hwswap.check import step
from hwswap.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator, Cluster, Device, Slots
from hwswap.hwswap_map import Flag, Opcode, Status
from hwswap.policy import Placement, Policy, Scan
from hwswap.records import FAILED, TAKEN, Op, Record
from hwswap.rows import ORDERS, SLOTS, run, runs
from hwswap.stepper import Question, Stepper
from hwswap.stream import FEATURES, Shape, Stream
from hwswap.trace import ClusterMap

from cases.authoritative import command_of, compare_state, write_rules
from cases.bench import Bench, Command, prepare

SSD = BLKDEV | SOLIDSTATE
NAMED = m.MEM_STEP_LIST_LIST_NAMED.put(1)
PUT_TAKEN = m.MEM_STEP_LIST_LIST_TAKEN.put(1)


@dataclass
class Expected:
    """What a command is to be answered; slot and type are looked at where they are given."""

    command: Command
    status: Status
    slot: int = 0
    type: int = 0


class Script:
    """Commands with what they are to be answered, given to the engine many at a time."""

    def __init__(self, bench: Bench, model: Stepper) -> None:
        """Take an engine, and a model in the same state."""
        self.bench = bench
        self.model = model
        self.rng = random.Random(bench.seed)
        self.lines: list[Expected] = []
        self.counts: dict[str, int] = {}

    def add(self, command: Command, status: Status, slot: int = 0, type_: int = 0) -> None:
        """Note a command that the model has carried out."""
        self.lines.append(Expected(command, status, slot, type_))
        key = f"{Opcode(command.opcode).name} {status.name}"
        self.counts[key] = self.counts.get(key, 0) + 1

    async def flush(self) -> None:
        """Give the engine what was noted, and compare."""
        done = await self.bench.run(*[line.command for line in self.lines])
        for line, got in zip(self.lines, done, strict=True):
            found = Expected(line.command, got.status, got.slot, got.type)
            assert found == line, f"{line}: {got}"
        self.lines.clear()

    # What both do

    def device(self) -> Device:
        """Draw a device."""
        return self.rng.choice(list(self.model.devices.values()))

    def cluster(self) -> tuple[Device, Cluster]:
        """Draw a cluster."""
        device = self.device()
        return device, self.rng.choice(device.clusters)

    def alloc(self, orders: tuple[int, ...] = (0, 0, 0, 1, 2, 4, 4, 6, 9)) -> None:
        """ALLOC."""
        cpu, order = self.rng.randrange(4), self.rng.choice(orders)
        found = self.model.alloc(cpu, order)
        command = Command(Opcode.ALLOC, cpu=cpu, order=order)
        if found is None:
            self.add(command, Status.NO_SPACE)
        else:
            self.add(command, Status.OK, found.offset, found.type)

    def free_in(self, device: Device, cluster: Cluster, mask: int) -> None:
        """FREE of one run of the slots of `mask` that are in use."""
        pieces = runs(cluster.used & ~cluster.bad & mask)
        if not pieces:
            return
        slot, nr = self.rng.choice(pieces)
        nr = min(nr, self.rng.choice((1, 1, 2, 5, 16)) if self.rng.random() < 0.9 else self.rng.randint(1, nr))
        self.free_run(device, cluster.index * SLOTS + slot, nr)

    def free_run(self, device: Device, offset: int, nr: int) -> None:
        """FREE of just these slots."""
        self.add(Command(Opcode.FREE, device.type, nr=nr, arg0=offset), self.model.free(device.type, offset, nr))

    def free(self) -> None:
        """FREE of what was given."""
        device, cluster = self.cluster()
        self.free_in(device, cluster, -1)

    def discard(self) -> None:
        """DISCARD_TAKE, DISCARD_DONE."""
        device, cluster = self.cluster()
        if self.rng.random() < 0.5:
            status, offset = self.model.discard_take(device.type)
            self.add(Command(Opcode.DISCARD_TAKE, device.type), status, offset)
        else:
            offset = cluster.index * SLOTS + self.rng.randrange(SLOTS)
            status = self.model.discard_done(device.type, offset)
            self.add(Command(Opcode.DISCARD_DONE, device.type, arg0=offset), status)

    def permission(self) -> None:
        """SWAPOFF_BEGIN, SWAPON."""
        gone = [device for device in self.model.devices.values() if not device.writeok]
        if gone:
            device = self.rng.choice(gone)
            self.add(Command(Opcode.SWAPON, device.type), self.model.swapon(device.type))
        elif self.rng.random() < 0.3:
            device = self.device()
            self.add(Command(Opcode.SWAPOFF_BEGIN, device.type), self.model.swapoff_begin(device.type))

    def take(self) -> None:
        """STEP_TAKE."""
        rng = self.rng
        device, cluster = self.cluster()
        flag, order = rng.randrange(7), rng.randrange(ORDERS + 1)
        if rng.random() < 0.7:
            flag, order = cluster.flag, cluster.order
        offset = None
        if rng.random() < 0.5:
            offset = cluster.index * SLOTS + rng.randrange(SLOTS) if rng.random() < 0.95 else device.total + 7
            flag = Flag.NONE if rng.random() < 0.3 else flag
        type_ = device.type if rng.random() < 0.97 else 7
        status, slot, first = self.model.step_take(type_, flag, order, offset)
        command = Command(
            Opcode.STEP_TAKE, type_, order=order, arg0=offset or 0, arg1=flag | (0 if offset is None else NAMED)
        )
        self.add(command, status, slot | first << 32, type_ if status == Status.OK else 0)

    def put(self, device: Device, cluster: Cluster, flag: int, order: int, taken: bool = False) -> None:
        """STEP_PUT."""
        offset = cluster.index * SLOTS + self.rng.randrange(SLOTS)
        status = self.model.step_put(device.type, offset, flag, order, taken)
        arg1 = flag | (PUT_TAKEN if taken else 0)
        self.add(Command(Opcode.STEP_PUT, device.type, order=order, arg0=offset, arg1=arg1), status)

    def some_put(self) -> None:
        """Put some cluster where it may belong."""
        rng = self.rng
        device, cluster = self.cluster()
        away = [c for c in device.clusters if c.flag == Flag.NONE]
        if away and rng.random() < 0.7:
            cluster = rng.choice(away)
        order = cluster.order if cluster.count and rng.random() < 0.8 else rng.randrange(ORDERS + 1)
        flag = rng.choice((self.fitting(cluster), self.fitting(cluster), rng.randrange(7)))
        self.put(device, cluster, flag, order, flag in (5, 6) and rng.random() < 0.6)

    def fitting(self, cluster: Cluster) -> Flag:
        """Return a flag that goes with a cluster's count."""
        if not cluster.count:
            return Flag.FREE
        return Flag.FULL if cluster.count == SLOTS else self.rng.choice((Flag.FRAG, Flag.NONFULL))

    def slots(self) -> None:
        """STEP_GIVE and STEP_FREE."""
        rng = self.rng
        device, cluster = self.cluster()
        give = rng.random() < 0.55
        pieces = runs(~cluster.used & run(0, SLOTS) if give else cluster.used & ~cluster.bad)
        slot, nr = rng.choice(pieces) if pieces and rng.random() < 0.9 else (rng.randrange(SLOTS), rng.randint(0, 600))
        if nr > 1 and rng.random() < 0.7:
            nr = rng.randint(1, nr)
        if not give and cluster.bad & run(slot, min(nr, SLOTS)):
            return  # the engine does not know which slots are bad
        offset, order = cluster.index * SLOTS + slot, rng.randrange(ORDERS)
        status = self.model.step_slots(device.type, offset, nr, order if give else None)
        opcode = Opcode.STEP_GIVE if give else Opcode.STEP_FREE
        self.add(Command(opcode, device.type, order=order, nr=nr, arg0=offset), status)

    def next(self) -> None:
        """STEP_NEXT."""
        rng = self.rng
        device, order = self.device(), rng.randrange(ORDERS + 1)
        cpu = None if device.rotating == (rng.random() < 0.9) else rng.randrange(5)
        offset = rng.choice((0, rng.randrange(device.total), rng.randrange(2 * device.total)))
        if rng.random() < 0.8:
            offset &= -1 << order
        status = self.model.step_next(device.type, cpu, order, offset)
        command = Command(
            Opcode.STEP_NEXT, device.type, cpu=cpu or 0, order=order, arg0=offset, arg1=1 if cpu is None else 0
        )
        self.add(command, status)

    def visit(self) -> None:
        """STEP_VISIT."""
        type_ = self.device().type
        status, first, behind = self.model.step_visit(type_)
        self.add(Command(Opcode.STEP_VISIT, type_), status, behind, first)

    def available(self) -> None:
        """STEP_AVAILABLE; one without write permission does not stay, as no allocation would come past it."""
        device = self.device()
        for joins in (True, False) if not device.writeok else (self.rng.random() < 0.5,):
            status = self.model.step_available(device.type, joins)
            self.add(Command(Opcode.STEP_AVAILABLE, device.type, arg0=joins), status)

    def tidy(self) -> None:
        """Put every cluster on a list that fits, and every device where it should be."""
        for device in self.model.devices.values():
            for cluster in device.clusters:
                empty = not cluster.count and cluster.flag != Flag.FREE
                if cluster.flag == Flag.NONE or cluster.taken or empty:
                    self.put(device, cluster, self.fitting(cluster), cluster.order)
                elif cluster.count == SLOTS and cluster.flag == Flag.FRAG:
                    self.put(device, cluster, Flag.FULL, cluster.order)
            should = device.writeok and device.used < device.total
            if (device in self.model.available) != should:
                status = self.model.step_available(device.type, should)
                self.add(Command(Opcode.STEP_AVAILABLE, device.type, arg0=should), status)


async def machine(bench: Bench, kinds: tuple[int, ...], sizes: range, priorities: tuple[int, ...] = (-1,)) -> Script:
    """Bring devices of some kinds and sizes on, in engine and model; the first has bad slots in its second cluster."""
    model = Stepper(8, 4, 1024)
    script = Script(bench, model)
    base = 0
    for type_, flags in enumerate(kinds):
        clusters = bench.rng.choice(sizes)
        pages = clusters * SLOTS - bench.rng.choice((0, 0, 100))
        priority = bench.rng.choice(priorities)
        script.add(prepare(type_, pages, base, flags, priority), model.prepare(type_, pages, base, flags, priority))
        if not type_:
            script.add(Command(Opcode.MARK_BAD, type_, nr=3, arg0=700), model.mark_bad(type_, 700, 3))
        script.add(Command(Opcode.SWAPON, type_), model.swapon(type_))
        base += clusters
    await script.flush()
    return script


@cocotb.test()
async def random_steps_between_allocations(dut):
    bench = await Bench.start(dut)
    script = await machine(bench, (SSD, SSD, SSD | DISCARD, BLKDEV, SSD), range(2, 6), (-1, -1, 3))
    deeds = [script.take, script.some_put, script.slots, script.next, script.visit, script.available]
    others = [script.alloc] * 6 + [script.free] * 4 + [script.discard, script.permission]
    for _ in range(6):
        for _ in range(60):
            for _ in range(bench.rng.randint(1, 12)):
                bench.rng.choice(deeds if bench.rng.random() < 0.5 else others)()
            await script.flush()
        script.tidy()
        await script.flush()
        await compare_state(bench, script.model)
        assert not script.model.faults()
    bench.log.info("%s", script.counts)
    for opcode in Opcode:
        if opcode.name.startswith("STEP_"):
            assert script.counts[f"{opcode.name} OK"] > 10
            assert script.counts[f"{opcode.name} BAD_RANGE"] > 3
    bench.guards()


@cocotb.test()
async def the_host_is_asked_what_can_be_reclaimed(dut):
    """Questions at the places where the model has them; the host frees what it likes, also elsewhere in the cluster."""
    bench = await Bench.start(dut)
    for policy in (Policy(), Policy(scan=Scan.FREE_FIRST), Policy(placement=Placement.INDEXED)):
        script = await machine(bench, (SSD, SSD | DISCARD, BLKDEV), range(5, 9))
        await bench.write(m.POLICY_OFFSET, policy.pack())
        script.model.set_policy(policy)
        for _ in range(400):
            script.alloc((9, 8, 7, 7, 6, 6, 5, 4))
        for _ in range(60):
            for deed in bench.rng.choices("afdp", (60, 20, 3, 1), k=bench.rng.randint(20, 60)):
                if deed == "a" or (deed == "f" and not script.model.half_used):
                    ask_at_random(script)
                else:
                    {"f": script.free, "d": script.discard, "p": script.permission}[deed]()
            await script.flush()
        await compare_state(bench, script.model)
        bench.log.info("%s", script.counts)
        assert script.counts["ALLOC NEED_RECLAIM"] > 10
        assert script.counts["RECLAIM_DONE NEED_RECLAIM"]
        assert script.counts["RECLAIM_DONE OK"] > 5
        await bench.reset()
        await bench.setup()
    bench.guards()


Answer = Callable[[Question], int | None]
"""What a host does when it is asked: frees what it can, and says which slots it tried, None for none."""


def ask(script: Script, cpu: int, order: int, answer: Answer) -> Slots | None:
    """ALLOC with RECLAIM, and what follows until it has an end, which is returned."""
    command = Command(Opcode.ALLOC, cpu=cpu, order=order, reclaim=True)
    search = script.model.ask(cpu, order)
    tried: int | None = None
    while True:
        try:
            question = search.send(tried)
        except StopIteration as end:
            found = end.value
            if found is None:
                script.add(command, Status.NO_SPACE)
            else:
                script.add(command, Status.OK, found.offset, found.type)
            return found
        asked = (
            m.MEM_NEED_RECLAIM_SLOTS_SLOT.put(question.offset)
            | m.MEM_NEED_RECLAIM_SLOTS_NR.put(question.nr)
            | m.MEM_NEED_RECLAIM_SLOTS_FULL.put(question.full)
        )
        script.add(command, Status.NEED_RECLAIM, asked, question.type)
        tried = answer(question)
        command = Command(
            Opcode.RECLAIM_DONE,
            question.type,
            cpu=cpu,
            order=order,
            nr=tried is not None,
            arg0=question.offset if tried is None else tried,
        )


def ask_at_random(script: Script) -> None:
    """ALLOC with RECLAIM by a host that frees anything, and does what it must not."""
    rng, model = script.rng, script.model
    cpu, order = rng.randrange(4), rng.choice((0, 0, 0, 1, 2, 4, 4, 6, 9))

    def answer(question: Question) -> int | None:
        device = model.devices[question.type]
        cluster = device.clusters[question.offset // SLOTS]
        if rng.random() < 0.1:
            misbehave(cluster.index * SLOTS, device)
        if not question.full and rng.random() < 0.4:
            return None
        groups = range(question.offset, question.offset + question.nr, 1 << order)
        tried = question.offset if question.full else rng.choice(groups)
        mask = run(tried % SLOTS, SLOTS if question.full else 1 << order)
        for _ in range(rng.choice((0, 1, 2, 3))):
            script.free_in(device, cluster, mask)
        if rng.random() < 0.15:  # a folio may reach beyond the group
            script.free_in(device, cluster, -1)
        if rng.random() < 0.15:
            for slot, nr in runs(cluster.used & ~cluster.bad & mask):
                script.free_run(device, cluster.index * SLOTS + slot, nr)
        return tried

    def misbehave(here: int, device: Device) -> None:
        for wrong in (
            Command(Opcode.ALLOC, cpu=cpu, order=order, reclaim=rng.random() < 0.5),
            Command(Opcode.CHECK, device.type),
            Command(Opcode.STEP_VISIT, device.type),
        ):
            script.add(wrong, Status.BAD_OPCODE)
        elsewhere = (here + SLOTS) % device.total
        for other, at in ((order, elsewhere), ((order + 1) % ORDERS, here), (order, device.total)):
            refused = Command(Opcode.RECLAIM_DONE, device.type, cpu=cpu, order=other, arg0=at)
            script.add(refused, Status.BAD_RANGE)
        script.add(Command(Opcode.NOP), Status.OK)

    ask(script, cpu, order, answer)


def setup(records: list[Record], model: Allocator) -> Iterator[Command | Record]:
    """Yield what brings an empty engine to the state of `records`: commands, and the records of registers."""
    bases = {device.type: device.base for device in model.devices.values()}
    known = [record for record in records if record.op in (Op.NODE, Op.POLICY)]
    yield from known
    for record in records:
        if record.op == Op.PREPARE:
            base = bases[record.type]
            yield prepare(record.type, record.a, base, record.b, record.c, node=record.cpu)
        elif record.op == Op.BAD:
            yield Command(Opcode.MARK_BAD, record.type, nr=record.b, arg0=record.a)
    devices = sorted((record for record in records if record.op == Op.INIT_DEVICE), key=lambda record: record.b)
    for device in devices:
        yield Command(Opcode.SWAPON, device.type)
    for device in devices:
        for cluster in model.devices[device.type].clusters:
            yield Command(Opcode.STEP_TAKE, device.type, arg0=cluster.index * SLOTS, arg1=NAMED)
    orders = {(r.type, r.a): r.order for r in records if r.op == Op.INIT_CLUSTER}
    for record in records:
        if record.op == Op.INIT_USED:
            order = orders[record.type, record.a // SLOTS]
            yield Command(Opcode.STEP_GIVE, record.type, order=order, nr=record.b, arg0=record.a)
    for record in records:
        if record.op == Op.INIT_CLUSTER:
            arg1 = record.b & ~TAKEN | (PUT_TAKEN if record.b & TAKEN else 0)
            at = record.a * SLOTS
            yield Command(Opcode.STEP_PUT, record.type, order=record.order, arg0=at, arg1=arg1)
        elif record.op == Op.INIT_NEXT and record.type != FAILED:
            yield Command(Opcode.STEP_NEXT, record.type, cpu=record.cpu, order=record.order, arg0=record.a)
        elif record.op == Op.INIT_SHARED_NEXT:
            yield Command(Opcode.STEP_NEXT, record.type, order=record.order, arg0=record.a, arg1=1)
    for device in devices:
        yield Command(Opcode.STEP_AVAILABLE if device.a else Opcode.SWAPOFF_BEGIN, device.type)
    for record in records:
        if record.op == Op.INIT_AVAILABLE:
            yield Command(Opcode.STEP_AVAILABLE, record.type, arg0=1)


@cocotb.test()
async def a_state_is_set_up_by_steps(dut):
    """A stream is cut in the middle: its state goes into a fresh engine, which then decides as the stream goes on."""
    bench = await Bench.start(dut)
    for cut in (1500, 4000):
        await bench.reset()
        await bench.setup()
        shape = Shape(seed=bench.seed + cut, ops=cut + 2500, span=50, features=frozenset(FEATURES))
        bench.log.info("%s", shape)
        source = Stream(shape)
        records = iter(source)
        for _ in range(cut):
            next(records)
        state = list(initial.save(source.model))
        clusters = copy.deepcopy(source.clusters)
        for deed in setup(state, source.model):
            if isinstance(deed, Record):
                await write_rules(bench, deed)
            else:
                await bench.must(deed)
        await bench.no_faults(source.model.devices)
        for type_, device in source.model.devices.items():
            word = await bench.read(m.DEVICE_BASE + type_ * m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET)
            assert m.DEVICE_STATE_USED.get(word) == device.used
            assert m.DEVICE_STATE_AVAILABLE.get(word) == (device in source.model.available)
        for record in records:
            if record.op in (Op.POLICY, Op.NODE):
                await write_rules(bench, record)
                continue
            got = await bench.do(command_of(record, clusters))
            expected = Status.OK
            if (record.op == Op.ALLOC and record.type == FAILED) or (record.op == Op.DISCARD_TAKE and not record.a):
                expected = Status.NO_SPACE
            assert got.status == expected, f"{shape}: {record}: {got}"
            if record.op in (Op.ALLOC, Op.DISCARD_TAKE) and expected == Status.OK:
                assert got.slot == record.a, f"{shape}: {record}: {got}"
        await bench.no_faults(source.model.devices)


RECLAIM = Path(__file__).parents[2] / "data/reclaim.hwst.gz"
RECLAIM_PART = range(36_000, 48_000)
"""Records that are replayed on the engine, from before the first reclaim; HWSWAP_RECLAIM=all takes all of them."""


@cocotb.test()
async def recorded_reclaims_end_as_the_kernels_did(dut):
    """What a kernel reclaimed inside its allocations, and the engine's decisions when the host answers as it did.

    Each allocation is carried out where the trace has its result. The two CPUs of the trace did not get into each
    other's way so much that this would change anything: the model's decisions are compared with the kernel's, too.
    """
    bench = await Bench.start(dut)
    recorded = trace.read(RECLAIM)
    limits = recorded.header
    script = Script(bench, Stepper(limits.devices, limits.cpus, limits.clusters))
    clusters = ClusterMap()
    part = range(len(recorded.records)) if os.environ.get("HWSWAP_RECLAIM") == "all" else RECLAIM_PART
    inside: dict[int, list[Record]] = {}
    for number, record in enumerate(recorded.records[: part.stop]):
        if number == part.start and number:
            script.lines.clear()
            for deed in setup(list(initial.save(script.model)), script.model):
                assert isinstance(deed, Command)
                await bench.must(deed)
        if record.op == Op.BEGIN:
            inside[record.c] = []
        elif record.op == Op.RECLAIM or (record.op == Op.FREE and record.c):
            inside[record.c].append(record)
        elif record.op == Op.ALLOC:
            found = ask(script, record.cpu, record.order, as_recorded(script, inside[record.c]))
            assert found == Slots(record.type, record.a), f"{record}: {found}"
            assert not inside.pop(record.c), f"{record}: more was reclaimed"
        elif record.op == Op.FREE:
            script.free_run(script.model.devices[record.type], record.a, record.b)
        elif record.op <= Op.SWAPOFF:
            command = command_of(record, copy.deepcopy(clusters))
            script.add(command, step(script.model, clusters, record))
        if number >= part.start and len(script.lines) > 1000:
            await script.flush()
    await script.flush()
    bench.log.info("%s", script.counts)
    assert script.counts["ALLOC NEED_RECLAIM"] > 300
    await bench.no_faults(script.model.devices)


def as_recorded(script: Script, inside: list[Record]) -> Answer:
    """Answer as the records of one allocation have it; they are used up."""

    def answer(question: Question) -> int | None:
        if not inside:
            return None
        first = inside[0]
        asked = range(question.offset, question.offset + question.nr)
        if first.op != Op.RECLAIM or first.type != question.type or first.a not in asked:
            return None
        inside.pop(0)
        while inside and inside[0].op == Op.FREE:
            freed = inside.pop(0)
            script.free_run(script.model.devices[freed.type], freed.a, freed.b)
        return first.a

    return answer
