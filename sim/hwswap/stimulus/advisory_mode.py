# SPDX-License-Identifier: Apache-2.0
"""Scripts of advisory mode: a mirror, hint rings, recalls, devices that come and go, errors of the bus.

What must be seen comes from the golden model. The script is played step by step: the host changes things while the
engine polls and hints are off, waits until the engine rests, lets it fill the hint rings, and waits again. So the order
in which the engine does things follows from docs/interface.md alone and every hint can be compared with the model's.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import hwswap_map as m
from hwswap_map import Flag, Opcode, Status

from hwswap.model.golden import BLKDEV, DISCARD, SOLIDSTATE, Device
from hwswap.model.host_memory import Command, cpu_line, prepare
from hwswap.model.mirror import NO_HINTS, Mirror, MirrorCluster, Record
from hwswap.model.policy import DeviceOrder, Hint, Placement, Policy, Scan
from hwswap.model.rows import ALL, ORDERS, SLOTS, run
from hwswap.stimulus.authoritative_mode import device_table
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import (
    COUNT,
    CPU_LINES,
    DUMP,
    ENGINE_LINES,
    FAR_BASE,
    HINTS,
    LIMIT,
    MEMORY_BASE,
    MEMORY_BYTES,
    NOTICE_LOG2,
    NOTICES,
    NOWHERE,
    POLL,
    STATES,
    Script,
    Sizes,
)


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

    def __init__(self, seed: int, sizes: Sizes, script: Script, wild: bool = False) -> None:
        """Begin with an engine after reset.

        `wild`: with devices for which the index matters, both placements, and rings of which the host pops too much.
        """
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.script = script
        self.wild = wild
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
        self.requests = 0
        self.made = self.used_up = self.recalled = self.notices = self.fetches = self.retries = self.bad = 0

    # What the host does

    def start(self) -> None:
        """Set everything up and switch the engine on."""
        s = self.script
        s.note("set-up")
        for at in range(0, 8 * len(self.rings) << self.sizes.hint_ring_log2, 8):
            s.put(HINTS + at, 0)
        for at in range(0, m.MEM_ENGINE_LINE_BYTES * self.sizes.cpus, 8):
            s.put(ENGINE_LINES + at, 0)
        for cpu in range(self.sizes.cpus):
            self.publish(cpu)
        for name, value in (
            ("CPU_LINE_BASE", s.base + CPU_LINES),
            ("ENGINE_LINE_BASE", s.base + ENGINE_LINES),
            ("STATE_BASE", s.base + STATES),
            ("NOTICE_BASE", s.base + NOTICES),
            ("NOTICE_SIZE", NOTICE_LOG2),
            ("HINT_BASE", s.base + HINTS),
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
        self.script.give([Expected(prepare(type_, pages, base, flags, priority, self.epoch), Status.OK)])
        if self.rng.random() < 0.5:
            offset = self.rng.randrange(1, pages)
            nr = min(self.rng.choice((1, 3, 40)), SLOTS - offset % SLOTS, pages - offset)
            status = self.model.mark_bad(type_, offset, nr)
            self.command(Opcode.MARK_BAD, type_, (offset,), nr=nr, status=status)
        self.must(self.model.swapon(type_))
        self.command(Opcode.SWAPON, type_)
        for cluster in self.model.devices[type_].clusters:
            flag = Flag.NONFULL if cluster.used else Flag.FREE
            self.store(base + cluster.index, Record(cluster.used, 0, flag, 0xFFFFFFE0 + type_, self.epoch))

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
        if rng.random() < 0.1:  # as no kernel would have it
            flag, order = rng.choice(list(Flag)), rng.randrange(ORDERS)
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
        heads = [self.rings[cpu, order].popped for order in range(ORDERS)]
        for i, word in enumerate(cpu_line(self.notice_tail[cpu], self.resync[cpu], self.want[cpu], heads)):
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

    def fetch_again(self, type_: int) -> None:
        """RESYNC of a device: all its records are fetched."""
        self.script.note(f"resync {type_}")
        self.command(Opcode.RESYNC, type_)
        device = self.model.devices[type_]
        for index in range(len(device.clusters)):
            self.fetch(device.base + index)

    def switch_policy(self) -> None:
        """Follow other rules from the next hint on."""
        rng, s = self.rng, self.script
        kinds = (Scan, DeviceOrder, (Hint.PER_CPU, Hint.SHARED), *((Placement,) if self.wild else ()))
        policy = Policy(*(rng.choice(list(kind)) for kind in kinds))
        self.model.set_policy(policy)
        s.write(m.POLICY_OFFSET, policy.pack())
        s.read(m.POLICY_OFFSET, policy.pack())

    def refusals(self) -> None:
        """Commands that are refused in this mode, and a request by page."""
        sizes, base = self.sizes, self.script.base
        there = min(self.model.devices)
        absent = [type_ for type_ in range(sizes.devices) if type_ not in self.model.devices]
        for opcode in (Opcode.ALLOC, Opcode.FREE, Opcode.DISCARD_TAKE, Opcode.DISCARD_DONE, Opcode.RECLAIM_DONE):
            self.command(opcode, there, (1,), nr=1, status=Status.BAD_OPCODE)
        for opcode in Opcode:
            if opcode.name.startswith("STEP_"):
                self.command(opcode, there, status=Status.BAD_OPCODE)
        for type_ in (*absent, *range(sizes.devices, 31, 5)):
            for opcode in (Opcode.RESYNC, Opcode.RECALL):
                self.command(opcode, type_, status=Status.BAD_DEVICE)
        self.command(Opcode.RECALL, 31, status=Status.BAD_DEVICE)
        for first, nr, target in (
            (sizes.clusters - 1, 2, 0),
            (sizes.clusters, 1, 0),
            (sizes.clusters - 1, 1023, 0),
            *((1 << bit, 1, 0) for bit in range(sizes.clusters.bit_length(), 64)),
            *((0, 1, bit) for bit in (1, 2, 4)),
        ):
            self.command(Opcode.DUMP, 0, (first, base + DUMP + target), nr=nr, status=Status.BAD_RANGE)
        self.command(Opcode.DUMP, 0, (0, base + DUMP), nr=0)
        for cpu in range(min(sizes.cpus, m.CPU_PAGE_COUNT)):
            self.script.page(cpu, 1, Opcode.ALLOC, 0, 0, 0, 0, m.CPU_PAGE_RESPONSE_STATUS.put(Status.BAD_OPCODE))
            self.script.errors += 1
            self.requests += 1

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
        self.command(Opcode.DUMP, 0, (device.base, self.script.base + DUMP + 8), nr=count)
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
        # Between two rounds of polling, so that no CPU's line is seen in an earlier round than those before it.
        s.settle(1)
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
            if ring.broken:
                continue
            if rng.random() < 0.4:
                ring.popped += rng.randint(0, ring.tail - ring.popped)
            if self.wild and ring.head != ring.tail and rng.random() < 0.01:
                ring.popped = ring.tail + rng.choice((1, 1, 1 << self.sizes.hint_ring_log2))
        if rng.random() < 0.2:
            self.limits(rng.choice((1, 4, 12, 64, 600)), rng.choice((0, 64, 700, 0xFFFF)), rng.randrange(12))

    def come(self, type_: int) -> None:
        """Bring a device on, of any kind."""
        rng = self.rng
        share = self.sizes.clusters // self.sizes.devices
        clusters = rng.randint(2, share // 2 if self.wild else 5)
        flags = BLKDEV | SOLIDSTATE
        flags |= rng.choice((0, 0, DISCARD, NO_HINTS))
        if rng.random() < 0.1:
            flags &= ~rng.choice((BLKDEV, SOLIDSTATE))
        if self.wild and rng.random() < 0.3:
            flags |= NO_HINTS
        pages = clusters * SLOTS - rng.choice((0, rng.randrange(SLOTS - 2)))
        base = type_ * share + rng.randrange(share - clusters)
        self.swapon(type_, pages, base, flags, rng.choice((-1, -1, 5, 5, rng.randint(-32768, 32767))))

    def statistics(self) -> None:
        """What the statistics registers have counted."""
        s = self.script
        s.note("statistics")
        paths = self.model.counts.by_path
        for name, value in (
            ("HINTS_MADE", self.made),
            ("HINTS_USED_UP", self.used_up),
            ("HINTS_RECALLED", self.recalled),
            ("NOTICES", self.notices),
            ("SCANS", self.model.counts.scans),
            ("LIST_MOVES", self.model.counts.list_moves),
            *((f"ALLOC_{path.upper()}", paths[path]) for path in ("fast", "nonfull", "free", "frag", "steal", "fail")),
            ("FETCHES", self.fetches),
            ("FETCH_RETRIES", self.retries),
            ("COMMANDS", s.tail + self.requests),
            ("COMMAND_ERRORS", s.errors + self.bad),
        ):
            s.read(getattr(m, f"STAT_{name}_OFFSET"), value)
        s.read(m.STATUS_OFFSET, 0)
        s.write(m.CONTROL_OFFSET, m.CONTROL_ADVISORY.put(1))
        s.settle(0)
        s.add("idle", 1)
        s.add("rounds", ENGINE_LINES + m.MEM_ENGINE_LINE_HEARTBEAT_OFFSET)
        s.counters()


def advisory(seed: int, steps: int, sizes: Sizes, wild: bool = False) -> str:
    """Return a script of advisory mode: mirror, hint rings, recalls, devices that come and go.

    `wild`: with larger devices, both placements, and rings of which the host pops too much.
    """
    # A round of polling takes as long as there are CPUs, and one that fetches all records as there are clusters.
    limit = LIMIT * max(1, sizes.cpus // 4, sizes.clusters // 64 if wild else 1)
    host = Advisory(seed, sizes, Script(FAR_BASE if seed % 2 else MEMORY_BASE, limit), wild)
    rng = host.rng
    host.script.after_reset()
    host.start()
    host.switch_hints(False)
    for type_ in range(sizes.devices):
        for opcode in (Opcode.RESYNC, Opcode.RECALL):
            host.command(opcode, type_, status=Status.BAD_DEVICE)
    for type_ in range(sizes.devices - 1):
        host.come(type_)
    host.refusals()
    for number in range(steps):
        host.script.note(f"step {number}")
        host.step()
        event = rng.random()
        if event < 0.15:
            host.recall(rng.choice((None, *host.model.devices)))
        elif event < 0.27:
            host.swapoff(rng.choice(sorted(host.model.devices)), give_up=rng.random() < 0.4)
        elif event < 0.37:
            host.rest()
            host.fetch_again(rng.choice(sorted(host.model.devices)))
        elif event < 0.47 or (wild and event > 0.6):
            host.switch_policy()
        if len(host.model.devices) < 2 or (event > 0.85 and len(host.model.devices) < sizes.devices):
            host.come(rng.choice([type_ for type_ in range(sizes.devices) if type_ not in host.model.devices]))
        host.rest()
        host.script.note(f"after step {number}")
        host.check(everything=number % 6 == 5 or number == steps - 1)
    host.statistics()
    return host.script.text()


def bus_errors(seed: int, sizes: Sizes) -> str:
    """Return a script in which each kind of transfer is answered with an error, and the engine begins anew then."""
    s = Script()
    s.after_reset()

    def notice(host: Advisory) -> None:
        number = host.rng.choice(list(host.records))
        host.change(number)
        host.notify(0, number)
        host.publish(0)

    def hint(host: Advisory) -> None:
        for ring in host.rings.values():
            ring.popped = ring.tail
        for cpu in range(sizes.cpus):
            host.publish(cpu)
        host.switch_hints(True)

    def command(opcode: int, arguments: tuple[int, ...] = (), nr: int = 0) -> Callable[[Advisory], None]:
        def give(host: Advisory) -> None:
            type_ = min(host.model.devices)
            head, *rest = Command(opcode, type_, nr=nr, arg0=arguments[0], arg1=arguments[1]).words()
            at = s.commands + m.MEM_COMMAND_BYTES * (s.tail % (1 << s.log2))
            for i, word in enumerate((head, *rest)):
                s.put(at + 8 * i, word)
            s.write(m.CMD_TAIL_OFFSET, s.tail + 1)

        return give

    def nothing(_: Advisory) -> None:
        pass

    cases: tuple[tuple[str | None, Callable[[Advisory], None]], ...] = (
        ("CPU_LINE_BASE", nothing),
        ("ENGINE_LINE_BASE", nothing),
        ("NOTICE_BASE", notice),
        ("STATE_BASE", notice),
        ("HINT_BASE", hint),
        ("CPL_BASE", command(Opcode.NOP, (0, 0))),
        ("CMD_BASE", command(Opcode.NOP, (0, 0))),
        ("STATE_BASE", command(Opcode.RESYNC, (0, 0))),
        ("HINT_BASE", command(Opcode.RECALL, (0, 0))),
        (None, command(Opcode.DUMP, (0, s.base + MEMORY_BYTES - 80), 3)),
    )
    for number, (name, action) in enumerate(cases):
        host = Advisory(seed + number, sizes, s)
        host.start()
        host.switch_hints(False)
        for type_ in range(2):
            host.swapon(type_, 3 * SLOTS - host.rng.randrange(100), 3 * type_ + number, BLKDEV | SOLIDSTATE, -1)
        host.want = [0x3FF] * sizes.cpus
        host.rest()
        host.check(everything=number % 4 == 3)
        s.note(f"an error of the bus: {name or 'DUMP'}")
        s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
        if name is not None:
            s.write(getattr(m, f"{name}_OFFSET"), NOWHERE)
        else:  # the first record is written before the error comes
            for at in range(MEMORY_BYTES - 80, MEMORY_BYTES, 8):
                s.put(at, 0)
        if action is hint:  # all that there is, so that some are wanted
            host.limits(600, 0xFFFF, 0)
        action(host)
        s.stopped(m.CONTROL_ADVISORY.put(1) | m.CONTROL_HINTS.put(host.hints))
        s.reset_by_register()
    return s.text()
