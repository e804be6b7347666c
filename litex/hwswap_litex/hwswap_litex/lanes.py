# SPDX-License-Identifier: Apache-2.0
"""A 64-bit AXI4 master on a wider AXI4 bus.

LiteX's AXI up-converter and LiteDRAM's native one both gather beats into whole words of the wide side. The first wants
bursts of whole, aligned words, which the engine's are not; the second stopped for ever on a random mix of such bursts.
Here a beat stays a beat, on the lanes that its address names (in AXI4's terms a narrow transfer): half of a 128-bit
bus's rate, and no state that could go wrong.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from migen import Array, If, Replicate, Signal, log2_int


class AxiLanes(LiteXModule):
    """Connects `narrow` to `wide`; beats are 64 bits, or bursts have one beat."""

    def __init__(self, narrow: axi.AXIInterface, wide: axi.AXIInterface) -> None:
        """Make the connection.

        Args:
            narrow: the side requests come from, 64 bits.
            wide: the side they go to, 128 bits or more.
        """
        ratio = wide.data_width // narrow.data_width
        write = self._address("write", narrow.aw, wide.aw, ratio)
        read = self._address("read", narrow.ar, wide.ar, ratio)
        self.comb += [
            wide.b.connect(narrow.b),
            # A beat waits for its address.
            wide.w.valid.eq(narrow.w.valid & write.valid),
            narrow.w.ready.eq(wide.w.ready & write.valid),
            wide.w.last.eq(narrow.w.last),
            wide.w.data.eq(Replicate(narrow.w.data, ratio)),
            wide.w.strb.eq(narrow.w.strb << (write.lane << 3)),
            write.beat.eq(wide.w.valid & wide.w.ready),
            write.last.eq(narrow.w.last),
            wide.r.connect(narrow.r, omit={"data"}),
            narrow.r.data.eq(Array(wide.r.data[64 * lane : 64 * (lane + 1)] for lane in range(ratio))[read.lane]),
            read.beat.eq(narrow.r.valid & narrow.r.ready),
            read.last.eq(narrow.r.last),
        ]

    def _address(self, name: str, narrow, wide, ratio: int) -> "_Beats":
        """Pass addresses on, and keep of each where in a wide word it starts."""
        fifo = stream.SyncFIFO([("lane", log2_int(ratio))], 16)
        beats = _Beats(fifo.source, ratio)
        self.add_module(name=f"{name}_lanes", module=fifo)
        self.add_module(name=f"{name}_beats", module=beats)
        self.comb += [
            narrow.connect(wide, omit={"valid", "ready"}),
            wide.valid.eq(narrow.valid & fifo.sink.ready),
            narrow.ready.eq(wide.ready & fifo.sink.ready),
            fifo.sink.valid.eq(narrow.valid & wide.ready),
            fifo.sink.lane.eq(narrow.addr[3:]),
        ]
        return beats


class _Beats(LiteXModule):
    """Counts the beats of the oldest burst.

    Attributes:
        valid: there is one.
        lane: 64-bit lane of its present beat.
        beat: the beat moves now.
        last: it is the burst's last.
    """

    def __init__(self, bursts: stream.Endpoint, ratio: int) -> None:
        self.valid = Signal()
        self.lane = Signal(log2_int(ratio))
        self.beat = Signal()
        self.last = Signal()
        count = Signal(log2_int(ratio))
        self.comb += [
            self.valid.eq(bursts.valid),
            self.lane.eq(bursts.lane + count),
            bursts.ready.eq(self.beat & self.last),
        ]
        self.sync += If(self.beat, If(self.last, count.eq(0)).Else(count.eq(count + 1)))
