# SPDX-License-Identifier: Apache-2.0
"""The kernel's allocator as patches 0009 and 0010 have it: grants steer it, and bitmaps tell its slots in use.

The golden model is the allocator, the specification of grants (grants.py) the engine. The engine has its say when
`engine` is called, not at each step: how late it is in a guest depends on the machine.
"""

from collections.abc import Callable

from hwswap_map import Flag

from hwswap.model.cluster_map import LISTED, Arrays, Word, change
from hwswap.model.clusters import Cluster, Slots
from hwswap.model.golden import Allocator
from hwswap.model.grant_entries import DeviceEntry, Lines, Placement
from hwswap.model.grants import Grants
from hwswap.model.rows import SLOTS
from hwswap.model.steering import Held, fit
from hwswap.model.steps import Operation

TURNS = 128
"""Of so many folios that NO_RUN fails the kernel looks for one: SWAP_GRANTS_TURNS."""


class GrantedAllocator(Allocator):
    """An allocator with one CPU, devices of one priority, and an engine."""

    def __init__(self, devices: int, clusters: int, make: Callable[[Arrays, Lines], Grants]) -> None:
        """Use devices.

        Args:
            devices: their number.
            clusters: of all devices together, the same number each.
            make: makes an engine that knows no device.
        """
        super().__init__(devices=devices, cpus=1, clusters=clusters)
        each = clusters // devices
        for type_ in range(devices):
            self.prepare(type_, each * SLOTS, type_ * each)
            self.swapon(type_)
        self.held: dict[int, Held] = {}
        self.failed = 0
        self.arrays, self.lines = Arrays(clusters), Lines(1)
        self.grants = make(self.arrays, self.lines)
        for device in self.devices.values():
            entry = DeviceEntry(device.type, device.base, len(device.clusters), device.priority, device.type + 1)
            self.grants.set_device(entry)
        self.passes = self.grants.steps()
        for _ in range(2):  # until then it says of no order that there is no room
            self.engine()

    def engine(self) -> None:
        """Let the engine see all changes, and look at all rings."""
        for device in self.devices.values():
            for cluster in device.clusters:
                number = device.base + cluster.index
                word = Word(cluster.order, cluster.flag, device.type + 1)
                for _ in change(self.arrays, number, cluster.used, word):
                    pass
        while self.grants.reader.step() != "round":
            pass
        while next(self.passes) != "pass":
            pass

    def usable(self, cluster: Cluster, order: int) -> bool:  # type: ignore[override]
        """Tell whether the CPU may go on in a cluster: with placement OPEN in one of any order."""
        return super().usable(cluster, 0 if self.grants.placement is Placement.OPEN else order)

    def alloc(self, cpu: int, order: int) -> Slots | None:
        """Find slots: by a grant, where the CPU goes on, by a search."""
        operation = Operation(cpu, order)
        hint = self.hint_of(cpu, order)
        found = self.granted(operation)
        if found is None and hint.device is not None and hint.offset:
            found = self.finish(self.resume(operation, hint.device, hint.offset))
        if found is None and order and self.lines.no_run >> order & 1:
            self.failed += 1
            if self.failed % TURNS:
                return None
        return found or self.finish(self.alloc_slow(operation))

    def granted(self, operation: Operation) -> Slots | None:
        """Take the next place of a grant, if there is one and it is any good."""
        order = operation.order
        held = self.held.pop(order, None)
        start = self.place(held, order)
        while held is None or start < 0:
            held = self.pop(order)
            if held is None:
                return None
            start = self.place(held, order)
        device = self.devices[held.type]
        cluster = device.clusters[held.cluster]
        listed = cluster.flag in LISTED and self.usable(cluster, order)
        found = None
        if listed or cluster.flag == Flag.FREE:
            if not listed:
                del device.free[cluster.index]
                cluster.flag = Flag.NONE
            found = self.finish(self.scan(operation, device, cluster, start))
        if found is not None:
            held.at = start + (1 << order)
            self.held[order] = held
        return found

    def place(self, held: Held | None, order: int) -> int:
        """Return the next free place in the granted cluster, -1 if there is none."""
        return -1 if held is None else fit(self.devices[held.type].clusters[held.cluster].used, order, held.at)

    def pop(self, order: int) -> Held | None:
        """Take the next grant out of a ring."""
        head = self.lines.head[0]
        while (grant := self.lines.entry(0, order, head[order])) is not None:
            head[order] += 1
            if grant.valid:
                return Held(grant.type, grant.cluster)
        self.lines.want[0] |= 1 << order
        return None
