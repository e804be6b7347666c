# SPDX-License-Identifier: Apache-2.0
"""The FPGA tools, and their results before there is a board: CPU and engine synthesised alone, sizes and timing.

For the rooms above: `fpga_tools` and `yosys` run the tools, `steps` shows and ends what is under way, `placement` tries
seeds, `fmax_report` reads what the tools report. `engine_part` and `cpu_part` are called by sim/setup/build,
`engine_fmax` has the steps `fmax` and `size` of the Makefile (hwswap.cli.steps).
"""
