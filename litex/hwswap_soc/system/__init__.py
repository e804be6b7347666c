# SPDX-License-Identifier: Apache-2.0
"""The common part of the SoCs of boards and of the simulation: CPU, engine, bus.

For the rooms above: `soc.HwSwapSoC` and `soc.LiteDramMemory`, which a concrete SoC derives from, `soc.wishbone_cache`,
`cpu.PROFILES`, `cpu_verilog`, and `program`. `bus_register` is for `soc` alone.
"""
