# SPDX-License-Identifier: Apache-2.0
"""Scripts of random operations by ring and pages, refusals among them, and resets.

What must be seen comes from the golden model.
"""

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.golden import Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import DeviceOrder, Hint, Policy
from hwswap.model.rows import ORDERS, SLOTS, runs
from hwswap.stimulus import engine_state
from hwswap.stimulus.commands import SSD, Expected, carry_out
from hwswap.stimulus.script import WORD, Script, ScriptHost, Sizes
from hwswap.stimulus.shell import Shell
from hwswap.traces.records import FAILED, Op, Record
from hwswap.traces.stream import EVERYTHING, Shape, Stream

LARGE = 112
"""Clusters of a large device: four random trunks, and still set up within the script's limit of cycles."""


class Host(ScriptHost):
    """A host with random operations by the ring and by the CPU pages, some of them with errors."""

    def __init__(self, seed: int, sizes: Sizes, script: Script) -> None:
        """Begin with an engine after reset."""
        super().__init__(seed, sizes, script)
        self.seq = [0] * sizes.cpus
        self.requests = 0
        self.waiting: list[Expected] = []

    def flush(self) -> None:
        """Give the commands that wait."""
        self.script.give(self.waiting)
        self.waiting.clear()

    def asks(self, model: Allocator, *commands: Command) -> None:
        """Give commands by the ring, soon, and let a model carry them out."""
        for command in commands:
            line = carry_out(model, command)
            self.ring(command, line.status, line.slot, line.type)

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

    def bad_requests(self, model: Allocator) -> None:
        """Requests by page that are refused: for their own fields, or for want of such a device."""
        absent = [type_ for type_ in range(self.sizes.devices) if type_ not in model.devices]
        for opcode, order, type_, nr, why in (
            *((Opcode.ALLOC, order, 0, 0, Status.BAD_CPU) for order in range(ORDERS, 16)),
            *((opcode, 0, 0, 0, Status.BAD_OPCODE) for opcode in (Opcode.NOP, 5, 8, 22, 0x46, 0x86, 0x27, 0x17)),
            *((Opcode.FREE, 0, type_, 1, Status.BAD_DEVICE) for type_ in (*absent, self.sizes.devices, 16, 31)),
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

            if not device.listed:  # the stream is between its SWAPON_PREPARE and its SWAPON
                for opcode in (Opcode.FREE, Opcode.DISCARD_TAKE, Opcode.DISCARD_DONE):
                    no(opcode, Status.BAD_DEVICE, 1, 1)
                continue
            far = [1 << bit | 1 for bit in range(32) if 1 << bit >= total]
            near = ((0, 1), (device.pages, 1), (1, 0), (SLOTS - 1, 2), (total - 1, 512), (1, 1023))
            for offset, nr in (*near, *((offset, 1) for offset in far)):
                if not model.inside(device, offset, nr):
                    no(Opcode.FREE, Status.BAD_RANGE, nr, offset)
            cluster = self.rng.choice(device.clusters)
            begin = cluster.index * SLOTS
            for start, nr in runs(~cluster.used & (1 << SLOTS) - 1)[:1]:
                if model.inside(device, begin + start, nr):
                    no(Opcode.FREE, Status.BAD_RANGE, nr, begin + start)
            for start, nr in runs(cluster.used)[:1]:
                if start + nr < SLOTS:
                    no(Opcode.FREE, Status.BAD_RANGE, nr + 1, begin + start)
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
                engine_state.whole(self.script, source.model, self.sizes)
        self.flush()
        engine_state.whole(self.script, source.model, self.sizes)
        return source.model

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
                for status in (Status.OK, Status.BAD_RANGE):
                    self.ring(Command(Opcode.MARK_BAD, record.type, nr=record.b, arg0=record.a), status)
            case Op.SWAPON | Op.SWAPOFF_BEGIN | Op.SWAPOFF:
                self.ring(Command(Opcode[record.op.name], record.type))
            case Op.DISCARD_TAKE:
                took = Status.OK if record.a else Status.NO_SPACE
                self.ring(Command(Opcode.DISCARD_TAKE, record.type), took, record.a)
            case Op.DISCARD_DONE:
                for status in (Status.OK, Status.BAD_RANGE):
                    self.ring(Command(Opcode.DISCARD_DONE, record.type, arg0=record.a), status)
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
                found = (Status.OK, record.a, record.type) if record.type != FAILED else (Status.NO_SPACE, 0, 0)
                if rng.random() < 0.7:
                    self.ring(Command(Opcode.ALLOC, cpu=record.cpu, order=record.order), *found)
                else:
                    answer = found[1] | found[2] << 32 | found[0] << 40
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
                device = (SLOTS, base, SSD, rng.choice((first, other)), rng.randrange(16))
                self.asks(model, prepare(type_, *device), Command(Opcode.SWAPON, type_))
            self.flush()
            policy = Policy(device=rng.choice(list(DeviceOrder)))
            model.set_policy(policy)
            model.nodes = [rng.choice([d.node for d in model.devices.values()]) for _ in range(self.sizes.cpus)]
            self.nodes(model)
            s.write(m.POLICY_OFFSET, policy.pack())
            for _ in range(10):
                cpu, order = rng.randrange(self.sizes.cpus), rng.choice((0, 0, 4, 8, 8))
                self.asks(model, Command(Opcode.ALLOC, cpu=cpu, order=order))
            self.flush()
            engine_state.whole(self.script, model, self.sizes)
            for type_ in rng.sample(range(self.sizes.devices), self.sizes.devices):
                self.asks(model, Command(Opcode.SWAPOFF_BEGIN, type_), Command(Opcode.SWAPOFF, type_))
            self.flush()
        s.settle()
        engine_state.statistics(s, model, self.requests)

    def both_ways(self) -> None:
        """A page asks while completions wait for memory: its answer waits behind those of the ring, and comes."""
        s = self.script
        model = Allocator(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
        s.note("ring and pages at once")
        s.give([carry_out(model, each) for each in (prepare(0, 5 * SLOTS, 0, SSD), Command(Opcode.SWAPON, 0))])
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
        engine_state.whole(self.script, model, self.sizes)
        s.must(Command(Opcode.SWAPOFF_BEGIN, 0), Command(Opcode.SWAPOFF, 0))

    def trunks(self) -> None:
        """Random trunks on devices of two to four, from several seeds."""
        rng, s = self.rng, self.script
        sizes = [size for size in (33, 64, 65, 96, 97, LARGE) if size <= self.sizes.clusters]
        for number_of, clusters in enumerate(sizes):
            model = Allocator(self.sizes.devices, self.sizes.cpus, self.sizes.clusters)
            s.note(f"random trunks of {clusters} clusters")
            type_ = number_of % self.sizes.devices
            device = (clusters * SLOTS, self.sizes.clusters - clusters, SSD)
            self.asks(model, prepare(type_, *device), Command(Opcode.SWAPON, type_))
            self.flush()
            for number in range(18):
                if number % 6 == 0:
                    self.flush()
                    policy = Policy(hint=Hint.RANDOM_TRUNK, seed=rng.getrandbits(32) if number else 0)
                    model.set_policy(policy)
                    s.write(m.POLICY_OFFSET, policy.pack())
                cpu, order = rng.randrange(self.sizes.cpus), rng.choice((9, 9, 9, 8, 0))
                self.asks(model, Command(Opcode.ALLOC, cpu=cpu, order=order))
            self.flush()
            engine_state.whole(self.script, model, self.sizes)
            self.asks(model, Command(Opcode.SWAPOFF_BEGIN, type_), Command(Opcode.SWAPOFF, type_))
            self.flush()


def registers_and_refusals(seed: int, sizes: Sizes) -> str:
    """Return a script about registers, refusals, interrupts, the doorbell, and the order of devices."""
    s = Script()
    shell = Shell(seed, sizes, s)
    shell.registers()
    s.begin(m.CONTROL_ENABLE.put(1))
    shell.refusals()
    shell.interrupts()
    shell.doorbell()
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
    s.reset_by_register()
    s.note("reset by wire")
    s.write(m.CMD_BASE_OFFSET, WORD)
    s.write(m.IRQ_ENABLE_OFFSET, 3)
    s.add("reset")
    s.after_reset()
    return s.text()


def operations(seed: int, ops: int, sizes: Sizes) -> str:
    """Return a script of random operations, with its statistics, and some operations once more after a reset."""
    s = Script()
    host = Host(seed, sizes, s)
    s.after_reset()
    s.begin(m.CONTROL_ENABLE.put(1))
    model = host.operations(ops, 5)
    host.bad_requests(model)
    s.settle()
    engine_state.statistics(s, model, host.requests)
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
