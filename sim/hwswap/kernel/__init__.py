# SPDX-License-Identifier: Apache-2.0
"""Observe a running kernel: read its tracepoints, record traces, and compare its answers with the model's."""
