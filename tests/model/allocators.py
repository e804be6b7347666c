# SPDX-License-Identifier: Apache-2.0
"""The common part of the tests of the allocator's rules."""

from hwswap.model.clusters import BLKDEV, SOLIDSTATE, Slots
from hwswap.model.golden import Allocator
from hwswap.model.rows import SLOTS
from hwswap_map import Flag, Status

SSD = BLKDEV | SOLIDSTATE


def machine(
    *clusters: int, priorities: tuple[int, ...] = (), flags: int = SSD, cpus: int = 4, model: Allocator | None = None
) -> Allocator:
    """Give an allocator, a new one unless it is given, one device for each number of whole clusters."""
    model = model or Allocator(cpus=cpus)
    base = 0
    for type_, count in enumerate(clusters):
        priority = priorities[type_] if priorities else -1
        assert model.prepare(type_, count * SLOTS, base, flags, priority) == Status.OK
        assert model.swapon(type_) == Status.OK
        base += count
    return model


def place(model: Allocator, index: int, type_: int = 0) -> tuple[Flag, int]:
    """Return list and order of a cluster."""
    cluster = model.devices[type_].clusters[index]
    return cluster.flag, cluster.order


def fill(model: Allocator, order: int = 0, cpu: int = 0, until: int | None = None) -> list[Slots]:
    """Allocate until nothing is left, or until so many were had."""
    got = []
    while until is None or len(got) < until:
        slots = model.alloc(cpu, order)
        if slots is None:
            break
        got.append(slots)
    return got
