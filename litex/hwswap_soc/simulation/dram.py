# SPDX-License-Identifier: Apache-2.0
"""A model of a DRAM with several AXI4 ports over one memory, for simulation.

What is modelled, and what firmware's cycle counts therefore contain:

* One data bus, shared by all ports: one 64-bit beat a cycle, reads and writes together. Requests take turns, round
  robin, a burst each; nothing interrupts a burst. So CPU and engine are in each other's way as they are on a board.
* A latency, settable while it runs: the first beat of a read comes `latency` cycles after its address was taken, the
  response of a write at least so long after. Requests that wait, on any port, wait at the same time (banks work in
  parallel); up to four reads and four writes a port are under way, in order.
* A master that is slow to take or to give its data does not hold the bus: bursts move between memory and a buffer in
  the port.

What is not: refresh, open and closed rows, and read/write turnaround. Sweep the latency instead.

Bursts are INCR, of up to 256 beats, of any size. Another burst type, or an address outside of the memory, is answered
with an error, and writes nothing.
"""

from functools import reduce
from operator import or_

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from litex.soc.interconnect.csr import CSRStatus
from migen import Case, If, Memory, Mux, Signal

SHORTEST = 2
"""Cycles from a read's address to its first beat at the least: one into the port, one out of it."""

DEPTH = 256
"""Beats a port buffers each way: one longest burst."""

STARTED = 16
"""Bits of the clock that requests are stamped with: it must not come round while one waits."""


class _Requests(LiteXModule):
    """The queue of one direction of one port.

    Attributes:
        head: the oldest request: address, length, size, id.
        old: the oldest request is there, and has waited for the latency.
        wrong: the oldest request cannot be served.
        word: memory word of the present beat of the oldest request.
        last: the present beat is the last of it.
        beat: goes to the next beat; at the last one, to the next request.
    """

    def __init__(self, channel, now: Signal, latency: Signal, base: int, size: int) -> None:
        fields = [("addr", 32), ("len", 8), ("size", 3), ("burst", 2), ("id", 4), ("stamp", STARTED)]
        self.fifo = fifo = stream.SyncFIFO(fields, 4)
        self.head = head = fifo.source
        self.old = Signal()
        self.wrong = Signal()
        self.outside = Signal()
        self.word = Signal(max=size // 8)
        self.last = Signal()
        self.beat = Signal()
        count = Signal(8)
        age = Signal(STARTED)
        address = Signal(32)
        self.comb += [
            channel.connect(fifo.sink, keep={"valid", "ready", "addr", "len", "size", "burst"}),
            fifo.sink.id.eq(channel.id),
            fifo.sink.stamp.eq(now),
            age.eq(now - head.stamp),
            # Taken at 0, seen here at 1, its data in the port at the earliest at the end of that, outside at 2.
            self.old.eq(head.valid & ((age + SHORTEST - 1) >= latency)),
            self.outside.eq((head.addr < base) | (head.addr >= base + size)),
            self.wrong.eq(self.outside | ((head.burst != axi.BURST_INCR) & (head.len != 0))),
            address.eq((((head.addr - base) >> head.size) + count) << head.size),
            self.word.eq(address[3:]),
            self.last.eq(count == head.len),
            head.ready.eq(self.beat & self.last),
        ]
        self.sync += If(self.beat, If(self.last, count.eq(0)).Else(count.eq(count + 1)))


class _Port(LiteXModule):
    """One AXI port: its queues, and buffers for data that has been read and data to be written."""

    def __init__(self, bus: axi.AXIInterface, now: Signal, latency: Signal, base: int, size: int) -> None:
        self.reads = reads = _Requests(bus.ar, now, latency, base, size)
        self.writes = writes = _Requests(bus.aw, now, latency, base, size)
        self.r = r = stream.SyncFIFO([("data", 64), ("resp", 2), ("id", 4)], DEPTH)
        self.w = w = stream.SyncFIFO([("data", 64), ("strb", 8)], DEPTH)
        self.b = b = stream.SyncFIFO([("resp", 2), ("id", 4)], 4)
        # Whole bursts that wait in the write buffer.
        bursts = Signal(max=DEPTH + 1)
        arrived = bus.w.valid & bus.w.ready & bus.w.last
        self.read_request = Signal()
        self.write_request = Signal()
        self.comb += [
            self.read_request.eq(reads.old & (DEPTH - r.level > reads.head.len)),
            self.write_request.eq(writes.old & (bursts != 0) & b.sink.ready),
            bus.w.connect(w.sink, keep={"valid", "ready", "last", "data", "strb"}),
            r.source.connect(bus.r, keep={"valid", "ready", "last", "data", "resp"}),
            bus.r.id.eq(r.source.id),
            b.source.connect(bus.b, keep={"valid", "ready", "resp"}),
            bus.b.id.eq(b.source.id),
        ]
        # A beat of this port's, when the bus is given to it (DramModel says when).
        self.comb += [
            r.sink.valid.eq(reads.beat),
            r.sink.last.eq(reads.last),
            r.sink.id.eq(reads.head.id),
            If(reads.wrong, r.sink.resp.eq(_error(reads))),
            w.source.ready.eq(writes.beat),
            b.sink.valid.eq(writes.beat & writes.last),
            b.sink.id.eq(writes.head.id),
            If(writes.wrong, b.sink.resp.eq(_error(writes))),
        ]
        self.sync += bursts.eq(bursts + arrived - (writes.beat & writes.last))


def _error(requests: _Requests):
    """The response to a request that cannot be served."""
    return Mux(requests.outside, axi.RESP_DECERR, axi.RESP_SLVERR)


class DramModel(LiteXModule):
    """The memory.

    Attributes:
        latency: cycles, as the module's text says; at least SHORTEST.
    """

    def __init__(self, base: int, size: int) -> None:
        """Make a memory without ports.

        Args:
            base: its first byte's bus address.
            size: bytes.
        """
        self.latency = Signal(STARTED)
        self._latency = CSRStatus(STARTED, name="latency", description="First-beat latency of this run, in sys cycles.")
        self._base, self._size = base, size
        self._buses: list[axi.AXIInterface] = []
        # Read from a file at the simulation's start: the file's name comes from this one. (LiteX would put a memory
        # that it finds in a module onto the CSR bus.)
        self.autocsr_exclude = {"storage"}
        self.storage = Memory(64, size // 8, init=[0], name="main_ram_storage")
        self.comb += self._latency.status.eq(self.latency)

    def new_port(self) -> axi.AXIInterface:
        """A port: 64 data bits, 32-bit bus addresses, 4-bit ids."""
        bus = axi.AXIInterface(data_width=64, address_width=32, id_width=4)
        self._buses.append(bus)
        return bus

    def do_finalize(self) -> None:
        """Build the logic, now that all ports are known."""
        # One memory port for both directions would do; two say which is which.
        read = self.storage.get_port(async_read=True)
        write = self.storage.get_port(write_capable=True, we_granularity=8)
        self.specials += read, write
        now = Signal(STARTED)
        self.sync += now.eq(now + 1)
        ports = [_Port(bus, now, self.latency, self._base, self._size) for bus in self._buses]
        for number, port in enumerate(ports):
            self.add_module(name=f"port{number}", module=port)

        # Requester 2n is port n's reads, 2n + 1 its writes.
        users = [user for port in ports for user in (port.reads, port.writes)]
        wants = [want for port in ports for want in (port.read_request, port.write_request)]
        given = Signal(max=len(users))
        holder = Signal.like(given)
        busy = Signal()
        ending = Signal()
        self.comb += If(busy, given.eq(holder)).Else(_next_after(holder, wants, given))
        moving = Signal()
        self.comb += moving.eq(busy | reduce(or_, wants))
        cases = {}
        for number, (user, port) in enumerate(zip(users, [p for p in ports for _ in range(2)], strict=True)):
            actions = [user.beat.eq(moving), ending.eq(user.last)]
            if user is port.reads:
                actions += [read.adr.eq(user.word), port.r.sink.data.eq(read.dat_r)]
            else:
                actions += [
                    write.adr.eq(user.word),
                    write.dat_w.eq(port.w.source.data),
                    If(moving & ~user.wrong, write.we.eq(port.w.source.strb)),
                ]
            cases[number] = actions
        self.comb += Case(given, cases)
        self.sync += If(moving, holder.eq(given), busy.eq(~ending))


def _next_after(holder: Signal, wants: list[Signal], given: Signal) -> Case:
    """Set `given` to the first that wants, counted round from the one after `holder`."""
    number = len(wants)
    cases = {}
    for start in range(number):
        choice = given.eq(start)
        # From the last candidate to the first: each stands in front of those after it.
        for step in range(number, 0, -1):
            candidate = (start + step) % number
            choice = If(wants[candidate], given.eq(candidate)).Else(choice)
        cases[start] = choice
    return Case(holder, cases)
