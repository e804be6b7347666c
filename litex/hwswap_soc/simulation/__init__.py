# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC: the board's on a model of its DRAM, as a program by Verilator.

For the rooms above: `run.run`, which runs an image on a model, and its `Result`; `simsoc.TRAMPOLINES`, how Linux is
started. `model` (what sim/setup/build calls) builds a model of `simsoc` and harness.cpp; `run` has the command
`make soc-sim`, `shown` says how far it is. `rocket4` is a CPU that it alone can have. `dram` and
`simsoc.ModelPlatform` serve tests of other designs as well.
"""
