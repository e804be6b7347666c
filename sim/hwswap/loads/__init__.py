# SPDX-License-Identifier: Apache-2.0
"""Swap benchmarks by the names that maintainers use, in a guest, on several kernels and in modes of the driver."""
