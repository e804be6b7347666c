# SPDX-License-Identifier: Apache-2.0
"""The SD card controller: LiteSDCard's core, clock and commands, with data lines as Linux drives them.

Linux 7.3's litex_mmc starts with one data line, on which it reads what the card can do, and chooses the number of lines
in a register SETTINGS of the PHY. LiteSDCard 2024.12, the last release, has no such register, and four lines always. It
also hands on what it reads without a look at the CRC, waits for ever for a card that was pulled out while it was
written to, and does not tell its core when the card refuses a block. The reader and the writer here replace its own,
and so does the DMA that feeds the writer.

After reset there are four lines: LiteX's BIOS knows no register either.
"""

from litesdcard.common import SDCARD_STREAM_STATUS_OK, SDCARD_STREAM_STATUS_TIMEOUT
from litesdcard.core import SDCore
from litesdcard.frontend.dma import SDBlock2MemDMA
from litesdcard.phy import SDPHYCMDR, SDPHYCMDW, SDPHYIO, SDPHYClocker, SDPHYInit, SDPHYIOGen, _sdpads_layout
from litex.gen import LiteXModule
from litex.soc.cores.dma import WishboneDMAReader
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel, EventSourcePulse
from migen import FSM, Case, Cat, If, Instance, Mux, NextState, NextValue, Record, ResetInserter, Signal

COMMAND_TIMEOUT = 10e-3
"""Seconds that a card has for a response: it has to come within 64 clocks. Linux's driver looks for 20 ms."""

DATA_TIMEOUT = 1.0
"""Seconds that a card has for a block, to read or to write; twice what the standard grants it."""

CRC_BYTES = 8
"""What LiteSDCard's core puts behind each block that it hands to a PHY, and takes off each block that it gets from one:
the CRCs of four lines, whatever the number of lines is. The PHY's own are what is sent and checked."""

BLOCK = 512
"""Bytes of a block that is written."""

SETTINGS_WORD = 6
"""Word of the register SETTINGS among the PHY's registers: where Linux's driver has it."""

_LINES = 4


class _Crc(LiteXModule):
    """CRC-16 (polynomial 0x1021, from 0) of the bits of each data line.

    Attributes:
        clear: starts anew.
        step: takes a bit of each line.
        bits: the bit of each line.
        values: the CRC of each line so far; 0 after a block and its own CRC.
        out: the uppermost bit of each CRC.
    """

    def __init__(self) -> None:
        self.clear = Signal()
        self.step = Signal()
        self.bits = Signal(_LINES)
        self.values = [Signal(16) for _ in range(_LINES)]
        self.out = Cat(*(value[15] for value in self.values))
        for line, value in enumerate(self.values):
            feed = Signal()
            self.comb += feed.eq(self.bits[line] ^ value[15])
            moved = [feed, *(value[bit] ^ feed if bit in (4, 11) else value[bit] for bit in range(15))]
            self.sync += If(self.clear, value.eq(0)).Elif(self.step, value.eq(Cat(*moved)))


class DataReader(LiteXModule):
    """Reads blocks from the data lines.

    Attributes:
        pads_in, pads_out, sink, source, stop: as LiteSDCard's SDPHYDATAR has them.
        wide: four lines, not one.
        clear: a command begins.
        wrong: a block of the present command had a wrong CRC.
    """

    def __init__(self, timeout: int) -> None:
        """Makes the reader.

        Args:
            timeout: cycles until a block has to begin.
        """
        self.pads_in = pads_in = stream.Endpoint(_sdpads_layout)
        self.pads_out = pads_out = stream.Endpoint(_sdpads_layout)
        self.sink = sink = stream.Endpoint([("block_length", 10)])
        self.source = source = stream.Endpoint([("data", 8), ("status", 3)])
        self.stop = Signal()
        self.wide = Signal()
        self.clear = Signal()
        self.wrong = Signal()
        self.crc = crc = _Crc()
        # The clock stops before it is full: two samples may still be under way then.
        self.fifo = fifo = stream.SyncFIFO([("data", 8)], 8)
        left = Signal(max=max(timeout, 64) + 1)
        count = Signal(11)
        beat = Signal(3)
        shift = Signal(8)
        byte = Signal(8)
        residue = Cat(*crc.values)
        self.comb += [
            self.stop.eq(fifo.level >= 4),
            byte.eq(Mux(self.wide, Cat(pads_in.data.i, shift[:4]), Cat(pads_in.data.i[0], shift[:7]))),
            crc.bits.eq(pads_in.data.i),
            source.status.eq(SDCARD_STREAM_STATUS_OK),
            source.data.eq(fifo.source.data),
        ]
        self.fsm = fsm = FSM(reset_state="IDLE")
        hand_on = [source.valid.eq(fifo.source.valid), source.first.eq(fifo.source.first)]
        hand_on += [fifo.source.ready.eq(source.ready)]
        fsm.act(
            "IDLE",
            crc.clear.eq(1),
            NextValue(left, timeout),
            NextValue(count, 0),
            NextValue(beat, 0),
            If(sink.valid & pads_out.ready, NextState("WAIT")),
        )
        fsm.act(
            "WAIT",
            pads_out.clk.eq(1),
            crc.clear.eq(1),
            NextValue(left, left - 1),
            If(pads_in.valid & ~pads_in.data.i[0], NextState("DATA")).Elif(left == 0, NextState("TIMEOUT")),
        )
        fsm.act(
            "DATA",
            pads_out.clk.eq(1),
            *hand_on,
            crc.step.eq(pads_in.valid),
            fifo.sink.data.eq(byte),
            fifo.sink.first.eq(count == 0),
            If(
                pads_in.valid,
                NextValue(shift, byte),
                NextValue(beat, beat + 1),
                If(
                    beat == Mux(self.wide, 1, 7),
                    fifo.sink.valid.eq(1),
                    NextValue(beat, 0),
                    NextValue(count, count + 1),
                    If(count == sink.block_length - 1, NextValue(count, 0), NextState("CRC")),
                ),
            ),
        )
        fsm.act(
            "CRC",
            pads_out.clk.eq(1),
            *hand_on,
            crc.step.eq(pads_in.valid),
            If(pads_in.valid, NextValue(count, count + 1), If(count == 15, NextState("END"))),
        )
        fsm.act(
            "END",
            pads_out.clk.eq(1),
            *hand_on,
            If(
                pads_in.valid,
                NextValue(count, 0),
                If(Mux(self.wide, residue, residue[:16]) != 0, NextValue(self.wrong, 1)),
                NextState("REST"),
            ),
        )
        fsm.act("REST", *hand_on, If(~fifo.source.valid, NextState("TRAILER")))
        fsm.act(
            "TRAILER",
            source.valid.eq(1),
            source.data.eq(0),
            source.last.eq(count == CRC_BYTES - 1),
            If(
                source.ready,
                NextValue(count, count + 1),
                If(
                    source.last,
                    sink.ready.eq(1),
                    NextValue(count, 0),
                    If(sink.last, NextState("CLOCKS")).Else(NextState("IDLE")),
                ),
            ),
        )
        # As many as LiteSDCard's reader gives.
        fsm.act(
            "CLOCKS",
            pads_out.clk.eq(1),
            If(pads_out.ready, NextValue(count, count + 1), If(count == 39, NextState("IDLE"))),
        )
        fsm.act(
            "TIMEOUT",
            source.valid.eq(1),
            source.last.eq(1),
            source.status.eq(SDCARD_STREAM_STATUS_TIMEOUT),
            sink.ready.eq(source.ready),
            If(source.ready, NextState("IDLE")),
        )
        self.sync += If(self.clear, self.wrong.eq(0))


class DataWriter(LiteXModule):
    """Writes blocks to the data lines.

    Attributes:
        pads_in, pads_out, sink, stop, status: as LiteSDCard's SDPHYDATAW has them.
        wide: four lines, not one.
        block_length: bytes of a block, without what the core puts behind it.
        clear: a command begins.
        failed: the card did not take a block of the present command; what follows is not sent.
    """

    def __init__(self, timeout: int) -> None:
        """Makes the writer.

        Args:
            timeout: cycles that the card may be busy with a block.
        """
        self.pads_in = pads_in = stream.Endpoint(_sdpads_layout)
        self.pads_out = pads_out = stream.Endpoint(_sdpads_layout)
        self.sink = stream.Endpoint([("data", 8)])
        # From the core's FIFO through its CRC to the pads would be one path.
        self.buffer = buffer = stream.Buffer([("data", 8)])
        sink = buffer.source
        self.stop = Signal()
        self.wide = Signal()
        self.block_length = Signal(10)
        self.clear = Signal()
        self.failed = Signal()
        self.status = CSRStatus(
            fields=[
                CSRField("accepted", size=1, offset=0),
                CSRField("crc_error", size=1, offset=1),
                CSRField("write_error", size=1, offset=2),
            ]
        )
        self.crc = crc = _Crc()
        left = Signal(max=timeout + 1)
        count = Signal(11)
        beat = Signal(3)
        token = Signal(3)
        lines = Signal(_LINES)
        send = [pads_out.clk.eq(1), pads_out.data.oe.eq(1)]
        bit = Case(beat, {number: lines.eq(Cat(sink.data[7 - number], 0b111)) for number in range(8)})
        nibble = If(beat == 0, lines.eq(sink.data[4:8])).Else(lines.eq(sink.data[:4]))
        one_line = Cat(0, 0b111)
        self.comb += [
            self.sink.connect(buffer.sink),
            If(self.wide, nibble).Else(bit),
            self.status.fields.accepted.eq(token == 0b010),
            self.status.fields.crc_error.eq(token == 0b101),
            self.status.fields.write_error.eq(token == 0b110),
        ]
        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act(
            "IDLE",
            crc.clear.eq(1),
            NextValue(count, 0),
            NextValue(beat, 0),
            If(sink.valid & self.failed, NextState("DRAIN")).Elif(sink.valid & pads_out.ready, NextState("CLOCKS")),
        )
        # The card has eight clocks after its response, or after the block before.
        fsm.act(
            "CLOCKS",
            pads_out.clk.eq(1),
            pads_out.cmd.oe.eq(1),
            pads_out.cmd.o.eq(1),
            crc.clear.eq(1),
            If(pads_out.ready, NextValue(count, count + 1), If(count == 7, NextValue(count, 0), NextState("START"))),
        )
        fsm.act(
            "START",
            *send,
            pads_out.data.o.eq(Mux(self.wide, 0, one_line)),
            If(pads_out.ready, NextState("DATA")),
        )
        fsm.act(
            "DATA",
            *send,
            self.stop.eq(~sink.valid),
            pads_out.data.o.eq(lines),
            crc.bits.eq(lines),
            If(
                pads_out.ready & sink.valid,
                crc.step.eq(1),
                NextValue(beat, beat + 1),
                If(
                    beat == Mux(self.wide, 1, 7),
                    sink.ready.eq(1),
                    NextValue(beat, 0),
                    NextValue(count, count + 1),
                    If(count == self.block_length - 1, NextValue(count, 0), NextState("CRC")),
                ),
            ),
        )
        fsm.act(
            "CRC",
            *send,
            pads_out.data.o.eq(Mux(self.wide, crc.out, Cat(crc.out[0], 0b111))),
            # Its own uppermost bit moves a CRC on by one place.
            crc.bits.eq(crc.out),
            If(pads_out.ready, crc.step.eq(1), NextValue(count, count + 1), If(count == 15, NextState("STOP"))),
        )
        fsm.act(
            "STOP",
            *send,
            pads_out.data.o.eq(0b1111),
            NextValue(left, timeout),
            NextValue(count, 0),
            NextValue(token, 0),
            If(pads_out.ready, NextState("TOKEN")),
        )
        fsm.act(
            "TOKEN",
            pads_out.clk.eq(1),
            NextValue(left, left - 1),
            If(pads_in.valid & ~pads_in.data.i[0], NextState("STATUS")).Elif(left == 0, NextState("FAILED")),
        )
        fsm.act(
            "STATUS",
            pads_out.clk.eq(1),
            NextValue(left, left - 1),
            If(
                pads_in.valid,
                NextValue(count, count + 1),
                If(count == 3, NextState("BUSY")).Else(NextValue(token, Cat(pads_in.data.i[0], token[:2]))),
            ),
        )
        fsm.act(
            "BUSY",
            pads_out.clk.eq(1),
            NextValue(left, left - 1),
            If(
                pads_in.valid & pads_in.data.i[0],
                If(self.status.fields.accepted, NextState("DRAIN")).Else(NextState("FAILED")),
            ).Elif(left == 0, NextState("FAILED")),
        )
        fsm.act("FAILED", NextValue(self.failed, 1), NextState("DRAIN"))
        # What the core put behind the block, or all of a block that is not sent.
        fsm.act("DRAIN", sink.ready.eq(1), If(sink.valid & sink.last, NextState("IDLE")))
        self.sync += If(self.clear, self.failed.eq(0))


class MemoryToBlocks(LiteXModule):
    """Fetches blocks from memory, as LiteSDCard's SDMem2BlockDMA does, and forgets what it has fetched when it is off.

    Without that, what was fetched for a write that the card never took would be written by the next one.

    Attributes:
        dma, source, irq: as SDMem2BlockDMA has them.
    """

    def __init__(self, bus: wishbone.Interface, endianness: str, fifo_depth: int = 512) -> None:
        """Makes the DMA.

        Args:
            bus: where memory is.
            endianness: of the CPU.
            fifo_depth: bytes that are fetched ahead.
        """
        self.source = source = stream.Endpoint([("data", 8)])
        self.irq = Signal()
        self.dma = dma = WishboneDMAReader(bus, with_csr=True, endianness=endianness)
        self.converter = converter = ResetInserter()(stream.Converter(bus.data_width, 8, reverse=True))
        self.fifo = fifo = ResetInserter()(stream.SyncFIFO([("data", 8)], fifo_depth, buffered=True))
        off = Signal()
        count = Signal(max=BLOCK)
        self.comb += [
            off.eq(~dma._enable.storage),
            converter.reset.eq(off),
            fifo.reset.eq(off),
            ResetInserter()(dma.fifo).reset.eq(off),
            dma.source.connect(converter.sink),
            converter.source.connect(fifo.sink),
            fifo.source.connect(source),
            source.last.eq(count == BLOCK - 1),
        ]
        self.sync += If(off, count.eq(0)).Elif(source.valid & source.ready, count.eq(count + 1))
        done = Signal()
        self.sync += done.eq(dma._done.status)
        self.comb += self.irq.eq(dma._done.status & ~done)


class CardModelIO(SDPHYIO):
    """A simulated card in the place of pins (sdcard_model.v), behind registers as a board's pins have them.

    Attributes:
        absent: there is no card in the simulation.
    """

    def __init__(self, clocker: SDPHYClocker, sdpads: Record) -> None:
        """Makes the card.

        Args:
            clocker: the card's clock.
            sdpads: the PHY's side of the pins.
        """
        self.absent = Signal()
        host, card = (Record([("cmd", 1), ("cmd_oe", 1), ("data", _LINES), ("data_oe", _LINES)]) for _ in range(2))
        clock = Signal(reset=1)
        cmd = Signal()
        data = Signal(_LINES)
        self.comb += [
            # Resistors hold lines high that nobody drives.
            cmd.eq((~host.cmd_oe | host.cmd) & (~card.cmd_oe | card.cmd)),
            data.eq((~host.data_oe | host.data) & (~card.data_oe | card.data)),
        ]
        self.sync += [
            clock.eq(~clocker.clk),
            host.cmd.eq(sdpads.cmd.o),
            host.cmd_oe.eq(sdpads.cmd.oe),
            host.data.eq(sdpads.data.o),
            host.data_oe.eq(Mux(sdpads.data.oe, 0b1111, 0)),
            sdpads.cmd.i.eq(cmd),
            sdpads.data.i.eq(data),
        ]
        self.specials += Instance(
            "hwswap_sd_card",
            i_clock=clock,
            i_host_cmd=host.cmd,
            i_host_cmd_oe=host.cmd_oe,
            i_host_data=host.data,
            i_host_data_oe=host.data_oe,
            o_card_cmd=card.cmd,
            o_card_cmd_oe=card.cmd_oe,
            o_card_data=card.data,
            o_card_data_oe=card.data_oe,
            o_absent=self.absent,
        )
        self.add_data_i_ce(clocker, sdpads)


class SdPhy(LiteXModule):
    """Between LiteSDCard's core and a card.

    Attributes:
        cmdw, cmdr, dataw, datar, card_detect, card_detect_irq: as LiteSDCard's SDPHY has them.
        settings: the number of data lines.
    """

    def __init__(self, pads: Record | None, sys_clk_freq: float, data_timeout: float = DATA_TIMEOUT) -> None:
        """Makes the PHY.

        Args:
            pads: the card's pins; None for a simulated card, whose model the caller adds.
            sys_clk_freq: frequency of clock domain sys, Hz.
            data_timeout: seconds that a card has for a block.
        """
        cycles = int(data_timeout * sys_clk_freq)
        self.card_detect = CSRStatus()
        self.clocker = clocker = SDPHYClocker()
        self.init = SDPHYInit()
        self.cmdw = SDPHYCMDW()
        self.cmdr = SDPHYCMDR(sys_clk_freq, COMMAND_TIMEOUT, self.cmdw, busy_timeout=data_timeout)
        self.dataw = dataw = DataWriter(cycles)
        self.datar = datar = DataReader(cycles)
        lines = CSRField(
            "lines",
            size=2,
            reset=1,
            values=[("``0b00``", "One data line."), ("``0b01``", "Four data lines.")],
            description="Data lines in use.",
        )
        self.settings = CSRStorage(fields=[lines], n=SETTINGS_WORD)
        self.sdpads = sdpads = Record(_sdpads_layout)
        self.io = CardModelIO(clocker, sdpads) if pads is None else SDPHYIOGen(clocker, sdpads, pads)
        self.comb += self.card_detect.status.eq(self.io.absent if pads is None else getattr(pads, "cd", 0))
        parts = (self.init, self.cmdw, self.cmdr, dataw, datar)
        for name in ("clk", "cmd.oe", "cmd.o", "data.oe", "data.o"):
            driven = [self._signal(part.pads_out, name) for part in parts]
            self.comb += self._signal(sdpads, name).eq(driven[0] | driven[1] | driven[2] | driven[3] | driven[4])
        # The core may give a command while clocks behind the one before are still under way.
        others = self.init.pads_out.clk | self.cmdr.pads_out.clk | dataw.pads_out.clk | datar.pads_out.clk
        for part in parts:
            self.comb += [
                part.pads_out.ready.eq(clocker.ce & ~others if part is self.cmdw else clocker.ce),
                part.pads_in.valid.eq(sdpads.data_i_ce),
                part.pads_in.cmd.i.eq(sdpads.cmd.i),
                part.pads_in.data.i.eq(sdpads.data.i),
            ]
        wide = self.settings.fields.lines != 0
        self.comb += [
            dataw.wide.eq(wide),
            datar.wide.eq(wide),
            clocker.clk_en.eq(sdpads.clk),
            clocker.stop.eq(dataw.stop | datar.stop),
        ]
        self.card_detect_irq = Signal()
        before = Signal()
        self.sync += [
            before.eq(self.card_detect.status),
            self.card_detect_irq.eq(self.card_detect.status ^ before),
        ]

    @staticmethod
    def _signal(record: Record, name: str) -> Signal:
        for word in name.split("."):
            record = getattr(record, word)
        return record


def add_sdcard(soc: SoCCore, pads: Record | None, data_timeout: float = DATA_TIMEOUT) -> None:
    """Adds controller, DMA both ways, and interrupt to a SoC, under the names that LiteX gives them.

    Args:
        soc: the SoC.
        pads: the card's pins; None for a simulated card, whose model the caller adds.
        data_timeout: seconds that a card has for a block.
    """
    phy = SdPhy(pads, soc.sys_clk_freq, data_timeout)
    core = SDCore(phy)
    soc.add_module(name="sdcard_phy", module=phy)
    soc.add_module(name="sdcard_core", module=core)
    soc.comb += [
        phy.datar.clear.eq(core.cmd_send.re),
        phy.dataw.clear.eq(core.cmd_send.re),
        phy.dataw.block_length.eq(core.block_length.storage),
    ]
    # LiteSDCard has both bits, and nothing behind them.
    core.comb += [
        core.data_event.fields.error.eq(phy.dataw.failed),
        core.data_event.fields.crc.eq(phy.datar.wrong),
    ]
    bus = getattr(soc, "dma_bus", soc.bus)
    ports = [
        wishbone.Interface(data_width=soc.bus.data_width, address_width=soc.bus.address_width, addressing="word")
        for _ in range(2)
    ]
    reader = SDBlock2MemDMA(bus=ports[0], endianness=soc.cpu.endianness)
    writer = MemoryToBlocks(bus=ports[1], endianness=soc.cpu.endianness)
    for name, dma, port in (("sdcard_block2mem", reader, ports[0]), ("sdcard_mem2block", writer, ports[1])):
        soc.add_module(name=name, module=dma)
        bus.add_master(name=name, master=port)
    soc.comb += [core.source.connect(reader.sink), writer.source.connect(core.sink)]
    events = EventManager()
    soc.add_module(name="sdcard_irq", module=events)
    events.card_detect = EventSourcePulse(description="A card was put in or taken out.")
    events.block2mem_dma = EventSourcePulse(description="The DMA to memory has ended.")
    events.mem2block_dma = EventSourcePulse(description="The DMA from memory has ended.")
    events.cmd_done = EventSourceLevel(description="A command, and its data, are done.")
    events.finalize()
    soc.comb += [
        events.card_detect.trigger.eq(phy.card_detect_irq),
        events.block2mem_dma.trigger.eq(reader.irq),
        events.mem2block_dma.trigger.eq(writer.irq),
        events.cmd_done.trigger.eq(core.cmd_event.fields.done),
    ]
    if soc.irq.enabled:
        soc.irq.add("sdcard_irq", use_loc_if_exists=True)
