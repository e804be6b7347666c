# SPDX-License-Identifier: Apache-2.0
"""The command `hwswap soc bench`: allocation by software and by the engine, in CPU cycles of the simulated SoC.

`bench` runs the firmware and asks for what it measures, `bench_result` reads that and judges it, `bench_table` and
`bench_plot` show it. `harts` is the same on several harts, with `harts_result` and `harts_plot`; both make
their runs by `runs`. No other room uses this one.
"""
