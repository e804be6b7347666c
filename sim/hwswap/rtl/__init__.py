# SPDX-License-Identifier: Apache-2.0
"""Talking to the Verilated engine: as a PCI device, as a replayer of operations, and of readahead windows.

The programs are in sim/verilator.
"""
