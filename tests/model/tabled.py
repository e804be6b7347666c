# SPDX-License-Identifier: Apache-2.0
"""The common part of the tests of swap tables: host memory, and devices with tables in it."""

import random
from dataclasses import dataclass

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS
from hwswap.model.tables import Answer, BusError, Tables
from hwswap.stimulus.table_contents import draw_table
from hwswap_map import Opcode, Status

PLACE = 0x5A5A_0000_0000
"""The address of tables, one page each."""

SOURCE = 0x1234_0000
RESULT = 0xFFFF_0000_0000_1000
GUARD = 0xA5


class Memory:
    """Sparse memory that notes its writes, and refuses accesses as it is told."""

    def __init__(self) -> None:
        """Begin with guard bytes everywhere."""
        self.bytes: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.denied = range(0)

    def read(self, address: int, length: int) -> bytes:
        """Read for the model."""
        if range(max(address, self.denied.start), min(address + length, self.denied.stop)):
            raise BusError
        return bytes(self.bytes.get(at, GUARD) for at in range(address, address + length))

    def write(self, address: int, data: bytes) -> None:
        """Write for the model, and note it."""
        if range(max(address, self.denied.start), min(address + len(data), self.denied.stop)):
            raise BusError
        self.writes.append((address, len(data)))
        self.bytes.update(enumerate(data, address))

    def words(self, address: int, nr: int) -> list[int]:
        """Return words as the host sees them."""
        return [int.from_bytes(self.read(address + 8 * i, 8), "little") for i in range(nr)]

    def put(self, address: int, words: list[int]) -> None:
        """Write words as the host does."""
        for i, word in enumerate(words):
            self.bytes.update(enumerate(word.to_bytes(8, "little"), address + 8 * i))

    def bitmap(self, address: int) -> int:
        """Return 64 bytes as a bitmap."""
        return int.from_bytes(self.read(address, 64), "little")


@dataclass
class Device:
    """A device as the tables need it."""

    pages: int


class Machine:
    """Device 1 with random tables for some of its clusters, and a flat list of its slots' words."""

    def __init__(self, seed: int, pages: int, share: float = 0.7) -> None:
        """Draw a table for about a `share` of the clusters."""
        self.rng = random.Random(seed)
        self.pages = pages
        self.memory = Memory()
        self.tables = Tables(self.memory, {1: Device(pages)})
        self.words: list[int] = []
        self.addresses: list[int] = []
        for cluster in range(-(-pages // SLOTS)):
            there = self.rng.random() < share
            words = draw_table(self.rng, cluster * SLOTS, pages) if there else [0] * SLOTS
            self.addresses.append(PLACE + 4096 * self.rng.randrange(1 << 16, 1 << 20) if there else 0)
            if there:
                self.memory.put(self.addresses[-1], words)
            self.words += words
        self.memory.put(SOURCE, self.addresses)
        assert self.do(Opcode.TABLE_GIVE, nr=len(self.addresses), arg2=SOURCE) == Answer(Status.OK)
        self.memory.writes.clear()

    def do(self, opcode: int, slot: int = 0, kinds: int = 0, type_: int = 1, **arguments: int) -> Answer:
        """Give a command on slots of device 1."""
        return self.tables.carry_out(Command(opcode, type_, arg0=slot | kinds << 32, **arguments))

    def now(self) -> list[int]:
        """Return the words of all slots as they are in memory; those without table are 0."""
        return [word for at in self.addresses for word in (self.memory.words(at, SLOTS) if at else [0] * SLOTS)]
