# SPDX-License-Identifier: Apache-2.0
"""All that the simulated engine can be given: each script and each stream of this project, by name.

What plays them (tests/rtl/test_play.py, and `make coverage` and `make mutate`) says which it takes, and with other
sizes or seeds where its own results depend on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hwswap.stimulus import (
    corners,
    dma_windows,
    index,
    large_devices,
    operations,
    player,
    single,
    swap_tables,
)
from hwswap.stimulus.script import Sizes
from hwswap.traces.stream import EVERYTHING, Shape

PLAIN = Sizes(devices=8, cpus=4, clusters=1024)
"""The engine of `make model`."""


@dataclass(frozen=True)
class Script:
    """A script of bus accesses that can be written anew with each seed."""

    generator: Callable[..., str]
    """Writes it: takes a seed if it has one, how many rounds if it has any, and the engine's sizes."""
    seed: int | None
    """Its seed unless another is asked for; None if nothing in it is random."""
    rounds: int | None = None
    """Its number of rounds unless another is asked for; None if it goes through everything once."""

    def text(self, seed: int | None = None, rounds: int | None = None, sizes: Sizes = PLAIN, **options: Any) -> str:
        """Return the script, with a seed and rounds in the place of its own; `options` go to the generator."""
        numbers = [own if asked is None else asked for own, asked in ((self.seed, seed), (self.rounds, rounds))]
        has = [number for own, number in zip((self.seed, self.rounds), numbers, strict=True) if own is not None]
        return self.generator(*has, sizes, **options)


SCRIPTS = {
    "operations": Script(operations.operations, 1, 1200),
    "registers": Script(operations.registers_and_refusals, 6),
    "errors": Script(corners.errors, 7),
    "tables": Script(swap_tables.tables, 4, 40),
    "index": Script(index.index, 22, 8),
    "corners": Script(corners.corners, 31),
    "large": Script(large_devices.large, 71),
    "alike": Script(swap_tables.alike, None),
    "single": Script(single.single, 41),
    "runs": Script(single.free_runs, 51),
    "windows": Script(dma_windows.windows, 61),
    "stops": Script(dma_windows.stops, 62),
    "lists": Script(player.lists, 9, 12),
}
"""All scripts.

Their order counts: what plays them all gives each a seed by its place, so a new one comes last.
"""

STREAMS = {
    "small": Shape(101, 20_000, span=3),
    "medium": Shape(102, 20_000, span=24),
    "large": Shape(103, 20_000, span=128),
    "one-cpu": Shape(104, 20_000, span=12, cpus=1),
    # So little room that single slots fail, too.
    "full": Shape(151, 12_000, devices=1, span=2, features=EVERYTHING),
    # Devices as large as the store, and clusters all over it.
    "whole-store": Shape(140, 4_000, span=1024, features=EVERYTHING),
    "everything": Shape(110, 30_000, span=2, features=EVERYTHING),
}
"""Random streams of operations with the golden model's decisions, with their own seeds."""
