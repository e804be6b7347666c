# SPDX-License-Identifier: Apache-2.0
"""The engine's commands on swap tables as a plain Python model: the authority the RTL is compared with.

A directory says where in host memory the table of each cluster is; the host gives and takes tables. The commands read
and write their words (table_words.py) there. Each is done as a whole before the next begins. They do to these words
what the kernel does under the cluster's lock (mm/swap_state.c, mm/swapfile.c); they refuse by the rules of the register
map, in its order: the device, the range and the arguments, the table, the words.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import hwswap_map as m
from hwswap_map import Opcode, Status, TableKind

from hwswap.model.host_memory import Command
from hwswap.model.rows import SLOTS, run
from hwswap.model.table_words import IN_USE, KINDS, WORD, WORD_BYTES, kind_of, pfn_of, with_pfn, with_shadow

LINE = 64
"""Places that the host names in its memory are aligned to so many bytes."""

TABLE_ALIGNMENT = 4096
PFN_MASK = (1 << 57) - 1


class Memory:
    """Host memory, in words by bus address: those that were never written are 0."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self.words: dict[int, int] = {}

    def load(self, address: int, nr: int) -> list[int]:
        """Return words."""
        return [self.words.get(address + WORD_BYTES * at, 0) for at in range(nr)]

    def put(self, address: int, words: Sequence[int]) -> None:
        """Write words one after the other."""
        self.words.update((address + WORD_BYTES * at, word) for at, word in enumerate(words))


class Extent(Protocol):
    """A swap device, as far as its tables are concerned."""

    @property
    def pages(self) -> int:
        """Return its slots, header included."""


class Answer(NamedTuple):
    """The completion of a command: its status and RESULT, all 64 bits."""

    status: Status
    result: int = 0


class Tables:
    """Directory of the swap tables, and the commands on them."""

    def __init__(self, memory: Memory, devices: Mapping[int, Extent]) -> None:
        """Begin without tables; `devices` are those that are claimed at any moment, by type, kept by somebody else."""
        self.memory = memory
        self.devices = devices
        self.directory: dict[tuple[int, int], int] = {}

    def carry_out(self, command: Command) -> Answer:
        """Carry a command out."""
        does: dict[int, Callable[[Command], Answer]] = {
            Opcode.TABLE_GIVE: self.give,
            Opcode.TABLE_TAKE: self.take,
            Opcode.TABLE_LOOKUP: self.lookup,
            Opcode.TABLE_RANGE: self.range,
            Opcode.TABLE_COUNT: self.count,
            Opcode.TABLE_SCAN: self.scan,
            Opcode.TABLE_FILL: self.fill,
            Opcode.TABLE_CLEAR: self.clear,
            Opcode.TABLE_REPLACE: self.replace,
        }
        if command.type not in self.devices:
            return Answer(Status.BAD_DEVICE)
        return does[command.opcode](command)

    def forget(self, type_: int) -> None:
        """SWAPOFF takes all tables of its device."""
        for key in [key for key in self.directory if key[0] == type_]:
            del self.directory[key]

    # Addresses of words

    def clusters(self, type_: int) -> int:
        """Return how many clusters a device has."""
        return -(-self.devices[type_].pages // SLOTS)

    def words(self, type_: int, cluster: int, first: int = 0, nr: int = SLOTS) -> list[int]:
        """Return words of a cluster's table; a cluster without table has free slots alone (`swap_table_get`)."""
        address = self.directory.get((type_, cluster))
        if address is None:
            return [0] * nr
        return self.memory.load(address + WORD_BYTES * first, nr)

    def inside(self, type_: int, offset: int, nr: int) -> bool:
        """Tell whether slots are some of one cluster of the device."""
        return 1 <= nr <= SLOTS - offset % SLOTS and offset + nr <= self.devices[type_].pages

    # The directory

    def give(self, command: Command) -> Answer:
        """TABLE_GIVE: note tables that the kernel has allocated (`swap_cluster_alloc_table`)."""
        first = slot_of(command) // SLOTS
        if not self.neighbours(command, first) or command.arg2 % LINE:
            return Answer(Status.BAD_RANGE)
        for number in range(command.nr):
            (address,) = self.memory.load(command.arg2 + WORD_BYTES * number, 1)
            if address % TABLE_ALIGNMENT:
                return Answer(Status.BAD_RANGE)
            if address:
                self.directory[command.type, first + number] = address
            else:
                self.directory.pop((command.type, first + number), None)
        return Answer(Status.OK)

    def take(self, command: Command) -> Answer:
        """TABLE_TAKE: forget tables that the kernel wants to free (`swap_cluster_free_table`)."""
        first = slot_of(command) // SLOTS
        if not self.neighbours(command, first):
            return Answer(Status.BAD_RANGE)
        keys = [(command.type, first + number) for number in range(command.nr)]
        return Answer(Status.OK, sum(self.directory.pop(key, None) is not None for key in keys))

    def neighbours(self, command: Command, first: int) -> bool:
        """Tell whether the device has the NR clusters from the one that holds the slot named."""
        return command.nr > 0 and first + command.nr <= self.clusters(command.type)

    # Reading

    def lookup(self, command: Command) -> Answer:
        """TABLE_LOOKUP: one word (`swap_table_get`)."""
        offset = slot_of(command)
        if not self.inside(command.type, offset, 1):
            return Answer(Status.BAD_RANGE)
        cluster, slot = divmod(offset, SLOTS)
        if (command.type, cluster) not in self.directory:
            return Answer(Status.NO_TABLE)
        return Answer(Status.OK, self.words(command.type, cluster, slot, 1)[0])

    def range(self, command: Command) -> Answer:
        """TABLE_RANGE: which slots of a range are of which kind."""
        offset = slot_of(command)
        if not self.inside(command.type, offset, command.nr) or command.arg2 % LINE:
            return Answer(Status.BAD_RANGE)
        cluster, slot = divmod(offset, SLOTS)
        bitmaps = kinds_in(self.words(command.type, cluster, slot, command.nr), slot)
        there = (command.type, cluster) in self.directory
        numbers = [bitmap.bit_count() for bitmap in bitmaps]
        low = sum(number << 16 * i for i, number in enumerate(numbers[:4]))
        high = sum(number << 16 * i for i, number in enumerate(numbers[4:]))
        words = [word for bitmap in bitmaps for word in words_of(bitmap)]
        reserved = [0] * (m.MEM_TABLE_RANGE_BYTES // WORD_BYTES - len(words) - 2)
        self.memory.put(command.arg2, [*words, low, high | m.MEM_TABLE_RANGE_HIGH_TABLE.put(there), *reserved])
        return Answer(Status.OK if there else Status.NO_TABLE, sum(numbers[kind] for kind in IN_USE))

    def pieces(self, command: Command) -> Iterator[tuple[int, int, int]]:
        """Yield the clusters of the range of COUNT and SCAN: cluster, its first slot in the range, how many slots."""
        at = slot_of(command)
        limit = command.arg1 & 0xFFFF_FFFF
        end = self.devices[command.type].pages
        if limit:
            end = min(end, at + limit)
        while at < end:
            cluster, slot = divmod(at, SLOTS)
            nr = min(SLOTS - slot, end - at)
            yield cluster, slot, nr
            at += nr

    def count(self, command: Command) -> Answer:
        """TABLE_COUNT: how many slots of a device are of which kind."""
        if slot_of(command) >= self.devices[command.type].pages or command.arg2 % LINE:
            return Answer(Status.BAD_RANGE)
        numbers = [0] * KINDS
        tables = 0
        for cluster, slot, nr in self.pieces(command):
            tables += (command.type, cluster) in self.directory
            for kind, bitmap in enumerate(kinds_in(self.words(command.type, cluster, slot, nr), slot)):
                numbers[kind] += bitmap.bit_count()
        self.memory.put(command.arg2, [*numbers, tables])
        return Answer(Status.OK, sum(numbers[kind] for kind in IN_USE))

    def scan(self, command: Command) -> Answer:
        """TABLE_SCAN: the next slot of some kinds.

        With all kinds but FREE and BAD it is what swapoff looks for (`find_next_to_unuse`), with UNUSED what the
        reclaim of full clusters does (`swap_reclaim_full_clusters`).
        """
        if slot_of(command) >= self.devices[command.type].pages or command.arg2 % LINE:
            return Answer(Status.BAD_RANGE)
        for cluster, slot, nr in self.pieces(command):
            bitmap = named(kinds_in(self.words(command.type, cluster, slot, nr), slot), kinds_of(command))
            if bitmap:
                if command.arg2:
                    self.memory.put(command.arg2, words_of(bitmap))
                return Answer(Status.OK, cluster * SLOTS + lowest(bitmap))
        return Answer(Status.NO_SPACE)

    # Writing

    def fill(self, command: Command) -> Answer:
        """TABLE_FILL: a folio comes into the swap cache (`__swap_cache_do_add_folio`)."""
        return self.change(command, self.of_kinds(command), lambda word: with_pfn(word, command.arg1))

    def clear(self, command: Command) -> Answer:
        """TABLE_CLEAR: a folio leaves the swap cache (`__swap_cache_do_del_folio`), or slots get free.

        (`__swap_cluster_free_entries`.)
        """
        shadow = command.arg1
        if shadow and not shadow & 1:
            return Answer(Status.BAD_RANGE)
        return self.change(command, self.of_kinds(command), lambda word: with_shadow(word, shadow) if shadow else 0)

    def replace(self, command: Command) -> Answer:
        """TABLE_REPLACE: another folio takes a folio's place in the swap cache (`__swap_cache_replace_folio`)."""

        def expected(word: int) -> bool:
            cached = kind_of(word) in (TableKind.CACHED, TableKind.UNUSED)
            return cached and pfn_of(word) == command.arg2 & PFN_MASK

        return self.change(command, expected, lambda word: with_pfn(word, command.arg1), bitmap=False)

    @staticmethod
    def of_kinds(command: Command) -> Callable[[int], bool]:
        """Return the test whether a word is of the kinds that ARG0 names."""
        return lambda word: bool(kinds_of(command) >> kind_of(word) & 1)

    def change(
        self,
        command: Command,
        expected: Callable[[int], bool],
        becomes: Callable[[int], int],
        bitmap: bool = True,
    ) -> Answer:
        """Read a range, and write all words of it anew if each is as expected, else none.

        `bitmap`: ARG2 says where one of the slots goes that are not as expected.
        """
        offset = slot_of(command)
        if not self.inside(command.type, offset, command.nr) or (bitmap and command.arg2 % LINE):
            return Answer(Status.BAD_RANGE)
        cluster, slot = divmod(offset, SLOTS)
        address = self.directory.get((command.type, cluster))
        if address is None:
            return Answer(Status.NO_TABLE)
        words = self.words(command.type, cluster, slot, command.nr)
        wrong = sum(1 << slot + i for i, word in enumerate(words) if not expected(word))
        if bitmap and command.arg2:
            self.memory.put(command.arg2, words_of(wrong))
        if wrong:
            return Answer(Status.UNEXPECTED, cluster * SLOTS + lowest(wrong))
        self.memory.put(address + WORD_BYTES * slot, list(map(becomes, words)))
        return Answer(Status.OK, words[0])


def slot_of(command: Command) -> int:
    """Return the slot that ARG0 names."""
    return m.MEM_TABLE_SCAN_SLOTS_SLOT.get(command.arg0)


def kinds_of(command: Command) -> int:
    """Return the kinds that ARG0 names, bit k for kind k."""
    return m.MEM_TABLE_SCAN_SLOTS_KINDS.get(command.arg0)


def kinds_in(words: list[int], slot: int) -> list[int]:
    """Return for each kind the bitmap of a cluster's slots that are of it, among those from `slot` on with `words`."""
    bitmaps = [0] * KINDS
    for at, word in enumerate(words, slot):
        bitmaps[kind_of(word)] |= run(at, 1)
    return bitmaps


def words_of(bitmap: int) -> list[int]:
    """Return the words that a bitmap of a cluster's slots is in memory."""
    return [bitmap >> at & WORD for at in range(0, SLOTS, 8 * WORD_BYTES)]


def named(bitmaps: list[int], kinds: int) -> int:
    """Return the slots that are of any of the kinds named."""
    return sum(bitmap for kind, bitmap in enumerate(bitmaps) if kinds >> kind & 1)


def lowest(bitmap: int) -> int:
    """Return the first slot of a bitmap that is not empty."""
    return (bitmap & -bitmap).bit_length() - 1
