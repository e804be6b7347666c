# SPDX-License-Identifier: Apache-2.0
"""An AXI4 master for Migen's simulator, and random traffic that is checked."""

import random

from litex.soc.interconnect import axi


class Master:
    """One AXI port's master: a generator each for the channels that a burst needs."""

    def __init__(self, bus, seed: int, stall: float) -> None:
        """Drive `bus`; `stall` is how likely it waits a cycle before each step."""
        self.bus = bus
        self.random = random.Random(seed)
        self.stall = stall

    def pause(self):
        """Wait as long as chance has it."""
        while self.random.random() < self.stall:
            yield

    def address(self, channel, address: int, beats: int, ident: int, burst: int = axi.BURST_INCR, size: int = 3):
        """Give an address."""
        yield from self.pause()
        yield channel.valid.eq(1)
        for name, value in {"addr": address, "len": beats - 1, "id": ident, "burst": burst, "size": size}.items():
            yield getattr(channel, name).eq(value)
        yield
        while not (yield channel.ready):
            yield
        yield channel.valid.eq(0)

    def data(self, words: list[int], strobe: int = 0xFF):
        """Give the beats of a write."""
        channel = self.bus.w
        for number, word in enumerate(words):
            yield from self.pause()
            yield channel.valid.eq(1)
            yield channel.data.eq(word)
            yield channel.strb.eq(strobe)
            yield channel.last.eq(number == len(words) - 1)
            yield
            while not (yield channel.ready):
                yield
            yield channel.valid.eq(0)

    def write(self, address: int, words: list[int], strobe: int = 0xFF, ident: int = 5, **kind) -> int:
        """Write a burst; return the response."""
        bus = self.bus
        yield from self.address(bus.aw, address, len(words), ident, **kind)
        yield from self.data(words, strobe)
        while True:
            yield from self.pause()
            yield bus.b.ready.eq(1)
            yield
            if (yield bus.b.valid):
                break
            yield bus.b.ready.eq(0)
        assert (yield bus.b.id) == ident
        response = yield bus.b.resp
        yield bus.b.ready.eq(0)
        return response

    def read(self, address: int, beats: int, ident: int = 9, **kind) -> tuple[list[int], int]:
        """Read a burst; return the words and the worst response."""
        bus = self.bus
        yield from self.address(bus.ar, address, beats, ident, **kind)
        words, response = [], axi.RESP_OKAY
        while len(words) < beats:
            yield from self.pause()
            yield bus.r.ready.eq(1)
            yield
            if (yield bus.r.valid):
                words.append((yield bus.r.data))
                assert (yield bus.r.id) == ident
                assert (yield bus.r.last) == (len(words) == beats)
                response |= yield bus.r.resp
            yield bus.r.ready.eq(0)
        return words, response


def shadow_user(master: Master, start: int, length: int, rounds: int, done: list):
    """Random bursts in a range of its own, compared with a plain copy."""
    rng = master.random
    copy = bytearray(length)
    for _ in range(rounds):
        beats = rng.choice((1, 2, 3, 8, 16))
        offset = rng.randrange(0, length - 8 * beats + 1, 8)
        if rng.random() < 0.5:
            words = [rng.getrandbits(64) for _ in range(beats)]
            strobe = rng.choice((0xFF, 0xFF, 0x0F, 0xF0, 0x24))
            assert (yield from master.write(start + offset, words, strobe)) == axi.RESP_OKAY
            for at, word in enumerate(words):
                for lane in range(8):
                    if strobe >> lane & 1:
                        copy[offset + 8 * at + lane] = word >> 8 * lane & 0xFF
        else:
            words, response = yield from master.read(start + offset, beats)
            expected = [int.from_bytes(copy[at : at + 8], "little") for at in range(offset, offset + 8 * beats, 8)]
            assert (words, response) == (expected, axi.RESP_OKAY)
    done.append(start)
