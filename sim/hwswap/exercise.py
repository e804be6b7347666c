# SPDX-License-Identifier: Apache-2.0
"""Scripts that exercise the whole engine through its two buses, with all that must be seen written into them.

What must be seen comes from the golden models, so the program that plays a script (build/model/hwswap-play) needs to
know nothing of the engine. Advisory mode is played step by step: the host changes things while the engine polls and
hints are off, waits until the engine rests, lets it fill the hint rings, and waits again. So the order in which the
engine does things follows from docs/interface.md alone and every hint can be compared with the model's.
"""

import random
from dataclasses import dataclass, field

from hwswap import hwswap_map as m
from hwswap.golden import BLKDEV, DISCARD, SOLIDSTATE, Allocator, Device
from hwswap.hwswap_map import Flag, Opcode, Status
from hwswap.mirror import NO_HINTS, Mirror, MirrorCluster, Record
from hwswap.records import FAILED, Op
from hwswap.records import Record as Operation
from hwswap.rows import ALL, ORDERS, SLOTS, run, runs
from hwswap.stream import Shape, Stream

MEMORY_BASE = 0x12_3400_0000
"""Bus address of the host's memory (sim/verilator/src/play_main.cpp); scripts name offsets from there."""

MEMORY_BYTES = 0x40000
COMMANDS, COMPLETIONS, CPU_LINES, ENGINE_LINES, NOTICES, HINTS, STATES, DUMP = (
    0x0000,
    0x1000,
    0x2000,
    0x3000,
    0x4000,
    0x8000,
    0x20000,
    0x30000,
)
RING_LOG2 = 5
NOTICE_LOG2 = 4
POLL = 64
LIMIT = 20_000
"""Cycles after which something that is waited for counts as not coming."""

WORD = (1 << 64) - 1
COUNT = 1 << 32


@dataclass(frozen=True)
class Sizes:
    """What an engine was built for (hw/src/main/scala/hwswap/Params.scala)."""

    devices: int = 4
    cpus: int = 2
    clusters: int = 64
    hint_ring_log2: int = 3


class Script:
    """A script being written (sim/verilator/src/script.hpp), with commands on top of its lines."""

    def __init__(self) -> None:
        """Begin with the size of the memory."""
        self.lines = [f"memory {MEMORY_BYTES}"]
        self.tail = 0
        self.errors = 0

    def add(self, name: str, *values: int) -> None:
        """Write a line."""
        self.lines.append(" ".join([name, *(f"{value:#x}" for value in values)]))

    def note(self, text: str) -> None:
        """Say what comes next."""
        self.lines.append(f"note {text}")

    def put(self, offset: int, value: int) -> None:
        """The host writes a word of its memory."""
        self.add("put", offset, value)

    def write(self, address: int, value: int, strobes: int = 0xFF) -> None:
        """The host writes a register."""
        self.add("write", address, value, strobes)

    def read(self, address: int, value: int, mask: int = WORD) -> None:
        """A register must have a value."""
        self.add("read", address, mask, value & mask)

    def expect(self, offset: int, value: int, mask: int = WORD) -> None:
        """A word of memory must have a value."""
        self.add("expect", offset, mask, value & mask)

    def settle(self, rounds: int = 2) -> None:
        """Wait until the engine has polled and rests."""
        self.add("settle", rounds, LIMIT)

    def text(self) -> str:
        """Return the script."""
        return "\n".join(self.lines) + "\n"

    # Commands

    def begin(self, control: int) -> None:
        """Tell the engine where its rings are, and switch it on."""
        self.tail = 0
        for at in range(0, 16 << RING_LOG2, 8):
            self.put(COMPLETIONS + at, 0)
        for name, value in (("CMD_BASE", MEMORY_BASE + COMMANDS), ("CPL_BASE", MEMORY_BASE + COMPLETIONS)):
            self.write(getattr(m, f"{name}_OFFSET"), value)
            self.read(getattr(m, f"{name}_OFFSET"), value)
        self.write(m.CMD_SIZE_OFFSET, RING_LOG2)
        self.write(m.CONTROL_OFFSET, control & ~m.CONTROL_ENABLE.put(1))
        self.write(m.CONTROL_OFFSET, control)
        self.read(m.CONTROL_OFFSET, control)

    def command(
        self,
        opcode: int,
        type_: int = 0,
        arguments: tuple[int, ...] = (),
        *,
        status: int = Status.OK,
        slot: int = 0,
        device: int = 0,
        cpu: int = 0,
        order: int = 0,
        nr: int = 0,
        irq: bool = False,
    ) -> None:
        """Give a command and expect its completion."""
        at = COMMANDS + m.MEM_COMMAND_BYTES * (self.tail % (1 << RING_LOG2))
        head = (
            m.MEM_COMMAND_HEAD_OPCODE.put(opcode)
            | m.MEM_COMMAND_HEAD_IRQ.put(irq)
            | m.MEM_COMMAND_HEAD_CPU.put(cpu)
            | m.MEM_COMMAND_HEAD_ORDER.put(order)
            | m.MEM_COMMAND_HEAD_TYPE.put(type_)
            | m.MEM_COMMAND_HEAD_NR.put(nr)
        )
        for i, word in enumerate((head, *arguments, 0, 0, 0)[:4]):
            self.put(at + 8 * i, word)
        at = COMPLETIONS + m.MEM_COMPLETION_BYTES * (self.tail % (1 << RING_LOG2))
        phase = 1 - (self.tail >> RING_LOG2 & 1)
        self.tail += 1
        self.write(m.CMD_TAIL_OFFSET, self.tail)
        self.add("until", at + m.MEM_COMPLETION_INFO_OFFSET, m.MEM_COMPLETION_INFO_PHASE.put(1), phase, LIMIT)
        self.expect(
            at + m.MEM_COMPLETION_INFO_OFFSET,
            m.MEM_COMPLETION_INFO_PHASE.put(phase)
            | m.MEM_COMPLETION_INFO_STATUS.put(status)
            | m.MEM_COMPLETION_INFO_OPCODE.put(opcode)
            | m.MEM_COMPLETION_INFO_INDEX.put((self.tail - 1) % (1 << 16)),
            (1 << 32) - 1,
        )
        self.expect(
            at + m.MEM_COMPLETION_RESULT_OFFSET,
            m.MEM_COMPLETION_RESULT_SLOT.put(slot) | m.MEM_COMPLETION_RESULT_TYPE.put(device),
        )
        self.errors += status not in (Status.OK, Status.NO_SPACE)

    def page(self, cpu: int, seq: int, opcode: int, order: int, type_: int, nr: int, slot: int, answer: int) -> None:
        """Give a request through a CPU's page and expect its response, without its sequence number."""
        base = 0x10000 + 0x1000 * cpu
        self.write(base, slot)
        self.write(base + 8, opcode | order << 8 | type_ << 16 | nr << 32 | seq << 48)
        self.add("poll", base + 0x10, 1 << 47 | 0xFFFF << 48, seq << 48, LIMIT)
        self.read(base + 0x10, answer | seq << 48)


def device_words(pages: int, base: int, flags: int, priority: int, epoch: int) -> tuple[int, int, int]:
    """Return the arguments of SWAPON_PREPARE."""
    return pages | base << 32, flags, priority & 0xFFFF | epoch << 16


@dataclass
class Entry:
    """An entry of a hint ring as it was written: void ones have neither device nor slot any more."""

    valid: bool
    type: int = 0
    epoch: int = 0
    slot: int = 0


@dataclass
class Ring:
    """A hint ring: entries ever released and made by the engine, and ever popped by the host; its entries."""

    head: int = 0
    tail: int = 0
    popped: int = 0
    entries: dict[int, Entry] = field(default_factory=dict)
    failed: bool = False
    broken: bool = False


class Advisory:
    """A host in advisory mode, and what the engine must do with what it does."""

    def __init__(self, seed: int, sizes: Sizes) -> None:
        """Begin with an engine after reset."""
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.script = Script()
        self.model = Mirror(sizes.devices, sizes.cpus, sizes.clusters)
        self.records: dict[int, Record] = {}
        self.rings = {(cpu, order): Ring() for cpu in range(sizes.cpus) for order in range(ORDERS)}
        self.posted: list[list[int]] = [[] for _ in range(sizes.cpus)]
        self.notice_tail = [0] * sizes.cpus
        self.resync = [0] * sizes.cpus
        self.resync_wanted = [False] * sizes.cpus
        self.want = [0] * sizes.cpus
        self.hints = True
        self.depth, self.cap_min, self.cap_shift = 12, 4096, 2
        self.epoch = 0
        self.torn: set[int] = set()
        self.made = self.used_up = self.recalled = self.notices = self.fetches = self.retries = self.bad = 0

    # What the host does

    def start(self) -> None:
        """Set everything up and switch the engine on."""
        s = self.script
        s.note("set-up")
        for at in range(0, 8 * len(self.rings) << self.sizes.hint_ring_log2, 8):
            s.put(HINTS + at, 0)
        for cpu in range(self.sizes.cpus):
            self.publish(cpu)
        for name, value in (
            ("CPU_LINE_BASE", MEMORY_BASE + CPU_LINES),
            ("ENGINE_LINE_BASE", MEMORY_BASE + ENGINE_LINES),
            ("STATE_BASE", MEMORY_BASE + STATES),
            ("NOTICE_BASE", MEMORY_BASE + NOTICES),
            ("NOTICE_SIZE", NOTICE_LOG2),
            ("HINT_BASE", MEMORY_BASE + HINTS),
            ("POLL", POLL),
        ):
            s.write(getattr(m, f"{name}_OFFSET"), value)
            s.read(getattr(m, f"{name}_OFFSET"), value)
        self.limits(self.depth, self.cap_min, self.cap_shift)
        s.begin(self.control(hints=True))
        s.settle()

    @staticmethod
    def control(hints: bool) -> int:
        """Return CONTROL, with or without hints."""
        return m.CONTROL_ENABLE.put(1) | m.CONTROL_ADVISORY.put(1) | m.CONTROL_HINTS.put(hints)

    def limits(self, depth: int, cap_min: int, cap_shift: int) -> None:
        """Set HINT_DEPTH."""
        self.depth, self.cap_min, self.cap_shift = depth, cap_min, cap_shift
        word = m.HINT_DEPTH_SLOTS.put(depth) | m.HINT_DEPTH_CAP_MIN.put(cap_min) | m.HINT_DEPTH_CAP_SHIFT.put(cap_shift)
        self.script.write(m.HINT_DEPTH_OFFSET, word)
        self.script.read(m.HINT_DEPTH_OFFSET, word)

    def switch_hints(self, on: bool) -> None:
        """Let the engine fill hint rings, or not."""
        self.hints = on
        self.script.write(m.CONTROL_OFFSET, self.control(hints=on))

    def command(self, opcode: int, type_: int = 0, arguments: tuple[int, ...] = (), **expected: int) -> None:
        """Give a command; each one makes the engine try again where it found no space."""
        self.script.command(opcode, type_, arguments, **expected)
        self.try_again()

    def try_again(self) -> None:
        """Something has changed: an order that found no space is tried once more."""
        for ring in self.rings.values():
            ring.failed = False

    def swapon(self, type_: int, pages: int, base: int, flags: int, priority: int) -> None:
        """Bring a device on, with the records its clusters begin with, and some bad slots."""
        self.epoch = (self.epoch + 37) % 256
        device = (type_, pages, base, flags, priority, self.epoch)
        self.script.note(f"swapon {device}")
        self.must(self.model.prepare(type_, pages, base, flags, priority, self.epoch))
        self.command(Opcode.SWAPON_PREPARE, type_, device_words(pages, base, flags, priority, self.epoch))
        if self.rng.random() < 0.5:
            offset = self.rng.randrange(1, pages)
            nr = min(self.rng.choice((1, 3, 40)), SLOTS - offset % SLOTS, pages - offset)
            status = self.model.mark_bad(type_, offset, nr)
            self.command(Opcode.MARK_BAD, type_, (offset,), nr=nr, status=status)
        self.must(self.model.swapon(type_))
        self.command(Opcode.SWAPON, type_)
        for cluster in self.model.devices[type_].clusters:
            flag = Flag.NONFULL if cluster.used else Flag.FREE
            self.store(base + cluster.index, Record(cluster.used, 0, flag, 0xFFFFFFF0 + type_, self.epoch))

    def store(self, number: int, record: Record, torn: bool = False) -> None:
        """Write a record into the cluster-state array."""
        self.records[number] = record
        data = record.pack((record.seq + 1) % COUNT if torn else None)
        self.torn.discard(number)
        if torn:
            self.torn.add(number)
        for at in range(0, m.MEM_CLUSTER_STATE_BYTES, 8):
            word = int.from_bytes(data[at : at + 8], "little")
            self.script.put(STATES + m.MEM_CLUSTER_STATE_BYTES * number + at, word)

    def change(self, number: int) -> None:
        """Change a cluster as kernels do, and a little more wildly."""
        rng = self.rng
        old = self.records[number]
        device, cluster = self.found(number)
        bitmap = old.bitmap
        for _ in range(rng.choice((1, 1, 2, 5))):
            order = rng.choice((0, 0, 1, 4, 6, 9))
            mask = run(rng.randrange(SLOTS >> order) << order, 1 << order)
            bitmap = bitmap | mask if rng.random() < 0.55 else bitmap & ~mask
        if rng.random() < 0.1:
            bitmap = rng.choice((0, ALL, ALL ^ 1 << rng.randrange(SLOTS), rng.getrandbits(SLOTS)))
        bitmap |= cluster.bad
        if bitmap == ALL:
            flag = Flag.FULL
        elif bitmap:
            flag = rng.choice((Flag.NONFULL, Flag.NONFULL, Flag.FRAG, Flag.FRAG, Flag.NONE))
        else:
            flag = rng.choice((Flag.FREE, Flag.FREE, Flag.NONE, Flag.DISCARD))
        order = 0 if flag == Flag.FREE else rng.choice((old.order, old.order, rng.randrange(ORDERS)))
        step = rng.choice((1, 1, 1, 7, -2)) if rng.random() < 0.2 else 1
        epoch = (device.epoch + 1) % 256 if rng.random() < 0.03 else device.epoch
        seq = (old.seq + step) % COUNT
        self.store(number, Record(bitmap, order, flag, seq, epoch), torn=rng.random() < 0.03)

    def found(self, number: int) -> tuple[Device, MirrorCluster]:
        """Return device and cluster of an engine cluster that is claimed."""
        found = self.model.find(number)
        assert found is not None
        return found

    def notify(self, cpu: int, number: int) -> None:
        """Post a notice."""
        at = NOTICES + 8 * ((cpu << NOTICE_LOG2) + self.notice_tail[cpu] % (1 << NOTICE_LOG2))
        seq = self.records[number].seq if number in self.records else 0
        self.script.put(at, m.MEM_NOTICE_NOTICE_CLUSTER.put(number) | m.MEM_NOTICE_NOTICE_SEQ.put(seq))
        self.posted[cpu].append(number)
        self.notice_tail[cpu] = (self.notice_tail[cpu] + 1) % COUNT

    def publish(self, cpu: int) -> None:
        """Write a CPU's line."""
        words = [
            m.MEM_CPU_LINE_NOTICE_NOTICE_TAIL.put(self.notice_tail[cpu])
            | m.MEM_CPU_LINE_NOTICE_RESYNC.put(self.resync[cpu]),
            m.MEM_CPU_LINE_WANT_ORDERS.put(self.want[cpu]),
        ]
        for pair in range(ORDERS // 2):
            even, odd = self.rings[cpu, 2 * pair].popped, self.rings[cpu, 2 * pair + 1].popped
            words.append(m.MEM_CPU_LINE_HINT_HEAD_EVEN.put(even) | m.MEM_CPU_LINE_HINT_HEAD_ODD.put(odd))
        for i, word in enumerate((*words, 0)):
            self.script.put(CPU_LINES + m.MEM_CPU_LINE_BYTES * cpu + 8 * i, word)

    def swapoff(self, type_: int, give_up: bool) -> None:
        """Take a device off, or give up half-way."""
        self.script.note(f"swapoff {type_}")
        self.take_back(type_)
        self.must(self.model.swapoff_begin(type_))
        self.command(Opcode.SWAPOFF_BEGIN, type_)
        if give_up:
            self.must(self.model.swapon(type_))
            self.command(Opcode.SWAPON, type_)
            return
        device = self.model.devices[type_]
        self.take_back(type_)
        self.must(self.model.swapoff(type_))
        self.command(Opcode.SWAPOFF, type_)
        for index in range(len(device.clusters)):
            del self.records[device.base + index]

    def recall(self, type_: int | None) -> None:
        """Recall the hints of a device, or all."""
        self.script.note(f"recall {type_}")
        count = self.take_back(type_)
        arguments = (1,) if type_ is None else ()
        self.command(Opcode.RECALL, 31 if type_ is None else type_, arguments, slot=count)

    @staticmethod
    def must(status: Status) -> None:
        """Insist that the model takes what this host does."""
        if status != Status.OK:
            raise AssertionError(f"the model refuses with {status.name}")

    # What the engine does

    def take_back(self, type_: int | None) -> int:
        """Recall: hints that are out become void; return how many."""
        count = 0
        for (_, order), ring in self.rings.items():
            for position in range(ring.head, ring.tail):
                entry = ring.entries[position]
                if entry.valid and type_ in (None, entry.type):
                    self.model.release(entry.type, entry.slot, order, entry.epoch)
                    ring.entries[position] = Entry(False)
                    count += 1
        self.recalled += count
        return count

    def fetch(self, number: int) -> None:
        """Fetch a record."""
        record = self.records.get(number)
        if number in self.torn:
            self.fetches += 16
            self.retries += 15
            return
        self.fetches += 1
        if record is not None and self.model.apply(number, record):
            self.try_again()

    def serve(self, cpu: int) -> None:
        """One CPU's share of a round: notices or everything, hints that were popped, hints that are wanted."""
        if self.resync_wanted[cpu] or len(self.posted[cpu]) > 1 << NOTICE_LOG2:
            self.bad += len(self.posted[cpu]) > 1 << NOTICE_LOG2
            for type_ in sorted(self.model.devices):
                device = self.model.devices[type_]
                for index in range(len(device.clusters)):
                    self.fetch(device.base + index)
        else:
            self.notices += len(self.posted[cpu])
            for number in self.posted[cpu]:
                if number < self.sizes.clusters:
                    self.fetch(number)
                else:
                    self.bad += 1
        self.resync_wanted[cpu] = False
        self.posted[cpu].clear()
        for order in range(ORDERS):
            self.consume(self.rings[cpu, order], order)
        for order in range(ORDERS):
            if self.hints and self.want[cpu] >> order & 1:
                self.fill(cpu, order)

    def consume(self, ring: Ring, order: int) -> None:
        """Release the hints the host has popped."""
        end = ring.popped
        if ring.head == ring.tail:
            return
        if end - ring.head > ring.tail - ring.head:
            ring.broken = True
            self.bad += 1
            end = ring.tail
        for position in range(ring.head, end):
            entry = ring.entries[position]
            if entry.valid:
                self.model.release(entry.type, entry.slot, order, entry.epoch)
                self.used_up += 1
                self.try_again()
        ring.head = end

    def fill(self, cpu: int, order: int) -> None:
        """Fill a ring up to its depth and the cap."""
        ring = self.rings[cpu, order]
        depth = min(max(self.depth >> order, 1), 1 << self.sizes.hint_ring_log2)
        while not ring.failed and not ring.broken and ring.tail - ring.head < depth:
            cap = max(self.free_slots() >> self.cap_shift, self.cap_min)
            if self.model.hinted_slots() + (1 << order) > cap:
                return
            slots = self.model.hint(cpu, order)
            if slots is None:
                ring.failed = True
                return
            epoch = self.model.devices[slots.type].epoch
            ring.entries[ring.tail] = Entry(True, slots.type, epoch, slots.offset)
            ring.tail += 1
            self.made += 1

    def free_slots(self) -> int:
        """Return what USAGE.SLOTS says."""
        return sum(device.total - device.used for device in self.model.devices.values() if device.writeok)

    # What must be seen

    def check(self, everything: bool) -> None:
        """Compare rings, lines and registers with the model; `everything`: records and lists, too."""
        s = self.script
        size = 1 << self.sizes.hint_ring_log2
        for (cpu, order), ring in self.rings.items():
            base = HINTS + 8 * ((cpu * ORDERS + order) << self.sizes.hint_ring_log2)
            for position in range(max(ring.tail - size, 0), ring.tail):
                entry = ring.entries[position]
                word = m.MEM_HINT_HINT_PHASE.put(1 - (position >> self.sizes.hint_ring_log2 & 1))
                if entry.valid:
                    word |= (
                        m.MEM_HINT_HINT_VALID.put(1)
                        | m.MEM_HINT_HINT_ORDER.put(order)
                        | m.MEM_HINT_HINT_TYPE.put(entry.type)
                        | m.MEM_HINT_HINT_EPOCH.put(entry.epoch)
                        | m.MEM_HINT_HINT_SLOT.put(entry.slot)
                    )
                s.expect(base + 8 * (position % size), word)
        for cpu in range(self.sizes.cpus):
            s.expect(
                ENGINE_LINES + m.MEM_ENGINE_LINE_BYTES * cpu,
                m.MEM_ENGINE_LINE_NOTICE_NOTICE_HEAD.put(self.notice_tail[cpu])
                | m.MEM_ENGINE_LINE_NOTICE_RESYNC_ACK.put(self.resync[cpu]),
            )
        s.read(m.USAGE_OFFSET, m.USAGE_SLOTS.put(self.free_slots()) | m.USAGE_HINTED.put(self.model.hinted_slots()))
        if not everything:
            return
        device_table(s, self.model, self.sizes)
        for type_ in range(self.sizes.devices):
            if type_ in self.model.devices:
                self.command(Opcode.CHECK, type_)
                self.dump(type_)
            else:
                self.command(Opcode.CHECK, type_, status=Status.BAD_DEVICE)

    def dump(self, type_: int) -> None:
        """Have the engine write what it holds of a device, and compare."""
        device = self.model.devices[type_]
        count = len(device.clusters)
        step = m.MEM_CLUSTER_STATE_BYTES
        for at in (DUMP, DUMP + 8 + step * count):
            self.script.put(at, 0x5A5A)
        self.command(Opcode.DUMP, 0, (device.base, MEMORY_BASE + DUMP + 8), nr=count)
        for index in range(count):
            record = self.model.dump(device.base + index)
            assert record is not None
            data = record.pack()
            for at in range(0, step, 8):
                self.script.expect(DUMP + 8 + step * index + at, int.from_bytes(data[at : at + 8], "little"))
        for at in (DUMP, DUMP + 8 + step * count):
            self.script.expect(at, 0x5A5A)

    def rest(self) -> None:
        """Let the engine take in what the host did, then fill hint rings."""
        s = self.script
        for cpu in range(self.sizes.cpus):
            self.publish(cpu)
        s.settle(3)
        for cpu in range(self.sizes.cpus):
            self.serve(cpu)
        self.switch_hints(True)
        for _ in range(8):
            before = (self.made, self.used_up, sum(ring.failed for ring in self.rings.values()))
            for cpu in range(self.sizes.cpus):
                self.serve(cpu)
            if before == (self.made, self.used_up, sum(ring.failed for ring in self.rings.values())):
                break
        s.settle(4)
        self.switch_hints(False)

    # The whole of it

    def step(self) -> None:
        """One step of the host: some of everything."""
        rng = self.rng
        numbers = list(self.records)
        for _ in range(rng.choice((0, 1, 3, 6))):
            number = rng.choice(numbers)
            self.change(number)
            for _ in range(rng.choice((1, 1, 1, 2, 0))):
                self.notify(rng.randrange(self.sizes.cpus), number)
        if rng.random() < 0.1:
            self.notify(rng.randrange(self.sizes.cpus), rng.choice((self.sizes.clusters, 1 << 31, 0)))
        for cpu in range(self.sizes.cpus):
            while len(self.posted[cpu]) > 1 << NOTICE_LOG2 and rng.random() < 0.5:
                self.notify(cpu, rng.choice(numbers))
            if rng.random() < 0.08:
                self.resync[cpu] = (self.resync[cpu] + 1) % COUNT
                self.resync_wanted[cpu] = True
            if rng.random() < 0.3:
                self.want[cpu] = rng.choice((0x3FF, rng.getrandbits(10), 1 << rng.randrange(10), 0))
        for ring in self.rings.values():
            if rng.random() < 0.4:
                ring.popped += rng.randint(0, ring.tail - ring.popped)
        if rng.random() < 0.2:
            self.limits(rng.choice((1, 4, 12, 64, 600)), rng.choice((0, 64, 700, 0xFFFF)), rng.randrange(12))


def device_table(script: Script, model: Allocator, sizes: Sizes) -> None:
    """Compare the registers of the device table with the model."""
    for type_ in range(sizes.devices):
        at = m.DEVICE_BASE + m.DEVICE_STRIDE * type_
        device = model.devices.get(type_)
        if device is None:
            script.read(at + m.DEVICE_SIZE_OFFSET, 0)
            script.read(at + m.DEVICE_STATE_OFFSET, 0)
            continue
        script.read(
            at + m.DEVICE_SIZE_OFFSET, m.DEVICE_SIZE_PAGES.put(device.pages) | m.DEVICE_SIZE_BASE.put(device.base)
        )
        script.read(
            at + m.DEVICE_STATE_OFFSET,
            m.DEVICE_STATE_USED.put(device.used)
            | m.DEVICE_STATE_PRIORITY.put(device.priority & 0xFFFF)
            | m.DEVICE_STATE_CLAIMED.put(1)
            | m.DEVICE_STATE_WRITEOK.put(device.writeok)
            | m.DEVICE_STATE_AVAILABLE.put(device in model.available)
            | m.DEVICE_STATE_EPOCH.put(device.epoch),
        )


def advisory(seed: int, steps: int, sizes: Sizes) -> str:
    """Return a script of advisory mode: mirror, hint rings, recalls, devices that come and go."""
    host = Advisory(seed, sizes)
    rng = host.rng
    host.start()
    host.switch_hints(False)
    share = sizes.clusters // sizes.devices

    def come(type_: int) -> None:
        clusters = rng.randint(2, 5)
        flags = BLKDEV | SOLIDSTATE
        flags |= rng.choice((0, 0, DISCARD, NO_HINTS))
        if rng.random() < 0.1:
            flags &= ~rng.choice((BLKDEV, SOLIDSTATE))
        pages = clusters * SLOTS - rng.choice((0, rng.randrange(SLOTS - 2)))
        base = type_ * share + rng.randrange(share - clusters)
        host.swapon(type_, pages, base, flags, rng.choice((-1, -1, 5, 5, rng.randint(-32768, 32767))))

    for type_ in range(sizes.devices - 1):
        come(type_)
    for number in range(steps):
        host.script.note(f"step {number}")
        host.step()
        event = rng.random()
        if event < 0.15:
            host.recall(rng.choice((None, *host.model.devices)))
        elif event < 0.27:
            host.swapoff(rng.choice(sorted(host.model.devices)), give_up=rng.random() < 0.4)
        if len(host.model.devices) < 2 or (event > 0.9 and len(host.model.devices) < sizes.devices):
            come(rng.choice([type_ for type_ in range(sizes.devices) if type_ not in host.model.devices]))
        host.rest()
        host.script.note(f"after step {number}")
        host.check(everything=number % 8 == 7 or number == steps - 1)
    s = host.script
    s.note("statistics")
    for name, value in (
        ("HINTS_MADE", host.made),
        ("HINTS_USED_UP", host.used_up),
        ("HINTS_RECALLED", host.recalled),
        ("NOTICES", host.notices),
        ("FETCHES", host.fetches),
        ("FETCH_RETRIES", host.retries),
        ("COMMANDS", s.tail),
        ("COMMAND_ERRORS", s.errors + host.bad),
    ):
        s.read(getattr(m, f"STAT_{name}_OFFSET"), value)
    s.read(m.STATUS_OFFSET, 0)
    return s.text()


class Authoritative:
    """A host in authoritative mode: random operations by the ring and by the CPU pages, and what is wrong with some."""

    def __init__(self, seed: int, sizes: Sizes) -> None:
        """Begin with an engine after reset."""
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.script = Script()
        self.seq = [0] * sizes.cpus
        self.requests = 0
        self.epoch = 0

    def registers(self) -> None:
        """What the registers read after reset, and that they keep what is written, byte by byte."""
        s, sizes = self.script, self.sizes
        s.note("registers after reset")
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, LIMIT)
        s.read(m.ID_OFFSET, m.ID_MAGIC.reset)
        s.read(m.VERSION_OFFSET, m.VERSION_MAJOR.put(1) | m.VERSION_MINOR.put(m.VERSION_MINOR.reset))
        s.read(
            m.CAPS_OFFSET,
            m.CAPS_DEVICES.put(sizes.devices)
            | m.CAPS_CPUS.put(sizes.cpus)
            | m.CAPS_HINT_RING_LOG2.put(sizes.hint_ring_log2)
            | m.CAPS_ORDERS.put(ORDERS)
            | m.CAPS_CLUSTERS.put(sizes.clusters),
            m.CAPS_DEVICES.put(255)
            | m.CAPS_CPUS.put(255)
            | m.CAPS_HINT_RING_LOG2.put(15)
            | m.CAPS_ORDERS.put(15)
            | m.CAPS_CLUSTERS.put((1 << 32) - 1),
        )
        s.read(m.STATUS_OFFSET, 0)
        s.read(m.HINT_DEPTH_OFFSET, 0x6_0200_0000_0040)
        s.read(m.POLL_OFFSET, m.POLL_CYCLES.reset)
        s.read(0x3F8, 0)
        s.note("registers keep what is written")
        addresses = (
            "CMD_BASE",
            "CPL_BASE",
            "CPU_LINE_BASE",
            "ENGINE_LINE_BASE",
            "STATE_BASE",
            "NOTICE_BASE",
            "HINT_BASE",
        )
        widths = dict.fromkeys(addresses, WORD) | {
            "CMD_SIZE": 15,
            "NOTICE_SIZE": 15,
            "POLL": (1 << 32) - 1,
            "IRQ_ENABLE": 3,
            "HINT_DEPTH": 0xF_FFFF_0000_FFFF,
        }
        held = {}
        for _ in range(2):
            for name, mask in widths.items():
                offset = getattr(m, f"{name}_OFFSET")
                value = self.rng.getrandbits(64)
                s.write(offset, value)
                strobes, other = self.rng.getrandbits(8), self.rng.getrandbits(64)
                s.write(offset, other, strobes)
                for byte in range(8):
                    if strobes >> byte & 1:
                        value = value & ~(255 << 8 * byte) | other & 255 << 8 * byte
                held[offset] = value & mask
            for offset, value in held.items():
                s.read(offset, value)
        s.write(m.IRQ_ENABLE_OFFSET, 0)
        s.add("irq", 0)

    def bad_commands(self) -> None:
        """Commands that are refused, each with its reason; nothing is changed by them."""
        s, sizes = self.script, self.sizes
        s.note("commands that are refused")
        s.command(Opcode.NOP)
        for opcode in (200, 99, max(Opcode) + 1, Opcode.RESYNC, Opcode.RECALL, Opcode.DUMP):
            s.command(opcode, status=Status.BAD_OPCODE)
        for opcode in (Opcode.SWAPON, Opcode.SWAPOFF_BEGIN, Opcode.SWAPOFF, Opcode.CHECK, Opcode.DISCARD_TAKE):
            s.command(opcode, sizes.devices, status=Status.BAD_DEVICE)
            s.command(opcode, sizes.devices - 1, status=Status.BAD_DEVICE)
        s.command(Opcode.ALLOC, cpu=sizes.cpus, status=Status.BAD_CPU)
        s.command(Opcode.ALLOC, order=ORDERS, status=Status.BAD_CPU)
        s.command(Opcode.ALLOC, status=Status.NO_SPACE)
        s.command(Opcode.FREE, 0, (1,), nr=1, status=Status.BAD_DEVICE)
        s.command(Opcode.SWAPON_PREPARE, 0, device_words(0, 0, 3, 0, 0), status=Status.BAD_RANGE)
        s.command(Opcode.SWAPON_PREPARE, 0, device_words(SLOTS, sizes.clusters, 3, 0, 0), status=Status.BAD_RANGE)
        s.command(Opcode.FREE, 0, (1 << 32,), nr=1, status=Status.BAD_RANGE)

    def bad_frees(self, model: Allocator) -> None:
        """Frees and bad slots that are refused, for each device there is."""
        for type_, device in model.devices.items():
            total = len(device.clusters) * SLOTS
            for offset, nr in ((0, 1), (device.pages, 1), (1, 0), (SLOTS - 1, 2), (total - 1, 512)):
                if not model.inside(device, offset, nr):
                    self.script.command(Opcode.FREE, type_, (offset,), nr=nr, status=Status.BAD_RANGE)
            cluster = self.rng.choice(device.clusters)
            for start, nr in runs(~cluster.used & ALL)[:1]:
                offset = cluster.index * SLOTS + start
                if model.inside(device, offset, nr):
                    self.script.command(Opcode.FREE, type_, (offset,), nr=nr, status=Status.BAD_RANGE)
            self.script.command(Opcode.MARK_BAD, type_, (1,), nr=1, status=Status.BAD_DEVICE)
            self.script.command(Opcode.SWAPON, type_, status=Status.BAD_DEVICE)
            words = device_words(SLOTS, 0, 3, 0, 0)
            self.script.command(Opcode.SWAPON_PREPARE, type_, words, status=Status.BAD_DEVICE)
            other = next((t for t in range(self.sizes.devices) if t not in model.devices), None)
            if other is not None:
                words = device_words(2 * SLOTS, max(device.base + len(device.clusters) - 1, 0), 3, 0, 0)
                self.script.command(Opcode.SWAPON_PREPARE, other, words, status=Status.BAD_RANGE)

    def interrupts(self) -> None:
        """Interrupts come when enabled and asked for, and go when cleared."""
        s = self.script
        s.note("interrupts")
        s.write(m.IRQ_STATUS_OFFSET, 3)
        s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
        s.command(Opcode.NOP, irq=True)
        s.add("pass", 40)
        s.read(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1))
        s.add("irq", 0)
        s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_COMPLETION.put(1))
        s.add("pass", 4)
        s.add("irq", 1)
        s.write(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1))
        s.add("pass", 4)
        s.add("irq", 0)
        s.command(Opcode.NOP)
        s.add("pass", 40)
        s.add("irq", 0)
        s.read(m.IRQ_STATUS_OFFSET, 0)

    def request(self, cpu: int, opcode: int, order: int, type_: int, nr: int, slot: int, answer: int) -> None:
        """Ask by a CPU's page; now and then again with the same number, which gives the same answer."""
        self.seq[cpu] = self.seq[cpu] % 0xFFFF + 1
        for _ in range(2 if self.rng.random() < 0.1 else 1):
            self.script.page(cpu, self.seq[cpu], opcode, order, type_, nr, slot, answer)
        self.requests += 1

    def bad_requests(self) -> None:
        """Requests by page that are refused."""
        for opcode, order, type_, nr, why in (
            (Opcode.ALLOC, ORDERS, 0, 0, Status.BAD_CPU),
            (Opcode.NOP, 0, 0, 0, Status.BAD_OPCODE),
            (Opcode.FREE, 0, self.sizes.devices, 1, Status.BAD_DEVICE),
        ):
            for cpu in range(self.sizes.cpus):
                self.request(cpu, opcode, order, type_, nr, 1, m.CPU_PAGE_RESPONSE_STATUS.put(why))
                self.script.errors += 1

    def operations(self, ops: int) -> Allocator:
        """A random stream, its operations by ring or page; return the model as it is after them."""
        features = frozenset({"discard", "rotating", "scan", "sequential", "shared"})
        shape = Shape(
            self.rng.getrandbits(30), ops, self.sizes.devices, self.sizes.cpus, self.sizes.clusters, 5, features
        )
        source = Stream(shape)
        s = self.script
        s.note(str(shape))
        for number, record in enumerate(source):
            if not number % 50:
                s.note(f"operation {number} of {shape}")
            self.operation(source.model, record)
            if number % 200 == 199:
                self.bad_frees(source.model)
                device_table(s, source.model, self.sizes)
                for type_ in sorted(source.model.devices):
                    s.command(Opcode.CHECK, type_)
        return source.model

    def operation(self, model: Allocator, record: Operation) -> None:
        """One record of a stream, with the outcome the model gave it."""
        s, rng = self.script, self.rng
        match record.op:
            case Op.PREPARE:
                device = model.devices[record.type]
                # The stream's model has no epochs.
                device.epoch = self.epoch = (self.epoch + 91) % 256
                words = device_words(record.a, device.base, record.b, device.priority, device.epoch)
                s.command(Opcode.SWAPON_PREPARE, record.type, words)
            case Op.BAD:
                s.command(Opcode.MARK_BAD, record.type, (record.a,), nr=record.b)
                s.command(Opcode.MARK_BAD, record.type, (record.a,), nr=record.b, status=Status.BAD_RANGE)
            case Op.SWAPON | Op.SWAPOFF_BEGIN | Op.SWAPOFF:
                s.command(Opcode[record.op.name], record.type)
            case Op.DISCARD_TAKE:
                if record.a:
                    s.command(Opcode.DISCARD_TAKE, record.type, slot=record.a)
                else:
                    s.command(Opcode.DISCARD_TAKE, record.type, status=Status.NO_SPACE)
            case Op.DISCARD_DONE:
                s.command(Opcode.DISCARD_DONE, record.type, (record.a,))
                s.command(Opcode.DISCARD_DONE, record.type, (record.a,), status=Status.BAD_RANGE)
            case Op.POLICY:
                s.write(m.POLICY_OFFSET, record.a | record.b << 32)
                s.read(m.POLICY_OFFSET, record.a | record.b << 32)
            case Op.FREE:
                if rng.random() < 0.5:
                    s.command(Opcode.FREE, record.type, (record.a,), nr=record.b)
                else:
                    self.request(rng.randrange(self.sizes.cpus), Opcode.FREE, 0, record.type, record.b, record.a, 0)
            case Op.ALLOC:
                failed = record.type == FAILED
                status = Status.NO_SPACE if failed else Status.OK
                device, slot = (0, 0) if failed else (record.type, record.a)
                if rng.random() < 0.5:
                    s.command(Opcode.ALLOC, cpu=record.cpu, order=record.order, status=status, device=device, slot=slot)
                else:
                    answer = slot | device << 32 | status << 40
                    self.request(record.cpu, Opcode.ALLOC, record.order, 0, 0, 0, answer)
            case _:
                raise AssertionError(f"a script cannot have {record}")

    def statistics(self, model: Allocator) -> None:
        """What the statistics registers have counted."""
        s = self.script
        s.note("statistics")
        paths = model.counts.by_path
        for name, value in (
            ("COMMANDS", s.tail + self.requests),
            ("COMMAND_ERRORS", s.errors),
            *((f"ALLOC_{path.upper()}", paths[path]) for path in ("fast", "nonfull", "free", "frag", "steal")),
            ("FREES", model.counts.frees),
            ("SCANS", model.counts.scans),
            ("LIST_MOVES", model.counts.list_moves),
        ):
            s.read(getattr(m, f"STAT_{name}_OFFSET"), value)
        s.read(m.CMD_HEAD_OFFSET, s.tail)
        s.read(m.STATUS_OFFSET, 0)

    def errors(self) -> None:
        """A transfer that is answered with an error stops the engine; RESET puts all back."""
        s = self.script
        s.note("a command ring where no memory is")
        s.write(m.IRQ_ENABLE_OFFSET, 3)
        s.write(m.CMD_BASE_OFFSET, 0x40)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
        s.add("poll", m.STATUS_OFFSET, m.STATUS_DMA_ERROR.put(1), m.STATUS_DMA_ERROR.put(1), LIMIT)
        s.read(m.CONTROL_OFFSET, 0)
        s.add("pass", 4)
        s.add("irq", 1)
        # The interrupt of the commands before may be there, too.
        s.add("poll", m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_ERROR.put(1), m.IRQ_STATUS_ERROR.put(1), LIMIT)
        s.note("reset by register")
        s.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, LIMIT)
        s.read(m.STATUS_OFFSET, 0)
        s.read(m.IRQ_STATUS_OFFSET, 0)
        s.read(m.IRQ_ENABLE_OFFSET, 0)
        s.read(m.STAT_COMMANDS_OFFSET, 0)
        s.read(m.CMD_HEAD_OFFSET, 0)
        s.read(m.USAGE_OFFSET, 0)
        s.add("irq", 0)
        s.settle(0)


def authoritative(seed: int, ops: int, sizes: Sizes) -> str:
    """Return a script of authoritative mode: registers, commands, pages, statistics, errors, and all once more."""
    host = Authoritative(seed, sizes)
    host.registers()
    s = host.script
    s.begin(m.CONTROL_ENABLE.put(1))
    host.bad_commands()
    host.interrupts()
    model = host.operations(ops)
    host.bad_requests()
    s.settle(0)
    host.statistics(model)
    host.errors()
    s.note("the same engine after its reset")
    second = Authoritative(seed + 1, sizes)
    second.script = s
    s.errors = 0
    for cpu in range(sizes.cpus):
        second.script.add("read", 0x10000 + 0x1000 * cpu + 0x10, WORD, 0)
    s.begin(m.CONTROL_ENABLE.put(1))
    second.statistics(second.operations(ops // 4))
    s.note("reset by wire")
    s.add("reset")
    s.add("poll", m.CONTROL_OFFSET, WORD, 0, LIMIT)
    s.read(m.STAT_COMMANDS_OFFSET, 0)
    s.read(m.CMD_BASE_OFFSET, 0)
    return s.text()
