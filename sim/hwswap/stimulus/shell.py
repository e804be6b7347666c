# SPDX-License-Identifier: Apache-2.0
"""An engine without devices: its registers, its refusals, its interrupt and its doorbell."""

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.tables import LINE
from hwswap.stimulus.commands import SSD, Expected
from hwswap.stimulus.script import DUMP, PAGE, WORD, ScriptHost, merged

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


class Shell(ScriptHost):
    """A host that brings no devices on."""

    def registers(self) -> None:
        """The registers have their values after reset, and keep each byte written."""
        s, sizes = self.script, self.sizes
        s.note("registers after reset")
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, s.limit)
        s.read(m.ID_OFFSET, m.ID_MAGIC.put(int.from_bytes(b"HWSWAP", "big")))
        s.read(m.VERSION_OFFSET, m.VERSION_MAJOR.put(4) | m.VERSION_MINOR.put(m.VERSION_MINOR.reset))
        fields = (m.CAPS_DEVICES, m.CAPS_CPUS, m.CAPS_ORDERS, m.CAPS_CLUSTERS)
        values = (sizes.devices, sizes.cpus, ORDERS, sizes.clusters)
        built = sum(field.put(value) for field, value in zip(fields, values, strict=True))
        s.read(m.CAPS_OFFSET, built, sum(field.put((1 << field.width) - 1) for field in fields))
        s.read(m.STATUS_OFFSET, 0)
        s.read(m.CMD_SIZE_OFFSET, m.CMD_SIZE_LOG2.put(m.CMD_SIZE_LOG2.reset))
        s.read(0x3F8, 0)
        s.note("registers that only the engine writes")
        for offset in (m.ID_OFFSET, m.VERSION_OFFSET, m.BUILD_OFFSET, m.CAPS_OFFSET, m.USAGE_OFFSET, m.CMD_HEAD_OFFSET):
            s.write(offset, WORD)
            s.write(offset, 0)
        s.read(m.ID_OFFSET, m.ID_MAGIC.reset)
        s.read(m.CAPS_OFFSET, m.CAPS_DEVICES.put(sizes.devices), m.CAPS_DEVICES.put(255))
        s.read(m.USAGE_OFFSET, 0)
        s.read(m.CMD_HEAD_OFFSET, 0)
        s.note("registers keep what is written")
        enable, writes = m.CONTROL_ENABLE.put(1), m.CONTROL_TABLE_WRITES.put(1)
        everything = WORD ^ m.CONTROL_RESET.put(1)
        for value in (everything ^ enable, everything, everything ^ writes, enable, 0):
            s.write(m.CONTROL_OFFSET, value)
            s.read(m.CONTROL_OFFSET, value & (enable | writes))
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
                held[offset] = merged(value, other, strobes) & mask
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
        """Reads and writes of several registers, none of which waits for an answer; `held` is their content."""
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
        """At addresses without a register, reads give 0 and writes do nothing."""
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
        s.must(Command(Opcode.NOP, irq=True))
        s.add("pass", 40)
        s.read(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1))
        s.add("irq", 0)
        s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_COMPLETION.put(1))
        s.add("pass", 4)
        s.add("irq", 1)
        s.write(m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_COMPLETION.put(1))
        s.add("pass", 4)
        s.add("irq", 0)
        s.must(Command(Opcode.NOP))
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
        s.must(Command(Opcode.NOP))
        s.write(m.CONTROL_OFFSET, 0)
        s.read(m.CONTROL_OFFSET, 0)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
        s.add("pass", 200)
        s.read(m.CMD_HEAD_OFFSET, s.tail)
        s.write(m.CMD_TAIL_OFFSET, s.tail)
        waits = [Expected(Command(Opcode.NOP), Status.OK)]
        s.post(waits)
        s.add("pass", 200)
        s.read(m.CMD_HEAD_OFFSET, s.tail - 1)
        s.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1))
        s.finish(s.tail - 1, waits)
        s.note("a host of 32 bits rings in two halves")
        s.post_without_bell(waits)
        s.write(m.CMD_TAIL_OFFSET, 0, 0xF0)
        s.add("pass", 100)
        s.read(m.CMD_HEAD_OFFSET, s.tail - 1)
        s.write(m.CMD_TAIL_OFFSET, s.tail, 0x0F)
        s.finish(s.tail - 1, waits)
