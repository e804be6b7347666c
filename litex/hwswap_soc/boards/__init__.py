# SPDX-License-Identifier: Apache-2.0
"""The SoCs of boards: their description, netlists, bitstreams, what fits, what is flashed.

`boards.BOARDS` has the boards, `constraints` and `profiles` read the folder constraints/. `generate` (LiteX), `netlist`
(Yosys) and `bitstream` (nextpnr) are the steps of sim/setup/build, in this order; `sources` notes what they were made
from. `flash` is a command, `bitstreams` and `capacity` are steps of the Makefile. No other room of the SoC uses this
one.
"""
