# SPDX-License-Identifier: Apache-2.0
"""Words of the kernel's swap tables (mm/swap_table.h): 64 bits per slot, which tell its content.

| word                                         | kind                                        |
|----------------------------------------------|---------------------------------------------|
| 0                                            | FREE (`swp_tb_is_null`)                     |
| count[63:60] zero[59] shadow[58:1] 1         | SHADOW (`swp_tb_is_shadow`)                 |
| count[63:60] zero[59] PFN[58:2] 10, count > 0| CACHED (`swp_tb_is_folio`)                  |
| the same, count 0                            | UNUSED: only the swap cache holds the slot  |
| bits 2:0 are 100                             | POINTER: reserved, never written            |
| all ones, then 1000                          | BAD (`swp_tb_is_bad`)                       |
| anything else                                | OTHER: the kernel never writes it           |

Count 15 has overflowed into the kernel's own table (`ci->extend_table`).
"""

from hwswap_map import TableKind

WORD_BYTES = 8
WORD = (1 << 64) - 1

BAD = WORD & ~7
"""SWP_TB_BAD: the header, a bad slot, or one past the device's end."""

FLAGS = 0x1F << 59
"""Count and zero flag (SWP_TB_FLAGS_MASK); they stay when a folio comes to a slot or leaves it."""

PFN_BITS = 57
IN_USE = (TableKind.SHADOW, TableKind.CACHED, TableKind.UNUSED)
"""The kinds of slots that somebody has."""

KINDS = len(TableKind)
ANY = (1 << KINDS) - 1
"""Every kind, as table_scan.KINDS has them."""


def kind_of(word: int) -> TableKind:
    """Return the kind of a slot by its word."""
    if word == 0:
        return TableKind.FREE
    if word == BAD:
        return TableKind.BAD
    if word & 1:
        return TableKind.SHADOW
    if word & 2:
        return TableKind.CACHED if count_of(word) else TableKind.UNUSED
    return TableKind.POINTER if word & 4 else TableKind.OTHER


def count_of(word: int) -> int:
    """Return how often a slot is referred to, 0 to 14; 15 has overflowed (`__swp_tb_get_count`)."""
    return word >> 60


def zero_of(word: int) -> bool:
    """Tell whether the page is all zeroes and was not written (`__swap_table_test_zero`)."""
    return bool(word >> 59 & 1)


def pfn_of(word: int) -> int:
    """Return the page of a cached slot (`swp_tb_to_folio`)."""
    return (word & ~FLAGS) >> 2


def with_pfn(word: int, pfn: int) -> int:
    """Return the word with a page in place of its content; count and zero flag stay (`pfn_to_swp_tb`).

    Of the page's number the lowest 57 bits count.
    """
    return word & FLAGS | (pfn & (1 << PFN_BITS) - 1) << 2 | 2


def with_shadow(word: int, shadow: int) -> int:
    """Return the word with a shadow in place of its content; count and zero flag stay (`shadow_to_swp_tb`)."""
    return word & FLAGS | shadow & ~FLAGS | 1


def shadow_word(value: int, count: int = 1, zero: bool = False) -> int:
    """Make a word with a shadow of 58 bits, its mark not included."""
    return count << 60 | zero << 59 | value << 1 | 1


def folio_word(pfn: int, count: int = 1, zero: bool = False) -> int:
    """Make a word with a page of 57 bits."""
    return count << 60 | zero << 59 | pfn << 2 | 2
