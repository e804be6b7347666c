# SPDX-License-Identifier: Apache-2.0
"""A host with swap tables: it writes tables and commands into a script, with the golden model's results."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Opcode, Status, TableKind

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.table_words import WORD_BYTES, count_of, kind_of, zero_of
from hwswap.model.tables import Answer, Memory, Tables
from hwswap.stimulus.commands import Expected
from hwswap.stimulus.script import Script
from hwswap.stimulus.table_commands import Places, RandomTableCommands
from hwswap.stimulus.table_contents import draw_table


@dataclass
class TableHost:
    """A host with swap tables: its writes and commands go into a script, with the model's answers and words.

    Attributes:
        rng: draws tables and commands.
        script: whose engine has the model's devices.
        tables: the model.
        memory: the model's host memory, by bus address.
        places: addresses that the host uses.
    """

    rng: random.Random
    script: Script
    tables: Tables
    memory: Memory
    places: Places

    def put(self, address: int, words: Sequence[int]) -> None:
        """The host writes words."""
        self.script.put_all(address - self.script.base, words)
        self.memory.put(address, words)

    def give_all(self, type_: int) -> None:
        """Give every cluster of a device a random table, each by a command."""
        spare = self.places.spare(self.tables)
        source = self.places.sources[0]
        for cluster in range(self.tables.clusters(type_)):
            page = spare.pop()
            self.put(page, draw_table(self.rng, cluster * SLOTS, self.tables.devices[type_].pages))
            self.put(source, [page])
            self.same(Command(Opcode.TABLE_GIVE, type_, nr=1, arg0=cluster * SLOTS, arg2=source))

    def batch(self, nr: int) -> None:
        """Give random commands at once, and expect their changes in memory."""
        before = dict(self.memory.words)
        puts, commands = RandomTableCommands(self.rng, self.tables, self.memory, self.places).draw(nr)
        for address, word in puts:
            self.script.put(address - self.script.base, word)
            before[address] = word
        self.script.give([expected(command, answer) for command, answer in commands])
        self.changed(before)

    def changed(self, before: Mapping[int, int]) -> None:
        """Expect the words of memory that are others than before."""
        for address, word in self.memory.words.items():
            if before.get(address, 0) != word:
                self.script.expect(address - self.script.base, word)

    def same(self, *commands: Command) -> list[Answer]:
        """Give commands that the model carries out, too; return its answers."""
        answers = [self.tables.carry_out(command) for command in commands]
        self.script.give([expected(*each) for each in zip(commands, answers, strict=True)])
        return answers

    def compare(self, address: int, nr: int) -> None:
        """Compare `nr` words of memory from an address on."""
        for at in range(address, address + WORD_BYTES * nr, WORD_BYTES):
            self.script.expect(at - self.script.base, self.memory.words.get(at, 0))

    def all_words(self) -> None:
        """Compare all words of memory that tables and results ever had."""
        for address in sorted(self.memory.words):
            self.compare(address, 1)

    def lookup(self, type_: int, slot: int) -> None:
        """Look a word up by register."""
        s = self.script
        seq = self.rng.getrandbits(16)
        answer = Answer(Status.BAD_DEVICE)
        if type_ in self.tables.devices:
            answer = self.tables.carry_out(Command(Opcode.TABLE_LOOKUP, type_, arg0=slot))
        s.write(m.LOOKUP_OFFSET, m.LOOKUP_SLOT.put(slot) | m.LOOKUP_TYPE.put(type_) | m.LOOKUP_SEQ.put(seq))
        waited = m.LOOKUP_INFO_BUSY.put(1) | m.LOOKUP_INFO_SEQ.put(0xFFFF)
        s.add("poll", m.LOOKUP_INFO_OFFSET, waited, m.LOOKUP_INFO_SEQ.put(seq), s.limit)
        value = m.LOOKUP_INFO_STATUS.put(answer.status) | m.LOOKUP_INFO_SEQ.put(seq)
        mask = m.LOOKUP_INFO_STATUS.put(127) | m.LOOKUP_INFO_SEQ.put(0xFFFF)
        if answer.status == Status.OK:
            word = answer.result
            value |= m.LOOKUP_INFO_KIND.put(kind_of(word))
            mask |= m.LOOKUP_INFO_KIND.put(7)
            if kind_of(word) in (TableKind.SHADOW, TableKind.CACHED, TableKind.UNUSED):
                value |= m.LOOKUP_INFO_COUNT.put(count_of(word)) | m.LOOKUP_INFO_ZERO.put(zero_of(word))
                mask |= m.LOOKUP_INFO_COUNT.put(15) | m.LOOKUP_INFO_ZERO.put(1)
        s.read(m.LOOKUP_INFO_OFFSET, value, mask)
        s.read(m.LOOKUP_ENTRY_OFFSET, answer.result)


def expected(command: Command, answer: Answer) -> Expected:
    """Return a script's expectation of a command."""
    return Expected(command, answer.status, result=answer.result)
