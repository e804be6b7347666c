# SPDX-License-Identifier: Apache-2.0
"""Hint rings: when they are filled and how far, what they hold, and how they are emptied."""

import cocotb
import hwswap_map as m
from hwswap.model.golden import BLKDEV
from hwswap.model.host_memory import Command
from hwswap.model.mirror import NO_HINTS
from hwswap.model.rows import ALL, SLOTS, run
from hwswap_map import Flag, Opcode

from cases.bench import Bench
from cases.host import SSD, Hint, Host

PAGES = 5 * SLOTS


async def start(dut, devices: int = 2, **options) -> tuple[Bench, Host]:
    """Start an engine that fills hint rings, with some empty devices; nobody wants hints yet."""
    bench = Bench(dut)
    bench.pauses()
    bench.clock.start()
    await bench.reset()
    host = await Host.start(bench, hints=True, **options)
    for type_ in range(devices):
        await host.swapon(type_, PAGES, 5 * type_, epoch=type_ + 1)
    return bench, host


async def limits(bench: Bench, slots: int, cap_min: int, cap_shift: int) -> None:
    """Set HINT_DEPTH."""
    word = m.HINT_DEPTH_SLOTS.put(slots) | m.HINT_DEPTH_CAP_MIN.put(cap_min) | m.HINT_DEPTH_CAP_SHIFT.put(cap_shift)
    await bench.write(m.HINT_DEPTH_OFFSET, word)


def slots_of(host: Host, hint: Hint) -> tuple[int, int]:
    """Return the engine cluster of a hint and its slots there as a mask."""
    return host.devices[hint.type].base + hint.slot // SLOTS, run(hint.slot % SLOTS, 1 << hint.order)


class Watch:
    """What must be true of the outstanding hints, followed from round to round."""

    def __init__(self, host: Host) -> None:
        """Begin with no hint out."""
        self.host = host
        self.known = {number: record.bitmap for number, record in host.records.items()}
        self.hinted = dict.fromkeys(host.records, 0)
        self.popped: list[Hint] = []

    def pop(self, cpu: int, order: int) -> Hint | None:
        """Pop a hint and remember that the engine will release it."""
        hint = self.host.pop(cpu, order)
        if hint is not None and hint.valid:
            self.popped.append(hint)
        return hint

    def under_hints(self, number: int) -> int:
        """Return the slots of a cluster under hints that are still in a ring or were popped since the last look.

        If the kernel frees such a slot, the engine may hint it anew, and releasing the old hint takes the new one's
        mark away too. The kernel would refuse one of them; the totals here know nothing of that, so the test's kernel
        does not free such slots.
        """
        waiting = [hint for key in self.host.rings for hint in self.host.waiting(*key)]
        mask = 0
        for hint in waiting + self.popped:
            cluster, slots = slots_of(self.host, hint)
            if cluster == number:
                mask |= slots
        return mask

    def look(self) -> int:
        """Look at the hints that came while the engine took in the last changes; return how many.

        Each lies where it was free before these changes or is free after them, and where no other hint is out.
        """
        host = self.host
        for hint in self.popped:
            number, mask = slots_of(host, hint)
            self.hinted[number] &= ~mask
        self.popped.clear()
        fresh = host.new_hints()
        for cpu, order, hint in fresh:
            assert hint.valid
            assert hint.order == order, f"ring ({cpu}, {order}) holds {hint}"
            device = host.devices[hint.type]
            assert hint.epoch == device.epoch
            assert hint.slot % (1 << order) == 0
            assert 0 < hint.slot <= device.pages - (1 << order)
            number, mask = slots_of(host, hint)
            now = host.records[number].bitmap
            assert not mask & self.known[number] or not mask & now, f"{hint} is in use"
            assert not mask & self.hinted[number], f"{hint} was given twice"
            self.hinted[number] |= mask
        for number, record in host.records.items():
            self.hinted[number] &= ~record.bitmap
            self.known[number] = record.bitmap
        return len(fresh)

    def total(self) -> int:
        """Return the slots that USAGE.HINTED must show."""
        return sum(mask.bit_count() for mask in self.hinted.values())


@cocotb.test()
async def nothing_is_hinted_before_it_is_wanted(dut):
    bench, host = await start(dut)
    await bench.rounds(4)
    assert host.new_hints() == []
    assert await host.hinted() == 0
    host.want[2] = 1 << 4
    host.publish(2)
    await bench.rounds()
    fresh = host.new_hints()
    assert {(cpu, order) for cpu, order, _ in fresh} == {(2, 4)}
    assert await host.hinted() == 16 * len(fresh)


@cocotb.test()
async def no_hints_without_control_hints(dut):
    bench, host = await start(dut)
    await bench.enable(advisory=True, hints=False)
    host.want = [0x3FF] * 4
    host.publish_all()
    await bench.rounds(3)
    assert host.new_hints() == []
    await bench.enable(advisory=True, hints=True)
    await bench.rounds()
    assert host.new_hints()


@cocotb.test()
async def rings_are_filled_to_their_depth(dut):
    bench, host = await start(dut)
    await limits(bench, slots=12, cap_min=0xFFFF, cap_shift=0)
    host.want[0] = 0b11111
    host.publish(0)
    await bench.rounds()
    assert [len(host.waiting(0, order)) for order in range(5)] == [12, 6, 3, 1, 1]
    await limits(bench, slots=0xFFFF, cap_min=0xFFFF, cap_shift=0)
    await bench.rounds()
    assert [len(host.waiting(0, order)) for order in range(5)] == [1 << host.ring_log2] * 5


@cocotb.test()
async def all_hints_together_stay_below_the_cap(dut):
    bench, host = await start(dut)
    free = 2 * (PAGES - 1)
    await limits(bench, slots=64, cap_min=50, cap_shift=15)
    host.want = [0x3FF] * 4
    host.publish_all()
    await bench.rounds(4)
    assert 0 < await host.hinted() <= 50
    await limits(bench, slots=64, cap_min=50, cap_shift=4)
    await bench.rounds(4)
    assert 50 < await host.hinted() <= free >> 4
    watch = Watch(host)
    watch.look()
    assert await host.hinted() == watch.total()


@cocotb.test()
async def a_kernel_lives_on_hints_and_its_own_allocations(dut):
    """Hints are taken, refused and left; the kernel allocates and frees by itself in between, on every CPU."""
    bench, host = await start(dut, devices=3)
    await limits(bench, slots=24, cap_min=300, cap_shift=3)
    rng = bench.rng
    host.want = [0b1000010101, 0b0000000011, 0b0000111100, 0b1000000001]
    host.publish_all()
    watch = Watch(host)
    taken = refused = 0
    for _ in range(45):
        for _ in range(rng.randint(0, 10)):
            cpu = rng.randrange(4)
            if host.room(cpu) < 1:
                continue
            what = rng.random()
            if what < 0.6:
                order = rng.choice([order for order in range(10) if host.want[cpu] >> order & 1])
                hint = watch.pop(cpu, order)
                if hint is None:
                    continue
                if host.refused(hint) is None and rng.random() < 0.95:
                    host.notify(cpu, host.take(hint))
                    taken += 1
                else:
                    refused += 1
            else:
                number = rng.choice(list(host.records))
                record = host.records[number]
                mask = run(rng.randrange(SLOTS), 1) if what < 0.8 else run(rng.randrange(8) * 64, 64)
                if number == host.device_of(number).base:
                    mask &= ~1
                if rng.random() < 0.4:
                    bitmap = record.bitmap | mask
                else:
                    bitmap = record.bitmap & ~(mask & ~watch.under_hints(number))
                flag = None if bitmap in (0, ALL) else rng.choice((Flag.FRAG, Flag.NONFULL))
                host.change(number, bitmap, None, flag)
                host.notify(cpu, number)
        host.publish_all()
        await bench.rounds()
        watch.look()
        assert await host.hinted() == watch.total()
    bench.log.info("%d hints taken, %d refused", taken, refused)
    assert taken > 25
    assert taken > refused
    assert await bench.read(m.STAT_HINTS_USED_UP_OFFSET) == taken + refused
    for number in host.records:
        host.change(number, host.records[number].bitmap)
    host.resync[0] += 1
    host.publish(0)
    await bench.rounds()
    assert await host.differences() == []
    await bench.no_faults(host.devices)
    bench.guards()


@cocotb.test()
async def consumed_hints_that_were_not_used_are_released(dut):
    bench, host = await start(dut)
    await limits(bench, slots=64, cap_min=4000, cap_shift=15)
    host.want[1] = 1 << 3
    host.publish(1)
    await bench.rounds()
    first = host.waiting(1, 3)
    assert len(first) == 8
    host.want[1] = 0
    for _ in first:
        host.pop(1, 3)
    host.publish(1)
    await bench.rounds()
    assert await host.hinted() == 0
    assert host.waiting(1, 3) == []
    assert await bench.read(m.STAT_HINTS_USED_UP_OFFSET) == 8
    state = await bench.read(m.DEVICE_BASE + m.DEVICE_STATE_OFFSET)
    assert m.DEVICE_STATE_USED.get(state) == 1


@cocotb.test()
async def recall_voids_what_is_out(dut):
    bench, host = await start(dut)
    await limits(bench, slots=32, cap_min=4000, cap_shift=15)
    host.want = [0b10001] * 4
    host.publish_all()
    await bench.rounds()
    out = [hint for _, _, hint in host.new_hints()]
    assert {hint.type for hint in out} == {0, 1}
    host.want = [0] * 4
    host.publish_all()
    await bench.rounds()
    of_one = sum(hint.type == 1 for hint in out)
    assert await host.recall(1) == of_one
    host.new_hints()
    waiting = [hint for key in host.rings for hint in host.waiting(*key)]
    assert len(waiting) == len(out)
    assert sum(not hint.valid for hint in waiting) == of_one
    assert {hint.type for hint in waiting if hint.valid} == {0}
    assert await host.hinted() == sum(1 << hint.order for hint in waiting if hint.valid)
    assert await host.recall(None) == len(out) - of_one
    assert await host.recall(None) == 0
    assert await host.hinted() == 0
    assert not any(hint.valid for key in host.rings for hint in host.waiting(*key))
    # The host pops the void ones, and gets new ones behind them.
    for cpu, order in host.rings:
        while host.pop(cpu, order) is not None:
            pass
    host.want = [0b10001] * 4
    host.publish_all()
    await bench.rounds()
    again = [hint for _, _, hint in host.new_hints()]
    assert len(again) == len(out)
    assert all(hint.valid for hint in again)
    assert await bench.read(m.STAT_HINTS_RECALLED_OFFSET) == len(out)
    await bench.no_faults(host.devices)


@cocotb.test()
async def swapoff_recalls_by_itself(dut):
    bench, host = await start(dut)
    host.want = [0b100001] * 4
    host.publish_all()
    await bench.rounds()
    host.new_hints()
    await bench.must(Command(Opcode.SWAPOFF_BEGIN, 0))
    host.devices[0].writeok = False
    waiting = [hint for key in host.rings for hint in host.waiting(*key)]
    assert any(not hint.valid for hint in waiting)
    assert all(hint.type == 1 for hint in waiting if hint.valid)
    # Whatever is popped now and filled in later is of the other device.
    for lap in range(6):
        for cpu in range(4):
            host.pop(cpu, 0 if lap % 2 else 5)
        host.publish_all()
        await bench.rounds()
    waiting = [hint for key in host.rings for hint in host.waiting(*key) if hint.valid]
    assert waiting
    assert {hint.type for hint in waiting} == {1}
    await bench.must(Command(Opcode.SWAPOFF, 0))
    await bench.must(Command(Opcode.SWAPOFF, 1))
    assert await host.hinted() == 0
    waiting = [hint for key in host.rings for hint in host.waiting(*key)]
    assert not any(hint.valid for hint in waiting)


@cocotb.test()
async def devices_that_shall_get_no_hints_get_none(dut):
    bench, host = await start(dut, devices=1)
    await host.swapon(1, PAGES, 10, flags=SSD | NO_HINTS, epoch=2, priority=9)
    await host.swapon(2, PAGES, 20, flags=BLKDEV, epoch=3, priority=8)
    host.want = [0x3FF] * 4
    host.publish_all()
    await bench.rounds()
    fresh = host.new_hints()
    assert fresh
    assert {hint.type for _, _, hint in fresh} == {0}
    for number in (11, 22):
        host.change(number, 0xFF00FF, 0)
        host.notify(0, number)
    host.publish(0)
    await bench.rounds()
    for number in (11, 22):
        assert (await host.dump(number, 1))[0] == host.records[number]


@cocotb.test()
async def large_hints_only_into_block_devices_and_order_9_only_into_free_clusters(dut):
    bench, host = await start(dut, devices=0)
    await host.swapon(0, PAGES, 0, flags=SSD & ~BLKDEV)
    host.want[0] = 0x3FE
    host.publish(0)
    await bench.rounds()
    assert host.new_hints() == []
    host.want[0] = 0
    host.publish(0)
    await bench.rounds()
    await host.swapon(1, PAGES, 5, priority=5)
    for number in range(6, 9):
        host.change(number, 1, 0)
        host.notify(1, number)
    host.want = [0, 1 << 9, 0, 0]
    host.publish_all()
    await limits(bench, slots=4096, cap_min=0xFFFF, cap_shift=0)
    await bench.rounds()
    assert [(order, slots_of(host, hint)[0]) for _, order, hint in host.new_hints()] == [(9, 9)]


@cocotb.test()
async def an_impossible_head_stops_that_ring_alone(dut):
    bench, host = await start(dut)
    await limits(bench, slots=4, cap_min=4000, cap_shift=15)
    host.want = [1] * 4
    host.publish_all()
    await bench.rounds()
    assert len(host.new_hints()) == 16
    host.rings[1, 0].head += 5
    host.publish(1)
    await bench.rounds()
    assert await host.hinted() == 12
    assert await bench.read(m.STAT_COMMAND_ERRORS_OFFSET) == 1
    host.rings[1, 0].head -= 5
    for cpu in (0, 2, 3):
        assert host.pop(cpu, 0) is not None
    host.publish_all()
    await bench.rounds()
    assert await host.hinted() == 12
    assert [len(host.waiting(cpu, 0)) for cpu in (0, 2, 3)] == [4, 4, 4]
    assert await bench.read(m.STATUS_OFFSET) & m.STATUS_FAULT.put(1) == 0


@cocotb.test()
async def an_order_that_cannot_be_had_costs_nothing_until_something_changes(dut):
    bench, host = await start(dut, devices=1)
    for number in range(5):
        host.change(number, ALL ^ 1 << 7, 0)
    host.resync[0] = 1
    host.publish(0)
    await bench.rounds()
    host.want[0] = 1 << 6
    host.publish(0)
    await bench.rounds()
    failures = await bench.read(m.STAT_ALLOC_FAIL_OFFSET)
    assert failures > 0
    await bench.rounds(4)
    assert await bench.read(m.STAT_ALLOC_FAIL_OFFSET) == failures
    host.change(3, 0)
    host.notify(0, 3)
    host.publish(0)
    await bench.rounds()
    fresh = host.new_hints()
    assert fresh
    assert {slots_of(host, hint)[0] for _, _, hint in fresh} == {3}
