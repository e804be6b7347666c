# SPDX-License-Identifier: Apache-2.0
"""Plays scripts of bus accesses (sim/hwswap/stimulus/script.py) through the ports of the engine.

sim/verilator/src/script/script.hpp says what each line does; here is a method of its name for each.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import cocotb
from hwswap.model.rows import runs

if TYPE_CHECKING:
    from cases.bench import Bench


class Player:
    """A script that is played.

    Attributes:
        named: addresses of all words of memory that a line has named.
        note: the name of the next lines, for messages.
    """

    def __init__(self, bench: "Bench", base: int) -> None:
        """Play on a bench; offsets count from `base`, modulo 2^64."""
        self.bench, self.base = bench, base
        self.named: set[int] = set()
        self.note = ""
        self.marked = [0, 0]

    async def play(self, lines: Iterable[str]) -> None:
        """Play lines, without the one about the memory; AssertionError if anything is not as it must be."""
        source = iter(lines)
        for line in source:
            name, _, rest = line.partition(" ")
            if name == "note":
                self.note = rest
            elif name == "together":
                await self.together(int(rest, 0), source)
            else:
                await self.step(line)

    async def step(self, line: str) -> None:
        """Do a line."""
        name, *arguments = line.split()
        await getattr(self, f"do_{name}")(*(int(word, 0) for word in arguments))

    async def together(self, count: int, lines: Iterator[str]) -> None:
        """Make accesses of registers at once, and see that all are answered."""
        tasks = [cocotb.start_soon(self.step(next(lines))) for _ in range(count)]
        for task in tasks:
            await task

    def place(self, offset: int) -> int:
        """Return the address of a word, which is named by that."""
        address = (self.base + offset) % (1 << 64)
        self.named.add(address)
        return address

    def same(self, what: str, found: int, wanted: int) -> None:
        """Compare."""
        assert found == wanted, f"{self.note}: {what} is {found:#x} and must be {wanted:#x}"

    def untouched(self) -> None:
        """See that the engine has written nothing that no line has named."""
        for address, length in self.bench.memory.writes:
            assert address in self.named or not self.bench.memory.word(address), f"{length} bytes at {address:#x}"

    # Lines

    async def do_put(self, offset: int, value: int) -> None:
        """Write a word of memory."""
        self.bench.memory.put_word(self.place(offset), value)

    async def do_expect(self, offset: int, mask: int, value: int) -> None:
        """Compare a word of memory."""
        self.same(f"memory at {offset:#x}", self.bench.memory.word(self.place(offset)) & mask, value)

    async def do_until(self, offset: int, mask: int, value: int, limit: int) -> None:
        """Wait for a word of memory."""
        address = self.place(offset)

        async def there() -> bool:
            return self.bench.memory.word(address) & mask == value

        await self.bench.until(there, f"{self.note}: memory at {offset:#x} does not become {value:#x}", 4, limit)

    async def do_write(self, address: int, value: int, strobes: int) -> None:
        """Write bytes of a register; those that lie beside each other are one access."""
        data = value.to_bytes(8, "little")
        for at, length in runs(strobes):
            await self.bench.registers.write(address + at, data[at : at + length])

    async def do_read(self, address: int, mask: int, value: int) -> None:
        """Compare a register."""
        self.same(f"register {address:#x}", await self.bench.read(address) & mask, value)

    async def do_poll(self, address: int, mask: int, value: int, limit: int) -> None:
        """Wait for a register."""

        async def there() -> bool:
            return await self.bench.read(address) & mask == value

        await self.bench.until(there, f"{self.note}: register {address:#x} does not become {value:#x}", 4, limit)

    async def do_settle(self, limit: int) -> None:
        """Wait until nothing is under way."""
        await self.bench.idle(limit)

    async def do_pass(self, cycles: int) -> None:
        """Let time pass."""
        await self.bench.cycles(cycles)

    async def do_irq(self, level: int) -> None:
        """Compare the interrupt."""
        self.same("the interrupt", int(self.bench.dut.irq.value), level)

    async def do_idle(self, level: int) -> None:
        """Compare the wire that says that nothing is under way."""
        self.same("idle", int(self.bench.dut.idle.value), level)

    async def do_mark(self) -> None:
        """Count beats from here."""
        self.marked = list(self.bench.memory.beats)

    async def do_beats(self, *registers: int) -> None:
        """Compare the registers that count beats read and written with the beats since the mark."""
        said = [await self.bench.read(register) for register in registers]
        for register, count, now, before in zip(registers, said, self.bench.memory.beats, self.marked, strict=True):
            self.same(f"register {register:#x}", count, now - before)

    async def do_reset(self) -> None:
        """Reset the engine by its input."""
        await self.bench.reset()
