# SPDX-License-Identifier: Apache-2.0
"""Scripts about the engine's containment: DMA windows, TABLE_WRITES, stops after errors, RESET with a hung bus."""

import hwswap_map as m
from hwswap_map import Opcode, Status

from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import SLOTS
from hwswap.stimulus.commands import SSD, Expected
from hwswap.stimulus.script import (
    COMMANDS,
    COMPLETIONS,
    DUMP,
    ELSEWHERE,
    FAR_BASE,
    MEMORY_BASE,
    MEMORY_BYTES,
    NOWHERE,
    PAGE,
    WORD,
    Script,
    ScriptHost,
    Sizes,
)

ENABLE = m.CONTROL_ENABLE.put(1)
LOWEST = 12
"""The lowest address bit that a window looks at."""

TABLE, ADDRESSES = DUMP + 16 * PAGE, ELSEWHERE
"""Offsets of a swap table, and of the list of tables that is given to the engine."""

ON = (prepare(0, SLOTS * 2, 0, SSD), Command(Opcode.SWAPON, 0))
"""The commands that switch a device on."""

WRITING = (Opcode.TABLE_FILL, Opcode.TABLE_CLEAR, Opcode.TABLE_REPLACE)


class Contained(ScriptHost):
    """A host that gives the engine one thing to do at a time, at addresses of its choice."""

    def setup(self, control: int = ENABLE) -> None:
        """Set up rings and windows and switch on, with the error interrupt enabled."""
        self.script.begin(control)
        self.script.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))

    def tabled(self) -> None:
        """Set up, and bring a device on whose second cluster has a table; commands may write to it."""
        s = self.script
        self.setup(ENABLE | m.CONTROL_TABLE_WRITES.put(1))
        s.must(*ON)
        s.put(ADDRESSES, s.base + TABLE)
        s.must(Command(Opcode.TABLE_GIVE, 0, nr=1, arg0=SLOTS, arg2=s.base + ADDRESSES))

    def outcome(self, address: int, write: bool, refused: bool) -> None:
        """Expect that an access was refused, or that it was made, where no memory is; begin anew then."""
        s = self.script
        s.stopped()
        s.settle()
        status = m.STATUS_DMA_ERROR.put(1) | m.STATUS_DMA_REFUSED.put(refused)
        s.read(m.STATUS_OFFSET, status)
        s.read(m.STAT_DMA_REFUSED_OFFSET, int(refused))
        said = m.DMA_REFUSED_VALID.put(1) | m.DMA_REFUSED_WRITE.put(write) | m.DMA_REFUSED_ADDR.put(address >> 3)
        s.read(m.DMA_REFUSED_OFFSET, said if refused else 0, WORD if refused else m.DMA_REFUSED_VALID.put(1))
        s.beats()
        s.reset_by_register()

    def fetch(self, address: int, refused: bool) -> None:
        """Read at an address: a command is fetched from there."""
        self.script.write(m.CMD_BASE_OFFSET, address)
        self.script.write(m.CMD_TAIL_OFFSET, 1)
        self.outcome(address, write=False, refused=refused)

    def complete(self, address: int, refused: bool) -> None:
        """Write at an address: a completion goes there."""
        s = self.script
        s.put_all(COMMANDS, Command(Opcode.NOP).words())
        s.write(m.CPL_BASE_OFFSET, address)
        s.write(m.CMD_TAIL_OFFSET, 1)
        self.outcome(address, write=True, refused=refused)

    def probe(
        self, window: int, start: int, limit: int, address: int, writes: bool, refused: bool, **more: bool
    ) -> None:
        """Access an address with one window beside that of the rings."""
        self.setup()
        rings = 1 if window == 0 else 0
        for number in range(m.DMA_WINDOW_COUNT):
            self.script.window(number, 0, 0, read=False, write=False)
        self.script.window(rings, self.script.base, self.script.base + MEMORY_BYTES, write=False)
        self.script.window(window, start, limit, **more)
        (self.complete if writes else self.fetch)(address, refused)

    def place(self) -> int:
        """Draw a page, far from memory and from both ends of the address space."""
        while True:
            page = self.rng.randrange(1 << 20, (1 << 64) - (1 << 20)) & -PAGE
            if abs(page - self.script.base) > 1 << 20:
                return page


def bounds(host: Contained) -> None:
    """One page each side of a window, for each window, by reads and by writes; each permission alone; none at all."""
    s = host.script
    for window in range(m.DMA_WINDOW_COUNT):
        for write in (False, True):
            start = host.place()
            limit = start + PAGE * host.rng.choice((1, 2, 5))
            s.note(f"the bounds of window {window}")
            for address, refused in (
                (start - PAGE, True),
                (start - 64, True),
                (start, False),
                (limit - 64, False),
                (limit, True),
                (limit + PAGE - 64, True),
            ):
                host.probe(window, start, limit, address, write, refused)
            s.note(f"the permissions of window {window}")
            host.probe(window, start, limit, start, write, False, read=not write, write=write)
            host.probe(window, start, limit, start, write, True, read=write, write=not write)
            host.probe(window, start, limit, start, write, True, read=False, write=False)
    s.note("a window that ends before it begins, and one to the end of what windows can have")
    page = host.place()
    host.probe(2, page, page - PAGE, page - PAGE, False, True)
    host.probe(2, page, page - PAGE, page, False, True)
    host.probe(3, page, WORD & -PAGE, (WORD & -PAGE) - 64, True, False)
    host.probe(3, page, WORD & -PAGE, WORD & -PAGE, True, True)


def bits(host: Contained) -> None:
    """Each address bit alone decides, below a window and above it, for each window."""
    for bit in range(LOWEST, 64):
        for window in range(m.DMA_WINDOW_COUNT):
            for above in (False, True):
                host.script.note(f"address bit {bit}, window {window}")
                page = host.place() & ~(1 << bit) | (0 if above else 1 << bit)
                write = (bit + window + above) % 3 == 0
                host.probe(window, page, page + PAGE, page ^ 1 << bit, write, True)


def first_only(host: Contained) -> None:
    """The first refusal stays until it is cleared; all are counted; a table command with a refusal says so."""
    s = host.script
    s.note("two refusals")
    host.tabled()
    s.window(1, s.base, s.base + COMPLETIONS)
    s.window(2, s.base + COMPLETIONS, s.base + COMPLETIONS + PAGE, write=False)
    s.window(0, 0, 0, read=False, write=False)
    s.post([Expected(Command(Opcode.TABLE_LOOKUP, 0, arg0=SLOTS), Status.BUS_ERROR)])
    s.stopped(m.CONTROL_TABLE_WRITES.put(1))
    # The word, and then the completion.
    s.add("poll", m.STAT_DMA_REFUSED_OFFSET, WORD, 2, s.limit)
    said = m.DMA_REFUSED_VALID.put(1) | m.DMA_REFUSED_ADDR.put(s.base + TABLE >> 3)
    s.read(m.DMA_REFUSED_OFFSET, said)
    s.write(m.DMA_REFUSED_OFFSET, 0)
    s.write(m.DMA_REFUSED_OFFSET, WORD, 0xFE)
    s.read(m.DMA_REFUSED_OFFSET, said)
    s.write(m.DMA_REFUSED_OFFSET, m.DMA_REFUSED_VALID.put(1), 1)
    s.read(m.DMA_REFUSED_OFFSET, 0, m.DMA_REFUSED_VALID.put(1))
    s.settle()
    s.beats()
    s.reset_by_register()


def write_protection(host: Contained) -> None:
    """Commands that write to tables want TABLE_WRITES; others do not; nothing is written without it."""
    s = host.script
    s.note("TABLE_WRITES")
    host.tabled()
    slot = SLOTS + 7
    at = TABLE + 8 * 7
    s.put(at, 0)
    word = 0
    for protected in (True, False, True):
        s.write(m.CONTROL_OFFSET, ENABLE | m.CONTROL_TABLE_WRITES.put(not protected))
        for opcode in WRITING:
            if protected:
                s.give([Expected(Command(opcode, 0, nr=1, arg0=slot | 127 << 32, arg1=0x77), Status.WRITE_PROTECTED)])
                s.give([Expected(Command(opcode, 31, nr=0), Status.WRITE_PROTECTED)])
        if not protected:
            s.give([Expected(Command(Opcode.TABLE_FILL, 0, nr=1, arg0=slot | 1 << 32, arg1=0x55), Status.OK, result=0)])
            word = 0x55 << 2 | 2
        s.expect(at, word)
        s.give([Expected(Command(Opcode.TABLE_LOOKUP, 0, arg0=slot), Status.OK, result=word)])
    s.settle()
    s.reset_by_register()


def windows(seed: int, sizes: Sizes) -> str:
    """Return a script about DMA windows and TABLE_WRITES."""
    s = Script(FAR_BASE if seed % 2 else MEMORY_BASE)
    host = Contained(seed, sizes, s)
    s.after_reset()
    s.note("after reset no access is made")
    s.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_ERROR.put(1))
    s.write(m.CMD_BASE_OFFSET, s.base)
    s.write(m.CMD_SIZE_OFFSET, 3)
    s.write(m.CONTROL_OFFSET, ENABLE)
    s.write(m.CMD_TAIL_OFFSET, 1)
    host.outcome(s.base, write=False, refused=True)
    bounds(host)
    bits(host)
    first_only(host)
    write_protection(host)
    return s.text()


def nothing_executed(host: Contained) -> None:
    """Commands of a transfer that ends in an error are not carried out, though they came without one themselves."""
    s = host.script
    before = (*ON, Command(Opcode.ALLOC, 0), Command(Opcode.NOP))
    for lines in (
        (Command(Opcode.FREE, 0, nr=1, arg0=1), Command(Opcode.ALLOC, 0)),
        (Command(Opcode.ALLOC, 0, order=3), Command(Opcode.SWAPOFF_BEGIN, 0)),
        (prepare(1, SLOTS * 2, 4, SSD), Command(Opcode.SWAPON, 1)),
    ):
        s.note("an error behind the second of four commands")
        host.setup()
        s.give([Expected(command, Status.OK, slot=int(command.opcode == Opcode.ALLOC)) for command in before])
        # The two are the last ones of memory; the transfer goes on past its end.
        first = MEMORY_BYTES - m.MEM_COMMAND_BYTES * len(lines)
        s.window(0, s.base, s.base + MEMORY_BYTES + PAGE)
        s.put_all(first, (word for command in lines for word in command.words()))
        s.write(m.CMD_BASE_OFFSET, s.base + first - m.MEM_COMMAND_BYTES * len(before))
        s.write(m.CMD_TAIL_OFFSET, 2 * len(before))
        s.stopped()
        s.settle()
        s.add("pass", 200)
        s.read(m.STATUS_OFFSET, m.STATUS_DMA_ERROR.put(1))
        for name in ("CMD_HEAD", "STAT_COMMANDS"):
            s.read(getattr(m, f"{name}_OFFSET"), len(before))
        on = m.DEVICE_STATE_CLAIMED.put(1) | m.DEVICE_STATE_WRITEOK.put(1)
        mask = on | m.DEVICE_STATE_USED.put((1 << 32) - 1)
        s.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET, on | m.DEVICE_STATE_USED.put(2), mask)
        s.read(m.DEVICE_BASE + m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET, 0)
        s.expect(COMPLETIONS + m.MEM_COMPLETION_BYTES * len(before) + m.MEM_COMPLETION_INFO_OFFSET, 0)
        s.reset_by_register()


def stop_means_stop(host: Contained) -> None:
    """Commands that wait when an error comes are not carried out; the one that is under way is."""
    s = host.script
    s.note("commands behind an error")
    host.setup()
    # Long enough for the error to come while it is under way, and over within the script's limit.
    clusters = min(host.sizes.clusters, 256)
    waiting = [Command(opcode, 0) for opcode in (Opcode.SWAPON, Opcode.ALLOC, Opcode.ALLOC, Opcode.SWAPOFF_BEGIN)]
    commands = [Command(Opcode.NOP), prepare(0, SLOTS * clusters, 0, SSD), *waiting]
    s.put_all(COMMANDS, (word for command in commands for word in command.words()))
    s.write(m.CPL_BASE_OFFSET, NOWHERE)
    s.write(m.CMD_TAIL_OFFSET, 6)
    s.stopped()
    s.settle()
    s.read(m.STAT_COMMANDS_OFFSET, 2)
    claimed = m.DEVICE_STATE_CLAIMED.put(1)
    mask = claimed | m.DEVICE_STATE_WRITEOK.put(1) | m.DEVICE_STATE_AVAILABLE.put(1)
    s.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET, claimed, mask)
    s.reset_by_register()


def no_rings(host: Contained) -> None:
    """With a size that is not built, nothing is fetched."""
    s = host.script
    s.note("no ring")
    for log2 in (0, 13, 15):
        host.setup()
        s.settle()
        s.write(m.CMD_SIZE_OFFSET, log2)
        s.write(m.CMD_TAIL_OFFSET, 1)
        s.add("pass", 200)
        s.add("idle", 1)
        s.read(m.STAT_DMA_READ_BEATS_OFFSET, 0)
        s.reset_by_register()


def hung_bus(host: Contained) -> None:
    """RESET ends though the bus hangs; answers that the bus owes are thrown away; nothing new begins before they come.

    The same words are asked for before and after, but memory holds others then: a beat that came late and was taken for
    an answer would bring the old ones.
    """
    s = host.script
    timeout = 1 << host.sizes.reset_timeout_log2
    waiting = [Expected(each, Status.OK) for each in (prepare(1, SLOTS * 3, 3, SSD), Command(Opcode.SWAPON, 1))]
    for lap in range(4):
        s.note("a bus that hangs")
        host.tabled()
        s.put_all(TABLE, [0] * SLOTS)
        command = Command(Opcode.TABLE_COUNT, 0, arg0=0, arg2=s.base + DUMP)
        if lap % 2:
            command = Command(Opcode.TABLE_FILL, 0, nr=SLOTS, arg0=SLOTS | 1 << 32, arg1=0)
        s.post([Expected(command, Status.OK)])
        s.add("pass", host.rng.randrange(40, 400))
        s.add("hold", 1)
        s.write(m.CMD_TAIL_OFFSET, s.tail + 4)
        s.add("pass", 300)
        s.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        s.add("pass", timeout // 2)
        s.read(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1), m.CONTROL_RESET.put(1))
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, timeout + s.limit)
        s.read(m.STATUS_OFFSET, m.STATUS_BUS_OWED.put(1))
        s.add("idle", 0)
        # Another reset waits for nobody.
        s.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        s.add("poll", m.CONTROL_OFFSET, WORD, 0, s.limit)
        s.read(m.STATUS_OFFSET, m.STATUS_BUS_OWED.put(1))
        host.setup()
        s.post(waiting)
        s.add("pass", 300)
        s.read(m.STATUS_OFFSET, m.STATUS_BUS_OWED.put(1), m.STATUS_BUS_OWED.put(1))
        s.read(m.STAT_COMMANDS_OFFSET, 0)
        s.add("hold", 0)
        s.add("poll", m.STATUS_OFFSET, m.STATUS_BUS_OWED.put(1), 0, s.limit)
        s.finish(0, waiting)
        s.must(Command(Opcode.CHECK, 1))
        s.settle()
        s.read(m.STATUS_OFFSET, 0)
        s.add("mark")
        s.reset_by_register()
        s.put_all(DUMP, [0] * (m.MEM_TABLE_COUNTS_BYTES // 8))


def stops(seed: int, sizes: Sizes) -> str:
    """Return a script about errors that stop the engine, rings of no size, and a bus that hangs."""
    s = Script()
    host = Contained(seed, sizes, s)
    s.after_reset()
    nothing_executed(host)
    stop_means_stop(host)
    no_rings(host)
    hung_bus(host)
    return s.text()
