# SPDX-License-Identifier: Apache-2.0
"""The register on the bus: words written through it are read back, whatever the slave's latency."""

import random

import pytest
from hwswap_soc.system.bus_register import WishboneRegister
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import passive, run_simulation

WORDS = 16


class Bus(LiteXModule):
    """A register between two open ends."""

    def __init__(self) -> None:
        """Make both ends, 32 bits wide."""
        self.master = wishbone.Interface(data_width=32, addressing="word")
        self.slave = wishbone.Interface(data_width=32, addressing="word")
        self.register = WishboneRegister(self.master, self.slave)


@passive
def memory(bus: wishbone.Interface, rng: random.Random, requests: list):
    """A slave that answers after 0 to 3 cycles, with an error beyond its words; notes each request it serves."""
    words = [0] * WORDS
    while True:
        if not ((yield bus.cyc) and (yield bus.stb)):
            yield
            continue
        for _ in range(rng.randrange(4)):
            yield
            assert (yield bus.cyc), "the request ends before its answer"
        address, write, select, value = (yield bus.adr), (yield bus.we), (yield bus.sel), (yield bus.dat_w)
        requests.append((address, write))
        if address >= WORDS:
            yield bus.err.eq(1)
        else:
            mask = sum(0xFF << (8 * lane) for lane in range(4) if select >> lane & 1)
            if write:
                words[address] = words[address] & ~mask | value & mask
            yield bus.dat_r.eq(words[address])
            yield bus.ack.eq(1)
        yield
        yield bus.ack.eq(0)
        yield bus.err.eq(0)
        yield bus.dat_r.eq(rng.getrandbits(32))
        yield


def traffic(bus: wishbone.Interface, rng: random.Random, sent: list, gaps: bool):
    """Random reads and writes, some of them to where there is nothing, with and without pauses."""
    words = [0] * WORDS
    for _ in range(200):
        address, write, select = rng.randrange(WORDS + 2), rng.randrange(2), rng.randrange(1, 16)
        value = rng.getrandbits(32)
        sent.append((address, write))
        for signal, content in ((bus.adr, address), (bus.we, write), (bus.sel, select), (bus.dat_w, value)):
            yield signal.eq(content)
        yield bus.cyc.eq(1)
        yield bus.stb.eq(1)
        yield
        while not ((yield bus.ack) or (yield bus.err)):
            yield
        assert (yield bus.err) == (address >= WORDS)
        if address < WORDS:
            mask = sum(0xFF << (8 * lane) for lane in range(4) if select >> lane & 1)
            if write:
                words[address] = words[address] & ~mask | value & mask
            assert (yield bus.dat_r) == words[address]
        if gaps and rng.randrange(2):
            yield bus.cyc.eq(0)
            yield bus.stb.eq(0)
            for _ in range(rng.randrange(1, 4)):
                yield
                assert not (yield bus.ack), "an answer without a request"
    yield bus.cyc.eq(0)
    yield bus.stb.eq(0)
    yield


@pytest.mark.parametrize("gaps", [False, True])
def test_each_request_reaches_the_slave_once_and_its_answer_the_master(gaps: bool) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng, sent, served = random.Random(seed), [], []
    bus = Bus()
    run_simulation(bus, [traffic(bus.master, rng, sent, gaps), memory(bus.slave, rng, served)])
    assert served == sent
