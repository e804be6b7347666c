# SPDX-License-Identifier: Apache-2.0
"""Measured figures as data: what commands write, two runs beside each other, tables of pages, the report."""
