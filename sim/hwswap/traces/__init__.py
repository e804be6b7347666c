# SPDX-License-Identifier: Apache-2.0
"""Traces: their records and files, and random streams.

`trace.read` and `trace.write` are the way in and out; records.py has the kinds of records.
"""
