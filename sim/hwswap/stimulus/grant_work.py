# SPDX-License-Identifier: Apache-2.0
"""What a host with grants does: random allocations and frees, a step at a time."""

import random
from collections.abc import Iterator
from typing import Any

from hwswap.model.rows import SLOTS
from hwswap.model.steering import Host

USED_ORDERS = (0, 0, 1, 2, 3, 4, 6, 8, 9)


def finish(steps: Iterator[str]) -> Any:
    """Do all steps; return what comes of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Work:
    """Random allocations and frees of a host, and which slots are whose.

    Attributes:
        operations: what each CPU is at that is at work: the order, -1 to free, and the steps that are left.
        load: chance that an idle CPU begins something when it is looked at.
    """

    def __init__(self, host: Host, rng: random.Random) -> None:
        """Begin with nothing, and no CPU at work."""
        self.host = host
        self.rng = rng
        self.owned: dict[tuple[int, int], int] = {}
        self.operations: dict[int, tuple[int, Iterator[str]]] = {}
        self.load = 0.0
        self.favourite = rng.choice(USED_ORDERS)

    def order(self) -> int:
        """Draw an order, mostly the favourite one."""
        return self.favourite if self.rng.random() < 0.7 else self.rng.choice(USED_ORDERS)

    def step(self, cpu: int) -> bool:
        """Let a CPU go on with what it is at, or maybe begin something; tell whether it did."""
        if cpu not in self.operations:
            if self.rng.random() >= self.load:
                return False
            self.operations[cpu] = self.begin(cpu, self.order())
        order, steps = self.operations[cpu]
        try:
            next(steps)
        except StopIteration as end:
            del self.operations[cpu]
            self.ended(order, end.value)
        return True

    def begin(self, cpu: int, order: int) -> tuple[int, Iterator[str]]:
        """Begin an allocation, or now and then to free something."""
        if self.owned and self.rng.random() < 0.35:
            place = self.rng.choice(list(self.owned))
            return -1, self.host.free(*place, self.owned.pop(place))
        return order, self.host.alloc(cpu, order)

    def ended(self, order: int, found: Any) -> None:
        """Take note of what an allocation has brought: slots that are free, aligned, and none that is bad."""
        if order < 0 or found is None:
            return
        type_, offset = found
        device = self.host.devices[type_]
        mine = set(range(offset, offset + (1 << order)))
        assert offset % (1 << order) == 0
        assert not (device.entry.file and order)
        for number, bad in enumerate(device.bad):
            assert not any(bad >> slot % SLOTS & 1 for slot in mine if slot // SLOTS == number)
        assert max(mine) < device.pages
        for (other, at), size in self.owned.items():
            assert other != type_ or not mine & set(range(at, at + (1 << size))), "given twice"
        self.owned[type_, offset] = order

    def gone(self, type_: int) -> None:
        """Forget what a device had."""
        for place in [place for place in self.owned if place[0] == type_]:
            del self.owned[place]
