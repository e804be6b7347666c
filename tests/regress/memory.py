# SPDX-License-Identifier: Apache-2.0
"""The memory that streams and traces are replayed with."""

import random

TIMEOUT = 900


def memory(seed: int) -> list[str]:
    """Draw a memory for the engine's rings: fast or slow; half of them withhold handshakes, or answer out of order."""
    rng = random.Random(seed)
    options = ["--latency", str(rng.choice((1, 3, 16, 60)))]
    if rng.random() < 0.5:
        options += ["--stall", str(rng.choice((10, 40, 70)))]
    if rng.random() < 0.5:
        options += ["--reorder"]
    return [*options, "--seed", str(seed)]
