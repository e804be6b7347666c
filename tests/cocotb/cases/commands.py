# SPDX-License-Identifier: Apache-2.0
"""The interrupt of a command, and all CPUs at once.

What each command answers is in the scripts (scripts.py).
"""

import cocotb
import hwswap_map as m
from cocotb.triggers import Combine
from hwswap.model.host_memory import Command, prepare
from hwswap_map import Opcode, Status

from cases.bench import SSD, Bench


@cocotb.test()
async def a_command_may_ask_for_an_interrupt(dut):
    """The interrupt never comes before the completion is in memory; the rest is in the script `registers`."""
    bench = await Bench.start(dut)
    await bench.write(m.IRQ_ENABLE_OFFSET, m.IRQ_ENABLE_COMPLETION.put(1))
    bench.post(Command(Opcode.NOP, irq=True))
    rise = cocotb.start_soon(bench.irq_edge())
    await bench.ring()
    await rise
    at = bench.layout.completions + 16 * (bench.taken % (1 << bench.size_log2))
    assert bench.memory.word(at + m.MEM_COMPLETION_INFO_OFFSET) & 1


class Page:
    """A CPU's register page and its driver's half of the sequence numbers."""

    def __init__(self, bench: Bench, cpu: int) -> None:
        """Take over the page of a CPU; nothing was asked yet."""
        self.bench = bench
        self.base = m.CPU_PAGE_BASE + cpu * m.CPU_PAGE_STRIDE
        self.seq = 0

    async def ask(self, opcode: int, order: int = 0, type_: int = 0, nr: int = 0, slot: int = 0) -> int:
        """Ask, now and then as if replies had been lost, and return the RESPONSE of exactly this request."""
        bench = self.bench
        self.seq = self.seq % 0xFFFF + 1
        word = (
            m.CPU_PAGE_REQUEST_OPCODE.put(opcode)
            | m.CPU_PAGE_REQUEST_ORDER.put(order)
            | m.CPU_PAGE_REQUEST_TYPE.put(type_)
            | m.CPU_PAGE_REQUEST_NR.put(nr)
            | m.CPU_PAGE_REQUEST_SEQ.put(self.seq)
        )

        async def answered() -> bool:
            self.response = await bench.read(self.base + m.CPU_PAGE_RESPONSE_OFFSET)
            busy = m.CPU_PAGE_RESPONSE_BUSY.get(self.response)
            return not busy and m.CPU_PAGE_RESPONSE_SEQ.get(self.response) == self.seq

        for _ in range(bench.rng.choice((1, 1, 1, 2, 3))):
            await bench.write(self.base + m.CPU_PAGE_ARG_OFFSET, slot)
            await bench.write(self.base + m.CPU_PAGE_REQUEST_OFFSET, word)
            await bench.until(answered, f"request {self.seq} is not answered", every=1)
        return self.response


@cocotb.test()
async def all_cpus_and_the_ring_at_once_never_share_a_slot(dut):
    """Four pages and the ring work at the same time; the order is open, so slots are followed with sets."""
    bench = await Bench.start(dut)
    setup = []
    for type_ in range(3):
        setup += [prepare(type_, 1400, 3 * type_, SSD, priority=type_ // 2), Command(Opcode.SWAPON, type_)]
    await bench.must(*setup)
    held: dict[tuple[int, int], int] = {}

    def got(type_: int, slot: int, order: int) -> None:
        for offset in range(slot, slot + (1 << order)):
            assert (type_, offset) not in held, f"slot {offset} of device {type_} was given twice"
            held[type_, offset] = order
        assert slot % (1 << order) == 0
        assert 0 < slot <= 1400 - (1 << order)

    async def one_cpu(cpu: int) -> None:
        page, mine = Page(bench, cpu), []
        for _ in range(60):
            order = bench.rng.choice((0, 0, 0, 2, 4, 9))
            response = await page.ask(Opcode.ALLOC, order=order)
            if m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK:
                type_, slot = m.CPU_PAGE_RESPONSE_TYPE.get(response), m.CPU_PAGE_RESPONSE_SLOT.get(response)
                got(type_, slot, order)
                mine.append((type_, slot, order))
            if len(mine) > 8:
                type_, slot, order = mine.pop(bench.rng.randrange(len(mine)))
                for offset in range(slot, slot + (1 << order)):
                    del held[type_, offset]
                response = await page.ask(Opcode.FREE, type_=type_, nr=1 << order, slot=slot)
                assert m.CPU_PAGE_RESPONSE_STATUS.get(response) == Status.OK

    async def the_ring() -> None:
        for _ in range(40):
            done = await bench.run(*[Command(Opcode.ALLOC, order=1)] * 3)
            for completion in done:
                if completion.status == Status.OK:
                    got(completion.type, completion.slot, 1)

    await Combine(*[cocotb.start_soon(one_cpu(cpu)) for cpu in range(4)], cocotb.start_soon(the_ring()))
    await bench.idle()
    await bench.must(*(Command(Opcode.CHECK, type_) for type_ in range(3)))
    for type_ in range(3):
        state = await bench.read(m.DEVICE_BASE + type_ * m.DEVICE_STRIDE + m.DEVICE_STATE_OFFSET)
        mine = sum(owner == type_ for owner, _ in held)
        assert m.DEVICE_STATE_USED.get(state) == mine + 1 + 3 * 512 - 1400
    assert await bench.read(m.STATUS_OFFSET) & ~m.STATUS_BUSY.put(1) == 0
