# SPDX-License-Identifier: Apache-2.0
"""How good the checks are and what is proved: coverage, mutants, formal proofs.

formal.py, mutate.py and rtl_coverage.py are commands; the others are what they need.
"""
