# SPDX-License-Identifier: Apache-2.0
"""The engines that streams and traces are replayed on, and the memory they are given."""

import random
from dataclasses import dataclass
from pathlib import Path

from hwswap.project import paths
from hwswap.stimulus.registry import PLAIN, SCALE
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream
from hwswap.traces.trace import Header

TIMEOUT = 900


@dataclass(frozen=True)
class Engine:
    """One build of the engine."""

    sizes: Sizes
    features: frozenset[str]
    """What its streams can have."""
    replayer: Path
    with_waves: Path
    """The same that can keep waves, which is slower."""

    def build(self, waves: Path | None) -> Path:
        """Return the replayer to run."""
        return self.replayer if waves is None else self.with_waves

    def fits(self, header: Header) -> bool:
        """Tell whether it has the devices, CPUs and clusters that a trace needs."""
        return all(getattr(header, name) <= getattr(self.sizes, name) for name in ("devices", "cpus", "clusters"))


ENGINES = {
    "on-chip": Engine(PLAIN, stream.EVERYTHING, paths.REPLAY, paths.REPLAY_WAVES),
    "in-dram": Engine(SCALE, stream.IN_DRAM, paths.REPLAY_DRAM, paths.REPLAY_DRAM_WAVES),
}
"""By where they have their clusters; a case's name begins with that."""


def memory(seed: int) -> list[str]:
    """Draw a memory for the engine's rings: fast or slow; half of them withhold handshakes, or answer out of order."""
    rng = random.Random(seed)
    options = ["--latency", str(rng.choice((1, 3, 16, 60)))]
    if rng.random() < 0.5:
        options += ["--stall", str(rng.choice((10, 40, 70)))]
    if rng.random() < 0.5:
        options += ["--reorder"]
    return [*options, "--seed", str(seed)]
