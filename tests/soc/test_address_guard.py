# SPDX-License-Identifier: Apache-2.0
"""The guard in front of RAM: accesses inside arrive intact, others are answered with a decode error and no more."""

import random
from collections import deque

import pytest
from axi_master import Master, shadow_user
from hwswap_litex import InputError
from hwswap_litex.address_guard import AddressGuard
from hwswap_soc.simulation.dram import DramModel
from litex.gen import LiteXModule
from litex.soc.interconnect import axi
from migen import passive, run_simulation

BASE = 0x4000_0000
SIZE = 1 << 12
# Addresses at which a memory that ignores the upper bits has RAM too, and the neighbours of both ends.
OUTSIDE = (BASE + (1 << 32), BASE | 1 << 63, BASE + SIZE, BASE - 8, BASE + 16 * SIZE, 0, (1 << 64) - 4096)
PATIENCE = 30_000


def inside(address: int) -> bool:
    return BASE <= address < BASE + SIZE


class Guarded(LiteXModule):
    """A guard between a master's 64-bit addresses and a slave's 32."""

    def __init__(self) -> None:
        """Make both ends."""
        self.master = axi.AXIInterface(data_width=64, address_width=64, id_width=4)
        self.slave = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        self.guard = AddressGuard(self.master, self.slave, BASE, SIZE)


class GuardedDram(LiteXModule):
    """A guard in front of the DRAM model, which is larger: it would answer some accesses that are to be refused."""

    def __init__(self) -> None:
        """Make both."""
        self.dram = DramModel(BASE, 2 * SIZE)
        self.comb += self.dram.latency.eq(7)
        self.master = axi.AXIInterface(data_width=64, address_width=64, id_width=4)
        self.guard = AddressGuard(self.master, self.dram.new_port(), BASE, SIZE)


@pytest.mark.parametrize("stall", [0.0, 0.4], ids=["fast", "stalling"])
def test_what_is_inside_arrives_intact(stall: float):
    design = GuardedDram()
    done: list[int] = []
    run_simulation(design, shadow_user(Master(design.master, 3, stall), BASE, SIZE, 60, done))
    assert done == [BASE]


def test_what_is_outside_is_refused_and_touches_nothing():
    design = GuardedDram()
    master = Master(design.master, 1, 0.2)
    checked = []

    def user():
        assert (yield from master.write(BASE, [1, 2, 3])) == axi.RESP_OKAY
        for address in OUTSIDE:
            assert (yield from master.write(address, [7] * 16)) == axi.RESP_DECERR
            words, response = yield from master.read(address, 16)
            assert (words, response) == ([0] * 16, axi.RESP_DECERR)
            assert (yield from master.read(BASE, 3)) == ([1, 2, 3], axi.RESP_OKAY)
        checked.append(True)

    run_simulation(design, user())
    assert checked


class Traffic:
    """Accesses of a master that has many under way, inside and outside of RAM, and their results."""

    def __init__(self, bus: axi.AXIInterface, seed: int, accesses: int) -> None:
        """Draw the accesses to a bus: address, beats, id."""
        self.master = Master(bus, seed, 0.25)
        self.random = self.master.random
        self.reads, self.writes = self._draw(accesses), self._draw(accesses)
        self.answered: dict[str, deque] = {"r": deque(), "b": deque()}
        self.seen: dict[str, list] = {"ar": [], "aw": [], "w": []}

    def _draw(self, accesses: int) -> list[tuple[int, int, int]]:
        rng = self.random
        drawn = []
        for _ in range(accesses):
            address = rng.choice(OUTSIDE) if rng.random() < 0.3 else BASE + rng.randrange(0, SIZE - 128, 8)
            drawn.append((address, rng.choice((1, 2, 5, 16)), rng.randrange(4)))
        return drawn

    def addresses(self, channel, accesses: list):
        """Give addresses one after the other, without waiting for answers."""
        for address, beats, ident in accesses:
            yield from self.master.address(channel, address, beats, ident)

    def beats(self):
        """Give the beats of all writes, in order, some before their addresses."""
        for number, (_, beats, _) in enumerate(self.writes):
            yield from self.master.data([number << 8 | beat for beat in range(beats)])

    def answers(self, channel, name: str, count: int):
        """Take the answers to all accesses, and stalls now and then."""
        cycles = 0
        while len(self.answered[name]) < count:
            yield channel.ready.eq(self.random.random() < 0.6)
            yield
            cycles += 1
            assert cycles < PATIENCE, "the traffic does not get on"
            if (yield channel.valid) and (yield channel.ready):
                last = (yield channel.last) if name == "r" else True
                data = (yield channel.data) if name == "r" else 0
                self.answered[name].append(((yield channel.id), (yield channel.resp), data, last))
        yield channel.ready.eq(0)
        for _ in range(20):
            yield
            assert not (yield channel.valid), "an answer that nobody asked for"


@passive
def slave(bus: axi.AXIInterface, traffic: Traffic, seed: int, together: bool):
    """Play a memory that notes accesses and has no content; `together`: takes an address only with its beats' last."""
    rng = random.Random(seed)
    reads: deque[tuple[int, int, int]] = deque()
    waiting: deque[int] = deque()
    finished: deque[int] = deque()
    beat = lasts = 0
    while True:
        # Offers of the cycle before.
        if (yield bus.ar.valid) and (yield bus.ar.ready):
            reads.append(((yield bus.ar.addr), (yield bus.ar.len) + 1, (yield bus.ar.id)))
            traffic.seen["ar"].append(reads[-1])
        if (yield bus.r.valid) and (yield bus.r.ready):
            beat += 1
            if beat == reads[0][1]:
                reads.popleft()
                beat = 0
        if (yield bus.b.valid) and (yield bus.b.ready):
            finished.popleft()
        if (yield bus.aw.valid) and (yield bus.aw.ready):
            waiting.append((yield bus.aw.id))
            traffic.seen["aw"].append(((yield bus.aw.addr), (yield bus.aw.len) + 1, (yield bus.aw.id)))
        if (yield bus.w.valid) and (yield bus.w.ready):
            traffic.seen["w"].append((yield bus.w.data))
            lasts += yield bus.w.last
        if waiting and lasts:
            finished.append(waiting.popleft())
            lasts -= 1
        yield bus.ar.ready.eq(rng.random() < 0.6 and len(reads) < 3)
        # A valid of last cycle that was not taken stays.
        offered = bool(reads) and (rng.random() < 0.6 or ((yield bus.r.valid) and not (yield bus.r.ready)))
        yield bus.r.valid.eq(offered)
        if offered:
            yield bus.r.id.eq(reads[0][2])
            yield bus.r.data.eq(reads[0][0] + 8 * beat)
            yield bus.r.last.eq(beat == reads[0][1] - 1)
        answering = bool(finished) and (rng.random() < 0.4 or ((yield bus.b.valid) and not (yield bus.b.ready)))
        yield bus.b.valid.eq(answering)
        if answering:
            yield bus.b.id.eq(finished[0])
        if together:
            # As Rocket's front end does: the address goes when all of its beats have gone.
            yield bus.aw.ready.eq(lasts > len(waiting))
            yield bus.w.ready.eq(lasts == 0 and rng.random() < 0.7)
        else:
            yield bus.aw.ready.eq(rng.random() < 0.5 and len(waiting) + len(finished) < 4)
            yield bus.w.ready.eq(rng.random() < 0.7)
        yield


@pytest.mark.parametrize("together", [False, True], ids=["any-order", "beats-first"])
def test_many_under_way(together: bool):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    design = Guarded()
    master = design.master
    traffic = Traffic(master, seed, 80)
    beats = sum(length for _, length, _ in traffic.reads)
    users = [
        traffic.addresses(master.ar, traffic.reads),
        traffic.addresses(master.aw, traffic.writes),
        traffic.beats(),
        traffic.answers(master.r, "r", beats),
        traffic.answers(master.b, "b", len(traffic.writes)),
        slave(design.slave, traffic, seed, together),
    ]
    run_simulation(design, users)

    within = {
        name: [access for access in accesses if inside(access[0])]
        for name, accesses in (("ar", traffic.reads), ("aw", traffic.writes))
    }
    assert traffic.seen["ar"] == within["ar"] and traffic.seen["aw"] == within["aw"]
    written = [
        number << 8 | beat
        for number, (address, length, _) in enumerate(traffic.writes)
        if inside(address)
        for beat in range(length)
    ]
    assert traffic.seen["w"] == written
    # This slave answers in order, so all comes in order.
    expected = []
    for address, length, ident in traffic.reads:
        good = inside(address)
        response = axi.RESP_OKAY if good else axi.RESP_DECERR
        words = [(ident, response, address + 8 * at if good else 0, at == length - 1) for at in range(length)]
        expected += words
    assert list(traffic.answered["r"]) == expected
    assert list(traffic.answered["b"]) == [
        (ident, axi.RESP_OKAY if inside(address) else axi.RESP_DECERR, 0, True) for address, _, ident in traffic.writes
    ]


@pytest.mark.parametrize(("origin", "size"), [(0x4000_0000, 3 << 20), (0x4010_0000, 4 << 20), (0, 2048)])
def test_ram_that_cannot_be_told_by_its_upper_bits_is_refused(origin: int, size: int):
    bus = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
    with pytest.raises(InputError, match="power of two"):
        AddressGuard(bus, bus, origin, size)
