# SPDX-License-Identifier: Apache-2.0
"""A small model of CPUs that set marks and of an engine that clears and reads them, step by step.

One group of clusters. Of a bitmap nobody asks what is in it, only whether the engine has read it since it last changed:
every store to it counts as a change, so that one bit stands for all values. What is left is finite, and small.

CPUs (x86-TSO: Owens, Sarkar, Sewell 2009; RVWMO: the chapter of that name in the RISC-V unprivileged specification).
Each has a buffer of stores which nobody else sees yet. Under TSO they become visible in their order. Under RVWMO any
may be next that has no fence and no store to the same address before it. Both models are multi-copy atomic, so a store
is visible to all others at once. A lock that is given up is a release: visible after all stores before it. To take a
lock is an atomic access: under TSO it waits for the buffer, under RVWMO it does not. Loads are in program order; those
there are stand after a barrier, or in a case that is to fail anyway. Stores that nobody can see yet are put into the
buffer at once: a later moment would change nothing that can be seen.

The engine has requests on the bus, which the memory carries out. AXI: it sends the next ones when it has the answers to
those before. PCIe: writes are posted; reads do not pass them. Weak: AXI without waiting for the answer to a write.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from typing import NamedTuple

FENCE = -1
"""In a store buffer: fence w,w. Below it: the stores that give up the locks."""

READ, CLEAR = "reads", "writes 0 to"

MARK = ("data", "fence", "dirty", "fence", "group")
"""What a CPU does under the lock of a cluster.

`data`, `dirty`, `group`, `head`: a store; `data` one to each part of the cluster. `fence`: a barrier between stores.
`full`: a barrier that waits until all stores are visible. `unless dirty`, `unless group`: look; go on only if it is 0.
"""


class Memory(Enum):
    """In which order a CPU's stores become visible."""

    TSO = "TSO"
    RVWMO = "RVWMO"


class Bus(Enum):
    """What the bus and the engine keep in order."""

    AXI = "AXI"
    PCIE = "PCIe"
    WEAK = "weak"


class Reader(Enum):
    """A second reader of bitmaps in the engine, that builds grants."""

    NONE = "none"
    LATE = "its result is taken over whenever it comes"
    DROPPED = "its result is dropped when the scan has begun to read the cluster since"
    HEAD = "it reads once, when HEAD has passed"


class Phase(IntEnum):
    """What the engine waits for."""

    GROUP = 0
    BYTES = 1
    CLEAR = 2
    DATA = 3


@dataclass(frozen=True)
class Rules:
    """A case: who there is, and what they do. The default is the protocol.

    Attributes:
        memory: in which order the CPUs' stores become visible.
        bus: what the engine's bus keeps in order.
        cpus: how many CPUs.
        marks: how many changes each of them makes.
        clusters: how many there are in the group; a CPU chooses any of them for each change.
        parts: stores of a change that have no order among each other, such as words of BITMAP, and WORD.
        mark: what a CPU does for a change.
        wait_group: whether the engine waits for the answer to its clearing of GROUP (weak bus).
        wait_bytes: the same for DIRTY.
        group_first: whether GROUP is cleared before DIRTY is read, as it must be.
        bytes_first: whether DIRTY is cleared before BITMAP is read, as it must be.
        clear_all: whether all bytes of the group are cleared, not only those that were 1.
        reader: a second reader in the engine.
    """

    memory: Memory = Memory.TSO
    bus: Bus = Bus.AXI
    cpus: int = 2
    marks: int = 2
    clusters: int = 2
    parts: int = 1
    mark: tuple[str, ...] = MARK
    wait_group: bool = True
    wait_bytes: bool = True
    group_first: bool = True
    bytes_first: bool = True
    clear_all: bool = False
    reader: Reader = Reader.NONE


class Cpu(NamedTuple):
    """A CPU: changes still to make, where it is in one (-1: in none), of which cluster, and its buffer."""

    left: int
    at: int
    cluster: int
    stores: tuple[int, ...]


class Second(NamedTuple):
    """The second reader of cluster 0: parts to read, those read and not changed since, whether the scan came by."""

    todo: int
    fresh: int
    overtaken: bool


class State(NamedTuple):
    """All of it. `marks` are the bytes that are 1, `fresh` the parts that the engine read since they changed."""

    cpus: tuple[Cpu, ...]
    marks: int
    fresh: int
    phase: Phase
    seen: int
    requests: tuple[tuple[str, int], ...]
    second: Second | None
    released: bool


class Model:
    """The steps of a case. Places are numbered: GROUP, DIRTY of each cluster, HEAD, then the parts of each cluster."""

    def __init__(self, rules: Rules) -> None:
        """Number the places."""
        self.rules = rules
        self.head = 1 + rules.clusters
        self.parts = [
            tuple(self.head + 1 + c * rules.parts + p for p in range(rules.parts)) for c in range(rules.clusters)
        ]
        self.first_part = self.head + 1
        self.bytes = tuple(1 + c for c in range(rules.clusters))
        self.masks = [sum(1 << part for part in parts) for parts in self.parts]
        self.all_parts = sum(self.masks)
        names = ["BITMAP", "WORD", *(f"PART{part}" for part in range(2, rules.parts))][: rules.parts]
        self.names = ["GROUP", *(f"DIRTY[{c}]" for c in range(rules.clusters)), "HEAD"]
        self.names += [f"{name}[{c}]" for c in range(rules.clusters) for name in names]
        # What one operation of a mark puts into the buffer, for each cluster.
        self.stores = [
            {"data": parts, "dirty": (1 + c,), "group": (0,), "head": (self.head,), "fence": (FENCE,)}
            for c, parts in enumerate(self.parts)
        ]

    @cached_property
    def begin(self) -> State:
        """Nobody has done anything; the engine knows all."""
        cpu = Cpu(self.rules.marks, -1, 0, ())
        return State((cpu,) * self.rules.cpus, 0, self.all_parts, Phase.GROUP, 0, (), None, False)

    # What holds

    def quiescent(self, state: State) -> bool:
        """Tell whether nobody is at anything, and no mark says that the engine has something to do.

        CPUs may have changes left: they may make fewer.
        """
        return (
            state.phase is Phase.GROUP
            and not state.requests
            and state.second is None
            and not state.marks & 1
            and all(cpu.at < 0 and not cpu.stores for cpu in state.cpus)
        )

    def wrong(self, state: State) -> str | None:
        """Return what is wrong with a state, None if nothing is."""
        if self.quiescent(state) and state.fresh != self.all_parts:
            stale = [self.names[part] for parts in self.parts for part in parts if not state.fresh >> part & 1]
            left = [self.names[place] for place in self.bytes if state.marks >> place & 1]
            marks = f"{' and '.join(left)} 1, GROUP 0" if left else "no mark is left"
            return f"lost: {marks}, and the engine's copy of {' and '.join(stale)} is old"
        if state.released and self.rules.reader is Reader.HEAD:
            waiting = [place for cpu in state.cpus for place in cpu.stores if place >= self.first_part]
            if waiting or state.fresh & self.masks[0] != self.masks[0]:
                return "the cluster left the table of what is granted before the engine saw all that was taken"
        return None

    # Steps

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield each step that can be next, in words, with the state after it."""
        for number, cpu in enumerate(state.cpus):
            yield from self.cpu_steps(state, number, cpu)
        yield from self.engine_steps(state)
        if self.rules.reader is not Reader.NONE:
            yield from self.second_steps(state)

    def cpu_steps(self, state: State, number: int, cpu: Cpu) -> Iterator[tuple[str, State]]:
        """Yield the steps of a CPU and of its buffer."""
        rules = self.rules
        who = f"cpu {number}:"

        def changed_cpu(after: Cpu, marks: int = state.marks, fresh: int = state.fresh) -> State:
            cpus = (*state.cpus[:number], self.go_on(after), *state.cpus[number + 1 :])
            return state._replace(cpus=cpus, marks=marks, fresh=fresh)

        if cpu.at < 0 and cpu.left and not (rules.memory is Memory.TSO and cpu.stores):
            for cluster in range(rules.clusters):
                if not any(other.at >= 0 and other.cluster == cluster for other in state.cpus) and not any(
                    FENCE - 1 - cluster in other.stores for other in state.cpus
                ):
                    yield (
                        f"{who} takes the lock of cluster {cluster}, its stores wait in its buffer",
                        changed_cpu(Cpu(cpu.left - 1, 0, cluster, cpu.stores)),
                    )
        if cpu.at >= 0 and rules.mark[cpu.at].startswith("unless"):
            place = 0 if rules.mark[cpu.at] == "unless group" else 1 + cpu.cluster
            if place in cpu.stores or state.marks >> place & 1:
                yield f"{who} finds {self.names[place]} 1: no mark", changed_cpu(cpu._replace(at=len(rules.mark)))
            else:
                yield f"{who} finds {self.names[place]} 0", changed_cpu(cpu._replace(at=cpu.at + 1))
        for i in self.visible_next(cpu.stores):
            place = cpu.stores[i]
            rest = cpu._replace(stores=tidy(cpu.stores[:i] + cpu.stores[i + 1 :]))
            said = f"{who} {self.names[place]} is visible"
            if place >= self.first_part:
                yield said, self.changed(changed_cpu(rest, fresh=state.fresh & ~(1 << place)), place)
            else:
                yield said, changed_cpu(rest, marks=state.marks | 1 << place)

    @staticmethod
    def changed(state: State, place: int) -> State:
        """Let what the second reader has read of a place be old."""
        if state.second is None:
            return state
        return state._replace(second=state.second._replace(fresh=state.second.fresh & ~(1 << place)))

    def go_on(self, cpu: Cpu) -> Cpu:
        """Do all that nobody else can see: put stores into the buffer, pass barriers that have nothing to wait for."""
        left, at, cluster, stores = cpu
        if at < 0:
            return cpu
        mark = self.rules.mark
        while at < len(mark):
            what = mark[at]
            if what == "full":
                if stores:
                    return Cpu(left, at, cluster, stores)
            elif what.startswith("unless"):
                return Cpu(left, at, cluster, stores)
            else:
                stores += self.stores[cluster][what]
            at += 1
        return Cpu(left, -1, 0, tidy((*stores, FENCE - 1 - cluster)))

    def visible_next(self, stores: tuple[int, ...]) -> Iterator[int]:
        """Yield the positions of the stores of a buffer of which any may become visible next."""
        if self.rules.memory is Memory.TSO:
            # A fence w,w is nothing to a CPU whose stores keep their order: tidy() takes it away at the head.
            if stores:
                yield 0
            return
        for i, place in enumerate(stores):
            if place == FENCE:
                return
            # A lock is given up at the head alone, where tidy() does it; stores after it may be visible earlier.
            if place >= 0 and place not in stores[:i]:
                yield i

    def engine_steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield what the memory does of the engine's requests, and what the engine asks for next."""
        for i in self.done_next(state.requests):
            what, place = state.requests[i]
            rest = state._replace(requests=state.requests[:i] + state.requests[i + 1 :])
            if what == CLEAR:
                yield f"engine: {self.names[place]} = 0", rest._replace(marks=state.marks & ~(1 << place))
            elif place >= self.first_part:
                yield f"engine: reads {self.names[place]}", rest._replace(fresh=state.fresh | 1 << place)
            else:
                one = state.marks >> place & 1
                yield f"engine: reads {self.names[place]}: {one}", rest._replace(seen=state.seen | one << place)
        yield from self.asks(state)

    def done_next(self, requests: tuple[tuple[str, int], ...]) -> Iterator[int]:
        """Yield the positions of the requests of which any may be carried out next."""
        for i, (_, place) in enumerate(requests):
            before = requests[:i]
            if any(other == place for _, other in before):
                continue
            if self.rules.bus is Bus.PCIE and any(what == CLEAR for what, _ in before):
                continue
            yield i

    def waits(self, requests: tuple[tuple[str, int], ...]) -> bool:
        """Tell whether the engine waits for one of the requests before it sends others."""
        for what, place in requests:
            if what == READ or self.rules.bus is Bus.AXI:
                return True
            if self.rules.bus is Bus.WEAK and (self.rules.wait_group if place == 0 else self.rules.wait_bytes):
                return True
        return False

    def asks(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the step by which the engine sends its next requests, nothing if it waits."""
        rules, requests = self.rules, state.requests
        if self.waits(requests):
            return
        clear_group, read_bytes = ((CLEAR, 0),), tuple((READ, place) for place in self.bytes)
        if state.phase is Phase.GROUP:
            # A round begins when all of the last one is done, also where the engine did not wait for it.
            if not requests and state.marks & 1:
                said, asked = ("to clear it", clear_group) if rules.group_first else ("for DIRTY", read_bytes)
                after = state._replace(phase=Phase.BYTES, requests=asked, seen=0)
                yield f"engine: reads GROUP: 1; asks {said}", after
            return
        if state.phase is Phase.BYTES:
            said, asked = ("for DIRTY", read_bytes) if rules.group_first else ("to clear GROUP", clear_group)
            yield f"engine: asks {said}", state._replace(phase=Phase.CLEAR, requests=requests + asked)
            return
        seen = [place for place in self.bytes if state.seen >> place & 1]
        cleared = self.bytes if rules.clear_all else seen
        first = state.phase is Phase.CLEAR
        if first and not cleared:
            yield "engine: nothing was marked: its round is done", state._replace(phase=Phase.GROUP, seen=0)
            return
        after = state._replace(phase=Phase.DATA) if first else state._replace(phase=Phase.GROUP, seen=0)
        if first == rules.bytes_first:
            said = "all of DIRTY" if rules.clear_all else "DIRTY where it was 1"
            asked = tuple((CLEAR, place) for place in cleared)
            yield f"engine: asks to clear {said}", after._replace(requests=requests + asked)
        else:
            asked = tuple((READ, part) for place in seen for part in self.parts[place - 1])
            yield "engine: asks for what was marked", self.overtake(after._replace(requests=requests + asked))

    def overtake(self, state: State) -> State:
        """Let the second reader know that the scan begins to read its cluster, if it does."""
        second = state.second
        if second is None or (READ, self.parts[0][0]) not in state.requests:
            return state
        return state._replace(second=second._replace(overtaken=True))

    def second_steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of the second reader, which reads cluster 0 whenever it likes, or once HEAD has passed."""
        second = state.second
        if second is None:
            if self.rules.reader is Reader.HEAD and (state.released or not state.marks >> self.head & 1):
                return
            yield "second reader: begins to read cluster 0", state._replace(second=Second(self.masks[0], 0, False))
            return
        # Posted writes before it are not passed; that later ones may not be passed either only names another order.
        posted = self.rules.bus is Bus.PCIE and any(what == CLEAR for what, _ in state.requests)
        for part in self.parts[0]:
            if second.todo >> part & 1 and not posted:
                read = second._replace(todo=second.todo & ~(1 << part), fresh=second.fresh | 1 << part)
                yield f"second reader: reads {self.names[part]}", state._replace(second=read)
        if not second.todo:
            if second.overtaken and self.rules.reader is not Reader.LATE:
                yield "second reader: is dropped", state._replace(second=None)
            else:
                fresh = state.fresh & ~self.masks[0] | second.fresh
                released = self.rules.reader is Reader.HEAD
                yield (
                    "second reader: its copy is taken over",
                    state._replace(second=None, fresh=fresh, released=released),
                )


def tidy(stores: tuple[int, ...]) -> tuple[int, ...]:
    """Take away what is at the head of a buffer and takes no time: fences, and locks that are given up.

    A lock that is free earlier only lets others do more.
    """
    i = 0
    while i < len(stores) and stores[i] < 0:
        i += 1
    return stores[i:] if i else stores
