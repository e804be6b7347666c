# SPDX-License-Identifier: Apache-2.0
"""The golden model: the swap allocator of Linux 7.3, its policies, the mirror, swap tables, the readahead.

`golden.Allocator` is the authority on allocation, `mirror.Mirror` on advisory mode, `tables.Tables` on swap tables.
It shares no code with what it checks: only the register map (hwswap_map) is common to both.
"""
