# SPDX-License-Identifier: Apache-2.0
"""The way from the engine to a board's memory: bursts of any length at any 64-bit word, on controllers of any width."""

import random
from collections import deque

import pytest
from axi_master import Master, shadow_user
from hwswap_soc.system.soc import LiteDramMemory
from litedram.common import LiteDRAMNativePort
from litedram.frontend.adapter import LiteDRAMNativePortConverter
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from migen import passive, run_simulation
from run_seed import SEED

BASE = 0x4000_0000
SIZE = 1 << 9
PATIENCE = 20_000


class Crossbar(LiteXModule):
    """LiteDRAM's crossbar as far as the memory port uses it: ports of the width asked for, on a controller's."""

    def __init__(self, width: int) -> None:
        """Make a controller side of `width` bits."""
        words = SIZE * 8 // width
        self.controller = LiteDRAMNativePort("both", address_width=(words - 1).bit_length(), data_width=width)

    def get_port(self, data_width: int) -> LiteDRAMNativePort:
        """Return a port, by way of LiteDRAM's converter if it has another width."""
        port = LiteDRAMNativePort(
            "both", address_width=(SIZE * 8 // data_width - 1).bit_length(), data_width=data_width
        )
        self.submodules += LiteDRAMNativePortConverter(port, self.controller)
        return port


class Board(LiteDramMemory, LiteXModule):
    """A SoC with all that LiteDramMemory needs."""

    def __init__(self, width: int) -> None:
        """Make a port of the memory."""
        self.sdram = LiteXModule()
        self.sdram.crossbar = Crossbar(width)
        self.bus = LiteXModule()
        self.bus.regions = {"main_ram": SoCRegion(BASE, SIZE)}
        self.dma = self.memory_port("engine")


@passive
def controller(port: LiteDRAMNativePort, seed: int, delay: int = 6):
    """A DRAM controller: a write's data is taken, a read's given, at a time of its own, be the port ready or not."""
    rng = random.Random(seed)
    lanes = port.data_width // 8
    memory = bytearray(SIZE)
    waiting: deque[tuple[int, bool, int]] = deque()
    writes: deque[int] = deque()
    now = reads_from = 0
    while True:
        assert now < PATIENCE, "the traffic does not get on"
        if (yield port.wdata.ready):
            assert (yield port.wdata.valid), "a write's data is late"
            data, enable = (yield port.wdata.data), (yield port.wdata.we)
            start = writes.popleft() * lanes
            for lane in range(lanes):
                if enable >> lane & 1:
                    memory[start + lane] = data >> 8 * lane & 0xFF
        if (yield port.rdata.valid):
            assert (yield port.rdata.ready), "nobody takes a read's data"
        if (yield port.cmd.valid) and (yield port.cmd.ready):
            waiting.append((now + delay, bool((yield port.cmd.we)), (yield port.cmd.addr)))
        take_write = give_read = False
        if waiting and waiting[0][0] <= now and (waiting[0][1] or now >= reads_from):
            _, take_write, address = waiting.popleft()
            give_read = not take_write
            if take_write:
                writes.append(address)
                # Its data is here a cycle later.
                reads_from = now + 2
            else:
                yield port.rdata.data.eq(int.from_bytes(memory[address * lanes : (address + 1) * lanes], "little"))
        yield port.wdata.ready.eq(take_write)
        yield port.rdata.valid.eq(give_read)
        yield port.cmd.ready.eq(rng.random() < 0.7)
        now += 1
        yield


@pytest.mark.parametrize("stall", [0.0, 0.4], ids=["fast", "stalling"])
@pytest.mark.parametrize("width", [16, 64, 128], ids=lambda width: f"{width}-bit-controller")
def test_bursts_arrive_intact(width: int, stall: float):
    board = Board(width)
    done: list[int] = []
    traffic = shadow_user(Master(board.dma, seed=SEED + width, stall=stall), BASE, SIZE, 30, done)
    run_simulation(board, [traffic, controller(board.sdram.crossbar.controller, seed=SEED + 1)])
    assert done == [BASE]
