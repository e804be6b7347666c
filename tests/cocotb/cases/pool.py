# SPDX-License-Identifier: Apache-2.0
"""Tables out of a pool: allocations that run out of them, and tables that come back, against the golden model."""

import cocotb
import hwswap_map as m
from hwswap.model.clusters import DISCARD
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import Hint, Placement, Policy, Scan
from hwswap.model.pool import PooledAllocator
from hwswap.model.rows import SLOTS
from hwswap.stimulus.table_commands import Bytes
from hwswap_map import Opcode, Status

from cases.bench import Bench
from cases.operations import compare_state
from cases.tabled import TableHost

SSD = BLKDEV | SOLIDSTATE
KINDS = (SSD, SSD | DISCARD, BLKDEV)
BASE = 0x0123_4567_0000_0040


class Pooled:
    """An engine with a pool, and the model; operations are given to both."""

    def __init__(self, bench: Bench, size: int) -> None:
        """Fill the pool's array with the first addresses of the tables' places."""
        self.bench = bench
        self.size = size
        self.model = PooledAllocator(Bytes())
        self.host = TableHost(bench, self.model.devices, self.model.tables)
        for at, page in enumerate(self.host.places.pages[:size]):
            self.host.put(BASE + 8 * at, [page])
            self.host.put(page, [0] * SLOTS)
        self.batch: list[tuple[Command, Status, int, int]] = []
        self.held: list[tuple[int, int, int]] = []
        self.refused = 0

    async def begin(self, clusters: tuple[int, ...]) -> None:
        """Write the pool's registers and bring devices on; those that never were on FREE get a table of the host's."""
        bench, model = self.bench, self.model
        await bench.write(m.POOL_BASE_OFFSET, BASE)
        await bench.write(m.POOL_SIZE_OFFSET, self.size)
        model.set_pool(BASE, self.size)
        await self.state()
        base = 0
        for type_, (nr, flags) in enumerate(zip(clusters, KINDS, strict=True)):
            pages = nr * SLOTS - 40 * type_
            assert model.prepare(type_, pages, base, flags, 1) == Status.OK
            assert model.swapon(type_) == Status.OK
            await bench.must(prepare(type_, pages, base, flags, 1), Command(Opcode.SWAPON, type_))
            base += nr

    def allocate(self, order: int | None = None) -> None:
        """ALLOC, of any order unless one is named."""
        rng = self.bench.rng
        cpu = rng.randrange(4)
        if order is None:
            order = rng.choice((0, 0, 2, 4, 8, 9, 9))
        got = self.model.alloc(cpu, order)
        self.batch.append(
            (Command(Opcode.ALLOC, cpu=cpu, order=order), Status.OK if got else Status.NO_SPACE, *(got or (0, 0)))
        )
        if got:
            self.held.append((*got, 1 << order))
        else:
            self.refused += 1

    def free(self) -> None:
        """FREE of what was allocated, or of a part."""
        type_, offset, nr = self.held.pop(self.bench.rng.randrange(len(self.held)))
        if nr > 1 and self.bench.rng.random() < 0.3:
            nr //= 2
            self.held.append((type_, offset + nr, nr))
        status = self.model.free(type_, offset, nr)
        assert status == Status.OK
        self.batch.append((Command(Opcode.FREE, type_, nr=nr, arg0=offset), status, 0, 0))

    def discard(self) -> None:
        """DISCARD_TAKE, and DISCARD_DONE of what was taken."""
        status, offset = self.model.discard_take(1)
        self.batch.append((Command(Opcode.DISCARD_TAKE, 1), status, 0, offset))
        if status == Status.OK:
            done = self.model.discard_done(1, offset)
            self.batch.append((Command(Opcode.DISCARD_DONE, 1, arg0=offset), done, 0, 0))

    async def flush(self) -> None:
        """Let the engine do what the model has done; decisions and pool are the same then."""
        done = await self.bench.run(*[command for command, *_ in self.batch])
        for (command, status, type_, offset), got in zip(self.batch, done, strict=True):
            assert got.status == status, f"{command}: {got}, expected {status.name}"
            if command.opcode in (Opcode.ALLOC, Opcode.DISCARD_TAKE):
                assert got.slot == offset, f"{command}: {got}, expected {offset}"
            if command.opcode == Opcode.ALLOC:
                assert got.type == type_, f"{command}: {got}, expected device {type_}"
        self.batch.clear()
        await self.state()

    async def state(self) -> None:
        """Compare the pool's register, and its array as far as tables are left."""
        await self.bench.idle()
        pool = self.model.pool
        state = await self.bench.read(m.POOL_STATE_OFFSET)
        assert (m.POOL_STATE_LEFT.get(state), m.POOL_STATE_LEAST.get(state)) == (pool.left, pool.least)
        for at in range(BASE, BASE + 8 * pool.left, 8):
            assert self.bench.memory.word(at) == int.from_bytes(self.model.tables.memory.read(at, 8), "little")

    async def directory(self) -> None:
        """Every cluster has the table that the model gave it: its first word names its page."""
        model, host = self.model, self.host
        for address in model.tables.directory.values():
            host.put(address, [address >> 12 << 2 | 2])
        for type_, device in model.devices.items():
            commands = [Command(Opcode.TABLE_LOOKUP, type_, arg0=c.index * SLOTS) for c in device.clusters]
            await host.same(*commands)
        for address in model.tables.directory.values():
            host.put(address, [0])


@cocotb.test()
async def a_random_load_on_pools_of_all_sizes(dut):
    """With discarding and rotating devices and each policy; pools that are too small, and one that never is empty."""
    bench = await Bench.start(dut)
    policies = (
        Policy(),
        Policy(placement=Placement.INDEXED),
        Policy(scan=Scan.FREE_FIRST),
        Policy(hint=Hint.RANDOM_TRUNK, seed=5),
    )
    refused = 0
    for number, (size, policy) in enumerate(zip((3, 6, 10, 30), policies, strict=True)):
        await bench.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        await bench.until_not_resetting()
        await bench.setup()
        pooled = Pooled(bench, size)
        await pooled.begin((6, 5, 4) if policy.hint != Hint.RANDOM_TRUNK else (70, 5, 4))
        await bench.write(m.POLICY_OFFSET, policy.pack())
        pooled.model.set_policy(policy)
        for lap in range(30):
            for _ in range(bench.rng.choice((1, 4, 30))):
                drawn = bench.rng.random()
                if drawn < 0.05:
                    pooled.discard()
                elif drawn < (0.65 if lap % 8 < 5 else 0.25) or not pooled.held:
                    pooled.allocate()
                else:
                    pooled.free()
            await pooled.flush()
            if lap % 10 == 9:
                await pooled.directory()
        bench.log.info("pool of %d, %s: %d refused", size, policy, pooled.refused)
        if number < 2:
            assert not pooled.model.pool.least, "the pool was never empty"
        refused += pooled.refused
        await compare_state(bench, pooled.model)
    assert refused


@cocotb.test()
async def the_pool_goes_on_after_a_swapoff(dut):
    """A device goes when all its clusters are empty again, or not; LEAST starts anew with POOL_SIZE."""
    bench = await Bench.start(dut)
    pooled = Pooled(bench, 8)
    await pooled.begin((6, 5, 4))
    for _ in range(40):
        pooled.allocate()
    await pooled.flush()
    while pooled.held:
        pooled.free()
    for _ in range(6):
        pooled.discard()
    await pooled.flush()
    assert pooled.model.pool.left == 8
    for type_ in range(3):
        for opcode in (Opcode.SWAPOFF_BEGIN, Opcode.SWAPOFF):
            await bench.must(Command(opcode, type_))
        pooled.model.swapoff_begin(type_)
        pooled.model.swapoff(type_)
    await pooled.state()
    await bench.write(m.POOL_SIZE_OFFSET, 5)
    pooled.size = 5
    pooled.model.set_pool(BASE, 5)
    await pooled.begin((6, 5, 4))
    for _ in range(60):
        pooled.allocate()
    await pooled.flush()
    await pooled.directory()
    assert pooled.model.pool.left == 0


@cocotb.test()
async def a_cluster_whose_table_was_taken_has_none_to_give_back(dut):
    """The host takes the table of a cluster in use; allocations behind its FREE do with what is left."""
    bench = await Bench.start(dut)
    pooled = Pooled(bench, 2)
    await pooled.begin((6, 5, 4))
    tables = pooled.model.tables
    got = pooled.model.alloc(0, 9)
    await bench.must(Command(Opcode.ALLOC, order=9))
    lost = tables.directory[got.type, got.offset // SLOTS]
    await pooled.host.same(Command(Opcode.TABLE_TAKE, got.type, nr=1, arg0=got.offset))
    pooled.held.append((*got, SLOTS))
    while pooled.held:  # perhaps in parts
        pooled.free()
    # All at once: whether there is a table for the second one is known when the first one's is looked for.
    for _ in range(3):
        pooled.allocate(order=9)
    await pooled.flush()
    assert pooled.refused == 2
    source = pooled.host.places.sources[0]
    pooled.host.put(source, [lost])
    type_, offset, _ = pooled.held[0]
    await pooled.host.same(Command(Opcode.TABLE_GIVE, type_, nr=1, arg0=offset, arg2=source))
    while pooled.held:
        pooled.free()
    pooled.discard()  # if it is on the device that discards, it keeps its table until then
    await pooled.flush()
    assert pooled.model.pool.left == 1
    await pooled.directory()


@cocotb.test()
async def without_a_pool_nothing_is_read_or_written(dut):
    bench = await Bench.start(dut)
    zone = range(BASE, BASE + 4096)
    bench.memory.denied.append(zone)
    await bench.write(m.POOL_BASE_OFFSET, BASE)
    await bench.must(prepare(0, 4 * SLOTS, 0, SSD), Command(Opcode.SWAPON, 0))
    await bench.must(Command(Opcode.ALLOC, order=9), Command(Opcode.ALLOC, order=0))
    done = await bench.do(Command(Opcode.TABLE_LOOKUP, 0, arg0=SLOTS))
    assert done.status == Status.NO_TABLE
    await bench.must(Command(Opcode.FREE, 0, nr=SLOTS, arg0=SLOTS))
    await bench.idle()
    assert await bench.read(m.POOL_STATE_OFFSET) == 0
    assert await bench.read(m.STATUS_OFFSET) == 0
