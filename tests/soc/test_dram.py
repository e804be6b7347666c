# SPDX-License-Identifier: Apache-2.0
"""The DRAM model: data intact under back-pressure and contention, latency as stated, errors where they belong."""

import pytest
from axi_master import Master, shadow_user
from hwswap_soc.simulation.dram import SHORTEST, DramModel
from litex.soc.interconnect import axi
from migen import Module, passive, run_simulation
from run_seed import SEED

BASE = 0x4000_0000
SIZE = 1 << 13


def bench(ports: int, latency: int) -> tuple[Module, list]:
    dram = DramModel(BASE, SIZE)
    buses = [dram.new_port() for _ in range(ports)]
    dram.comb += dram.latency.eq(latency)
    return dram, buses


@pytest.mark.parametrize("stall", [0.0, 0.4], ids=["fast", "stalling"])
@pytest.mark.parametrize("latency", [SHORTEST, 20])
def test_ports_keep_their_data(stall: float, latency: int):
    dram, buses = bench(3, latency)
    done: list[int] = []
    users = [
        shadow_user(Master(bus, seed=SEED + number, stall=stall), BASE + number * 0x400, 0x400, 25, done)
        for number, bus in enumerate(buses)
    ]
    run_simulation(dram, users)
    assert len(done) == 3


@pytest.mark.parametrize("latency", [SHORTEST, 3, 10, 33])
def test_first_beat_comes_after_the_latency_and_then_one_a_cycle(latency: int):
    dram, (bus,) = bench(1, latency)
    seen = {}

    @passive
    def watch():
        cycle = 0
        while True:
            if (yield bus.ar.valid) and (yield bus.ar.ready):
                seen.setdefault("address", cycle)
            if (yield bus.r.valid) and (yield bus.r.ready):
                seen.setdefault("beats", []).append(cycle)
            cycle += 1
            yield

    def user():
        yield bus.r.ready.eq(1)
        yield from Master(bus, 1, 0).address(bus.ar, BASE, 16, 1)
        for _ in range(latency + 20):
            yield

    run_simulation(dram, [user(), watch()])
    first = seen["address"] + latency
    assert seen["beats"] == list(range(first, first + 16))


def test_two_readers_share_one_beat_a_cycle():
    dram, buses = bench(2, 4)
    finished = []

    def user(bus):
        bursts = 20

        def issue():
            for number in range(bursts):
                yield from Master(bus, 1, 0).address(bus.ar, BASE + 128 * number, 16, 1)

        def collect():
            yield bus.r.ready.eq(1)
            beats = cycles = 0
            while beats < 16 * bursts:
                yield
                cycles += 1
                beats += yield bus.r.valid
            finished.append(cycles)

        return [issue(), collect()]

    run_simulation(dram, user(buses[0]) + user(buses[1]))
    # 640 beats over one bus, neither starved: both end within a burst or two of each other.
    assert all(2 * 320 - 40 <= cycles <= 2 * 320 + 40 for cycles in finished), finished


def test_what_cannot_be_served_is_answered_with_an_error():
    dram, (bus,) = bench(1, 5)
    master = Master(bus, 1, 0)
    checked = []

    def user():
        assert (yield from master.write(BASE, [1, 2])) == axi.RESP_OKAY
        assert (yield from master.write(BASE + SIZE, [7])) == axi.RESP_DECERR
        assert (yield from master.write(BASE - 8, [7])) == axi.RESP_DECERR
        assert (yield from master.write(BASE, [7, 7], burst=axi.BURST_WRAP)) == axi.RESP_SLVERR
        assert (yield from master.read(BASE, 2)) == ([1, 2], axi.RESP_OKAY)
        assert (yield from master.read(BASE + SIZE, 1))[1] == axi.RESP_DECERR
        # Four bytes at a time, as a 32-bit master on a wide bus would.
        words, response = yield from master.read(BASE + 4, 3, size=2)
        assert (words, response) == ([1, 2, 2], axi.RESP_OKAY)
        checked.append(True)

    run_simulation(dram, user())
    assert checked
