# SPDX-License-Identifier: Apache-2.0
"""Random swap tables: words of every kind, in runs and alone, those too that the kernel never writes."""

import random

from hwswap_map import TableKind

from hwswap.model.rows import SLOTS
from hwswap.model.table_words import BAD, PFN_BITS, WORD, folio_word, kind_of, shadow_word


def draw_word(rng: random.Random, kind: TableKind) -> int:
    """Draw a word of a kind."""
    zero = rng.random() < 0.3
    if kind == TableKind.FREE:
        return 0
    if kind == TableKind.SHADOW:
        return shadow_word(rng.choice((0, rng.getrandbits(58))), rng.choice((0, 1, 1, 2, 14, 15)), zero)
    if kind == TableKind.CACHED:
        return folio_word(rng.getrandbits(PFN_BITS), rng.choice((1, 1, 2, 7, 15)), zero)
    if kind == TableKind.UNUSED:
        return folio_word(rng.getrandbits(rng.choice((1, 40, PFN_BITS))), 0, zero)
    if kind == TableKind.POINTER:
        return rng.getrandbits(61) << 3 | 4
    if kind == TableKind.BAD:
        return BAD
    while True:  # near the words of the other kinds, above all BAD and FREE
        word = rng.choice((BAD ^ 1 << rng.randrange(3, 64), 1 << rng.randrange(3, 64), rng.getrandbits(61) << 3))
        if kind_of(word) == TableKind.OTHER:
            return word & WORD


KERNEL = (TableKind.FREE, TableKind.SHADOW, TableKind.CACHED, TableKind.UNUSED)
"""The kinds of words that come and go; others are drawn now and then."""


def draw_table(rng: random.Random, first: int, pages: int) -> list[int]:
    """Draw the 512 words of the cluster whose first slot is `first` of a device of `pages` slots.

    Slot 0 and the slots past the end are BAD, as the kernel writes them. A run of alike words is a folio.
    """
    words: list[int] = []
    style = rng.randrange(4)  # all free; one kind in most places; runs; every word by itself
    common = rng.choice(KERNEL)
    while len(words) < SLOTS:
        kind = rng.choice(list(TableKind) if rng.random() < 0.2 else KERNEL)
        nr = 1
        if style == 0 and rng.random() < 0.98:
            kind = TableKind.FREE
        elif style == 1 and rng.random() < 0.95:
            kind = common
        elif style == 2:
            nr = rng.choice((1, 2, 4, 16, 64))
        word = draw_word(rng, kind)
        words += [word & WORD] * nr
    del words[SLOTS:]
    if not first:
        words[0] = BAD
    end = min(max(pages - first, 0), SLOTS)
    words[end:] = [BAD] * (SLOTS - end)
    return words
