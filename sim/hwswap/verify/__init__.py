# SPDX-License-Identifier: Apache-2.0
"""The quality of the checks, and proofs: coverage, mutants, formal proofs.

formal.py, mutate.py and rtl_coverage.py are commands; the others are their parts.
"""
