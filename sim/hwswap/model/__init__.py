# SPDX-License-Identifier: Apache-2.0
"""The golden model: the swap allocator of Linux 7.3, its policies, swap tables, the readahead, marks and grants.

`golden.Allocator` is the authority on allocation, `grants.Grants` on marks and grants, `tables.Tables` on swap tables.
It shares no code with what it checks: only the register map (hwswap_map) is common to both.
"""
