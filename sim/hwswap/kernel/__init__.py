# SPDX-License-Identifier: Apache-2.0
"""What is learnt from a running kernel: tracepoints, recordings, lock-step of kernel, model and RTL.

`lockstep` is the whole way; record.py and convert.py are parts of it.
"""
