# SPDX-License-Identifier: Apache-2.0
"""Random commands on swap tables, with the golden model's answers and the words it leaves in memory."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Opcode, TableKind

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import ANY, PFN_BITS, WORD, WORD_BYTES, kind_of, pfn_of
from hwswap.model.tables import Answer, Memory, Tables
from hwswap.stimulus.table_contents import draw_table

PAGE = 4096
SOURCE_BYTES = 64
"""Bytes that a random TABLE_GIVE may name: up to 8 addresses."""

TARGET_BYTES = m.MEM_TABLE_RANGE_BYTES


@dataclass(frozen=True)
class Places:
    """Addresses that the commands may use."""

    pages: Sequence[int]
    """Of tables."""

    sources: Sequence[int]
    """Of addresses that are given, SOURCE_BYTES each."""

    targets: Sequence[int]
    """Of results, TARGET_BYTES each."""

    def spare(self, tables: Tables) -> list[int]:
        """Return the pages that hold no table."""
        used = set(tables.directory.values())
        return [page for page in self.pages if page not in used]


class RandomTableCommands:
    """Random commands that the model carries out."""

    def __init__(self, rng: random.Random, tables: Tables, memory: Memory, places: Places) -> None:
        """Take the model and its memory, and the places that are all its own."""
        self.rng = rng
        self.tables = tables
        self.memory = memory
        self.places = places
        self.puts: list[tuple[int, int]] = []
        self.commands: list[tuple[Command, Answer]] = []
        self.spare: list[int] = []
        self.sources: list[int] = []

    def draw(self, nr: int) -> tuple[list[tuple[int, int]], list[tuple[Command, Answer]]]:
        """Return so many commands with their answers, after the words that the host writes before, by address."""
        self.puts, self.commands = [], []
        self.spare = self.places.spare(self.tables)
        self.rng.shuffle(self.spare)
        self.sources = list(self.places.sources)
        if self.rng.random() < 0.5:
            self.rewrite()
        operations = (
            [self.give] * 3
            + [self.take]
            + [self.lookup] * 5
            + [self.range] * 4
            + [self.count] * 2
            + [self.scan] * 4
            + [self.fill] * 5
            + [self.clear] * 4
            + [self.replace] * 3
        )
        while len(self.commands) < nr:
            self.rng.choice(operations)()
        return self.puts, self.commands

    def do(self, opcode: Opcode, type_: int, **fields: int) -> None:
        """Let the model carry a command out and note it."""
        command = Command(opcode, type_, **fields)
        self.commands.append((command, self.tables.carry_out(command)))

    def put(self, address: int, words: Sequence[int]) -> None:
        """The host writes words, before the batch."""
        self.puts += ((address + WORD_BYTES * at, word) for at, word in enumerate(words))
        self.memory.put(address, words)

    def rewrite(self) -> None:
        """The host changes a table that the engine knows, while no command is under way."""
        if self.tables.directory:
            (type_, cluster), address = self.rng.choice(sorted(self.tables.directory.items()))
            self.put(address, draw_table(self.rng, cluster * SLOTS, self.tables.devices[type_].pages))

    # Operands of commands

    def device(self) -> int:
        """Draw a device that there is."""
        return self.rng.choice(sorted(self.tables.devices))

    def slot(self, type_: int) -> int:
        """Draw a slot of a device, mostly of a cluster that has a table."""
        rng = self.rng
        pages = self.tables.devices[type_].pages
        clusters = [cluster for owner, cluster in self.tables.directory if owner == type_]
        if not clusters or rng.random() < 0.15:
            return rng.choice((0, pages - 1, rng.randrange(pages)))
        at = rng.choice(clusters) * SLOTS
        return min(at + rng.choice((0, 1, 7, 8, 511, rng.randrange(SLOTS), rng.randrange(SLOTS))), pages - 1)

    def some(self) -> tuple[int, int, int]:
        """Draw slots of one cluster: the device, the first, and how many."""
        rng, type_ = self.rng, self.device()
        offset = self.slot(type_)
        room = min(SLOTS - offset % SLOTS, self.tables.devices[type_].pages - offset)
        return type_, offset, min(rng.choice((1, 1, 2, 3, 4, 7, 8, 9, 16, 64, 65, 512, rng.randint(1, SLOTS))), room)

    def target(self, needed: bool = True) -> int:
        """Draw where a result goes; sometimes nowhere, where that can be."""
        return 0 if not needed and self.rng.random() < 0.4 else self.rng.choice(self.places.targets)

    def words(self, type_: int, offset: int, nr: int) -> list[int]:
        """Return the present words of some slots."""
        return self.tables.words(type_, offset // SLOTS, offset % SLOTS, nr)

    # Commands

    def give(self) -> None:
        """TABLE_GIVE of a few tables; now and then of none, or of one that is not aligned."""
        rng = self.rng
        if not self.sources:
            return
        type_ = self.device()
        offset = self.slot(type_) if rng.random() < 0.3 else rng.randrange(self.tables.devices[type_].pages)
        first = offset // SLOTS
        nr = rng.randint(1, min(8, self.tables.clusters(type_) - first))
        addresses = []
        for cluster in range(first, first + nr):
            if not self.spare or rng.random() < 0.1:
                addresses.append(0)
                continue
            addresses.append(self.spare.pop())
            self.put(addresses[-1], draw_table(rng, cluster * SLOTS, self.tables.devices[type_].pages))
        if rng.random() < 0.05:
            addresses[rng.randrange(nr)] |= 1 << rng.randrange(12)
        source = self.sources.pop()
        self.put(source, addresses)
        self.do(Opcode.TABLE_GIVE, type_, nr=nr, arg0=offset, arg2=source)

    def take(self) -> None:
        """TABLE_TAKE of a few tables."""
        type_ = self.device()
        offset = self.slot(type_)
        nr = self.rng.randint(1, min(3, self.tables.clusters(type_) - offset // SLOTS))
        self.do(Opcode.TABLE_TAKE, type_, nr=nr, arg0=offset)

    def lookup(self) -> None:
        """TABLE_LOOKUP."""
        type_ = self.device()
        self.do(Opcode.TABLE_LOOKUP, type_, arg0=self.slot(type_))

    def range(self) -> None:
        """TABLE_RANGE."""
        type_, offset, nr = self.some()
        self.do(Opcode.TABLE_RANGE, type_, nr=nr, arg0=offset, arg2=self.target())

    def limit(self) -> int:
        """Draw how many slots COUNT and SCAN look at."""
        rng = self.rng
        return rng.choice((0, 0, 1, rng.randint(1, 2000), SLOTS, 0xFFFF_FFFF)) | rng.choice((0, WORD << 32 & WORD))

    def count(self) -> None:
        """TABLE_COUNT."""
        type_ = self.device()
        self.do(Opcode.TABLE_COUNT, type_, arg0=self.slot(type_), arg1=self.limit(), arg2=self.target())

    def scan(self) -> None:
        """TABLE_SCAN, for one kind, for the kinds of swapoff, or for any choice."""
        rng = self.rng
        type_ = self.device()
        kinds = rng.choice((1 << rng.randrange(7), 0b1011110, rng.randint(0, ANY)))
        arg0 = self.slot(type_) | kinds << 32
        self.do(Opcode.TABLE_SCAN, type_, arg0=arg0, arg1=self.limit(), arg2=self.target(needed=False))

    def expected(self, type_: int, offset: int, nr: int) -> int:
        """Draw the kinds that are expected of some slots: mostly those that they are of."""
        kinds = self.rng.choice((0, 0, self.rng.randint(0, ANY)))
        if self.rng.random() < 0.75:
            for word in self.words(type_, offset, nr):
                kinds |= 1 << kind_of(word)
        return kinds or 1 << TableKind.SHADOW

    def fill(self) -> None:
        """TABLE_FILL."""
        type_, offset, nr = self.some()
        pfn = self.rng.choice((self.rng.getrandbits(40), self.rng.getrandbits(PFN_BITS), WORD))
        kinds = self.expected(type_, offset, nr)
        arg2 = self.target(needed=False)
        self.do(Opcode.TABLE_FILL, type_, nr=nr, arg0=offset | kinds << 32, arg1=pfn, arg2=arg2)

    def clear(self) -> None:
        """TABLE_CLEAR to free slots, or to leave a shadow."""
        type_, offset, nr = self.some()
        kinds = self.expected(type_, offset, nr)
        shadow = self.rng.choice((0, 1, self.rng.getrandbits(64) | 1))
        arg2 = self.target(needed=False)
        self.do(Opcode.TABLE_CLEAR, type_, nr=nr, arg0=offset | kinds << 32, arg1=shadow, arg2=arg2)

    def replace(self) -> None:
        """TABLE_REPLACE of the slots of a folio; sometimes of one too many."""
        rng = self.rng
        type_, offset, nr = self.some()
        words = self.words(type_, offset, nr)
        start = next((i for i, word in enumerate(words) if word & 3 == 2), 0)
        old = pfn_of(words[start])
        length = 1
        while start + length < nr and words[start + length] & 3 == 2 and pfn_of(words[start + length]) == old:
            length += 1
        if start + length < nr and rng.random() < 0.3:
            length += 1
        if rng.random() < 0.1:
            old ^= 1 << rng.randrange(PFN_BITS)
        new = rng.getrandbits(rng.choice((40, 64)))
        self.do(Opcode.TABLE_REPLACE, type_, nr=length, arg0=offset + start, arg1=new, arg2=old)
