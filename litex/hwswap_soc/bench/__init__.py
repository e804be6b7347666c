# SPDX-License-Identifier: Apache-2.0
"""The command `hwswap soc bench`: allocation by software and by the engine, in CPU cycles of the simulated SoC.

`bench` runs the firmware and asks for what it measures, `bench_result` reads that and judges it. `harts` with
`harts_result` is the same on several harts; both make their runs by `runs`. No other room uses this one.
"""
