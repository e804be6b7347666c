# SPDX-License-Identifier: Apache-2.0
"""Scripts of cases that random operations seldom reach, and of errors of the bus.

Commands on devices that are not on, numbers with one bit too many, page registers byte by byte, addresses without a
register beside those of devices that are there, resets in the middle, rings across lines of memory. The bus answers
each kind of transfer of the command ring with an error; swap_tables.py has those of commands on swap tables.
"""

import random

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.clusters import BLKDEV, DISCARD
from hwswap.model.host_memory import Command, prepare
from hwswap.model.policy import DeviceOrder, Hint, Policy
from hwswap.model.rows import ORDERS, SLOTS, run
from hwswap.stimulus.commands import SSD, Expected
from hwswap.stimulus.engine_state import device_table
from hwswap.stimulus.operations import LARGE
from hwswap.stimulus.player import KINDS, Player
from hwswap.stimulus.script import ELSEWHERE, MEMORY_BYTES, NOWHERE, PAGE, Script, Sizes, merged


class Corners(Player):
    """A host that seeks corners."""

    def prepared_only(self) -> None:
        """No free and no discard is for a device that was prepared and is not on; SWAPOFF takes it away again.

        Bad slots are marked only then, none twice, and whole clusters, too.
        """
        for type_ in range(self.sizes.devices):
            for comes in (False, True):
                base = 3 * type_
                flags = BLKDEV | DISCARD if type_ == self.sizes.devices - 1 else SSD | DISCARD
                self.do(prepare(type_, 2 * SLOTS, base, flags, -1))
                for opcode in (Opcode.FREE, Opcode.DISCARD_TAKE, Opcode.DISCARD_DONE):
                    self.lines.append(Expected(Command(opcode, type_, nr=1, arg0=SLOTS, arg1=1), Status.BAD_DEVICE))
                if comes:
                    self.on(type_)
                    continue
                for slot, nr in ((6, 2), (7, 2), (SLOTS, SLOTS)):
                    self.do(Command(Opcode.MARK_BAD, type_, nr=nr, arg0=slot))
                assert [line.status for line in self.lines[-3:]] == [Status.OK, Status.BAD_RANGE, Status.OK]
                self.flush("a device that is prepared only")
                device_table(self.script, self.model, self.sizes)
                self.off(type_)
        self.flush("devices that are prepared only")

    def a_bit_too_many(self) -> None:
        """Slots whose number differs in one bit from one that there is."""
        for type_ in self.model.devices:
            for bit in range(10, 32):
                offset = 1 << bit | SLOTS
                for opcode in (Opcode.DISCARD_DONE, Opcode.FREE):
                    self.lines.append(Expected(Command(opcode, type_, nr=1, arg0=offset), Status.BAD_RANGE))
        self.flush("slots with one bit too many")

    def runs_of_words(self) -> None:
        """Slots from any word to any other are freed at once, while all others are in use; the free run is found."""
        rng = self.rng
        self.all_full()
        device = next(iter(self.model.devices.values()))
        cluster = device.clusters[1]
        self.refill(device, cluster, run(0, SLOTS), 5)
        for first in range(16):
            for last in {first, rng.randrange(first, 16), rng.randrange(first, 16), 15}:
                self.free_mask(device, cluster, run(32 * first, 32 * (last - first + 1)))
                self.alloc((5,))
                self.fill(device, cluster, 5)
        self.flush("from word to word")

    def trunks(self) -> None:
        """So many random trunks from one seed that each bit of the generator shows."""
        rng = self.rng
        for type_ in list(self.model.devices):
            self.off(type_)
        pages = min(LARGE, self.sizes.clusters) * SLOTS
        self.do(prepare(0, pages, 0, SSD), Command(Opcode.SWAPON, 0))
        self.follow(Policy(hint=Hint.RANDOM_TRUNK, seed=rng.getrandbits(32)))
        for _ in range(60):  # a cluster that a trunk begins with shows the trunk only while it is empty
            cpu = rng.randrange(self.sizes.cpus)
            found = self.alloc_by(cpu, 9)
            assert found is not None
            self.free_run(self.model.devices[0], found.offset, SLOTS)
        self.flush("random trunks of one seed")
        self.follow(Policy())

    def far_ends(self) -> None:
        """Allocations of each order find the few free slots at the end of a cluster's words."""
        self.all_full()
        for device in list(self.model.devices.values())[-2:]:
            cluster = device.clusters[1]
            for order in range(ORDERS - 1):
                for place in sorted({*range(0, SLOTS, 32), SLOTS - (1 << order)}):
                    hole = run(place & -(1 << order), 1 << order)
                    self.refill(device, cluster, run(0, SLOTS) & ~hole, order)
                    self.alloc((order,))
            self.flush(f"what is free far on, device {device.type}")

    def page_registers(self) -> None:
        """The pages' registers keep each byte written; the write of the first byte makes a request."""
        s, rng = self.script, self.rng
        s.note("page registers, byte by byte")
        for cpu in range(self.sizes.cpus):
            page = m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * cpu
            held = {m.CPU_PAGE_ARG_OFFSET: 0, m.CPU_PAGE_REQUEST_OFFSET: 0}
            for _ in range(24):
                for offset, before in held.items():
                    value, strobes = rng.getrandbits(64), rng.getrandbits(8) & 0xFE
                    s.write(page + offset, value, strobes)
                    now = merged(before, value, strobes)
                    held[offset] = now & 0xFFFF_FFFF if offset == m.CPU_PAGE_ARG_OFFSET else now
                for offset, value in held.items():
                    s.read(page + offset, value)
                s.read(page + m.CPU_PAGE_RESPONSE_OFFSET, 0)
                for bit in range(5, 12):
                    s.read(page + (1 << bit), 0)
                    s.read(page + (1 << bit | m.CPU_PAGE_REQUEST_OFFSET), 0)
                s.read(page + 0x18, 0)

    def addresses_beside(self) -> None:
        """Addresses without a register read as nothing, though devices are there; registers are at their addresses."""
        s = self.script
        s.note("addresses beside the device table")
        device_table(s, self.model, self.sizes)
        end = m.DEVICE_BASE + m.DEVICE_STRIDE * self.sizes.devices
        for address in (*range(end, m.DEVICE_BASE + 0x200, 8), *(m.DEVICE_BASE | 1 << bit for bit in range(11, 17))):
            if not m.CPU_PAGE_BASE <= address < m.CPU_PAGE_BASE + m.CPU_PAGE_STRIDE * self.sizes.cpus:
                s.read(address, 0)

    def orders_of_devices(self) -> None:
        """All policies of devices with equal and different priorities, pages from all CPUs while devices fill up."""
        rng = self.rng
        for number in range(6):
            for type_ in list(self.model.devices):
                self.off(type_)
            for at, type_ in enumerate(rng.sample(range(self.sizes.devices), self.sizes.devices)):
                device = (SLOTS, at, SSD, rng.choice((-1, -1, -1, 7)), rng.randrange(3))
                self.do(prepare(type_, *device), Command(Opcode.SWAPON, type_))
            policy = Policy(
                device=(DeviceOrder.NODE_FIRST, DeviceOrder.SEQUENTIAL, DeviceOrder.ROUND_ROBIN)[number % 3]
            )
            self.follow(policy)
            self.model.nodes = [rng.randrange(3) for _ in range(self.sizes.cpus)]
            self.script.write(m.CPU_NODE_BASE, sum(node << 4 * cpu for cpu, node in enumerate(self.model.nodes)))
            for _ in range(30):
                self.alloc((0, 0, 7, 7, 8, 8))
                if rng.random() < 0.4:
                    self.free()
            self.flush(f"full one after the other, {number}")
        self.follow(Policy())


def resets(script: Script) -> None:
    """Reset by register at all moments of the fetching of commands and the writing of completions."""
    nothing = [Expected(Command(Opcode.NOP), Status.OK)]
    for cycles in range(0, 60, 3):
        script.begin(m.CONTROL_ENABLE.put(1))
        script.post(nothing * 12)
        script.add("pass", cycles)
        script.reset_by_register()
    script.begin(m.CONTROL_ENABLE.put(1))
    script.give(nothing * 5)
    script.read(m.STAT_COMMANDS_OFFSET, 5)
    script.reset_by_register()


def across_lines(script: Script) -> None:
    """Rings that lie across a 4 KiB line of memory: transfers come apart there."""
    nothing = [Expected(Command(Opcode.NOP), Status.OK)]
    for before in range(1, 6):
        script.commands = ELSEWHERE - 64 * before
        script.completions = ELSEWHERE + 2 * PAGE - 64 * before
        script.begin(m.CONTROL_ENABLE.put(1))
        for count in (32, 1, 31, 5):
            script.give(nothing * count)
        script.reset_by_register()


def corners(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all corners once."""
    script = Script()
    script.after_reset()
    player = Corners(script, random.Random(seed), sizes)
    player.prepared_only()
    player.page_registers()
    player.addresses_beside()
    player.a_bit_too_many()
    player.far_ends()
    player.compare()
    player.runs_of_words()
    player.orders_of_devices()
    player.addresses_beside()
    player.trunks()
    script.settle()
    script.reset_by_register()
    resets(script)
    across_lines(script)
    return script.text()


def used(script: Script, rng: random.Random, sizes: Sizes) -> Player:
    """Begin with some devices, some of whose slots are in use."""
    player = Player(script, rng, sizes)
    script.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    player.bring(KINDS[: sizes.devices], range(2, 5))
    for _ in range(24):
        player.alloc()
        player.free()
    player.flush("some operations")
    return player


def dump_nowhere(script: Script, player: Player, target: int, refused: bool) -> None:
    """The second record of a DUMP is where no memory is, or all of them are; those before it are written.

    Either the bus says no, or the windows end there.
    """
    device = player.model.devices[0]
    inside = range(target, target + 8 * m.MEM_CLUSTER_STATE_BYTES, m.MEM_CLUSTER_STATE_BYTES)
    end = script.base + MEMORY_BYTES
    script.window(0, script.base, end if refused else end + PAGE)
    number = script.tail
    lines = [Expected(Command(Opcode.DUMP, nr=len(device.clusters), arg0=device.base, arg1=target), Status.BUS_ERROR)]
    script.post(lines)
    script.stopped()
    script.finish(number, lines)
    script.read(m.STAT_DMA_REFUSED_OFFSET, int(refused))
    if refused:
        said = m.DMA_REFUSED_VALID.put(1) | m.DMA_REFUSED_WRITE.put(1) | m.DMA_REFUSED_ADDR.put(end >> 3)
        script.read(m.DMA_REFUSED_OFFSET, said)
    for at, state in zip(inside, player.model.dump(0), strict=False):
        offset = at - script.base
        if 0 <= offset < MEMORY_BYTES:
            for number, (word, mask) in enumerate(zip(state.words(), state.masks(), strict=True)):
                script.expect(offset + 8 * number, word, mask)


def errors(seed: int, sizes: Sizes) -> str:
    """Return a script that goes through all of these once."""
    rng = random.Random(seed)
    s = Script()
    s.after_reset()
    for name in ("CMD_BASE", "CPL_BASE"):
        player = used(s, rng, sizes)
        player.compare()
        s.note(f"an error of the bus: {name}")
        s.write(getattr(m, f"{name}_OFFSET"), NOWHERE)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 1)
        s.stopped()
        s.reset_by_register()
    last = s.base + MEMORY_BYTES - m.MEM_CLUSTER_STATE_BYTES
    for target, refused in ((NOWHERE, False), (last, False), (last, True)):
        player = used(s, rng, sizes)
        player.compare()
        s.note(f"an error of the bus: DUMP to {target:#x}")
        dump_nowhere(s, player, target, refused)
        s.reset_by_register()
    used(s, rng, sizes).compare()
    s.reset_by_register()
    return s.text()
