# SPDX-License-Identifier: Apache-2.0
"""The traffic at the port of an engine's DMA, burst by burst."""

from collections.abc import Callable

from cocotb.triggers import RisingEdge
from cocotbext.axi.constants import AxiResp

from cases.bench import Bench


class Bus:
    """The traffic at the engine's port, seen where host memory takes it."""

    def __init__(self, bench: Bench) -> None:
        """Listen to all addresses, and words to write."""
        self.bench = bench
        self.bursts: list[tuple[bool, range]] = []
        self.words = 0
        self.error = AxiResp.SLVERR
        reads, writes = bench.dma.read_if, bench.dma.write_if
        self.listen(reads.ar_channel, lambda a: self.bursts.append((False, span(a.araddr, a.arlen))))
        self.listen(writes.aw_channel, lambda a: self.bursts.append((True, span(a.awaddr, a.awlen))))
        self.listen(writes.w_channel, lambda _: self.count())
        self.answers(reads.r_channel, "rresp")
        self.answers(writes.b_channel, "bresp")

    @staticmethod
    def listen(channel, heard: Callable) -> None:
        """Have each transfer of a channel told."""
        put = channel.queue.put_nowait

        def put_nowait(item) -> None:
            heard(item)
            put(item)

        channel.queue.put_nowait = put_nowait

    def answers(self, channel, field: str) -> None:
        """Let errors be the one that is chosen: the bus model knows one alone."""
        send = channel.send

        async def sends(answer) -> None:
            if getattr(answer, field) != AxiResp.OKAY:
                setattr(answer, field, self.error)
            await send(answer)

        channel.send = sends

    def count(self) -> None:
        """Count a word to write."""
        self.words += 1

    def at_rest(self) -> bool:
        """Tell whether all bursts have come to their ends."""
        reads, writes = self.bench.dma.read_if, self.bench.dma.write_if
        channels = (reads.ar_channel, reads.r_channel, writes.aw_channel, writes.w_channel, writes.b_channel)
        waiting = any(any(shuffled.waiting.values()) for shuffled in self.bench.shuffled)
        valid = self.bench.dut.m_axi_rvalid.value == 1 or self.bench.dut.m_axi_bvalid.value == 1
        owed = sum(len(burst) // 8 for write, burst in self.bursts if write)
        return all(channel.empty() for channel in channels) and not waiting and not valid and owed == self.words

    async def stays(self) -> None:
        """See that the engine's offers are there, and the same, until they are taken."""
        dut = self.bench.dut
        channels = {
            "ar": ("araddr", "arlen", "arid"),
            "aw": ("awaddr", "awlen", "awid"),
            "w": ("wdata", "wstrb", "wlast"),
        }
        before: dict[str, list[int]] = {}
        while True:
            await RisingEdge(dut.clock)
            for name, fields in channels.items():
                valid, ready = (getattr(dut, f"m_axi_{name}{end}").value == 1 for end in ("valid", "ready"))
                now = [int(getattr(dut, f"m_axi_{field}").value) for field in fields] if valid else None
                assert name not in before or before[name] == now, f"AXI4: {name} was not taken, and has changed"
                before.pop(name, None)
                if valid and not ready:
                    before[name] = now


def span(address, length) -> range:
    """Return the bytes of a burst."""
    return range(int(address), int(address) + 8 * (int(length) + 1))
