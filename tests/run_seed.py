# SPDX-License-Identifier: Apache-2.0
"""The seed of a run: a fresh one each time, unless HWSWAP_SEED says which; tests add it to numbers of their own.

It is drawn here alone, when the first module imports this one, and handed on in HWSWAP_SEED to all processes that are
started. HWSWAP_SEED=0 leaves the tests' own numbers as they are.
"""

import os
import secrets

VARIABLE = "HWSWAP_SEED"

HIGHEST = 2**30
"""The highest seed: the sums of tests stay below 2^31 - 1, which the replayer and cocotb both take."""

_TEXT = os.environ.setdefault(VARIABLE, str(secrets.randbelow(HIGHEST) + 1))

SEED = int(_TEXT) if _TEXT.isdecimal() else -1
"""The seed; conftest.py refuses -1, a text that is no number."""
