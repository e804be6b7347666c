# SPDX-License-Identifier: Apache-2.0
"""The register on the bus: requests and answers go through it as they are, whatever the slave's latency."""

import random

import pytest
from hwswap_soc.system.bus_register import WishboneRegister
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import passive, run_simulation


class Bus(LiteXModule):
    """A register between two open ends."""

    def __init__(self) -> None:
        """Make both ends, 32 bits wide."""
        self.master = wishbone.Interface(data_width=32, addressing="word")
        self.slave = wishbone.Interface(data_width=32, addressing="word")
        self.register = WishboneRegister(self.master, self.slave)


@passive
def slave(bus: wishbone.Interface, rng: random.Random, served: list):
    """Answer at random after 0 to 3 cycles, now and then with an error; note each request with its answer."""
    while True:
        if not ((yield bus.cyc) and (yield bus.stb)):
            yield
            continue
        for _ in range(rng.randrange(4)):
            yield
            assert (yield bus.cyc), "the request ends before its answer"
        request = (yield bus.adr), (yield bus.we), (yield bus.sel), (yield bus.dat_w)
        word, error = rng.getrandbits(32), rng.random() < 0.1
        served.append((*request, word, error))
        yield bus.dat_r.eq(word)
        yield (bus.err if error else bus.ack).eq(1)
        yield
        yield bus.ack.eq(0)
        yield bus.err.eq(0)
        yield bus.dat_r.eq(rng.getrandbits(32))
        yield


def traffic(bus: wishbone.Interface, rng: random.Random, sent: list, gaps: bool):
    """Make random reads and writes, with and without pauses; note each with its answer."""
    for _ in range(200):
        request = rng.getrandbits(30), rng.randrange(2), rng.randrange(1, 16), rng.getrandbits(32)
        for signal, content in zip((bus.adr, bus.we, bus.sel, bus.dat_w), request, strict=True):
            yield signal.eq(content)
        yield bus.cyc.eq(1)
        yield bus.stb.eq(1)
        yield
        while not ((yield bus.ack) or (yield bus.err)):
            yield
        sent.append((*request, (yield bus.dat_r), (yield bus.err)))
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
    run_simulation(bus, [traffic(bus.master, rng, sent, gaps), slave(bus.slave, rng, served)])
    assert served == sent
