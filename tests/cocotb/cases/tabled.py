# SPDX-License-Identifier: Apache-2.0
"""The host's side of swap tables: random tables in host memory, the golden model beside them, and the comparison."""

import random
from collections.abc import Iterable, Mapping

import hwswap_map as m
from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import count_of, kind_of, zero_of
from hwswap.model.tables import Answer, Extent, Tables
from hwswap.stimulus.table_commands import PAGE, SOURCE_BYTES, TARGET_BYTES, Batch, Bytes, Places, RandomTableCommands
from hwswap.stimulus.table_contents import draw_table
from hwswap_map import Opcode, Status, TableKind

from cases.bench import GUARD, Bench

TABLES = 40
TARGETS = 6
SOURCES = 8


def places(rng: random.Random) -> Places:
    """Draw addresses from all of 64-bit space, each in a page of its own."""
    pages = [at << 12 for at in rng.sample(range(1 << 20, 1 << 52), TABLES + TARGETS + SOURCES)]
    # Results lie at the start of a page, at its end, and across two.
    targets = [
        page + rng.choice((0, PAGE - TARGET_BYTES, PAGE - 64, 64 * rng.randrange(56))) for page in pages[TABLES:]
    ]
    return Places(
        pages=pages[:TABLES],
        targets=targets[:TARGETS],
        sources=[at + PAGE - SOURCE_BYTES for at in pages[TABLES + TARGETS :]],
    )


class TableHost:
    """Host memory with swap tables, for the engine and, word by word the same, for the model."""

    def __init__(self, bench: Bench, devices: Mapping[int, Extent], tables: Tables | None = None) -> None:
        """Begin without tables; `devices` are those that are claimed, kept by somebody else."""
        self.bench = bench
        self.memory = Bytes() if tables is None else tables.memory
        self.tables = tables or Tables(self.memory, devices)
        self.places = places(bench.rng)
        self.generator = RandomTableCommands(bench.rng, self.tables, self.memory, self.places)
        for at in self.places.targets:
            bench.memory.put(at - 64, bytes([GUARD]) * (TARGET_BYTES + 128))
            self.memory.write(at, bytes([GUARD]) * TARGET_BYTES)

    def put(self, address: int, words: Iterable[int]) -> None:
        """Write words for both."""
        data = b"".join(word.to_bytes(8, "little") for word in words)
        self.bench.memory.put(address, data)
        self.memory.write(address, data)

    async def give_all(self, type_: int) -> None:
        """Give every cluster of a device a random table."""
        pages = self.tables.devices[type_].pages
        used = set(self.tables.directory.values())
        spare = [page for page in self.places.pages if page not in used]
        source = self.places.sources[0]
        for cluster in range(self.tables.clusters(type_)):
            page = spare.pop()
            self.put(page, draw_table(self.bench.rng, cluster * SLOTS, pages))
            self.put(source, [page])
            await self.same(Command(Opcode.TABLE_GIVE, type_, nr=1, arg0=cluster * SLOTS, arg2=source))

    async def same(self, *commands: Command) -> list[Answer]:
        """Give commands to both; answers and memory have to be the same."""
        answers = [self.tables.carry_out(command) for command in commands]
        await self.compare(list(zip(commands, answers, strict=True)))
        return answers

    async def run(self, batch: Batch) -> None:
        """Let the engine do what the model has done."""
        for address, word in batch.puts:
            self.bench.memory.put_word(address, word)
        await self.compare(batch.commands)

    async def compare(self, commands: list[tuple[Command, Answer]]) -> None:
        """Give commands to the engine and compare what it answers and what is in memory afterwards."""
        self.bench.memory.writes.clear()
        done = await self.bench.run(*[command for command, _ in commands])
        for (command, answer), got in zip(commands, done, strict=True):
            assert got.status == answer.status, f"{command}: {got}, expected {answer}"
            assert got.result == answer.result, f"{command}: {got.result:#x}, expected {answer.result:#x}"
        self.same_memory()

    def same_memory(self) -> None:
        """Compare all tables and results, and see that nothing else was written, and words as a whole."""
        for address, word in self.memory.words.items():
            seen = self.bench.memory.word(address)
            assert seen == word, f"{address:#x}: the engine left {seen:#x}, the model {word:#x}"
        for at in self.places.targets:
            for guard in (at - 64, at + TARGET_BYTES):
                assert self.bench.memory.get(guard, 64) == bytes([GUARD]) * 64, f"the engine wrote near {at:#x}"
        completions = self.bench.layout.completions
        for address, length in self.bench.memory.writes:
            assert address % 8 == 0, f"{length} bytes written at {address:#x}"
            assert length % 8 == 0, f"{length} bytes written at {address:#x}"
            if not completions <= address < completions + (m.MEM_COMPLETION_BYTES << self.bench.size_log2):
                assert address in self.memory.words, f"{length} bytes written at {address:#x}"

    async def lookup(self, type_: int, slot: int) -> None:
        """Look a word up by register, and compare all that comes back."""
        bench = self.bench
        seq = bench.rng.getrandbits(16)
        before = await bench.read(m.LOOKUP_INFO_OFFSET)
        if m.LOOKUP_INFO_SEQ.get(before) == seq:
            seq ^= 1
        await bench.write(m.LOOKUP_OFFSET, m.LOOKUP_SLOT.put(slot) | m.LOOKUP_TYPE.put(type_) | m.LOOKUP_SEQ.put(seq))
        for _ in range(2000):
            info = await bench.read(m.LOOKUP_INFO_OFFSET)
            if not m.LOOKUP_INFO_BUSY.get(info) and m.LOOKUP_INFO_SEQ.get(info) == seq:
                break
        else:
            raise AssertionError(f"the lookup of slot {slot} of device {type_} is not answered")
        answer = self.tables.carry_out(Command(Opcode.TABLE_LOOKUP, type_, arg0=slot))
        assert m.LOOKUP_INFO_STATUS.get(info) == answer.status, f"slot {slot} of device {type_}: {info:#x}, {answer}"
        assert await bench.read(m.LOOKUP_ENTRY_OFFSET) == answer.result
        if answer.status == Status.OK:
            same_parts(info, answer.result)


def same_parts(info: int, word: int) -> None:
    """Compare what LOOKUP_INFO says of a word with the word; count and zero flag where they have a meaning."""
    kind = kind_of(word)
    assert m.LOOKUP_INFO_KIND.get(info) == kind, f"{word:#x}: {info:#x}"
    if kind in (TableKind.SHADOW, TableKind.CACHED, TableKind.UNUSED):
        assert m.LOOKUP_INFO_COUNT.get(info) == count_of(word), f"{word:#x}: {info:#x}"
        assert m.LOOKUP_INFO_ZERO.get(info) == zero_of(word), f"{word:#x}: {info:#x}"
