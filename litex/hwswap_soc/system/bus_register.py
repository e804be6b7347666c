# SPDX-License-Identifier: Apache-2.0
"""A register between a Wishbone master and its slave, which LiteX has for AXI and not for Wishbone."""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import If


class WishboneRegister(LiteXModule):
    """Passes classic cycles on one by one. Request and answer are late by a cycle each; no path leads through."""

    def __init__(self, master: wishbone.Interface, slave: wishbone.Interface) -> None:
        """Make the connection.

        Args:
            master: the side requests come from.
            slave: the side they go to, as wide.
        """
        answered = slave.ack | slave.err
        # The cycle that answers is not the start of the next request, although the master shows it still.
        wanted = master.cyc & master.stb & ~master.ack & ~master.err
        self.sync += [
            master.ack.eq(slave.cyc & slave.ack),
            master.err.eq(slave.cyc & slave.err),
            master.dat_r.eq(slave.dat_r),
            If(
                slave.cyc,
                If(answered, slave.cyc.eq(0), slave.stb.eq(0)),
            ).Elif(
                wanted,
                slave.cyc.eq(1),
                slave.stb.eq(1),
                *(getattr(slave, name).eq(getattr(master, name)) for name in ("adr", "dat_w", "sel", "we")),
            ),
        ]
