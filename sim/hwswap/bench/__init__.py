# SPDX-License-Identifier: Apache-2.0
"""Measurements and their tables."""
