# SPDX-License-Identifier: Apache-2.0
"""STEP commands and NEED_RECLAIM: random ones against the golden model's, and a state set up by them."""

import copy
import os
import random
from collections.abc import Iterator
from pathlib import Path

import cocotb
import hwswap_map as m
from hwswap.compare.operations import step
from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator, Slots
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import Placement, Policy, Scan
from hwswap.model.rows import SLOTS
from hwswap.model.stepper import Question, Stepper
from hwswap.stimulus.commands import NAMED, PUT_TAKEN, Answer, Expected, RandomCommands
from hwswap.traces import initial, trace
from hwswap.traces.records import FAILED, TAKEN, Op, Record
from hwswap.traces.stream import EVERYTHING, Shape, Stream
from hwswap.traces.trace import ClusterMap
from hwswap_map import Opcode, Status

from cases.bench import Bench
from cases.operations import command_of, compare_state, write_rules

SSD = BLKDEV | SOLIDSTATE


class Script(RandomCommands):
    """Random commands given to the engine many at a time."""

    def __init__(self, bench: Bench, model: Stepper) -> None:
        """Take an engine, and a model in the same state."""
        super().__init__(model, random.Random(bench.seed))
        self.bench = bench

    async def flush(self) -> None:
        """Give the engine what was noted, and compare."""
        done = await self.bench.run(*[line.command for line in self.lines])
        for line, got in zip(self.lines, done, strict=True):
            found = Expected(line.command, got.status, got.slot, got.type)
            assert found == line, f"{line}: {got}"
        self.lines.clear()


async def machine(bench: Bench, kinds: tuple[int, ...], sizes: range, priorities: tuple[int, ...] = (-1,)) -> Script:
    """Bring devices of some kinds and sizes on, in engine and model; the first has bad slots in its second cluster."""
    script = Script(bench, Stepper(8, 4, 1024))
    script.bring(kinds, sizes, priorities)
    await script.flush()
    return script


@cocotb.test()
async def random_steps_between_allocations(dut):
    bench = await Bench.start(dut)
    script = await machine(bench, (SSD, SSD, SSD | DISCARD, BLKDEV, SSD), range(2, 6), (-1, -1, 3))
    operations = [script.take, script.some_put, script.slots, script.next, script.visit, script.available]
    others = [script.alloc] * 6 + [script.free] * 4 + [script.discard, script.permission]
    for _ in range(6):
        for _ in range(60):
            for _ in range(bench.rng.randint(1, 12)):
                bench.rng.choice(operations if bench.rng.random() < 0.5 else others)()
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
        for rounds in range(300):
            # A second question of one allocation is rare: with some seeds, none comes in as many rounds as are enough.
            if rounds >= 60 and "RECLAIM_DONE NEED_RECLAIM" in script.counts:
                break
            for operation in bench.rng.choices("afdp", (60, 20, 3, 1), k=bench.rng.randint(20, 60)):
                if operation == "a" or (operation == "f" and not script.model.half_used):
                    script.ask_at_random()
                else:
                    {"f": script.free, "d": script.discard, "p": script.permission}[operation]()
            await script.flush()
        await compare_state(bench, script.model)
        bench.log.info("%s", script.counts)
        assert script.counts["ALLOC NEED_RECLAIM"] > 10
        assert "RECLAIM_DONE NEED_RECLAIM" in script.counts
        assert script.counts["RECLAIM_DONE OK"] > 5
        await bench.reset()
        await bench.setup()
    bench.guards()


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
        shape = Shape(seed=bench.seed + cut, ops=cut + 2500, span=50, features=EVERYTHING)
        bench.log.info("%s", shape)
        source = Stream(shape)
        records = iter(source)
        for _ in range(cut):
            next(records)
        state = list(initial.save(source.model))
        clusters = copy.deepcopy(source.clusters)
        for operation in setup(state, source.model):
            if isinstance(operation, Record):
                await write_rules(bench, operation)
            else:
                await bench.must(operation)
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
            for operation in setup(list(initial.save(script.model)), script.model):
                assert isinstance(operation, Command)
                await bench.must(operation)
        if record.op == Op.BEGIN:
            inside[record.c] = []
        elif record.op == Op.RECLAIM or (record.op == Op.FREE and record.c):
            inside[record.c].append(record)
        elif record.op == Op.ALLOC:
            found = script.ask(record.cpu, record.order, as_recorded(script, inside[record.c]))
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
