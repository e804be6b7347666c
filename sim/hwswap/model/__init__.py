# SPDX-License-Identifier: Apache-2.0
"""The golden model: the swap allocator of Linux 7.3, its policies, swap tables, the readahead and grants.

`golden.Allocator` is the authority on allocation, `grants.Grants` on grants, `tables.Tables` on swap tables.
It shares no code with what it checks: only the register map (hwswap_map) is common to both.
"""
