# SPDX-License-Identifier: Apache-2.0
"""What the SoC of every board and of the simulation has in common: CPU, engine, bus.

For the rooms above: `soc.HwSwapSoC` and `soc.LiteDramMemory`, which a concrete SoC derives from, `soc.wishbone_cache`,
`cpu.PROFILES`, `cpu_verilog`, and `program`. `bus_register` is for `soc` alone.
"""
