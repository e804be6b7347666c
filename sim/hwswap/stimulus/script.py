# SPDX-License-Identifier: Apache-2.0
"""Scripts of bus accesses with all that must be seen in them, played by hwswap-play.

sim/verilator/src/script/script.hpp has their lines.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Status

from hwswap.model.host_memory import Command
from hwswap.stimulus.commands import Expected

MEMORY_BASE = 0x12_3400_0000
"""Bus address of the host's memory unless a script wants another; scripts name offsets from there."""

FAR_BASE = 0xEDCB_CBFF_F000_0000
"""Another one, with most address bits the other way round."""

MIXED_BASE = 0xB7B5_7E48_8800_0000
"""A third one: bits that are the same in the other two differ here."""

MEMORY_BYTES = 0x40000
COMMANDS, COMPLETIONS, ELSEWHERE, DUMP = 0x0000, 0x1000, 0x8000, 0x20000
"""Offsets of the rings, of a script's other data, and of DUMP's records."""

RING_LOG2 = 5
"""The largest command ring."""

LIMIT = 40_000
"""Cycles after which something that is waited for counts as not coming, on devices of a few hundred clusters."""

NOWHERE = 0x40
"""A bus address without memory."""

PAGE = 1 << m.DMA_WINDOW_START_ADDR.lsb
"""DMA windows begin and end at multiples of it."""

WORD = (1 << 64) - 1


def merged(before: int, value: int, strobes: int) -> int:
    """Return the content of a register of 64 bits after the strobed bytes of a value were written."""
    mask = sum(255 << 8 * byte for byte in range(8) if strobes >> byte & 1)
    return before & ~mask | value & mask


@dataclass(frozen=True)
class Sizes:
    """The sizes of an engine (hw/src/main/scala/hwswap/Params.scala)."""

    devices: int = 4
    cpus: int = 2
    clusters: int = 64
    reset_timeout_log2: int = 20


class Script:
    """A script being written (sim/verilator/src/script/script.hpp), with commands on top of its lines."""

    def __init__(self, base: int = MEMORY_BASE, limit: int = LIMIT) -> None:
        """Begin with the memory, its size and where it is; say after how many cycles a wait counts as failed."""
        self.base = base
        self.limit = limit
        self.lines = [f"memory {MEMORY_BYTES} {base:#x}"]
        self.tail = 0
        self.errors = 0
        self.log2 = RING_LOG2
        self.commands, self.completions = COMMANDS, COMPLETIONS

    def add(self, name: str, *values: int) -> None:
        """Write a line."""
        self.lines.append(" ".join([name, *(f"{value:#x}" for value in values)]))

    def note(self, text: str) -> None:
        """Name the next lines."""
        self.lines.append(f"note {text}")

    def put(self, offset: int, value: int) -> None:
        """The host writes a word of its memory."""
        self.add("put", offset, value)

    def put_all(self, offset: int, words: Iterable[int]) -> None:
        """The host writes words one after the other."""
        for number, word in enumerate(words):
            self.put(offset + 8 * number, word)

    def write(self, address: int, value: int, strobes: int = 0xFF) -> None:
        """The host writes a register."""
        self.add("write", address, value, strobes)

    def read(self, address: int, value: int, mask: int = WORD) -> None:
        """A register must have a value."""
        self.add("read", address, mask, value & mask)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Ask for reads and writes of registers at once meanwhile; a read and a write may come in either order."""
        first = len(self.lines)
        yield
        self.lines.insert(first, f"together {len(self.lines) - first:#x}")

    def expect(self, offset: int, value: int, mask: int = WORD) -> None:
        """A word of memory must have a value."""
        self.add("expect", offset, mask, value & mask)

    def settle(self) -> None:
        """Wait until the engine rests."""
        self.add("settle", self.limit)

    def text(self) -> str:
        """Return the script."""
        return "\n".join(self.lines) + "\n"

    def beats(self) -> None:
        """Compare the counts of DMA beats with those on the bus, with nothing under way."""
        self.add("beats", m.STAT_DMA_READ_BEATS_OFFSET, m.STAT_DMA_WRITE_BEATS_OFFSET)

    # Errors and resets

    def stopped(self, control: int = 0) -> None:
        """Expect that an error of the bus stops the engine and that it says so; `control`: the value of CONTROL."""
        self.add("poll", m.STATUS_OFFSET, m.STATUS_DMA_ERROR.put(1), m.STATUS_DMA_ERROR.put(1), self.limit)
        self.read(m.STATUS_OFFSET, 0, m.STATUS_FAULT.put(1))
        self.read(m.CONTROL_OFFSET, control)
        self.add("pass", 4)
        self.add("irq", 1)
        # The interrupt of commands before may be there, too.
        self.add("poll", m.IRQ_STATUS_OFFSET, m.IRQ_STATUS_ERROR.put(1), m.IRQ_STATUS_ERROR.put(1), self.limit)
        self.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1) | control)
        self.read(m.CONTROL_OFFSET, control)

    def reset_by_register(self) -> None:
        """Put all back by CONTROL.RESET."""
        self.note("reset by register")
        self.write(m.CONTROL_OFFSET, m.CONTROL_RESET.put(1))
        self.after_reset()

    def after_reset(self) -> None:
        """Expect the registers' values after a reset."""
        self.errors = 0
        self.add("poll", m.CONTROL_OFFSET, WORD, 0, self.limit)
        for name in ("STATUS", "IRQ_STATUS", "IRQ_ENABLE", "CMD_BASE", "CMD_TAIL", "CMD_HEAD", "USAGE", "POLICY"):
            self.read(getattr(m, f"{name}_OFFSET"), 0)
        for name in ("COMMANDS", "COMMAND_ERRORS", "FREES", "SCANS", "DMA_READ_BEATS", "DMA_REFUSED"):
            self.read(getattr(m, f"STAT_{name}_OFFSET"), 0)
        for at in range(0, m.DMA_WINDOW_STRIDE * m.DMA_WINDOW_COUNT, 8):
            self.read(m.DMA_WINDOW_BASE + at, 0)
        self.read(m.DMA_REFUSED_OFFSET, 0, m.DMA_REFUSED_VALID.put(1))
        for type_ in (0, 1):
            self.read(m.DEVICE_BASE + m.DEVICE_STRIDE * type_ + m.DEVICE_STATE_OFFSET, 0)
        self.add("irq", 0)
        self.settle()
        self.add("idle", 1)
        self.add("mark")

    # Commands

    def begin(self, control: int, log2: int = RING_LOG2) -> None:
        """Tell the engine where its rings are, which is `commands` and `completions`, and switch it on."""
        self.tail = 0
        self.log2 = log2
        self.windows()
        self.put_all(self.completions, [0] * ((m.MEM_COMPLETION_BYTES << RING_LOG2) // 8))
        for name, value in (("CMD_BASE", self.base + self.commands), ("CPL_BASE", self.base + self.completions)):
            self.write(getattr(m, f"{name}_OFFSET"), value)
            self.read(getattr(m, f"{name}_OFFSET"), value)
        self.write(m.CMD_SIZE_OFFSET, log2)
        self.write(m.CONTROL_OFFSET, control & ~m.CONTROL_ENABLE.put(1))
        self.write(m.CONTROL_OFFSET, control)
        self.read(m.CONTROL_OFFSET, control)

    def window(self, number: int, start: int, limit: int, read: bool = True, write: bool = True) -> None:
        """Let the engine make bursts from one page of the bus to before another."""
        base = m.DMA_WINDOW_BASE + m.DMA_WINDOW_STRIDE * number
        last = m.DMA_WINDOW_LIMIT_READ.put(read) | m.DMA_WINDOW_LIMIT_WRITE.put(write) | limit
        for offset, value in ((m.DMA_WINDOW_START_OFFSET, start), (m.DMA_WINDOW_LIMIT_OFFSET, last)):
            self.write(base + offset, value)
            self.read(base + offset, value)

    def windows(self) -> None:
        """Let the engine make bursts to the memory, and to where none is, so that the bus answers these with errors."""
        self.window(0, self.base, self.base + MEMORY_BYTES)
        self.window(3, 0, 16 * PAGE)

    def give(self, lines: Sequence[Expected]) -> None:
        """Give commands, as many at once as the ring holds, and expect their completions."""
        for first in range(0, len(lines), 1 << self.log2):
            batch = lines[first : first + (1 << self.log2)]
            self.post(batch)
            self.finish(self.tail - len(batch), batch)

    def must(self, *commands: Command) -> None:
        """Give commands that succeed, with no result."""
        self.give([Expected(command, Status.OK) for command in commands])

    def post(self, lines: Sequence[Expected]) -> None:
        """Give as many commands as the ring has room for, and wait for nothing."""
        self.post_without_bell(lines)
        self.write(m.CMD_TAIL_OFFSET, self.tail)

    def post_without_bell(self, lines: Sequence[Expected]) -> None:
        """Write as many commands as the ring has room for; the engine does not know of them yet."""
        for number, line in enumerate(lines, self.tail):
            self.put_all(self.commands + m.MEM_COMMAND_BYTES * (number % (1 << self.log2)), line.command.words())
        self.tail += len(lines)

    def finish(self, first: int, lines: Sequence[Expected]) -> None:
        """Wait for commands that were posted, the first of which has a number, and expect their completions."""
        at, phase = self.completion(first + len(lines) - 1)
        self.add("until", at + m.MEM_COMPLETION_INFO_OFFSET, m.MEM_COMPLETION_INFO_PHASE.put(1), phase, self.limit)
        for number, line in enumerate(lines, first):
            self.answered(number, line)

    def completion(self, number: int) -> tuple[int, int]:
        """Return where a command's completion is, and its phase."""
        return self.completions + m.MEM_COMPLETION_BYTES * (number % (1 << self.log2)), 1 - (number >> self.log2 & 1)

    def answered(self, number: int, line: Expected) -> None:
        """Expect a completion."""
        at, phase = self.completion(number)
        self.expect(
            at + m.MEM_COMPLETION_INFO_OFFSET,
            m.MEM_COMPLETION_INFO_PHASE.put(phase)
            | m.MEM_COMPLETION_INFO_STATUS.put(line.status)
            | m.MEM_COMPLETION_INFO_OPCODE.put(line.command.opcode)
            | m.MEM_COMPLETION_INFO_INDEX.put(number % (1 << 16)),
            (1 << 32) - 1,
        )
        result = line.result
        if result is None:
            result = m.MEM_COMPLETION_RESULT_SLOT.put(line.slot) | m.MEM_COMPLETION_RESULT_TYPE.put(line.type)
        self.expect(at + m.MEM_COMPLETION_RESULT_OFFSET, result)
        self.errors += line.status not in (Status.OK, Status.NO_SPACE)

    def page(self, cpu: int, seq: int, opcode: int, order: int, type_: int, nr: int, slot: int, answer: int) -> None:
        """Give a request through a CPU's page and expect its response, without its sequence number."""
        base = 0x10000 + 0x1000 * cpu
        self.write(base, slot)
        self.write(base + 8, opcode | order << 8 | type_ << 16 | nr << 32 | seq << 48)
        self.add("poll", base + 0x10, 1 << 47 | 0xFFFF << 48, seq << 48, self.limit)
        self.read(base + 0x10, answer | seq << 48)


class ScriptHost:
    """A host that writes its actions into a script, with random numbers of its own seed."""

    def __init__(self, seed: int, sizes: Sizes, script: Script) -> None:
        """Begin with an engine after reset."""
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.script = script
