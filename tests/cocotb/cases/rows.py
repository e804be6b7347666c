# SPDX-License-Identifier: Apache-2.0
"""The transfers of the engine's DMA masters: the rows of the table in masters.py. No burst may be of another kind."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Status

from cases.world import RING_LOG2, World


@dataclass(frozen=True)
class Row:
    """A kind of transfer.

    Attributes:
        name: of the row.
        zone: the zone that is read, or written.
        work: makes it, and sees that it is right.
        needs: parts of an engine that makes it.
        failed: checks the error that the work is told when the transfer fails.
        refused: checks the answer of an engine that had stopped before.
    """

    name: str
    zone: str
    write: bool
    work: Callable[[World], Awaitable[None]]
    needs: str = "core"
    failed: Callable[[World], Awaitable[None]] | None = None
    refused: Callable[[World], Awaitable[None]] | None = None


async def bus_error(world: World) -> None:
    """The last command has ended in BUS_ERROR, with no result."""
    world.bench.taken = world.bench.script.tail - 1
    done = await world.bench.completion()
    assert (done.status, done.result) == (Status.BUS_ERROR, 0)


async def no_completion(world: World) -> None:
    """None of the commands that fill the ring has ended."""
    assert m.CMD_HEAD_HEAD.get(await world.bench.read(m.CMD_HEAD_OFFSET)) == world.bench.script.tail - (1 << RING_LOG2)


async def lookup_error(world: World) -> None:
    """The lookup by register ends in BUS_ERROR, with no entry."""
    info = await world.bench.read(m.LOOKUP_INFO_OFFSET)
    assert not m.LOOKUP_INFO_BUSY.get(info)
    assert m.LOOKUP_INFO_STATUS.get(info) == Status.BUS_ERROR
    assert await world.bench.read(m.LOOKUP_ENTRY_OFFSET) == 0


ROWS = [
    Row("commands", "commands", False, World.commands, failed=no_completion),
    Row("completions", "completions", True, World.commands),
    Row("dump", "dump", True, World.dump, "check", bus_error),
    Row("words", "table", False, World.lookups, failed=bus_error),
    Row("words by register", "table", False, World.register_lookups, failed=lookup_error, refused=lookup_error),
    Row("new words", "table", True, World.clear, failed=bus_error),
    Row("bitmap of words", "bitmap", True, World.scan, failed=bus_error),
    Row("range of words", "range", True, World.range, failed=bus_error),
    Row("counts of words", "counts", True, World.count, failed=bus_error),
    Row("tables given", "source", False, World.give, failed=bus_error),
    Row("words of clusters", "word", False, World.grants, "grants"),
    Row("bitmaps", "bitmaps", False, World.grants, "grants"),
    Row("CPU lines", "line", False, World.grants, "grants"),
    Row("rings", "ring", True, World.grants, "grants"),
    Row("NO_RUN", "no_run", True, World.grants, "grants"),
]

KINDS = {(row.zone, row.write) for row in ROWS}
"""Every transfer that there may be."""
