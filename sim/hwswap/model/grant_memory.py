# SPDX-License-Identifier: Apache-2.0
"""The golden model's bitmaps, words and lines as an engine reads and writes them, each part by offsets in it."""

from collections.abc import Callable, Iterable

import hwswap_map as m

from hwswap.model.cluster_map import WORDS, Arrays
from hwswap.model.grant_entries import Lines
from hwswap.model.rows import ORDERS

ONES = (1 << 64) - 1


def stored(numbers: Iterable[int], size: int) -> bytes:
    """Return little-endian numbers of `size` bytes."""
    return b"".join(number.to_bytes(size, "little") for number in numbers)


class GrantMemory:
    """Arrays and lines of a host.

    Attributes:
        on_word: told each cluster's word that is read.
        on_bitmap: told each word of a bitmap that is read: cluster, number, value.
        on_entry: told an entry's place, and the word that is written there.
    """

    def __init__(self, arrays: Arrays, lines: Lines) -> None:
        """Show these."""
        self.arrays, self.lines = arrays, lines
        self.on_word: Callable[[int, int], None] = lambda cluster, value: None
        self.on_bitmap: Callable[[int, int, int], None] = lambda cluster, number, value: None
        self.on_entry: Callable[[int, int], None] = lambda place, value: None

    def load(self, part: str, at: int, length: int) -> bytes:
        """Return bytes of a part, all ones where nothing is said."""
        arrays = self.arrays
        match part:
            case "word":
                words = arrays.word[at // 4 : (at + length) // 4]
                for cluster, value in enumerate(words, at // 4):
                    self.on_word(cluster, value)
                return stored(words, 4).ljust(length, b"\0")
            case "bitmap":
                cluster, number = divmod(at // 8, WORDS)
                assert length == 8, "words of bitmaps are read one by one"
                self.on_bitmap(cluster, number, arrays.bitmap[cluster][number])
                return stored([arrays.bitmap[cluster][number]], 8)
            case "line":
                cpu, inside = divmod(at, m.MEM_GRANT_LINE_BYTES)
                want = self.lines.want[cpu] | ONES & ~((1 << ORDERS) - 1)
                return (stored([ONES, want], 8) + stored(self.lines.head[cpu], 4) + stored([ONES], 8))[inside:][:length]
        raise AssertionError(f"the engine reads {length} bytes at {at:#x} of {part}, which it has no business with")

    def store(self, part: str, at: int, data: bytes) -> None:
        """Take bytes of a part."""
        match part, len(data):
            case "no_run", 8:
                assert at == 0
                self.lines.no_run = int.from_bytes(data, "little")
            case "ring", 8:
                value = int.from_bytes(data, "little")
                self.lines.words[at] = value
                self.on_entry(at, value)
            case _:
                raise AssertionError(f"the engine writes {data.hex()} at {at:#x} of {part}")
