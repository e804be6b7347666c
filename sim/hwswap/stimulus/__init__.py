# SPDX-License-Identifier: Apache-2.0
"""Stimulus for the simulated engine: scripts of bus accesses, with all expected results.

Each module but script.py, commands.py and the table and load makers writes scripts about one subject, at random or
directed; hwswap-play (sim/verilator) plays them.
"""
