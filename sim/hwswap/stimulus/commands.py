# SPDX-License-Identifier: Apache-2.0
"""Random commands with the golden model's outcomes, and commands that bring clusters to a state that is wanted."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from hwswap_map import Flag, Opcode, Status

from hwswap.model.clusters import BLKDEV, SOLIDSTATE, Cluster, Device, Slots
from hwswap.model.golden import Allocator
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import ORDERS, SLOTS, run, runs

SSD = BLKDEV | SOLIDSTATE


@dataclass
class Expected:
    """The expected answer of a command: its status, and slot and type, or all of RESULT where that is given."""

    command: Command
    status: Status
    slot: int = 0
    type: int = 0
    result: int | None = None


def carry_out(model: Allocator, command: Command) -> Expected:
    """Let a model carry a command out; return the answer that the engine must give."""
    type_, nr, slot = command.type, command.nr, command.arg0
    if command.opcode == Opcode.ALLOC:
        found = model.alloc(command.cpu, command.order)
        return (
            Expected(command, Status.NO_SPACE) if not found else Expected(command, Status.OK, found.offset, found.type)
        )
    if command.opcode == Opcode.DISCARD_TAKE:
        return Expected(command, *model.discard_take(type_))
    pages, base = slot & 0xFFFF_FFFF, slot >> 32
    priority, node = (command.arg2 & 0xFFFF ^ 0x8000) - 0x8000, command.arg2 >> 24
    does: dict[int, Callable[[], Status]] = {
        Opcode.SWAPON_PREPARE: lambda: model.prepare(type_, pages, base, command.arg1, priority, node),
        Opcode.MARK_BAD: lambda: model.mark_bad(type_, slot, nr),
        Opcode.SWAPON: lambda: model.swapon(type_),
        Opcode.SWAPOFF_BEGIN: lambda: model.swapoff_begin(type_),
        Opcode.SWAPOFF: lambda: model.swapoff(type_),
        Opcode.FREE: lambda: model.free(type_, slot, nr),
        Opcode.DISCARD_DONE: lambda: model.discard_done(type_, slot),
    }
    return Expected(command, does[command.opcode]())


class RandomCommands:
    """Commands that the model has carried out, with the answers that the engine must give."""

    def __init__(self, model: Allocator, rng: random.Random) -> None:
        """Take a model in the engine's state."""
        self.model = model
        self.rng = rng
        self.lines: list[Expected] = []

    def do(self, *commands: Command) -> Expected:
        """Let the model carry commands out; return the answer of the last one."""
        self.lines += [carry_out(self.model, command) for command in commands]
        return self.lines[-1]

    # Devices

    def bring(self, kinds: tuple[int, ...], sizes: range, priorities: tuple[int, ...] = (-1,)) -> None:
        """Bring devices of some kinds and sizes on; the first has bad slots in its second cluster."""
        base = 0
        for type_, flags in enumerate(kinds):
            clusters = self.rng.choice(sizes)
            pages = clusters * SLOTS - self.rng.choice((0, 0, 100))
            priority = self.rng.choice(priorities)
            self.do(prepare(type_, pages, base, flags, priority))
            if not type_:
                self.do(Command(Opcode.MARK_BAD, type_, nr=3, arg0=700))
            self.on(type_)
            base += clusters

    def on(self, type_: int) -> None:
        """SWAPON."""
        self.do(Command(Opcode.SWAPON, type_))

    def off(self, type_: int) -> None:
        """SWAPOFF_BEGIN and SWAPOFF, whether slots are in use there or not."""
        self.do(Command(Opcode.SWAPOFF_BEGIN, type_), Command(Opcode.SWAPOFF, type_))

    def permission(self) -> None:
        """SWAPOFF_BEGIN of a device now and then, and SWAPON of one that has lost its permission."""
        gone = [device for device in self.model.devices.values() if not device.writeok]
        if gone:
            self.on(self.rng.choice(gone).type)
        elif self.rng.random() < 0.3:
            self.do(Command(Opcode.SWAPOFF_BEGIN, self.device().type))

    def device(self) -> Device:
        """Draw a device."""
        return self.rng.choice(list(self.model.devices.values()))

    def cluster(self) -> tuple[Device, Cluster]:
        """Draw a cluster."""
        device = self.device()
        return device, self.rng.choice(device.clusters)

    # Allocations, frees, discards

    def alloc(self, orders: tuple[int, ...] = (0, 0, 0, 1, 2, 4, 4, 6, 9)) -> None:
        """ALLOC of one of some orders by any CPU."""
        self.alloc_by(self.rng.randrange(self.model.limit_cpus), self.rng.choice(orders))

    def alloc_by(self, cpu: int, order: int) -> Slots | None:
        """ALLOC by this CPU; return its slots."""
        line = self.do(Command(Opcode.ALLOC, cpu=cpu, order=order))
        return Slots(line.type, line.slot) if line.status == Status.OK else None

    def free(self) -> None:
        """FREE of slots that were given."""
        device, cluster = self.cluster()
        pieces = runs(cluster.used & ~cluster.bad)
        if not pieces:
            return
        slot, nr = self.rng.choice(pieces)
        nr = min(nr, self.rng.choice((1, 1, 2, 5, 16)) if self.rng.random() < 0.9 else self.rng.randint(1, nr))
        self.free_run(device, cluster.index * SLOTS + slot, nr)

    def free_run(self, device: Device, offset: int, nr: int) -> None:
        """FREE of just these slots."""
        self.do(Command(Opcode.FREE, device.type, nr=nr, arg0=offset))

    def free_mask(self, device: Device, cluster: Cluster, mask: int) -> None:
        """FREE of the slots of `mask` that are in use in a cluster, run by run."""
        for slot, nr in runs(cluster.used & ~cluster.bad & mask):
            self.free_run(device, cluster.index * SLOTS + slot, nr)

    def discard(self) -> None:
        """DISCARD_TAKE, or DISCARD_DONE of any cluster."""
        device, cluster = self.cluster()
        if self.rng.random() < 0.5:
            self.take(device)
        else:
            self.discarded(device, cluster.index * SLOTS + self.rng.randrange(SLOTS))

    def take(self, device: Device) -> int:
        """DISCARD_TAKE; return the cluster's first slot, 0 for none."""
        return self.do(Command(Opcode.DISCARD_TAKE, device.type)).slot

    def discarded(self, device: Device, offset: int) -> None:
        """DISCARD_DONE of the cluster that holds a slot."""
        self.do(Command(Opcode.DISCARD_DONE, device.type, arg0=offset))

    # Clusters in a state that is wanted

    def pattern(self) -> int:
        """Draw slots of a cluster: none, all, all but one aligned run or a few slots, or that run alone."""
        rng = self.rng
        kind = rng.randrange(6)
        order = rng.randrange(ORDERS)
        hole = run(rng.randrange(SLOTS >> order) << order, 1 << order)
        if kind < 2:
            return (0, run(0, SLOTS))[kind]
        if kind == 2:
            return hole
        if kind == 3:
            return run(0, SLOTS) & ~sum(1 << slot for slot in rng.sample(range(SLOTS), 3))
        return run(0, SLOTS) & ~hole

    def fill(self, device: Device, cluster: Cluster, order: int) -> None:
        """Allocate until all of a cluster is in use, by one CPU: of `order` if the cluster is empty or of that order.

        What else has room may be filled before it.
        """
        cpu = self.rng.randrange(self.model.limit_cpus)
        if cluster.count and cluster.order != order:
            order = 0
        while cluster.count < SLOTS and device.writeok:
            if self.alloc_by(cpu, order) is None:
                if not order:
                    return
                order = 0

    def empty(self, device: Device, cluster: Cluster) -> None:
        """Free all of a cluster that was given, and discard it where that is to be done."""
        self.free_mask(device, cluster, -1)
        while cluster.flag == Flag.DISCARD and not cluster.taken:
            self.discarded(device, self.take(device))

    def refill(self, device: Device, cluster: Cluster, wanted: int, order: int) -> None:
        """Have just the slots of `wanted` in use in a cluster, bad ones besides, of an order, all else being full."""
        if cluster.order != order:
            self.empty(device, cluster)
        if wanted & ~cluster.used or not cluster.count:
            self.fill(device, cluster, order)
        self.free_mask(device, cluster, ~wanted)
        if not wanted:
            self.empty(device, cluster)

    def all_full(self) -> None:
        """Have every slot in use that can be."""
        for device in self.model.devices.values():
            for cluster in device.clusters:
                while cluster.flag == Flag.DISCARD and not cluster.taken:
                    self.discarded(device, self.take(device))
        for order in (*self.rng.sample(range(1, ORDERS), 3), 0):
            while self.alloc_by(self.rng.randrange(self.model.limit_cpus), order) is not None:
                pass
