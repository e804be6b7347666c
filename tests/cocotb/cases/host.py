# SPDX-License-Identifier: Apache-2.0
"""The host's side of advisory mode: the kernel's tables, what a driver publishes of them, and its hint rings."""

from dataclasses import dataclass, field

import hwswap_map as m
from hwswap.model.golden import BLKDEV, SOLIDSTATE
from hwswap.model.host_memory import Command, cpu_line, prepare
from hwswap.model.mirror import Record
from hwswap.model.rows import ALL, SLOTS, run
from hwswap_map import Flag, Opcode, Status

from cases.bench import Bench

SSD = BLKDEV | SOLIDSTATE
ORDERS = 10
WORD = 1 << 32


@dataclass(frozen=True)
class Hint:
    """An entry of a hint ring."""

    valid: bool
    order: int
    type: int
    epoch: int
    slot: int


@dataclass
class Device:
    """A device as the driver knows it."""

    type: int
    pages: int
    base: int
    flags: int
    epoch: int
    writeok: bool = True

    @property
    def clusters(self) -> range:
        """Its engine clusters."""
        return range(self.base, self.base + -(-self.pages // SLOTS))


@dataclass
class Ring:
    """A hint ring as its CPU sees it: entries ever popped, and the entries the test has seen and not yet popped."""

    head: int = 0
    seen: list[Hint] = field(default_factory=list)


class Host:
    """Kernel and driver in one: changes clusters, tells the engine, pops hints."""

    def __init__(self, bench: Bench, cpus: int, notice_log2: int) -> None:
        """Make a host without devices."""
        self.bench = bench
        self.cpus = cpus
        self.notice_log2 = notice_log2
        self.devices: dict[int, Device] = {}
        self.records: dict[int, Record] = {}
        self.notice_tail = [0] * cpus
        self.resync = [0] * cpus
        self.want = [0] * cpus
        self.rings = {(cpu, order): Ring() for cpu in range(cpus) for order in range(ORDERS)}
        self.ring_log2 = 0

    @classmethod
    async def start(cls, bench: Bench, cpus: int = 4, notice_log2: int = 3, poll: int = 64, **control: bool) -> "Host":
        """Set up the shared structures and switch the engine on in advisory mode."""
        host = cls(bench, cpus, notice_log2)
        await host.setup(poll, **control)
        return host

    async def setup(self, poll: int = 64, **control: bool) -> None:
        """Write addresses and lines, then enable; what was there before is forgotten."""
        bench, at = self.bench, self.bench.layout
        self.ring_log2 = m.CAPS_HINT_RING_LOG2.get(await bench.read(m.CAPS_OFFSET))
        self.notice_tail = [0] * self.cpus
        self.resync = [0] * self.cpus
        self.want = [0] * self.cpus
        self.rings = {key: Ring() for key in self.rings}
        bench.memory.put(at.hints, bytes(8 << self.ring_log2) * len(self.rings))
        bench.memory.put(at.engine_lines, bytes(m.MEM_ENGINE_LINE_BYTES * self.cpus))
        for cpu in range(self.cpus):
            self.publish(cpu)
        for name, value in (
            ("CPU_LINE_BASE", at.cpu_lines),
            ("ENGINE_LINE_BASE", at.engine_lines),
            ("STATE_BASE", at.states),
            ("NOTICE_BASE", at.notices),
            ("NOTICE_SIZE", self.notice_log2),
            ("HINT_BASE", at.hints),
            ("POLL", poll),
        ):
            await bench.write(getattr(m, f"{name}_OFFSET"), value)
        await bench.setup(advisory=True, **control)

    # Devices

    async def swapon(
        self, type_: int, pages: int, base: int, flags: int = SSD, epoch: int = 1, priority: int = -1
    ) -> Device:
        """Bring a device on; its clusters' records begin as the kernel has them then."""
        device = Device(type_, pages, base, flags, epoch)
        self.devices[type_] = device
        for number in device.clusters:
            bitmap = 0
            if number == base:
                bitmap |= 1
            if number == device.clusters[-1] and pages % SLOTS:
                bitmap |= ALL ^ (1 << pages % SLOTS) - 1
            flag = Flag.NONFULL if bitmap else Flag.FREE
            self.store(number, Record(bitmap, 0, flag, 0x1000 * type_, epoch))
        await self.bench.must(prepare(type_, pages, base, flags, priority, epoch), Command(Opcode.SWAPON, type_))
        return device

    def device_of(self, number: int) -> Device:
        """Return the device that has an engine cluster."""
        return next(device for device in self.devices.values() if number in device.clusters)

    # Clusters

    def store(self, number: int, record: Record, seq_begin: int | None = None) -> None:
        """Write a record into the cluster-state array."""
        self.records[number] = record
        at = self.bench.layout.states + m.MEM_CLUSTER_STATE_BYTES * number
        self.bench.memory.put(at, record.pack(seq_begin))

    def change(self, number: int, bitmap: int, order: int | None = None, flag: Flag | None = None) -> None:
        """Change a cluster as the kernel would: count, flag and order follow from the bitmap unless given."""
        old = self.records[number]
        if flag is None:
            flag = Flag.FREE if not bitmap else Flag.FULL if bitmap == ALL else Flag.FRAG
        order = (0 if flag == Flag.FREE else old.order) if order is None else order
        self.store(number, Record(bitmap, order, flag, (old.seq + 1) % WORD, old.epoch))

    def notify(self, cpu: int, number: int) -> None:
        """Post a notice, to be published with the CPU's line; the ring overflows as the host likes."""
        size = 1 << self.notice_log2
        at = self.bench.layout.notices + 8 * (cpu * size + self.notice_tail[cpu] % size)
        record = self.records.get(number)
        seq = record.seq if record else 0
        word = m.MEM_NOTICE_NOTICE_CLUSTER.put(number) | m.MEM_NOTICE_NOTICE_SEQ.put(seq)
        self.bench.memory.put_word(at, word)
        self.notice_tail[cpu] = (self.notice_tail[cpu] + 1) % WORD

    def notices_taken(self, cpu: int) -> int:
        """Return the engine's NOTICE_HEAD."""
        word = self.bench.memory.word(self.bench.layout.engine_lines + m.MEM_ENGINE_LINE_BYTES * cpu)
        return m.MEM_ENGINE_LINE_NOTICE_NOTICE_HEAD.get(word)

    def room(self, cpu: int) -> int:
        """Return how many notices fit."""
        return (1 << self.notice_log2) - (self.notice_tail[cpu] - self.notices_taken(cpu)) % WORD

    def resync_ack(self, cpu: int) -> int:
        """Return the engine's RESYNC_ACK."""
        word = self.bench.memory.word(self.bench.layout.engine_lines + m.MEM_ENGINE_LINE_BYTES * cpu)
        return m.MEM_ENGINE_LINE_NOTICE_RESYNC_ACK.get(word)

    def publish(self, cpu: int) -> None:
        """Write a CPU's line."""
        heads = [self.rings[cpu, order].head for order in range(ORDERS)]
        words = cpu_line(self.notice_tail[cpu], self.resync[cpu], self.want[cpu], heads)
        at = self.bench.layout.cpu_lines + m.MEM_CPU_LINE_BYTES * cpu
        self.bench.memory.put(at, b"".join(word.to_bytes(8, "little") for word in words))

    def publish_all(self) -> None:
        """Write every CPU's line."""
        for cpu in range(self.cpus):
            self.publish(cpu)

    # Hints

    def entry(self, cpu: int, order: int, position: int) -> Hint | None:
        """Return an entry of a ring by its position ever, None if the engine has not written it."""
        size = 1 << self.ring_log2
        at = self.bench.layout.hints + 8 * ((cpu * ORDERS + order) * size + position % size)
        word = self.bench.memory.word(at)
        if m.MEM_HINT_HINT_PHASE.get(word) != 1 - (position >> self.ring_log2 & 1):
            return None
        return Hint(
            valid=bool(m.MEM_HINT_HINT_VALID.get(word)),
            order=m.MEM_HINT_HINT_ORDER.get(word),
            type=m.MEM_HINT_HINT_TYPE.get(word),
            epoch=m.MEM_HINT_HINT_EPOCH.get(word),
            slot=m.MEM_HINT_HINT_SLOT.get(word),
        )

    def waiting(self, cpu: int, order: int) -> list[Hint]:
        """Return the entries of a ring that were not popped yet."""
        ring = self.rings[cpu, order]
        found = []
        for position in range(ring.head, ring.head + (1 << self.ring_log2)):
            hint = self.entry(cpu, order, position)
            if hint is None:
                break
            found.append(hint)
        return found

    def pop(self, cpu: int, order: int) -> Hint | None:
        """Take the next entry off a ring; the engine hears of it when the line is published."""
        ring = self.rings[cpu, order]
        hint = self.entry(cpu, order, ring.head)
        if hint is not None:
            ring.head = (ring.head + 1) % WORD
            if ring.seen:
                ring.seen.pop(0)
        return hint

    def refused(self, hint: Hint) -> str | None:
        """Tell why the kernel would refuse a hint, None if it takes it (`swap_offload` commit, with its checks)."""
        device = self.devices.get(hint.type)
        if device is None or not device.writeok or device.epoch != hint.epoch:
            return "device"
        size = 1 << hint.order
        if not hint.slot or hint.slot % size or hint.slot + size > device.pages:
            return "range"
        record = self.records[device.base + hint.slot // SLOTS]
        if record.flag in (Flag.FULL, Flag.DISCARD, Flag.NONE):
            return "flag"
        if hint.order and record.bitmap and record.order != hint.order:
            return "order"
        if record.bitmap & run(hint.slot % SLOTS, size):
            return "used"
        return None

    def take(self, hint: Hint) -> int:
        """Commit a hint as the kernel does; return the engine cluster that changed."""
        number = self.devices[hint.type].base + hint.slot // SLOTS
        record = self.records[number]
        bitmap = record.bitmap | run(hint.slot % SLOTS, 1 << hint.order)
        order = record.order if record.bitmap else hint.order
        self.change(number, bitmap, order)
        return number

    def new_hints(self) -> list[tuple[int, int, Hint]]:
        """Return the entries that came since the last call, as (cpu, order, hint), and remember them.

        An entry that was seen valid may have become void since: recalled.
        """
        fresh = []
        for (cpu, order), ring in self.rings.items():
            now = self.waiting(cpu, order)
            for old, hint in zip(ring.seen, now, strict=False):
                assert hint == old or not hint.valid, f"ring ({cpu}, {order}): {old} became {hint}"
            fresh += [(cpu, order, hint) for hint in now[len(ring.seen) :]]
            ring.seen = now
        return fresh

    async def dump(self, first: int, count: int) -> list[Record]:
        """Let the engine write its view of some clusters."""
        at = self.bench.layout.dump
        guard = bytes([0x5A]) * 64
        size = m.MEM_CLUSTER_STATE_BYTES * count
        self.bench.memory.put(at - 64, guard + bytes(size) + guard)
        await self.bench.must(Command(Opcode.DUMP, nr=count, arg0=first, arg1=at))
        assert self.bench.memory.get(at - 64, 64) == guard == self.bench.memory.get(at + size, 64)
        data = self.bench.memory.get(at, size)
        step = m.MEM_CLUSTER_STATE_BYTES
        return [Record.unpack(data[start : start + step]) for start in range(0, size, step)]

    async def differences(self) -> list[str]:
        """Compare what the engine holds with the kernel's tables, device by device."""
        found = []
        for device in self.devices.values():
            numbers = device.clusters
            for number, seen in zip(numbers, await self.dump(numbers.start, len(numbers)), strict=True):
                if seen != self.records[number]:
                    found.append(f"cluster {number}: the engine has {seen}, the kernel {self.records[number]}")
        return found

    async def hinted(self) -> int:
        """Return USAGE.HINTED."""
        return m.USAGE_HINTED.get(await self.bench.read(m.USAGE_OFFSET))

    async def recall(self, type_: int | None) -> int:
        """Recall the hints of a device, or of all; return how many the engine says it took back."""
        command = Command(Opcode.RECALL, 31, arg0=1) if type_ is None else Command(Opcode.RECALL, type_)
        done = await self.bench.do(command)
        assert done.status == Status.OK
        return done.slot
