# SPDX-License-Identifier: Apache-2.0
"""All that the simulated engine can be given: each script and each stream of this project, by name.

What plays them (tests/rtl/test_play.py, and `hwswap coverage` and `hwswap mutate`) says which it takes, and with other
sizes or seeds where its own results depend on them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hwswap.stimulus import (
    bus_errors,
    corners,
    dma_windows,
    free_runs,
    index,
    large_devices,
    operations,
    player,
    single,
    swap_tables,
)
from hwswap.stimulus.script import Sizes
from hwswap.traces import stream

PLAIN = Sizes(devices=8, cpus=4, clusters=1024)
"""The engine of `make model`."""


@dataclass(frozen=True)
class Script:
    """A script of bus accesses that can be written anew with each seed."""

    name: str
    """By which it is asked for: one word, or some with hyphens."""
    what: str
    """What it is about, in a few words."""
    generator: Callable[..., str]
    """Writes it: takes a seed if it has one, how many rounds if it has any, and the engine's sizes."""
    seed: int | None
    """Its seed unless another is asked for; None if nothing in it is random."""
    rounds: int | None = None
    """How many rounds it has unless another number is asked for; None if it goes through everything once."""
    sizes: Sizes = PLAIN
    """The engine that it is for unless another is asked for."""

    def text(
        self, seed: int | None = None, rounds: int | None = None, sizes: Sizes | None = None, **options: Any
    ) -> str:
        """Write it.

        Args:
            seed: in the place of the script's own.
            rounds: in the place of the script's own; one that has none takes none.
            sizes: in the place of the script's own.
            options: what else the generator is given.

        Returns:
            The script.
        """
        if rounds is not None and self.rounds is None:
            raise ValueError(f"the script {self.name} goes through everything once: it takes no number of rounds")
        numbers = []
        if self.seed is not None:
            numbers.append(self.seed if seed is None else seed)
        if self.rounds is not None:
            numbers.append(self.rounds if rounds is None else rounds)
        return self.generator(*numbers, self.sizes if sizes is None else sizes, **options)


@dataclass(frozen=True)
class Stream:
    """A random stream of operations with the golden model's decisions."""

    name: str
    """By which it is asked for: one word, or some with hyphens."""
    what: str
    """What it is about, in a few words."""
    shape: stream.Shape
    """Its seed, its length, and the devices it works on, unless others are asked for."""

    def shaped(self, seed: int | None = None, **changes: Any) -> stream.Shape:
        """Return what it is made of.

        Args:
            seed: in the place of the stream's own.
            changes: other attributes of the shape, in the place of the stream's own.

        Returns:
            The shape.
        """
        return replace(self.shape, seed=self.shape.seed if seed is None else seed, **changes)


Entry = TypeVar("Entry", Script, Stream)


def by_name(*entries: Entry) -> dict[str, Entry]:
    """Return entries by their names, in the same order; a name that is there twice is an error."""
    named: dict[str, Entry] = {}
    for entry in entries:
        if entry.name in named:
            raise ValueError(f"the name {entry.name} is there twice: choose another")
        named[entry.name] = entry
    return named


SCRIPTS = by_name(
    Script("operations", "random operations", operations.operations, 1, 1200),
    Script("registers", "registers and refusals", operations.registers_and_refusals, 6),
    Script("errors", "errors of the bus", bus_errors.errors, 7),
    Script("tables", "commands on swap tables", swap_tables.tables, 4, 40),
    Script("index", "the index", index.index, 22, 8),
    Script("corners", "corners", corners.corners, 31),
    Script("large", "large devices and numbers", large_devices.large, 71),
    Script("alike", "a large swap table of equal words", swap_tables.alike, None),
    Script("single", "one thing decides", single.single, 41),
    Script("runs", "free runs in each word", free_runs.free_runs, 51),
    Script("windows", "DMA windows", dma_windows.windows, 61),
    Script("stops", "stops and a bus that hangs", dma_windows.stops, 62),
    Script("lists", "clusters filled and emptied", player.lists, 9, 12),
)
"""All scripts.

Their order counts: what plays them all gives each a seed by its place, so a new one comes last.
"""

STREAMS = by_name(
    Stream("small", "devices that are full and fragmented soon", stream.Shape(101, 20_000, span=3)),
    Stream("medium", "devices of some clusters", stream.Shape(102, 20_000, span=24)),
    Stream("large", "long lists of clusters", stream.Shape(103, 20_000, span=128)),
    Stream("one-cpu", "a single CPU", stream.Shape(104, 20_000, span=12, cpus=1)),
    Stream(
        "full",
        "so little room that single slots fail, too",
        stream.Shape(151, 12_000, devices=1, span=2, features=stream.EVERYTHING),
    ),
    Stream(
        "whole-store",
        "devices as large as the store, and clusters all over it",
        stream.Shape(140, 4_000, span=1024, features=stream.EVERYTHING),
    ),
    Stream(
        "everything",
        "all kinds of devices, and all choices of policies",
        stream.Shape(110, 30_000, span=2, features=stream.EVERYTHING),
    ),
)
"""All streams."""
