# SPDX-License-Identifier: Apache-2.0
"""Keeps an AXI4 master inside of RAM.

The engine takes 64-bit addresses from memory that software wrote. LiteDRAM looks at as many of an address's bits as the
RAM has bytes: each wrong address would be one in RAM. Here an access that does not start in RAM is answered with a
decode error and goes no further: a read with all of its beats, which are zero, a write when all of its beats have been
taken and thrown away. Bursts do not cross 4 KiB, so one that starts in RAM ends there.

Answers of one id have to be in order, so an access that is refused waits for those under way, and later ones of its
direction wait for it. Otherwise nothing is delayed but by the one cycle in which an address is compared: it is held in
a register together with the result, as the comparison of 64 bits and what follows from it do not fit in a cycle at
60 MHz.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from migen import If, Signal, log2_int

from hwswap_litex.core import InputError

_MOST = 63
"""Accesses under way in each direction: more than the engine starts; accesses that wait here are not lost."""


class _Compared(LiteXModule):
    """A register on a channel of addresses, with whether the address that is in it is one of RAM's.

    Attributes:
        source: the channel, a cycle later.
        inside: whether the address of `source` is inside the range.
    """

    def __init__(self, channel: stream.Endpoint, origin: int, size: int) -> None:
        """Take the addresses of a channel.

        Args:
            channel: AR or AW of the side requests come from.
            origin: address of RAM's first byte.
            size: bytes of RAM.
        """
        self.register = register = stream.PipeValid(channel.description)
        self.source = register.source
        self.inside = Signal()
        self.comb += channel.connect(register.sink)
        # Under the condition on which the register takes its input.
        self.sync += If(channel.ready, self.inside.eq(channel.addr[log2_int(size) :] == origin >> log2_int(size)))


class AddressGuard(LiteXModule):
    """Connects `master` to `slave`, but for accesses outside of RAM."""

    def __init__(self, master: axi.AXIInterface, slave: axi.AXIInterface, origin: int, size: int) -> None:
        """Make the connection.

        Args:
            master: the side requests come from; INCR bursts inside of 4 KiB, addresses of any width.
            slave: the side they go to; of the same widths of data and ids.
            origin: address of RAM's first byte.
            size: bytes of RAM, a power of two of which `origin` is a multiple.
        """
        if size < 4096 or size & (size - 1) or origin % size:
            raise InputError(f"RAM of {size:#x} bytes at {origin:#x}: the size has to be a power of two, aligned.")
        self.ar = _Compared(master.ar, origin, size)
        self.aw = _Compared(master.aw, origin, size)
        self._reads(master, slave)
        self._writes(master, slave)

    def _reads(self, master: axi.AXIInterface, slave: axi.AXIInterface) -> None:
        """The channels AR and R."""
        under_way = Signal(max=_MOST + 1)
        refusing = Signal()
        left = Signal(8)
        reader = Signal(len(master.ar.id))
        passed, refused, ends = Signal(), Signal(), Signal()
        ar, inside = self.ar.source, self.ar.inside
        self.comb += [
            passed.eq(inside & (under_way != _MOST) & ~refusing),
            refused.eq(ar.valid & ~inside & (under_way == 0) & ~refusing),
            ar.connect(slave.ar, omit={"valid", "ready"}),
            slave.ar.valid.eq(ar.valid & passed),
            ar.ready.eq((slave.ar.ready & passed) | refused),
            slave.r.connect(master.r),
            If(
                refusing,
                slave.r.ready.eq(0),
                master.r.valid.eq(1),
                master.r.last.eq(left == 0),
                master.r.data.eq(0),
                master.r.resp.eq(axi.RESP_DECERR),
                master.r.id.eq(reader),
            ),
            ends.eq(slave.r.valid & slave.r.ready & slave.r.last),
        ]
        self.sync += [
            under_way.eq(under_way + (slave.ar.valid & slave.ar.ready) - ends),
            If(refused, refusing.eq(1), left.eq(ar.len), reader.eq(ar.id)),
            If(refusing & master.r.ready, left.eq(left - 1), refusing.eq(left != 0)),
        ]

    def _writes(self, master: axi.AXIInterface, slave: axi.AXIInterface) -> None:
        """The channels AW, W and B."""
        under_way = Signal(max=_MOST + 1)
        # Bursts whose address has been passed on and whose last beat has not; and the other way round, as a slave may
        # want the beats of a burst before it takes the address.
        owed = Signal(max=_MOST + 1)
        ahead = Signal()
        swallowing, refusing = Signal(), Signal()
        writer = Signal(len(master.aw.id))
        passed, refused = Signal(), Signal()
        aw, inside = self.aw.source, self.aw.inside
        addressed, beats, ends = Signal(), Signal(), Signal()
        self.comb += [
            passed.eq(inside & (under_way != _MOST) & ~swallowing & ~refusing),
            refused.eq(aw.valid & ~inside & (under_way == 0) & (owed == 0) & ~swallowing & ~refusing),
            aw.connect(slave.aw, omit={"valid", "ready"}),
            slave.aw.valid.eq(aw.valid & passed),
            aw.ready.eq((slave.aw.ready & passed) | refused),
            addressed.eq(slave.aw.valid & slave.aw.ready),
            # A beat goes on when it is known where to: its burst's address is, or has been, on the way.
            beats.eq((owed != 0) | (slave.aw.valid & ~ahead)),
            master.w.connect(slave.w, omit={"valid", "ready"}),
            slave.w.valid.eq(master.w.valid & beats),
            master.w.ready.eq((slave.w.ready & beats) | swallowing),
            ends.eq(slave.w.valid & slave.w.ready & slave.w.last),
            slave.b.connect(master.b),
            If(
                refusing,
                slave.b.ready.eq(0),
                master.b.valid.eq(1),
                master.b.resp.eq(axi.RESP_DECERR),
                master.b.id.eq(writer),
            ),
        ]
        self.sync += [
            under_way.eq(under_way + addressed - (slave.b.valid & slave.b.ready)),
            If(
                addressed & ~ends,
                If(ahead, ahead.eq(0)).Else(owed.eq(owed + 1)),
            ).Elif(
                ends & ~addressed,
                If(owed == 0, ahead.eq(1)).Else(owed.eq(owed - 1)),
            ),
            If(refused, swallowing.eq(1), writer.eq(aw.id)),
            If(swallowing & master.w.valid & master.w.last, swallowing.eq(0), refusing.eq(1)),
            If(refusing & master.b.ready, refusing.eq(0)),
        ]
