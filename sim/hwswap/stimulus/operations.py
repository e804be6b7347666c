# SPDX-License-Identifier: Apache-2.0
"""Scripts of registers, refusals, interrupts, random operations by ring and pages, errors of the bus, resets.

What must be seen comes from the golden model.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.golden import BLKDEV, SOLIDSTATE, Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import DeviceOrder, Hint, Policy
from hwswap.model.rows import ORDERS, SLOTS, runs
from hwswap.model.tables import LINE
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import DUMP, NOWHERE, PAGE, WORD, Script, Sizes
from hwswap.traces.records import FAILED, Op, Record
from hwswap.traces.stream import EVERYTHING, Shape, Stream

SSD = BLKDEV | SOLIDSTATE

LARGE = 112
"""Clusters of a large device: four random trunks, and still set up within the script's limit of cycles."""

BY_DEVICE = (
    Opcode.MARK_BAD,
    Opcode.SWAPON,
    Opcode.SWAPOFF_BEGIN,
    Opcode.SWAPOFF,
    Opcode.FREE,
    Opcode.CHECK,
    Opcode.DISCARD_TAKE,
    Opcode.DISCARD_DONE,
)
"""Commands that name a device there must be."""

BY_SLOT = (
    Opcode.FREE,
    Opcode.MARK_BAD,
    Opcode.DISCARD_DONE,
)
"""Commands that name a slot by ARG0."""


class Host:
    """A host with random operations by the ring and by the CPU pages, and what is wrong with some."""

    def __init__(self, seed: int, sizes: Sizes, script: Script) -> None:
        """Begin with an engine after reset."""
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.script = script
        self.seq = [0] * sizes.cpus
        self.requests = 0
        self.waiting: list[Expected] = []

    def registers(self) -> None:
        """What the registers read after reset, and that they keep what is written, byte by byte."""
        s, sizes = self.script, self.sizes
        s.note("registers after reset")
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, s.limit)
        s.read(m.ID_OFFSET, m.ID_MAGIC.reset)
        s.read(m.VERSION_OFFSET, m.VERSION_MAJOR.put(3) | m.VERSION_MINOR.put(m.VERSION_MINOR.reset))
        s.read(
            m.CAPS_OFFSET,
            m.CAPS_DEVICES.put(sizes.devices)
            | m.CAPS_CPUS.put(sizes.cpus)
            | m.CAPS_ORDERS.put(ORDERS)
            | m.CAPS_CLUSTERS.put(sizes.clusters),
            m.CAPS_DEVICES.put(255)
            | m.CAPS_CPUS.put(255)
            | m.CAPS_ORDERS.put(15)
            | m.CAPS_CLUSTERS.put((1 << m.CAPS_CLUSTERS.width) - 1),
        )
        s.read(m.STATUS_OFFSET, 0)
        s.read(0x3F8, 0)
        s.note("registers keep what is written")
        s.write(m.CONTROL_OFFSET, WORD ^ m.CONTROL_ENABLE.put(1) ^ m.CONTROL_RESET.put(1))
        s.read(m.CONTROL_OFFSET, m.CONTROL_TABLE_WRITES.put(1))
        s.write(m.CONTROL_OFFSET, 0)
        widths = dict.fromkeys(("CMD_BASE", "CPL_BASE"), WORD & -LINE) | {"IRQ_ENABLE": 3}
        masks = {getattr(m, f"{name}_OFFSET"): mask for name, mask in widths.items()}
        for window in range(m.DMA_WINDOW_COUNT):
            base = m.DMA_WINDOW_BASE + m.DMA_WINDOW_STRIDE * window
            masks[base + m.DMA_WINDOW_START_OFFSET] = WORD & -PAGE
            masks[base + m.DMA_WINDOW_LIMIT_OFFSET] = WORD & -PAGE | 3
        for offset in masks:
            s.read(offset, 0)
        held = {offset: self.rng.getrandbits(64) for offset in masks}
        for flip in (0, WORD, 0x5A5A_5A5A_5A5A_5A5A):
            for offset, mask in masks.items():
                value = held[offset] ^ flip
                s.write(offset, value)
                strobes, other = self.rng.getrandbits(8), self.rng.getrandbits(64)
                s.write(offset, other, strobes)
                for byte in range(8):
                    if strobes >> byte & 1:
                        value = value & ~(255 << 8 * byte) | other & 255 << 8 * byte
                held[offset] = value & mask
            for offset, value in held.items():
                s.read(offset, value)
        self.at_once(held, masks)
        self.holes()
        for offset, value in held.items():
            s.read(offset, value)
        s.write(m.IRQ_ENABLE_OFFSET, 0)
        s.add("irq", 0)
        self.policies()

    def at_once(self, held: dict[int, int], masks: dict[int, int]) -> None:
        """Reads and writes of several registers, none of which waits for an answer; `held` is what they hold."""
        self.script.note("registers, several at once")
        for _ in range(12):
            offsets = self.rng.sample(sorted(masks), min(8, len(masks)))
            written = set(self.rng.sample(offsets, self.rng.randrange(len(offsets))))
            with self.script.together():
                for offset in offsets:
                    if offset in written:
                        value = self.rng.getrandbits(64)
                        self.script.write(offset, value)
                        held[offset] = value & masks[offset]
                    else:
                        self.script.read(offset, held[offset])
            for offset in sorted(written):
                self.script.read(offset, held[offset])

    def holes(self) -> None:
        """Where no register is, reads give 0 and writes do nothing."""
        known = {value for name, value in vars(m).items() if name.endswith("_OFFSET") and not name.startswith("MEM_")}
        known |= {m.DMA_WINDOW_BASE + 8 * i for i in range(2 * m.DMA_WINDOW_COUNT)}
        known |= {m.CPU_NODE_BASE + m.CPU_NODE_STRIDE * i for i in range(m.CPU_NODE_COUNT)}
        devices = range(m.DEVICE_BASE, m.DEVICE_BASE + m.DEVICE_STRIDE * m.DEVICE_COUNT, 8)
        pages = (m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * cpu for cpu in range(self.sizes.cpus))
        known |= {*devices, *(page + at for page in pages for at in (0, 8, 16))}
        far = (0x800, 0x1000, 0x2000, 0x4000, 0x8000, 0x10018, 0x10020, 0x10040, 0x10080, 0x10100, 0x10400, 0x1F000)
        near = {offset ^ 1 << bit for offset in known for bit in range(3, 17)}
        for address in sorted({*range(0, 0x600, 8), *far, *near} - known):
            self.script.write(address, WORD)
            self.script.read(address, 0)

    def policies(self) -> None:
        """POLICY takes the choices there are and reads back 0 for others; so does CPU_NODE for CPUs there are not."""
        s = self.script
        s.note("policies")
        fields = (m.POLICY_SCAN, m.POLICY_DEVICE, m.POLICY_HINT, m.POLICY_PLACEMENT)
        for choices in ((1, 2, 1, 0), (0, 1, 2, 1), (1, 0, 0, 1), (0, 0, 0, 0)):
            for number, strobes in ((self.rng.getrandbits(32), 0xFF), (self.rng.getrandbits(32), 0x0F)):
                value = sum(field.put(choice) for field, choice in zip(fields, choices, strict=True))
                if strobes == 0xFF:
                    seed = number
                s.write(m.POLICY_OFFSET, value | m.POLICY_SEED.put(number), strobes)
                s.read(m.POLICY_OFFSET, value | m.POLICY_SEED.put(seed))
        s.write(m.POLICY_OFFSET, 0xFFFF_FFFF)
        s.read(m.POLICY_OFFSET, 0)
        for value in (WORD, self.rng.getrandbits(64), 0):
            s.write(m.CPU_NODE_BASE, value)
            s.read(m.CPU_NODE_BASE, value & (1 << 4 * self.sizes.cpus) - 1)

    def refusals(self) -> None:
        """Commands that are refused while no device is there, each with its reason: opcode, device, CPU, slots."""
        rng, sizes = self.rng, self.sizes
        self.script.note("commands that are refused")
        lines: list[Expected] = []

        def no(status: Status, opcode: int, type_: int = 0, **rest: int) -> None:
            lines.append(Expected(Command(opcode, type_, **rest), status))

        lines.append(Expected(Command(Opcode.NOP), Status.OK))
        for opcode in sorted(set(range(256)) - set(Opcode)):
            no(Status.BAD_OPCODE, opcode)
        base, clusters = self.script.base, sizes.clusters
        for first, nr, target in (
            (clusters - 1, 2, 0),
            (clusters, 1, 0),
            (clusters - 1, 1023, 0),
            *((1 << bit, 1, 0) for bit in range(clusters.bit_length(), 64)),
            *((0, 1, bit) for bit in (1, 2, 4)),
        ):
            no(Status.BAD_RANGE, Opcode.DUMP, nr=nr, arg0=first, arg1=base + DUMP + target)
        lines.append(Expected(Command(Opcode.DUMP, arg1=base + DUMP), Status.OK))
        for opcode in BY_DEVICE:
            for type_ in {0, sizes.devices - 1, sizes.devices, rng.randrange(sizes.devices, 32), 31}:
                no(Status.BAD_DEVICE, opcode, type_, nr=1, arg0=1, arg1=1)
        for type_ in range(sizes.devices, 32):
            no(Status.BAD_DEVICE, Opcode.SWAPON_PREPARE, type_, arg0=SLOTS)
            no(Status.BAD_DEVICE, Opcode.FREE, type_, nr=1, arg0=1)
        for order in range(ORDERS, 16):
            no(Status.BAD_CPU, Opcode.ALLOC, order=order)
        for cpu in {sizes.cpus, *(1 << bit for bit in range(8) if 1 << bit >= sizes.cpus), 255}:
            no(Status.BAD_CPU, Opcode.ALLOC, cpu=cpu)
        for opcode in BY_SLOT:
            for bit in range(32, 64) if opcode == Opcode.FREE else (32, rng.randrange(33, 63), 63):
                no(Status.BAD_RANGE, opcode, nr=1, arg0=1 << bit | 1)
        slots = clusters * SLOTS
        no(Status.NO_SPACE, Opcode.ALLOC)
        for pages, base in (
            (0, 0),
            (slots + 1, 0),
            (SLOTS, clusters),
            (SLOTS + 1, clusters - 1),
            *((1 << bit, 0) for bit in range(32) if 1 << bit > slots),
            *((SLOTS, 1 << bit) for bit in range(32) if 1 << bit >= clusters),
            ((1 << 32) - 1, (1 << 32) - 1),
        ):
            lines.append(Expected(prepare(0, pages, base, SSD), Status.BAD_RANGE))
        self.script.give(lines)

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

    def doorbell(self) -> None:
        """A tail that is further ahead than the ring is long fetches nothing, nor does an engine that is off."""
        s = self.script
        s.note("a tail too far ahead, and an engine that is off")
        s.write(m.CMD_TAIL_OFFSET, s.tail + (2 << s.log2))
        s.add("pass", 200)
        s.read(m.CMD_HEAD_OFFSET, s.tail)
        s.write(m.CMD_TAIL_OFFSET, s.tail)
        s.command(Opcode.NOP)
        s.write(m.CONTROL_OFFSET, 0)
        s.read(m.CONTROL_OFFSET, 0)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
        s.add("pass", 200)
        s.read(m.CMD_HEAD_OFFSET, s.tail)
        s.write(m.CMD_TAIL_OFFSET, s.tail)
        s.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1))
        s.command(Opcode.NOP)

    # Operations

    def flush(self) -> None:
        """Give the commands that wait."""
        self.script.give(self.waiting)
        self.waiting.clear()

    def ring(self, command: Command, status: Status = Status.OK, slot: int = 0, device: int = 0) -> None:
        """Give a command by the ring, soon: as often alone as with others."""
        self.waiting.append(Expected(command, status, slot, device))
        if self.rng.random() < 0.15:
            self.flush()

    def request(self, cpu: int, opcode: int, order: int, type_: int, nr: int, slot: int, answer: int) -> None:
        """Ask by a CPU's page; now and then again with the same number, which gives the same answer."""
        self.flush()
        self.seq[cpu] = self.seq[cpu] % 0xFFFF + self.rng.choice((1, 1, 1, 0x1111))
        self.seq[cpu] = self.seq[cpu] % 0x10000 or 1
        for _ in range(2 if self.rng.random() < 0.1 else 1):
            self.script.page(cpu, self.seq[cpu], opcode, order, type_, nr, slot, answer)
        self.requests += 1
        if self.rng.random() < 0.2:
            page = m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * cpu
            self.script.read(page + m.CPU_PAGE_ARG_OFFSET, slot)
            word = opcode | order << 8 | type_ << 16 | nr << 32 | self.seq[cpu] << 48
            self.script.read(page + m.CPU_PAGE_REQUEST_OFFSET, word)

    def bad_requests(self) -> None:
        """Requests by page that are refused."""
        for opcode, order, type_, nr, why in (
            *((Opcode.ALLOC, order, 0, 0, Status.BAD_CPU) for order in range(ORDERS, 16)),
            *((opcode, 0, 0, 0, Status.BAD_OPCODE) for opcode in (Opcode.NOP, 5, 8, 22, 0x46, 0x86, 0x27, 0x17)),
            *((Opcode.FREE, 0, type_, 1, Status.BAD_DEVICE) for type_ in (self.sizes.devices, 16, 31)),
        ):
            for cpu in range(self.sizes.cpus):
                self.request(cpu, opcode, order, type_, nr, 1, m.CPU_PAGE_RESPONSE_STATUS.put(why))
                self.script.errors += 1

    def bad_frees(self, model: Allocator) -> None:
        """Frees, bad slots and devices that are refused, for each device there is."""
        for type_, device in model.devices.items():
            total = len(device.clusters) * SLOTS

            def no(opcode: int, status: Status, nr: int = 0, arg0: int = 0, type_: int = type_) -> None:
                self.ring(Command(opcode, type_, nr=nr, arg0=arg0), status)

            far = [1 << bit | 1 for bit in range(32) if 1 << bit >= total]
            for offset, nr in (
                (0, 1),
                (device.pages, 1),
                (1, 0),
                (SLOTS - 1, 2),
                (total - 1, 512),
                (1, 1023),
                *((offset, 1) for offset in far),
            ):
                if not model.inside(device, offset, nr):
                    no(Opcode.FREE, Status.BAD_RANGE, nr, offset)
            cluster = self.rng.choice(device.clusters)
            for start, nr in runs(~cluster.used & (1 << SLOTS) - 1)[:1]:
                offset = cluster.index * SLOTS + start
                if model.inside(device, offset, nr):
                    no(Opcode.FREE, Status.BAD_RANGE, nr, offset)
            for offset in (self.rng.choice(far), total):
                no(Opcode.DISCARD_DONE, Status.BAD_RANGE, arg0=offset)
            no(Opcode.MARK_BAD, Status.BAD_DEVICE, 1, 1)
            if device.writeok:
                no(Opcode.SWAPON, Status.BAD_DEVICE)
            self.ring(prepare(type_, SLOTS, 0, SSD), Status.BAD_DEVICE)
            other = next((t for t in range(self.sizes.devices) if t not in model.devices), None)
            if other is not None:
                last = device.base + len(device.clusters) - 1
                for base, pages in ((last, 2 * SLOTS), (max(device.base - 1, 0), 2 * SLOTS), (device.base, 1)):
                    self.ring(prepare(other, pages, base, SSD), Status.BAD_RANGE)
        self.flush()

    def operations(self, ops: int, span: int) -> Allocator:
        """A random stream, its operations by ring or page; return the model as it is after them."""
        sizes = self.sizes
        shape = Shape(self.rng.getrandbits(30), ops, sizes.devices, sizes.cpus, sizes.clusters, span, EVERYTHING)
        source = Stream(shape)
        s = self.script
        s.note(str(shape))
        for number, record in enumerate(source):
            if not number % 50:
                s.note(f"operation {number} of {shape}")
            self.operation(source.model, record)
            if number % 200 == 199:
                self.flush()
                self.bad_frees(source.model)
                self.state(source.model)
        self.flush()
        self.state(source.model)
        return source.model

    def state(self, model: Allocator) -> None:
        """Compare the engine's own state with the model's."""
        engine_state.whole(self.script, model, self.sizes)

    def operation(self, model: Allocator, record: Record) -> None:
        """One record of a stream, with the outcome the model gave it."""
        s, rng = self.script, self.rng
        match record.op:
            case Op.PREPARE:
                device = model.devices[record.type]
                self.ring(prepare(record.type, record.a, device.base, record.b, device.priority, device.node))
                for nr, offset in ((0, 1), (1, 0), (2, SLOTS - 1), (1, record.a), (513, 1), (1, 1 << 31 | 1)):
                    if not model.inside(device, offset, nr):
                        self.ring(Command(Opcode.MARK_BAD, record.type, nr=nr, arg0=offset), Status.BAD_RANGE)
            case Op.BAD:
                self.ring(Command(Opcode.MARK_BAD, record.type, nr=record.b, arg0=record.a))
                self.ring(Command(Opcode.MARK_BAD, record.type, nr=record.b, arg0=record.a), Status.BAD_RANGE)
            case Op.SWAPON | Op.SWAPOFF_BEGIN | Op.SWAPOFF:
                self.ring(Command(Opcode[record.op.name], record.type))
            case Op.DISCARD_TAKE:
                status = Status.OK if record.a else Status.NO_SPACE
                self.ring(Command(Opcode.DISCARD_TAKE, record.type), status, record.a)
            case Op.DISCARD_DONE:
                done = Command(Opcode.DISCARD_DONE, record.type, arg0=record.a)
                self.ring(done)
                self.ring(done, Status.BAD_RANGE)
            case Op.POLICY:
                self.flush()
                s.write(m.POLICY_OFFSET, record.a | record.b << 32)
                s.read(m.POLICY_OFFSET, record.a | record.b << 32)
            case Op.NODE:
                self.flush()
                self.nodes(model)
            case Op.FREE:
                if rng.random() < 0.7:
                    self.ring(Command(Opcode.FREE, record.type, nr=record.b, arg0=record.a))
                else:
                    self.request(rng.randrange(self.sizes.cpus), Opcode.FREE, 0, record.type, record.b, record.a, 0)
            case Op.ALLOC:
                failed = record.type == FAILED
                status = Status.NO_SPACE if failed else Status.OK
                device_number, slot = (0, 0) if failed else (record.type, record.a)
                if rng.random() < 0.7:
                    command = Command(Opcode.ALLOC, cpu=record.cpu, order=record.order)
                    self.ring(command, status, slot, device_number)
                else:
                    answer = slot | device_number << 32 | status << 40
                    self.request(record.cpu, Opcode.ALLOC, record.order, 0, 0, 0, answer)
            case _:
                raise AssertionError(f"a script cannot have {record}")

    def nodes(self, model: Allocator) -> None:
        """Write the CPUs' nodes as the model has them."""
        value = sum(node << 4 * cpu for cpu, node in enumerate(model.nodes))
        self.script.write(m.CPU_NODE_BASE, value)
        self.script.read(m.CPU_NODE_BASE, value)

    def priorities(self) -> None:
        """Devices whose priorities and nodes differ in one bit or not at all, in the sequences of all policies."""
        rng, s = self.rng, self.script
        model = Allocator(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
        for bit, first in ((bit, first) for bit in range(16) for first in (0, -1)):
            other = ((first ^ 1 << bit) + 0x8000) % 0x10000 - 0x8000
            s.note(f"priorities {first} and {other}")
            for base, type_ in enumerate(rng.sample(range(self.sizes.devices), self.sizes.devices)):
                device = (SLOTS, base, SSD, rng.choice((first, other)))
                node = rng.randrange(16)
                model.prepare(type_, *device, node=node)
                model.swapon(type_)
                self.ring(prepare(type_, *device, node=node))
                self.ring(Command(Opcode.SWAPON, type_))
            self.flush()
            policy = Policy(device=rng.choice(list(DeviceOrder)))
            model.set_policy(policy)
            model.nodes = [rng.choice([d.node for d in model.devices.values()]) for _ in range(self.sizes.cpus)]
            self.nodes(model)
            s.write(m.POLICY_OFFSET, policy.pack())
            for _ in range(10):
                cpu, order = rng.randrange(self.sizes.cpus), rng.choice((0, 0, 4, 8, 8))
                found = model.alloc(cpu, order)
                command = Command(Opcode.ALLOC, cpu=cpu, order=order)
                if found is None:
                    self.ring(command, Status.NO_SPACE)
                else:
                    self.ring(command, Status.OK, found.offset, found.type)
            self.flush()
            self.state(model)
            for type_ in rng.sample(range(self.sizes.devices), self.sizes.devices):
                model.swapoff_begin(type_)
                model.swapoff(type_)
                self.ring(Command(Opcode.SWAPOFF_BEGIN, type_))
                self.ring(Command(Opcode.SWAPOFF, type_))
            self.flush()
        s.settle()
        engine_state.statistics(s, model, self.requests)

    def both_ways(self) -> None:
        """A page asks while completions wait for memory: its answer waits behind those of the ring, and comes."""
        s = self.script
        model = Allocator(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
        s.note("ring and pages at once")
        model.prepare(0, 5 * SLOTS, 0, SSD)
        model.swapon(0)
        s.give([Expected(prepare(0, 5 * SLOTS, 0, SSD), Status.OK), Expected(Command(Opcode.SWAPON, 0), Status.OK)])
        refused = Expected(Command(Opcode.FREE, 0, nr=1, arg0=SLOTS - 1), Status.BAD_RANGE)
        for number in range(12):
            first = s.tail
            s.post([refused] * (1 << s.log2))
            s.add("pass", 20 * number)
            cpu, order = number % self.sizes.cpus, number % 4
            found = model.alloc(cpu, order)
            assert found is not None
            for asker in range(self.sizes.cpus):
                if asker == cpu:
                    self.request(cpu, Opcode.ALLOC, order, 0, 0, 0, found.offset)
                else:
                    wrong = m.CPU_PAGE_RESPONSE_STATUS.put(Status.BAD_RANGE)
                    self.request(asker, Opcode.FREE, 0, 0, 1, SLOTS - 1, wrong)
                    s.errors += 1
            s.finish(first, [refused] * (1 << s.log2))
        self.state(model)
        s.give([Expected(Command(opcode, 0), Status.OK) for opcode in (Opcode.SWAPOFF_BEGIN, Opcode.SWAPOFF)])

    def trunks(self) -> None:
        """Random trunks on devices of two to four, from several seeds."""
        rng, s = self.rng, self.script
        sizes = [size for size in (33, 64, 65, 96, 97, LARGE) if size <= self.sizes.clusters]
        for number_of, clusters in enumerate(sizes):
            model = Allocator(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
            s.note(f"random trunks of {clusters} clusters")
            type_ = number_of % self.sizes.devices
            device = (clusters * SLOTS, self.sizes.clusters - clusters, SSD)
            model.prepare(type_, *device)
            model.swapon(type_)
            self.ring(prepare(type_, *device))
            self.ring(Command(Opcode.SWAPON, type_))
            self.flush()
            for number in range(18):
                if number % 6 == 0:
                    self.flush()
                    policy = Policy(hint=Hint.RANDOM_TRUNK, seed=rng.getrandbits(32) if number else 0)
                    model.set_policy(policy)
                    s.write(m.POLICY_OFFSET, policy.pack())
                cpu, order = rng.randrange(self.sizes.cpus), rng.choice((9, 9, 9, 8, 0))
                found = model.alloc(cpu, order)
                assert found is not None
                self.ring(Command(Opcode.ALLOC, cpu=cpu, order=order), Status.OK, found.offset, found.type)
            self.flush()
            self.state(model)
            self.ring(Command(Opcode.SWAPOFF_BEGIN, type_))
            self.ring(Command(Opcode.SWAPOFF, type_))
            self.flush()


def registers_and_refusals(seed: int, sizes: Sizes) -> str:
    """Return a script about registers, refusals, interrupts, the doorbell, and the order of devices."""
    s = Script()
    host = Host(seed, sizes, s)
    host.registers()
    s.begin(m.CONTROL_ENABLE.put(1))
    host.refusals()
    host.interrupts()
    host.doorbell()
    s.reset_by_register()
    host = Host(seed + 1, sizes, s)
    s.begin(m.CONTROL_ENABLE.put(1), log2=2)
    host.priorities()
    host.trunks()
    s.settle()
    s.reset_by_register()
    host = Host(seed + 2, sizes, s)
    s.begin(m.CONTROL_ENABLE.put(1))
    host.both_ways()
    s.note("completions where no memory is")
    s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    s.write(m.CPL_BASE_OFFSET, NOWHERE)
    s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
    s.stopped()
    s.reset_by_register()
    s.note("reset by wire")
    s.write(m.CMD_BASE_OFFSET, WORD)
    s.write(m.IRQ_ENABLE_OFFSET, 3)
    s.add("reset")
    s.after_reset()
    return s.text()


def operations(seed: int, ops: int, sizes: Sizes) -> str:
    """Return a script of random operations, with its statistics, an error of the bus, and some operations once more."""
    s = Script()
    host = Host(seed, sizes, s)
    s.after_reset()
    s.begin(m.CONTROL_ENABLE.put(1))
    model = host.operations(ops, 5)
    host.bad_requests()
    s.settle()
    engine_state.statistics(s, model, host.requests)
    s.note("a command ring where no memory is")
    s.write(m.IRQ_ENABLE_OFFSET, 3)
    s.write(m.CMD_BASE_OFFSET, NOWHERE)
    s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
    s.stopped()
    s.reset_by_register()
    s.note("the same engine after its reset, with a large device")
    again = Host(seed + 1, sizes, s)
    for cpu in range(sizes.cpus):
        s.read(0x10000 + 0x1000 * cpu + 0x10, 0)
    s.begin(m.CONTROL_ENABLE.put(1), log2=3)
    model = again.operations(ops // 2, min(LARGE, sizes.clusters))
    s.settle()
    engine_state.statistics(s, model, again.requests)
    return s.text()
