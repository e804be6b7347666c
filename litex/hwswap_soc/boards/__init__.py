# SPDX-License-Identifier: Apache-2.0
"""The SoCs of boards: their description, netlists, bitstreams, capacity, flashing.

`boards.BOARDS` has the boards, `constraints` and `profiles` read the folder constraints/. `generate` (LiteX), `netlist`
(Yosys) and `bitstream` (nextpnr) are the steps of sim/setup/build, in this order; `capacity` says what is too large.
`flash` is a command, `bitstreams` a step of the Makefile. No other room of the SoC uses this one.
"""
