# SPDX-License-Identifier: Apache-2.0
"""What the simulated engine is given: scripts of bus accesses, with all that must be seen in them.

Each module but script.py, commands.py and the table and load makers writes scripts about one subject, at random or
directed; hwswap-play (sim/verilator) plays them.
"""
