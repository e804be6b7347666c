# SPDX-License-Identifier: Apache-2.0
"""The cocotb tests; each module is one simulation. tests/cocotb/test_engine.py runs them."""
