# SPDX-License-Identifier: Apache-2.0
"""Host memory at the engine's DMA port, and answers of it in any order that AXI4 allows."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, Event
from cocotbext.axi.address_space import MemoryInterface
from cocotbext.axi.sparse_memory import SparseMemory


class DmaDenied(Exception):
    """The test told host memory to refuse an access; the bus model answers SLVERR."""


class HostMemory(MemoryInterface):
    """Sparse 64-bit host memory that can refuse accesses.

    Attributes:
        denied: ranges in which all accesses of the engine are refused.
        denied_writes: ranges in which its writes are.
        beats: words that the engine has asked to read, and to write.
        writes: address and length of each piece that the engine has written.
    """

    def __init__(self) -> None:
        """Make memory of zeros."""
        super().__init__(size=1 << 64, base=0)
        self.bytes = SparseMemory(1 << 64)
        self.denied: list[range] = []
        self.denied_writes: list[range] = []
        self.beats = [0, 0]
        self.writes: list[tuple[int, int]] = []

    async def _read(self, address: int, length: int, **_: Any) -> bytes:
        self.beats[0] += 1
        self.allow(address)
        return self.get(address, length)

    async def _write(self, address: int, data: bytes, **_: Any) -> None:
        self.beats[1] += 1
        self.allow(address)
        if any(address in zone for zone in self.denied_writes):
            raise DmaDenied(f"{address:#x}")
        self.writes.append((address, len(data)))
        self.put(address, data)

    def allow(self, address: int) -> None:
        """Refuse an access of the engine's to a denied address."""
        if any(address in zone for zone in self.denied):
            raise DmaDenied(f"{address:#x}")

    def allow_all(self) -> None:
        """Refuse nothing any more."""
        self.denied.clear()
        self.denied_writes.clear()

    def get(self, address: int, length: int) -> bytes:
        """Read for the host, in no time."""
        return self.bytes.read(address, length)

    def put(self, address: int, data: bytes) -> None:
        """Write for the host, in no time."""
        self.bytes.write(address, data)

    def word(self, address: int) -> int:
        """Read 64 bits for the host."""
        return int.from_bytes(self.get(address, 8), "little")

    def put_word(self, address: int, value: int) -> None:
        """Write 64 bits for the host."""
        self.put(address, value.to_bytes(8, "little"))


class Shuffled:
    """Gives answers to a channel in any order that AXI4 allows: those of one identifier in theirs."""

    def __init__(self, source: Any, field: str, clock: Any, rng: random.Random) -> None:
        """Stand before a channel's source; `field` names the identifier."""
        self.field = field
        self.clock = clock
        self.rng = rng
        self.waiting: dict[int, deque[Any]] = {}
        self.came = Event()
        self.source = source
        self.send_now = source.send
        source.send = self.send
        self.task = cocotb.start_soon(self.run())

    def reset(self) -> None:
        """Forget all answers that were not given, at the end of a reset: the bus model does so at its begin alone."""
        self.task.cancel()
        self.waiting.clear()
        self.source.clear()
        self.task = cocotb.start_soon(self.run())

    async def send(self, answer: Any) -> None:
        """Take an answer, to be given some time."""
        self.waiting.setdefault(int(getattr(answer, self.field)), deque()).append(answer)
        self.came.set()

    async def run(self) -> None:
        """Give one after the other."""
        while True:
            if not any(self.waiting.values()):
                self.came.clear()
                await self.came.wait()
            if self.rng.random() < 0.1:
                await ClockCycles(self.clock, self.rng.randrange(1, 12))
            await self.send_now(self.rng.choice([queue for queue in self.waiting.values() if queue]).popleft())
