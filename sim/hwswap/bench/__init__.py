# SPDX-License-Identifier: Apache-2.0
"""Measurements, their tables and plots.

engine_cycles.py, scale.py, swap_tables.py, driver.py and demo.py are commands; `x_plot` draws what `x` measured.
"""
