# SPDX-License-Identifier: Apache-2.0
"""The mirror: records, notices, resync, torn records, and what the engine holds at the end."""

import cocotb
import hwswap_map as m
from hwswap.model.host_memory import Command
from hwswap.model.mirror import Record
from hwswap.model.rows import ALL, SLOTS
from hwswap_map import Flag, Opcode, Status

from cases.bench import Bench
from cases.host import Host

DEVICES = ((0, 3000, 0), (5, 1024, 6), (2, 2600, 9))
"""(type, pages, base) of the devices most tests use."""


async def mirror_of_three(dut, **options) -> tuple[Bench, Host]:
    """Start an engine that mirrors three devices."""
    bench = Bench(dut)
    bench.pauses()
    bench.clock.start()
    await bench.reset()
    host = await Host.start(bench, **options)
    for type_, pages, base in DEVICES:
        await host.swapon(type_, pages, base, epoch=type_ + 7)
    return bench, host


def random_bitmap(bench: Bench, host: Host, number: int) -> int:
    """Draw a cluster's used slots: none, all, few, many; bad slots stay."""
    device = host.device_of(number)
    bad = 1 if number == device.base else 0
    if number == device.clusters[-1] and device.pages % SLOTS:
        bad |= ALL ^ (1 << device.pages % SLOTS) - 1
    rng = bench.rng
    kind = rng.randrange(5)
    if kind == 0:
        return bad
    if kind == 1:
        return ALL
    bits = rng.getrandbits(SLOTS)
    return bad | (bits & rng.getrandbits(SLOTS) if kind == 2 else bits | rng.getrandbits(SLOTS) if kind == 3 else bits)


@cocotb.test()
async def records_and_notices_make_a_mirror(dut):
    """All CPUs change clusters at random, the same ones too; when quiet the mirror is what the kernel has."""
    bench, host = await mirror_of_three(dut)
    numbers = list(host.records)
    for _ in range(25):
        for _ in range(bench.rng.randint(1, 12)):
            cpu = bench.rng.randrange(4)
            if not host.room(cpu):
                continue
            number = bench.rng.choice(numbers)
            host.change(number, random_bitmap(bench, host, number), bench.rng.randrange(10))
            host.notify(cpu, number)
            if bench.rng.random() < 0.3:
                host.publish(cpu)
                await bench.cycles(bench.rng.randrange(200))
        host.publish_all()
        await bench.cycles(bench.rng.randrange(1500))
    await bench.rounds()
    assert [host.notices_taken(cpu) for cpu in range(4)] == host.notice_tail
    # Clusters the engine was told of are equal in all; the others were never fetched, and their bitmaps are equal.
    for device in host.devices.values():
        for number, seen in zip(device.clusters, await host.dump(device.base, len(device.clusters)), strict=True):
            if seen.seq:
                assert seen == host.records[number], f"cluster {number}"
            else:
                assert seen.bitmap == host.records[number].bitmap, f"cluster {number}"
    await bench.no_faults(host.devices)
    free = sum(SLOTS - record.count for record in host.records.values())
    assert m.USAGE_SLOTS.get(await bench.read(m.USAGE_OFFSET)) == free
    assert await bench.read(m.STAT_NOTICES_OFFSET) == sum(host.notice_tail)
    assert await bench.read(m.STAT_COMMAND_ERRORS_OFFSET) == 0
    bench.guards()


@cocotb.test()
async def resync_fetches_every_cluster(dut):
    """By the CPU line (an overflow) and by the command; nothing is told by notices."""
    bench, host = await mirror_of_three(dut)
    for lap in range(3):
        for number in host.records:
            host.change(number, random_bitmap(bench, host, number), bench.rng.randrange(10))
        if lap < 2:
            host.resync[lap] = bench.rng.getrandbits(32) | 1
            host.publish(lap)
            await bench.rounds()
            assert host.resync_ack(lap) == host.resync[lap]
        else:
            await bench.must(*[Command(Opcode.RESYNC, type_) for type_ in host.devices])
        assert await host.differences() == []
    assert await bench.status_of(Command(Opcode.RESYNC, 1)) == Status.BAD_DEVICE
    await bench.no_faults(host.devices)


@cocotb.test()
async def more_notices_than_fit_are_a_resync(dut):
    """The host's counter runs away over the ring: notices are lost, the mirror is right all the same."""
    bench, host = await mirror_of_three(dut)
    numbers = list(host.records)
    for number in numbers:
        host.change(number, random_bitmap(bench, host, number))
        host.notify(1, number)
    assert len(numbers) > 1 << host.notice_log2
    host.publish(1)
    await bench.rounds()
    assert await host.differences() == []
    assert host.notices_taken(1) == host.notice_tail[1]


@cocotb.test()
async def a_torn_record_is_read_again(dut):
    bench, host = await mirror_of_three(dut)
    number = 7
    host.change(number, 0xF0F, 2)
    whole = host.records[number]
    host.store(number, whole, seq_begin=whole.seq + 1)
    meta = bench.layout.states + m.MEM_CLUSTER_STATE_BYTES * number
    reads = 0

    def finish_on_the_fourth(address: int) -> None:
        nonlocal reads
        if address == meta:
            reads += 1
            if reads == 4:
                host.store(number, whole)

    bench.memory.on_read = finish_on_the_fourth
    host.notify(0, number)
    host.publish(0)
    await bench.rounds()
    assert reads == 4
    assert await bench.read(m.STAT_FETCH_RETRIES_OFFSET) == 3
    assert (await host.dump(number, 1))[0] == whole


@cocotb.test()
async def a_record_that_stays_torn_is_left_to_a_later_notice(dut):
    bench, host = await mirror_of_three(dut)
    number = 10
    before = (await host.dump(number, 1))[0]
    host.change(number, 0xF0F, 2)
    whole = host.records[number]
    host.store(number, whole, seq_begin=whole.seq + 1)
    host.notify(0, number)
    host.publish(0)
    await bench.rounds()
    assert (await host.dump(number, 1))[0] == before
    host.store(number, whole)
    host.notify(3, number)
    host.publish(3)
    await bench.rounds()
    assert (await host.dump(number, 1))[0] == whole


@cocotb.test()
async def a_record_changed_during_the_read_is_not_mixed(dut):
    """The record changes while its words are read, at a random word each time; the mirror never has halves."""
    bench, host = await mirror_of_three(dut)
    number = 3
    start = bench.layout.states + m.MEM_CLUSTER_STATE_BYTES * number
    states = {0: (await host.dump(number, 1))[0].bitmap}
    for lap in range(12):
        host.change(number, ALL if lap % 2 else 0x1, 0)
        states[host.records[number].seq] = host.records[number].bitmap
        at = start + 8 * bench.rng.randrange(10)

        def once(address: int, at: int = at) -> None:
            if address == at:
                bench.memory.on_read = None
                old = host.records[number]
                host.change(number, old.bitmap ^ ALL ^ 1, 0)
                states[host.records[number].seq] = host.records[number].bitmap
                host.notify(1, number)
                host.publish(1)

        bench.memory.on_read = once
        host.notify(0, number)
        host.publish(0)
        await bench.rounds(3)
        seen = (await host.dump(number, 1))[0]
        assert seen == host.records[number]
        assert states[seen.seq] == seen.bitmap


@cocotb.test()
async def old_records_and_other_epochs_do_not_count(dut):
    bench, host = await mirror_of_three(dut)
    number = 6
    host.change(number, 0xFF, 3)
    good = host.records[number]
    host.notify(0, number)
    host.publish(0)
    await bench.rounds()
    for record in (
        Record(0x1, 0, Flag.FRAG, (good.seq - 1) % (1 << 32), good.epoch),
        Record(0x1, 0, Flag.FRAG, good.seq, good.epoch),
        Record(0x1, 0, Flag.FRAG, good.seq + 1, good.epoch ^ 1),
    ):
        host.store(number, record)
        host.notify(0, number)
        host.publish(0)
        await bench.rounds()
        assert (await host.dump(number, 1))[0] == good


@cocotb.test()
async def notices_for_nobodys_clusters_do_no_harm(dut):
    bench, host = await mirror_of_three(dut)
    clusters = m.CAPS_CLUSTERS.get(await bench.read(m.CAPS_OFFSET))
    for number in (clusters, 0xFFFFFFFF, clusters - 1):
        host.notify(2, number)
    host.change(7, 0b11, 0)
    host.notify(2, 7)
    host.publish(2)
    await bench.rounds()
    assert (await host.dump(7, 1))[0] == host.records[7]
    assert await bench.read(m.STAT_COMMAND_ERRORS_OFFSET) == 2
    await bench.no_faults(host.devices)


@cocotb.test()
async def the_modes_keep_to_their_commands(dut):
    bench, _ = await mirror_of_three(dut)
    for command, status in (
        (Command(Opcode.ALLOC), Status.BAD_OPCODE),
        (Command(Opcode.FREE, 0, nr=1, arg0=1), Status.BAD_OPCODE),
        (Command(Opcode.NOP), Status.OK),
        (Command(Opcode.RECALL, 1), Status.BAD_DEVICE),
        (Command(Opcode.RECALL, 30, arg0=1), Status.BAD_DEVICE),
        (Command(Opcode.DUMP, nr=2, arg0=1023, arg1=bench.layout.dump), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=1, arg0=1 << 32, arg1=bench.layout.dump), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=1, arg0=0, arg1=bench.layout.dump + 4), Status.BAD_RANGE),
        (Command(Opcode.DUMP, nr=0, arg0=0, arg1=bench.layout.dump), Status.OK),
    ):
        got = await bench.status_of(command)
        assert got == status, f"{command}: {got.name}"


@cocotb.test()
async def the_heart_beats(dut):
    bench, _ = await mirror_of_three(dut)
    at = bench.layout.engine_lines + m.MEM_ENGINE_LINE_HEARTBEAT_OFFSET
    before = m.MEM_ENGINE_LINE_HEARTBEAT_POLLS.get(bench.memory.word(at))
    await bench.rounds(5)
    after = m.MEM_ENGINE_LINE_HEARTBEAT_POLLS.get(bench.memory.word(at))
    assert after - before >= 5
    assert after == int(dut.round.value)


@cocotb.test()
async def a_device_that_went_and_came_is_another(dut):
    bench, host = await mirror_of_three(dut)
    host.change(9, 0xFFFF0000FFFF0001, 4)
    host.notify(0, 9)
    host.publish(0)
    await bench.rounds()
    await bench.must(Command(Opcode.SWAPOFF_BEGIN, 2), Command(Opcode.SWAPOFF, 2))
    old = host.records[9]
    await host.swapon(2, 2600, 9, epoch=77)
    fresh = (await host.dump(9, 1))[0]
    assert (fresh.bitmap, fresh.epoch) == (1, 77)
    stale = Record(old.bitmap, old.order, old.flag, old.seq + 5, old.epoch)
    host.store(9, stale)
    host.notify(0, 9)
    host.publish(0)
    await bench.rounds()
    assert (await host.dump(9, 1))[0] == fresh
