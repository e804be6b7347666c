# SPDX-License-Identifier: Apache-2.0
"""Measured figures as data: the files of commands, two runs beside each other, tables of pages, the report, sweeps."""
