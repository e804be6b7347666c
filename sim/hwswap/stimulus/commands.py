# SPDX-License-Identifier: Apache-2.0
"""Random commands with the golden model's outcomes: STEP commands, questions, allocations and what belongs to them."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import hwswap_map as m
from hwswap_map import Flag, Opcode, Status

from hwswap.model.golden import Cluster, Device, Slots
from hwswap.model.host_memory import Command, prepare
from hwswap.model.rows import ORDERS, SLOTS, run, runs
from hwswap.model.stepper import Question, Stepper

NAMED = m.MEM_STEP_LIST_LIST_NAMED.put(1)
PUT_TAKEN = m.MEM_STEP_LIST_LIST_TAKEN.put(1)

Answer = Callable[[Question], int | None]
"""What a host does when it is asked: frees what it can, and says which slots it tried, None for none."""


@dataclass
class Expected:
    """What a command is to be answered: its status, and slot and type, or all of RESULT where that is given."""

    command: Command
    status: Status
    slot: int = 0
    type: int = 0
    result: int | None = None


class RandomCommands:
    """Commands that the model has carried out, with what the engine must answer."""

    def __init__(self, model: Stepper, rng: random.Random) -> None:
        """Take a model in the engine's state."""
        self.model = model
        self.rng = rng
        self.lines: list[Expected] = []
        self.counts: dict[str, int] = {}

    def add(self, command: Command, status: Status, slot: int = 0, type_: int = 0) -> None:
        """Note a command that the model has carried out."""
        self.lines.append(Expected(command, status, slot, type_))
        key = f"{Opcode(command.opcode).name} {status.name}"
        self.counts[key] = self.counts.get(key, 0) + 1

    def bring(self, kinds: tuple[int, ...], sizes: range, priorities: tuple[int, ...] = (-1,)) -> None:
        """Bring devices of some kinds and sizes on; the first has bad slots in its second cluster."""
        base = 0
        for type_, flags in enumerate(kinds):
            clusters = self.rng.choice(sizes)
            pages = clusters * SLOTS - self.rng.choice((0, 0, 100))
            priority = self.rng.choice(priorities)
            self.add(
                prepare(type_, pages, base, flags, priority), self.model.prepare(type_, pages, base, flags, priority)
            )
            if not type_:
                self.add(Command(Opcode.MARK_BAD, type_, nr=3, arg0=700), self.model.mark_bad(type_, 700, 3))
            self.add(Command(Opcode.SWAPON, type_), self.model.swapon(type_))
            base += clusters

    # Allocations, frees, discards, permission, and the steps

    def device(self) -> Device:
        """Draw a device."""
        return self.rng.choice(list(self.model.devices.values()))

    def absent(self) -> int:
        """Return the number of a device that is not there."""
        named = min(self.model.limit_devices + 1, 1 << m.MEM_COMMAND_HEAD_TYPE.width)
        return max(set(range(named)) - set(self.model.devices))

    def cluster(self) -> tuple[Device, Cluster]:
        """Draw a cluster."""
        device = self.device()
        return device, self.rng.choice(device.clusters)

    def alloc(self, orders: tuple[int, ...] = (0, 0, 0, 1, 2, 4, 4, 6, 9)) -> None:
        """ALLOC."""
        cpu, order = self.rng.randrange(self.model.limit_cpus), self.rng.choice(orders)
        found = self.model.alloc(cpu, order)
        command = Command(Opcode.ALLOC, cpu=cpu, order=order)
        if found is None:
            self.add(command, Status.NO_SPACE)
        else:
            self.add(command, Status.OK, found.offset, found.type)

    def free_in(self, device: Device, cluster: Cluster, mask: int) -> None:
        """FREE of one run of the slots of `mask` that are in use."""
        pieces = runs(cluster.used & ~cluster.bad & mask)
        if not pieces:
            return
        slot, nr = self.rng.choice(pieces)
        nr = min(nr, self.rng.choice((1, 1, 2, 5, 16)) if self.rng.random() < 0.9 else self.rng.randint(1, nr))
        self.free_run(device, cluster.index * SLOTS + slot, nr)

    def free_run(self, device: Device, offset: int, nr: int) -> None:
        """FREE of just these slots."""
        self.add(Command(Opcode.FREE, device.type, nr=nr, arg0=offset), self.model.free(device.type, offset, nr))

    def free(self) -> None:
        """FREE of what was given."""
        device, cluster = self.cluster()
        self.free_in(device, cluster, -1)

    def discard(self) -> None:
        """DISCARD_TAKE, DISCARD_DONE."""
        device, cluster = self.cluster()
        if self.rng.random() < 0.5:
            status, offset = self.model.discard_take(device.type)
            self.add(Command(Opcode.DISCARD_TAKE, device.type), status, offset)
        else:
            offset = cluster.index * SLOTS + self.rng.randrange(SLOTS)
            status = self.model.discard_done(device.type, offset)
            self.add(Command(Opcode.DISCARD_DONE, device.type, arg0=offset), status)

    def permission(self) -> None:
        """SWAPOFF_BEGIN, SWAPON."""
        gone = [device for device in self.model.devices.values() if not device.writeok]
        if gone:
            device = self.rng.choice(gone)
            self.add(Command(Opcode.SWAPON, device.type), self.model.swapon(device.type))
        elif self.rng.random() < 0.3:
            device = self.device()
            self.add(Command(Opcode.SWAPOFF_BEGIN, device.type), self.model.swapoff_begin(device.type))

    def take(self) -> None:
        """STEP_TAKE."""
        rng = self.rng
        device, cluster = self.cluster()
        flag, order = rng.randrange(7), rng.randrange(ORDERS + 1)
        if rng.random() < 0.7:
            flag, order = cluster.flag, cluster.order
        offset = None
        if rng.random() < 0.5:
            offset = cluster.index * SLOTS + rng.randrange(SLOTS) if rng.random() < 0.95 else device.total + 7
            flag = Flag.NONE if rng.random() < 0.3 else flag
        type_ = device.type if rng.random() < 0.97 else self.absent()
        status, slot, first = self.model.step_take(type_, flag, order, offset)
        command = Command(
            Opcode.STEP_TAKE, type_, order=order, arg0=offset or 0, arg1=flag | (0 if offset is None else NAMED)
        )
        self.add(command, status, slot | first << 32, type_ if status == Status.OK else 0)

    def put(self, device: Device, cluster: Cluster, flag: int, order: int, taken: bool = False) -> None:
        """STEP_PUT."""
        offset = cluster.index * SLOTS + self.rng.randrange(SLOTS)
        status = self.model.step_put(device.type, offset, flag, order, taken)
        arg1 = flag | (PUT_TAKEN if taken else 0)
        self.add(Command(Opcode.STEP_PUT, device.type, order=order, arg0=offset, arg1=arg1), status)

    def some_put(self) -> None:
        """Put some cluster where it may belong."""
        rng = self.rng
        device, cluster = self.cluster()
        away = [c for c in device.clusters if c.flag == Flag.NONE]
        if away and rng.random() < 0.7:
            cluster = rng.choice(away)
        order = cluster.order if cluster.count and rng.random() < 0.8 else rng.randrange(ORDERS + 1)
        flag = rng.choice((self.fitting(cluster), self.fitting(cluster), rng.randrange(7)))
        self.put(device, cluster, flag, order, flag in (5, 6) and rng.random() < 0.6)

    def fitting(self, cluster: Cluster) -> Flag:
        """Return a flag that goes with a cluster's count."""
        if not cluster.count:
            return Flag.FREE
        return Flag.FULL if cluster.count == SLOTS else self.rng.choice((Flag.FRAG, Flag.NONFULL))

    def slots(self) -> None:
        """STEP_GIVE and STEP_FREE."""
        rng = self.rng
        device, cluster = self.cluster()
        give = rng.random() < 0.55
        pieces = runs(~cluster.used & run(0, SLOTS) if give else cluster.used & ~cluster.bad)
        slot, nr = rng.choice(pieces) if pieces and rng.random() < 0.9 else (rng.randrange(SLOTS), rng.randint(0, 600))
        if nr > 1 and rng.random() < 0.7:
            nr = rng.randint(1, nr)
        if not give and cluster.bad & run(slot, min(nr, SLOTS)):
            return  # the engine does not know which slots are bad
        offset, order = cluster.index * SLOTS + slot, rng.randrange(ORDERS)
        status = self.model.step_slots(device.type, offset, nr, order if give else None)
        opcode = Opcode.STEP_GIVE if give else Opcode.STEP_FREE
        self.add(Command(opcode, device.type, order=order, nr=nr, arg0=offset), status)

    def next(self) -> None:
        """STEP_NEXT."""
        rng = self.rng
        device, order = self.device(), rng.randrange(ORDERS + 1)
        cpu = None if device.rotating == (rng.random() < 0.9) else rng.randrange(self.model.limit_cpus + 1)
        offset = rng.choice((0, rng.randrange(device.total), rng.randrange(2 * device.total)))
        if rng.random() < 0.8:
            offset &= -1 << order
        status = self.model.step_next(device.type, cpu, order, offset)
        command = Command(
            Opcode.STEP_NEXT, device.type, cpu=cpu or 0, order=order, arg0=offset, arg1=1 if cpu is None else 0
        )
        self.add(command, status)

    def visit(self) -> None:
        """STEP_VISIT."""
        type_ = self.device().type
        status, first, behind = self.model.step_visit(type_)
        self.add(Command(Opcode.STEP_VISIT, type_), status, behind, first)

    def available(self) -> None:
        """STEP_AVAILABLE; one without write permission does not stay, as no allocation would come past it."""
        device = self.device()
        for joins in (True, False) if not device.writeok else (self.rng.random() < 0.5,):
            status = self.model.step_available(device.type, joins)
            self.add(Command(Opcode.STEP_AVAILABLE, device.type, arg0=joins), status)

    def tidy(self) -> None:
        """Put every cluster on a list that fits, and every device where it should be."""
        for device in self.model.devices.values():
            for cluster in device.clusters:
                empty = not cluster.count and cluster.flag != Flag.FREE
                if cluster.flag == Flag.NONE or cluster.taken or empty:
                    self.put(device, cluster, self.fitting(cluster), cluster.order)
                elif cluster.count == SLOTS and cluster.flag == Flag.FRAG:
                    self.put(device, cluster, Flag.FULL, cluster.order)
        self.set_right()

    def give(self, device: Device, cluster: Cluster, mask: int, order: int | None) -> None:
        """STEP_GIVE, or STEP_FREE with None, of the slots of `mask`, run by run."""
        opcode = Opcode.STEP_FREE if order is None else Opcode.STEP_GIVE
        for slot, nr in runs(mask):
            offset = cluster.index * SLOTS + slot
            status = self.model.step_slots(device.type, offset, nr, order)
            self.add(Command(opcode, device.type, order=order or 0, nr=nr, arg0=offset), status)

    def pattern(self) -> int:
        """Draw slots of a cluster: none, all, all but one aligned run or a few slots, or some runs."""
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

    def refill(self, device: Device, cluster: Cluster, wanted: int, order: int, flag: Flag | None = None) -> None:
        """Have just the slots of `wanted` in use in a cluster, bad ones besides, on a list that goes with it."""
        if cluster.flag != Flag.NONE:
            self.put(device, cluster, Flag.NONE, cluster.order)
        if not wanted & cluster.used & ~cluster.bad or cluster.order != order:
            self.give(device, cluster, cluster.used & ~cluster.bad, None)
        self.give(device, cluster, cluster.used & ~cluster.bad & ~wanted, None)
        self.give(device, cluster, wanted & ~cluster.used, order)
        self.put(device, cluster, flag or self.fitting(cluster), cluster.order if cluster.count else order)

    def forget(self) -> None:
        """No CPU and no device remembers a place."""
        for device in self.model.devices.values():
            for order in range(ORDERS):
                for cpu in (None,) if device.rotating else range(self.model.limit_cpus):
                    status = self.model.step_next(device.type, cpu, order, 0)
                    of_device = cpu is None
                    self.add(Command(Opcode.STEP_NEXT, device.type, cpu=cpu or 0, order=order, arg1=of_device), status)

    def all_full(self) -> None:
        """Have every slot in use."""
        for device in self.model.devices.values():
            for cluster in device.clusters:
                if cluster.count != SLOTS or cluster.flag != Flag.FULL:
                    self.refill(device, cluster, run(0, SLOTS), self.rng.randrange(ORDERS))

    def lonely(self) -> None:
        """With all else full, one cluster on any list has room; what is asked for fits, or nearly."""
        rng = self.rng
        device, cluster = self.cluster()
        self.all_full()
        for _ in range(4):
            order = rng.randrange(ORDERS)
            size = rng.randrange(ORDERS)
            wanted = run(0, SLOTS)
            for _ in range(rng.choice((1, 1, 2))):
                wanted &= ~run(rng.randrange(SLOTS >> size) << size, 1 << size)
            self.refill(device, cluster, wanted, order)
            self.set_right()
            if rng.random() < 0.3:
                self.forget()
            for _ in range(rng.choice((1, 2, 3))):
                self.alloc((order, order, 0))
        self.all_full()
        self.set_right()

    def shuffle(self) -> None:
        """Give every cluster other slots and another list; no CPU and no device remembers a place."""
        rng, model = self.rng, self.model
        for device in model.devices.values():
            for cluster in rng.sample(device.clusters, len(device.clusters)):
                self.refill(device, cluster, self.pattern(), rng.randrange(ORDERS))
        self.forget()
        self.set_right()

    def set_right(self) -> None:
        """Have every device on the available list if, and only if, it should be."""
        for device in self.model.devices.values():
            should = device.writeok and device.used < device.total
            if (device in self.model.available) != should:
                status = self.model.step_available(device.type, should)
                self.add(Command(Opcode.STEP_AVAILABLE, device.type, arg0=should), status)

    # Questions

    def ask(self, cpu: int, order: int, answer: Answer) -> Slots | None:
        """ALLOC with RECLAIM, and what follows until it has an end, which is returned."""
        command = Command(Opcode.ALLOC, cpu=cpu, order=order, reclaim=True)
        search = self.model.ask(cpu, order)
        tried: int | None = None
        while True:
            try:
                question = search.send(tried)
            except StopIteration as end:
                found = end.value
                if found is None:
                    self.add(command, Status.NO_SPACE)
                else:
                    self.add(command, Status.OK, found.offset, found.type)
                return found
            asked = (
                m.MEM_NEED_RECLAIM_SLOTS_SLOT.put(question.offset)
                | m.MEM_NEED_RECLAIM_SLOTS_NR.put(question.nr)
                | m.MEM_NEED_RECLAIM_SLOTS_FULL.put(question.full)
            )
            self.add(command, Status.NEED_RECLAIM, asked, question.type)
            tried = answer(question)
            command = Command(
                Opcode.RECLAIM_DONE,
                question.type,
                cpu=cpu,
                order=order,
                nr=tried is not None,
                arg0=question.offset if tried is None else tried,
            )

    def ask_at_random(self) -> None:
        """ALLOC with RECLAIM by a host that frees anything, and does what it must not."""
        rng, model = self.rng, self.model
        cpu, order = rng.randrange(model.limit_cpus), rng.choice((0, 0, 0, 1, 2, 4, 4, 6, 9))

        def answer(question: Question) -> int | None:
            device = model.devices[question.type]
            cluster = device.clusters[question.offset // SLOTS]
            if rng.random() < 0.1:
                misbehave(cluster.index * SLOTS, device)
            if not question.full and rng.random() < 0.4:
                return None
            groups = range(question.offset, question.offset + question.nr, 1 << order)
            tried = question.offset if question.full else rng.choice(groups)
            mask = run(tried % SLOTS, SLOTS if question.full else 1 << order)
            for _ in range(rng.choice((0, 1, 2, 3))):
                self.free_in(device, cluster, mask)
            if rng.random() < 0.15:  # a folio may reach beyond the group
                self.free_in(device, cluster, -1)
            if rng.random() < 0.15:
                for slot, nr in runs(cluster.used & ~cluster.bad & mask):
                    self.free_run(device, cluster.index * SLOTS + slot, nr)
            return tried

        def misbehave(here: int, device: Device) -> None:
            for wrong in (
                Command(Opcode.ALLOC, cpu=cpu, order=order, reclaim=rng.random() < 0.5),
                Command(Opcode.CHECK, device.type),
                Command(Opcode.STEP_VISIT, device.type),
            ):
                self.add(wrong, Status.BAD_OPCODE)
            elsewhere = (here + SLOTS) % device.total
            for other, at in ((order, elsewhere), ((order + 1) % ORDERS, here), (order, device.total)):
                refused = Command(Opcode.RECLAIM_DONE, device.type, cpu=cpu, order=other, arg0=at)
                self.add(refused, Status.BAD_RANGE)
            self.add(Command(Opcode.NOP), Status.OK)

        self.ask(cpu, order, answer)
