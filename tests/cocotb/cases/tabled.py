# SPDX-License-Identifier: Apache-2.0
"""The host of swap tables (sim/hwswap/stimulus/table_host.py) on a bench, with all of memory compared."""

import random
from collections.abc import Mapping

import hwswap_map as m
from hwswap.model.host_memory import Command
from hwswap.model.tables import Answer, Extent, Memory, Tables
from hwswap.stimulus.table_commands import PAGE, SOURCE_BYTES, TARGET_BYTES, Places
from hwswap.stimulus.table_host import TableHost

from cases.bench import GUARD, Bench

TABLES, TARGETS, SOURCES = 40, 6, 8


def anywhere(rng: random.Random) -> Places:
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


class BenchTables(TableHost):
    """A host of swap tables whose commands go into the bench's script, until it is played."""

    def __init__(
        self, bench: Bench, devices: Mapping[int, Extent], places: Places | None = None, alone: bool = True
    ) -> None:
        """Begin without tables.

        Args:
            bench: whose rings are set up.
            devices: those that are claimed, by type, kept by somebody else.
            places: of tables, their addresses and results; anywhere without.
            alone: the engine does nothing else, so that nothing else may be written.
        """
        self.bench, self.alone = bench, alone
        memory = Memory()
        super().__init__(bench.rng, bench.script, Tables(memory, devices), memory, places or anywhere(bench.rng))
        for at in self.places.targets:
            bench.memory.put(at - 64, bytes([GUARD]) * (TARGET_BYTES + 128))
            self.memory.put(at, [int.from_bytes([GUARD] * 8)] * (TARGET_BYTES // 8))

    async def run(self, *commands: Command) -> list[Answer]:
        """Carry out what waits, and commands; answers and memory have to be the model's.

        Returns:
            The answers to the commands.
        """
        answers = self.same(*commands)
        self.bench.memory.writes.clear()
        await self.bench.play()
        self.same_memory()
        return answers

    def same_memory(self) -> None:
        """Compare all tables and results, and see that nothing else was written, and words as a whole."""
        for address, word in self.memory.words.items():
            seen = self.bench.memory.word(address)
            assert seen == word, f"{address:#x}: the engine left {seen:#x}, the model {word:#x}"
        for at in self.places.targets:
            for guard in (at - 64, at + TARGET_BYTES):
                assert self.bench.memory.get(guard, 64) == bytes([GUARD]) * 64, f"the engine wrote near {at:#x}"
        completions = self.bench.layout.completions
        for address, length in self.bench.memory.writes if self.alone else ():
            assert address % 8 == length % 8 == 0, f"{length} bytes written at {address:#x}"
            if not completions <= address < completions + (m.MEM_COMPLETION_BYTES << self.bench.size_log2):
                assert address in self.memory.words, f"{length} bytes written at {address:#x}"
