# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a grid of engines, loads, policies, latencies and seeds, measured point by point (docs/report.md).

`plan` reads a sweep file and lists its points, `work` measures one of them and runs on the workers, `clusters` finds
the workers, `journal` keeps what is done, `parquet` is the file that comes out, and `command` is the command. From
outside use `command` for the command line, `plan` for sweep files, and `parquet` for results.

All but `plan`, `work` and `journal` need the environment that sim/setup/report-env makes.
"""
