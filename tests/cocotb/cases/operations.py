# SPDX-License-Identifier: Apache-2.0
"""Random authoritative streams: every decision of the engine against the golden model's, by ring and by CPU pages."""

import cocotb
import hwswap_map as m
from cocotb.triggers import Combine
from hwswap.compare.operations import step
from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.traces import trace
from hwswap.traces.stream import EVERYTHING, Shape, Stream
from hwswap.traces.trace import FAILED, ClusterMap, Op, Record
from hwswap_map import Opcode, Status

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE


def command_of(record: Record, clusters: ClusterMap) -> Command:
    """Return the command that does what a record says."""
    kind, type_ = record.op, record.type
    if kind == Op.ALLOC:
        return Command(Opcode.ALLOC, cpu=record.cpu, order=record.order)
    if kind == Op.FREE:
        return Command(Opcode.FREE, type_, nr=record.b, arg0=record.a)
    if kind == Op.PREPARE:
        return prepare(type_, record.a, clusters.claim(type_, record.a), record.b, record.c, node=record.cpu)
    if kind == Op.DISCARD_TAKE:
        return Command(Opcode.DISCARD_TAKE, type_)
    if kind == Op.DISCARD_DONE:
        return Command(Opcode.DISCARD_DONE, type_, arg0=record.a)
    if kind == Op.BAD:
        return Command(Opcode.MARK_BAD, type_, nr=record.b, arg0=record.a)
    if kind == Op.SWAPON:
        return Command(Opcode.SWAPON, type_)
    if kind == Op.SWAPOFF_BEGIN:
        return Command(Opcode.SWAPOFF_BEGIN, type_)
    clusters.release(type_)
    return Command(Opcode.SWAPOFF, type_)


async def compare_state(bench: Bench, model: Allocator) -> None:
    """Compare device table, usage, statistics and all clusters with the model, and let the engine check itself."""
    await bench.idle()
    for type_ in range(model.limit_devices):
        state = await bench.read(m.DEVICE_BASE + type_ * m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET)
        device = model.devices.get(type_)
        assert m.DEVICE_STATE_CLAIMED.get(state) == (device is not None)
        if device is not None:
            assert m.DEVICE_STATE_USED.get(state) == device.used
            assert m.DEVICE_STATE_AVAILABLE.get(state) == (device in model.available)
    free = sum(d.total - d.used for d in model.devices.values() if d.writeok)
    assert m.USAGE_SLOTS.get(await bench.read(m.USAGE_OFFSET)) == free
    for path in ("fast", "nonfull", "free", "frag", "steal", "fail"):
        counted = await bench.read(getattr(m, f"STAT_ALLOC_{path.upper()}_OFFSET"))
        assert counted == model.counts.by_path[path], f"STAT_ALLOC_{path.upper()}: {counted}"
    assert await bench.read(m.STAT_FREES_OFFSET) == model.counts.frees
    assert await bench.read(m.STAT_SCANS_OFFSET) == model.counts.scans
    await bench.same_clusters(model)


async def write_rules(bench: Bench, record: Record) -> None:
    """Write the register that a POLICY or NODE record stands for; the engine has all policies."""
    if record.op == Op.POLICY:
        value = record.a | record.b << 32
        await bench.write(m.POLICY_OFFSET, value)
        assert await bench.read(m.POLICY_OFFSET) == value
        return
    at = m.CPU_NODE_BASE + record.cpu // 16 * m.CPU_NODE_STRIDE
    shift = record.cpu % 16 * 4
    nodes = await bench.read(at) & ~(0xF << shift) | record.a << shift
    await bench.write(at, nodes)
    assert await bench.read(at) == nodes


@cocotb.test()
async def a_random_stream_by_the_ring(dut):
    """Every second one with other kinds of devices and with changing policies."""
    bench = await Bench.start(dut)
    for span, extra in ((5, frozenset()), (80, EVERYTHING)):  # random trunks want large devices
        await bench.reset()
        await bench.setup()
        await by_the_ring(bench, Shape(seed=bench.seed, ops=6000, span=span, features=extra))


async def by_the_ring(bench: Bench, shape: Shape) -> None:
    """Compare a stream's decisions."""
    bench.log.info("%s", shape)
    source = Stream(shape)
    clusters = ClusterMap()
    batch: list[Record] = []

    async def flush() -> None:
        done = await bench.run(*[command_of(record, clusters) for record in batch])
        for record, got in zip(batch, done, strict=True):
            expected = Status.OK
            if (record.op == Op.ALLOC and record.type == FAILED) or (record.op == Op.DISCARD_TAKE and not record.a):
                expected = Status.NO_SPACE
            assert got.status == expected, f"{shape}: {record}: {got}"
            if record.op == Op.ALLOC and expected == Status.OK:
                assert (got.type, got.slot) == (record.type, record.a), f"{shape}: {record}: {got}"
            if record.op == Op.DISCARD_TAKE and expected == Status.OK:
                assert got.slot == record.a, f"{shape}: {record}: {got}"
        batch.clear()

    limit = bench.rng.randint(1, 64)
    for record in source:
        if record.op in (Op.POLICY, Op.NODE):
            await flush()
            await write_rules(bench, record)
            continue
        batch.append(record)
        if len(batch) >= limit:
            await flush()
            limit = bench.rng.choice((1, 2, 7, 64, 64, 64))
    await flush()
    await compare_state(bench, source.model)
    bench.guards()


class Page:
    """A CPU's register page and its driver's half of the sequence numbers."""

    def __init__(self, bench: Bench, cpu: int) -> None:
        """Take over the page of a CPU; nothing was asked yet."""
        self.bench = bench
        self.base = m.CPU_PAGE_BASE + cpu * m.CPU_PAGE_STRIDE
        self.seq = 0
        self.replays = 0

    async def ask(self, opcode: int, order: int = 0, type_: int = 0, nr: int = 0, slot: int = 0) -> int:
        """Ask, now and then as if replies had been lost, and return the RESPONSE of exactly this request."""
        bench = self.bench
        self.seq = self.seq % 0xFFFF + 1
        word = (
            m.CPU_PAGE_REQUEST_OPCODE.put(opcode)
            | m.CPU_PAGE_REQUEST_ORDER.put(order)
            | m.CPU_PAGE_REQUEST_TYPE.put(type_)
            | m.CPU_PAGE_REQUEST_NR.put(nr)
            | m.CPU_PAGE_REQUEST_SEQ.put(self.seq)
        )
        lost = bench.rng.choice((0, 0, 0, 1, 2))
        self.replays += lost
        for _ in range(1 + lost):
            await bench.write(self.base + m.CPU_PAGE_ARG_OFFSET, slot)
            await bench.write(self.base + m.CPU_PAGE_REQUEST_OFFSET, word)
            response = await self.response()
        return response

    async def response(self) -> int:
        """Wait for the end of the request under way."""
        for _ in range(2000):
            response = await self.bench.read(self.base + m.CPU_PAGE_RESPONSE_OFFSET)
            if not m.CPU_PAGE_RESPONSE_BUSY.get(response) and m.CPU_PAGE_RESPONSE_SEQ.get(response) == self.seq:
                return response
        raise AssertionError(f"request {self.seq} is not answered")


@cocotb.test()
async def a_random_stream_by_the_cpu_pages(dut):
    """Allocations and frees by the pages, devices by the ring; written-again requests have no second effect."""
    bench = await Bench.start(dut)
    shape = Shape(seed=bench.seed + 1, ops=1500, span=4)
    bench.log.info("%s", shape)
    source = Stream(shape)
    clusters = ClusterMap()
    pages = [Page(bench, cpu) for cpu in range(shape.cpus)]
    for record in source:
        if record.op == Op.ALLOC:
            response = await pages[record.cpu].ask(Opcode.ALLOC, order=record.order)
            expected = Status.NO_SPACE if record.type == FAILED else Status.OK
            got = (m.CPU_PAGE_RESPONSE_TYPE.get(response), m.CPU_PAGE_RESPONSE_SLOT.get(response))
            want = (0, 0) if record.type == FAILED else (record.type, record.a)
            assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == expected, f"{shape}: {record}: {response:#x}"
            assert got == want, f"{shape}: {record}: {got}"
        elif record.op == Op.FREE:
            response = await pages[record.cpu].ask(Opcode.FREE, type_=record.type, nr=record.b, slot=record.a)
            assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK, f"{shape}: {record}: {response:#x}"
        else:
            await bench.must(command_of(record, clusters))
    assert sum(page.replays for page in pages) > 100
    await compare_state(bench, source.model)


@cocotb.test()
async def the_cpu_pages_refuse_what_they_cannot_do(dut):
    bench = await Bench.start(dut)
    await bench.must(prepare(0, 1024, 0, SSD), Command(Opcode.SWAPON, 0))
    page = Page(bench, 1)
    for request, status in (
        ({"opcode": Opcode.NOP}, Status.BAD_OPCODE),
        ({"opcode": Opcode.SWAPOFF}, Status.BAD_OPCODE),
        ({"opcode": Opcode.ALLOC, "order": 10}, Status.BAD_CPU),
        ({"opcode": Opcode.FREE, "type_": 1, "nr": 1, "slot": 1}, Status.BAD_DEVICE),
        ({"opcode": Opcode.FREE, "type_": 31, "nr": 1, "slot": 1}, Status.BAD_DEVICE),
        ({"opcode": Opcode.FREE, "nr": 1, "slot": 1}, Status.BAD_RANGE),
        ({"opcode": Opcode.ALLOC}, Status.OK),
    ):
        response = await page.ask(**request)
        assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == status, f"{request}: {response:#x}"


@cocotb.test()
async def all_cpus_and_the_ring_at_once_never_share_a_slot(dut):
    """Four pages and the ring work at the same time; who comes first is open, so slots are followed with sets."""
    bench = await Bench.start(dut)
    setup = []
    for type_ in range(3):
        setup += [prepare(type_, 1400, 3 * type_, SSD, priority=type_ // 2), Command(Opcode.SWAPON, type_)]
    await bench.must(*setup)
    held: dict[tuple[int, int], int] = {}

    def got(type_: int, slot: int, order: int) -> None:
        for offset in range(slot, slot + (1 << order)):
            assert (type_, offset) not in held, f"slot {offset} of device {type_} was given twice"
            held[type_, offset] = order
        assert slot % (1 << order) == 0
        assert 0 < slot <= 1400 - (1 << order)

    async def one_cpu(cpu: int) -> None:
        page, mine = Page(bench, cpu), []
        for _ in range(60):
            order = bench.rng.choice((0, 0, 0, 2, 4, 9))
            response = await page.ask(Opcode.ALLOC, order=order)
            if m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK:
                type_, slot = m.CPU_PAGE_RESPONSE_TYPE.get(response), m.CPU_PAGE_RESPONSE_SLOT.get(response)
                got(type_, slot, order)
                mine.append((type_, slot, order))
            if len(mine) > 8:
                type_, slot, order = mine.pop(bench.rng.randrange(len(mine)))
                for offset in range(slot, slot + (1 << order)):
                    del held[type_, offset]
                response = await page.ask(Opcode.FREE, type_=type_, nr=1 << order, slot=slot)
                assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK

    async def the_ring() -> None:
        for _ in range(40):
            done = await bench.run(*[Command(Opcode.ALLOC, order=1)] * 3)
            for completion in done:
                if completion.status == Status.OK:
                    got(completion.type, completion.slot, 1)

    await Combine(*[cocotb.start_soon(one_cpu(cpu)) for cpu in range(4)], cocotb.start_soon(the_ring()))
    await bench.idle()
    for type_ in range(3):
        state = await bench.read(m.DEVICE_BASE + type_ * m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET)
        mine = sum(owner == type_ for owner, _ in held)
        assert m.DEVICE_STATE_USED.get(state) == mine + 1 + 3 * 512 - 1400
    await bench.no_faults(range(3))


@cocotb.test()
async def reset_forgets_everything(dut):
    """After CONTROL.RESET the engine is as new: the same operations give the same slots."""
    bench = await Bench.start(dut)
    operations = [prepare(2, 1500, 8, SSD), Command(Opcode.SWAPON, 2)]
    operations += [Command(Opcode.ALLOC, cpu=n % 4, order=n % 5) for n in range(40)]
    first = await bench.run(*operations)
    page = Page(bench, 0)
    await page.ask(Opcode.ALLOC)
    await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
    await bench.until_not_resetting()
    assert await bench.read(m.CMD_HEAD_OFFSET) == 0
    assert await bench.read(m.STAT_COMMANDS_OFFSET) == 0
    await bench.setup()
    second = await bench.run(*operations)
    assert [(d.status, d.type, d.slot) for d in second] == [(d.status, d.type, d.slot) for d in first]
    page = Page(bench, 0)
    response = await page.ask(Opcode.ALLOC)
    assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK


@cocotb.test()
async def a_device_taken_back_goes_on_where_it_was(dut):
    bench = await Bench.start(dut)
    model = Allocator()
    clusters, model_clusters = ClusterMap(), ClusterMap()
    records = [trace.prepare(0, 1600, SSD, 3), trace.swapon(0), trace.prepare(1, 1600, SSD, 3), trace.swapon(1)]
    for number in range(120):
        records.append(trace.alloc(number % 4, number % 4, None))
        if number == 40:
            records.append(trace.swapoff_begin(0))
        if number == 80:
            records.append(trace.swapon(0))
    done = await bench.run(*[command_of(record, clusters) for record in records])
    for record, got in zip(records, done, strict=True):
        if record.op == Op.ALLOC:
            slots = model.alloc(record.cpu, record.order)
            assert got.status == (Status.OK if slots else Status.NO_SPACE)
            assert (got.type, got.slot) == (slots or (0, 0))
        else:
            assert step(model, model_clusters, record) == got.status == Status.OK
    await compare_state(bench, model)
