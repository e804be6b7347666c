# SPDX-License-Identifier: Apache-2.0
"""Traces: their records and files, random streams, what a running kernel's counters tell, and what is in one.

`trace.read` and `trace.write` are the way in and out; records.py has the kinds of records.
"""
