# SPDX-License-Identifier: Apache-2.0
"""The table of the engine's DMA masters: each at the ends of a DMA window, with an error, stopped, and with a RESET.

The rows are those of rows.py. Each cell is a test.
"""

import contextlib
from collections.abc import AsyncIterator

import cocotb
import hwswap_map as m
from cocotb.simtime import get_sim_time
from cocotb.task import Task
from cocotbext.axi.constants import AxiResp

from cases.bench import ADDRESSES, CLOCK_NS, Bench
from cases.bus import Bus
from cases.rows import KINDS, ROWS, Row
from cases.world import PAGE, World

IN_FLIGHT = 4000
"""Cycles within which all has ended that was under way when the engine stopped: a job reads a table, and writes it."""

QUIET = 200
"""Cycles without a burst after which none is under way."""

RESETS = 2
"""At random cycles of each row's work."""


def overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


class Cell:
    """A field of the table: an engine, one of its rows, and the error."""

    def __init__(self, bench: Bench, row: Row) -> None:
        """Begin with an engine after a reset."""
        self.bench, self.row, self.bus = bench, row, Bus(bench)
        self.hole: range | None = None
        self.closed = 0

    @classmethod
    async def start(cls, dut, row: Row) -> "Cell | None":
        """Reset an engine; None if it has no such row."""
        cell = cls(await Bench.after_reset(dut), row)
        cell.bench.rng.seed(f"{cell.bench.seed} {row.name}")
        cell.world = await World.of(cell.bench)
        return cell if row.needs in cell.world.has else None

    async def again(self, low_bits: bool = False, **places: int) -> None:
        """RESET, and begin anew: nothing is left of the state before."""
        bench = self.bench
        await bench.reset_by_register()
        assert self.bus.at_rest(), "a burst is left half"
        self.seen()
        bursts = len(self.bus.bursts)
        await bench.cycles(50)
        assert len(self.bus.bursts) == bursts, "an engine makes bursts that has no window"
        self.bus.bursts.clear()
        self.bus.words = 0
        self.hole = None
        self.world = await World.begin(bench, low_bits, **places)

    async def right(self) -> None:
        """All is as it should be, and nothing was reached that should not be."""
        await self.row.work(self.world)
        await self.bench.idle()
        assert await self.bench.read(m.STATUS_OFFSET) & ~m.STATUS_BUSY.put(1) == 0
        assert await self.bench.read(m.STAT_DMA_REFUSED_OFFSET) == 0
        self.seen()

    def seen(self) -> None:
        """See that each burst lies in a zone to read, or to write, and in a DMA window."""
        zones = {
            name: range(self.world.at[name], self.world.at[name] + zone.size) for name, zone in self.world.zones.items()
        }
        for number, (write, burst) in enumerate(self.bus.bursts):
            of = [name for name, zone in zones.items() if burst.start in zone and burst.stop - 1 in zone]
            assert of, f"a burst of nothing that there is: {burst}, writes: {write}"
            assert (of[0], write) in KINDS, f"a transfer without a row: {of[0]}, writes: {write}"
            if self.hole and number >= self.closed and write == self.row.write:
                assert not overlap(burst, self.hole), f"a burst outside of the windows: {burst}, writes: {write}"

    @contextlib.asynccontextmanager
    async def working(self, row: Row) -> AsyncIterator[Task]:
        """Have a row's work done meanwhile; it has no end where the engine stops."""

        async def work() -> None:
            with contextlib.suppress(AssertionError):
                await row.work(self.world)

        task = cocotb.start_soon(work())
        yield task
        task.cancel()

    # The cells

    async def open_but(self, start: int) -> None:
        """Let the windows permit everything, but in one page not the row's access."""
        self.hole = range(start, start + PAGE)
        pieces = [
            (0, start, True, True),
            (start, start + PAGE, self.row.write, not self.row.write),
            (start + PAGE, ADDRESSES - PAGE, True, True),
        ]
        self.bench.rng.shuffle(pieces)
        others = [number for number in range(m.DMA_WINDOW_COUNT) if number != self.world.window]
        for number, piece in zip(others, pieces, strict=True):
            await self.bench.window(number, *piece)
        await self.bench.window(self.world.window, 0, 0, read=False, write=False)
        # Bursts that were permitted before may still come to the bus.
        await self.bench.cycles(20)
        self.closed = len(self.bus.bursts)

    async def at_window(self, edge: int, upper: bool, place: int, low_bits: bool, fits: bool) -> None:
        """Place the row's transfer at the end of a window, with its last beat, or its first, outside or not."""
        await self.again(low_bits, **{self.row.zone: place})
        hole = edge if upper else edge - PAGE
        await self.open_but(hole)
        if fits:
            await self.right()
            return
        async with self.working(self.row):
            await self.stopped(refused=True)
        await self.fails()

    async def stopped(self, refused: bool) -> None:
        """The engine has stopped, and says so: by the bus, or by a burst that was refused."""
        bench = self.bench
        await bench.irq_edge("the engine does not stop")
        bursts = len(self.bus.bursts)
        status = await bench.read(m.STATUS_OFFSET) & ~m.STATUS_BUSY.put(1)
        assert status == m.STATUS_DMA_ERROR.put(1) | m.STATUS_DMA_REFUSED.put(refused)
        assert m.IRQ_STATUS_ERROR.get(await bench.read(m.IRQ_STATUS_OFFSET)) == 1
        word = await bench.read(m.DMA_REFUSED_OFFSET)
        assert m.DMA_REFUSED_VALID.get(word) == refused
        if refused:
            assert m.DMA_REFUSED_ADDR.get(word) << 3 in self.hole
            assert m.DMA_REFUSED_WRITE.get(word) == self.row.write
        await self.ended()
        # The gate has handed on one burst to read, and one to write. Commands already begun still complete, and a
        # cluster's dump still ends: that is a burst, and another one if it crosses a multiple of 128 bytes.
        late = self.bus.bursts[bursts:]
        dumped = [burst for write, burst in late if write and self.is_in("dump", burst)]
        written = [burst for write, burst in late if write and not self.is_in("completions", burst)]
        assert sum(not write for write, _ in late) <= 1, f"a stopped engine goes on to read: {late}"
        assert len(written) - len(dumped) <= 1, f"a stopped engine goes on to write: {written}"
        assert len(dumped) <= 2, f"a stopped engine dumps more clusters: {dumped}"
        counted = await bench.read(m.STAT_DMA_REFUSED_OFFSET)
        assert (counted > 0) == refused
        if self.world.zones[self.row.zone].size <= 64 and self.row.zone != "completions":
            assert counted == refused

    def is_in(self, zone: str, burst: range) -> bool:
        """Tell whether a burst begins in a zone."""
        start = self.world.at[zone]
        return burst.start in range(start, start + self.world.zones[zone].size)

    async def ended(self) -> None:
        """Wait until the work under way when the engine stopped has ended, in time."""
        bench = self.bench
        for _ in range(IN_FLIGHT // QUIET):
            bursts = len(self.bus.bursts)
            await bench.cycles(QUIET)
            busy = m.STATUS_BUSY.get(await bench.read(m.STATUS_OFFSET))
            if self.bus.at_rest() and len(self.bus.bursts) == bursts and not busy:
                return
        raise AssertionError("a stopped engine goes on")

    async def fails(self) -> None:
        """See that the row's work is told of the error, and that nothing is done from then on, on any command."""
        if self.row.failed:
            await self.row.failed(self.world)
        await self.does_nothing()
        self.seen()

    async def does_nothing(self) -> None:
        """Neither goes on with the row's work, nor begins it, nor can be switched on."""
        bench = self.bench
        bursts, head = len(self.bus.bursts), await bench.read(m.CMD_HEAD_OFFSET)
        await bench.write(m.CONTROL_OFFSET, m.CONTROL_ENABLE.put(1))
        bench.taken = bench.script.tail
        async with self.working(self.row):
            await bench.cycles(2 * QUIET)
            if self.row.refused:
                await self.row.refused(self.world)
        assert self.bus.at_rest(), "a burst is left half"
        assert await bench.read(m.CMD_HEAD_OFFSET) == head, "a stopped engine carries out commands"
        assert len(self.bus.bursts) == bursts, f"a stopped engine makes bursts: {self.bus.bursts[bursts:]}"
        assert m.CONTROL_ENABLE.get(await bench.read(m.CONTROL_OFFSET)) == 0

    def denied(self, row: Row, response: AxiResp) -> None:
        """Have the bus answer a row's transfers with an error: all, or its first word, or its last."""
        self.bus.error = response
        start, size = self.world.at[row.zone], self.world.zones[row.zone].size
        choices = [range(start, start + size), range(start + size - 8, start + size), range(start, start + 8)]
        memory = self.bench.memory
        (memory.denied_writes if row.write else memory.denied).append(self.bench.rng.choice(choices))


def places(cell: Cell, edge: int, upper: bool) -> tuple[int, int]:
    """Return the last place that fits before the upper end of a window, or the first at its lower end, and the next."""
    zone = cell.world.zones[cell.row.zone]
    fits = (edge - zone.size) & -zone.align if upper else edge
    return fits, fits + (zone.align if upper else -zone.align)


ROW = cocotb.parametrize(row=[cocotb.Param(row, row.name.replace(" ", "_")) for row in ROWS])


@ROW
@cocotb.test()
async def at_both_ends_of_a_window(dut, row: Row):
    """The last place that fits, and the next; low bits of an address are ignored, so that it still fits with them."""
    if cell := await Cell.start(dut, row):
        for upper in (True, False):
            edge = cell.bench.rng.randrange(1 << 20, 1 << 51) << 12
            fits, beyond = places(cell, edge, upper)
            await cell.at_window(edge, upper, fits, low_bits=False, fits=True)
            await cell.at_window(edge, upper, beyond, low_bits=False, fits=False)
            await cell.at_window(edge, upper, fits, low_bits=True, fits=True)


@ROW
@cocotb.test()
async def an_error_of_the_bus(dut, row: Row):
    if cell := await Cell.start(dut, row):
        for response in (AxiResp.SLVERR, AxiResp.DECERR):
            await cell.again()
            cell.denied(row, response)
            async with cell.working(row):
                await cell.stopped(refused=False)
            await cell.fails()
        await cell.again()
        await cell.right()


@ROW
@cocotb.test()
async def a_stopped_engine(dut, row: Row):
    """Another row's transfer has failed, while this one's work is done or before it is asked for."""
    cell = await Cell.start(dut, row)
    if not cell:
        return
    others = [other for other in ROWS if other.needs in cell.world.has and other.zone != row.zone]
    for at_once in (True, False):
        await cell.again()
        other = cell.bench.rng.choice(others)
        cell.bench.log.info("stopped by an error of: %s", other.name)
        cell.denied(other, AxiResp.SLVERR)
        async with cell.working(other):
            if at_once:
                async with cell.working(row) if row.work != other.work else contextlib.nullcontext():
                    await cell.stopped(refused=False)
            else:
                await cell.stopped(refused=False)
        await cell.does_nothing()
        cell.seen()


@ROW
@cocotb.test()
async def a_reset_at_any_cycle(dut, row: Row):
    cell = await Cell.start(dut, row)
    if not cell:
        return
    await cell.again()
    stays = cocotb.start_soon(cell.bus.stays())
    bench = cell.bench
    start = get_sim_time("ns")
    await cell.right()
    most = int(get_sim_time("ns") - start) // CLOCK_NS
    for _ in range(RESETS):
        cycle = bench.rng.randrange(most)
        bench.log.info("RESET in cycle %d of %d", cycle, most)
        async with cell.working(row):
            await bench.cycles(cycle)
        await cell.again()
        await cell.right()
    stays.cancel()
