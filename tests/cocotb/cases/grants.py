# SPDX-License-Identifier: Apache-2.0
"""The engine of grants against the golden model: the same grants when all is quiet, legal ones when not."""

import copy
import dataclasses
import json
import os
import random
import statistics
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge
from hwswap.model.cluster_map import Arrays, Summary, Word, change
from hwswap.model.grant_entries import DeviceEntry, Lines, Placement, ring_place
from hwswap.model.grant_rules import all_entries_are_there, orders_with_room
from hwswap.model.grants import Grants
from hwswap.model.rows import ORDERS, SLOTS
from hwswap.model.steering import Host, fit
from hwswap.stimulus.grant_work import USED_ORDERS, Work, finish
from hwswap_map import Flag

from cases.grants_bench import RINGS, Bench
from cases.grants_watch import Watch

SEED = int(os.environ["HWSWAP_SEED"])
CLUSTERS = int(os.environ["HWSWAP_CLUSTERS"])
CPUS = int(os.environ["HWSWAP_CPUS"])
EAGER = {"none": 1.0, "idle": 0.7, "pressure": 0.3, "both": 0.5}[os.environ["HWSWAP_PACE"]]
MEASURED_LATENCY = int(os.environ.get("HWSWAP_LATENCY", "16"))
"""Cycles that an access to memory takes where the time from a change to its grant is measured."""

MEASURED = 12
"""Changes of which that time is taken."""

DRIVERS_PACE = 152
"""PACE as the driver sets it."""

LATENCY = {"none": 0, "idle": 16, "pressure": 3, "both": 40}[os.environ["HWSWAP_PACE"]]

BASES = {0: 0, 1: 61, 2: 70, 5: 128, 6: CLUSTERS - 7}
"""Of the devices by their number: the words of one lie in two blocks, one is at the end."""

SIZES = {0: 3, 1: 6, 2: 4, 5: 2, 6: 7}
FLAGS: dict[int, dict[str, bool]] = {2: {"file": True}, 5: {"rotating": True}}


class LoggedLines(Lines):
    """The golden model's lines, with what it stores in order."""

    log: list[tuple[int, int]]

    def store(self, cpu: int, order: int, index: int, word: int) -> None:
        """Store and take note."""
        super().store(cpu, order, index, word)
        self.log.append((RINGS + ring_place(cpu, order, index, self.log2), word))


def known(dut: Any, cluster: int) -> tuple[Summary, bool]:
    """Return what the engine keeps of a cluster, and whether it is granted."""
    record = int(dut.engine.summaries.records_ext.Memory[cluster].value)
    # From the lowest bit: spent, counted and granted, a bit each; the summary.
    granted, record = bool(record >> 2 & 1), record >> 3
    run, epoch, list_, order = record & 15, record >> 4 & 255, record >> 12 & 7, record >> 15 & 15
    return Summary(Word(order, Flag(list_), epoch), run - 1), granted


def begin(dut: Any, placement: Placement, rng: random.Random) -> tuple[Arrays, LoggedLines, Host, Work, Bench]:
    """Make memory, a host that works on it, and a bench of the pace."""
    arrays, lines = Arrays(CLUSTERS), LoggedLines(CPUS)
    lines.log = []
    host = Host(arrays, lines, placement, stash=100)
    bench = Bench(dut, arrays, lines, rng, placement)
    bench.eager, bench.latency = EAGER, LATENCY
    return arrays, lines, host, Work(host, rng), bench


@cocotb.parametrize((("placement", "phases"), [(Placement.INDEXED, 25), (Placement.OPEN, 8)]))
@cocotb.test()
async def same_grants(dut, placement: Placement, phases: int):
    """Let host, reader and builder work one after the other: the engine writes what the golden model does, in order.

    With placement OPEN a pass that finds nothing takes ten times as long.
    """
    rng = random.Random(SEED)
    arrays, lines, host, work, bench = begin(dut, placement, rng)
    await bench.start(pause=rng.randrange(4))
    # A copy of all that the engine sees, for the golden model.
    seen, shadow = Arrays(CLUSTERS), LoggedLines(CPUS)
    shadow.log = []
    golden = Grants(seen, shadow, placement)
    steps = golden.steps()
    epoch = 0
    written = 0
    # As in legal_grants(): some seeds, as 860968366 and 780472319, come to few grants, and so have more phases.
    for phase in range(6 * phases):
        if phase >= phases and written > 2 * phases:
            break
        run = phase + 1
        # Devices: one change a phase, since two at once are taken back in another order.
        type_ = rng.choice(sorted(BASES))
        entry = None
        if type_ not in host.devices:
            epoch = epoch % 255 + 1
            # One that serves few orders, or none, would keep the others from the rest while it is first; the chooser's
            # own tests have such.
            priority = -1 if type_ in FLAGS else rng.choice((-1, -1, 5))
            entry = DeviceEntry(type_, BASES[type_], SIZES[type_], priority, epoch, **FLAGS.get(type_, {}))
            finish(host.swapon(entry, entry.clusters * SLOTS - rng.choice((0, 3, 300))))
        elif rng.random() < 0.2:
            entry = dataclasses.replace(host.devices[type_].entry, live=False)
            host.swapoff(type_)
            work.gone(type_)
        elif rng.random() < 0.2:
            host.drop(lambda _, held, gone=type_: held.type == gone)
            priority = -1 if type_ in FLAGS else rng.choice((-1, 5))
            entry = dataclasses.replace(host.devices[type_].entry, priority=priority)
            host.devices[type_].entry = entry
        if rng.random() < 0.1:
            host.cpu_gone(rng.randrange(CPUS))
        # Work
        work.favourite = rng.choice(USED_ORDERS)
        for _ in range(rng.choice((5, 40, 300))):
            order, operation = work.begin(rng.randrange(CPUS), work.order())
            work.ended(order, finish(operation))
        if rng.random() < 0.1:
            lines.head[rng.randrange(CPUS)][rng.randrange(ORDERS)] += 100
        # The golden model
        seen.bitmap, seen.word = copy.deepcopy(arrays.bitmap), list(arrays.word)
        shadow.want, shadow.head = list(lines.want), copy.deepcopy(lines.head)
        shadow.log.clear()
        if entry is not None:
            golden.set_device(entry)
            finish(golden.take_back())
        for _ in range(3):
            while golden.reader.step() != "round":
                pass
        quiet = 0
        while quiet < 2:
            before = len(shadow.log)
            while next(steps) != "pass":
                pass
            quiet = quiet + 1 if len(shadow.log) == before else 0
        # The engine
        bench.memory.writes.clear()
        if entry is not None:
            await bench.set_device(entry)
        await bench.switch("read", True)
        await bench.went_round(3)
        await bench.switch("read", False)
        await bench.switch("grant", True)
        quiet = 0
        while quiet < 3:
            before = len(bench.memory.writes)
            await bench.passed(1)
            quiet = quiet + 1 if len(bench.memory.writes) == before else 0
        await bench.switch("grant", False)
        entries = [write for write in bench.memory.writes if write[0] >= RINGS]
        assert entries == shadow.log, f"phase {phase}: {entries} and not {shadow.log}"
        assert lines.no_run == shadow.no_run, f"phase {phase}"
        written += len(entries)
        for device in golden.devices.values():
            for cluster in range(device.base, device.base + device.clusters):
                summary, granted = known(dut, cluster)
                assert summary == golden.summaries[cluster], f"phase {phase}, cluster {cluster}"
                if device.live:
                    assert granted == (cluster in golden.granted), f"phase {phase}, cluster {cluster}"
    assert written > 2 * phases
    cocotb.log.info("%d entries in %d phases, %d cycles", written, run, bench.cycle)


@cocotb.parametrize(placement=[Placement.INDEXED, Placement.OPEN])
@cocotb.test()
async def legal_grants(dut, placement: Placement):
    """Let host, reader and builder do what they like at any time: all grants are legal, and no change is missed.

    Devices come, go and change priority.
    """
    phases = 24
    rng = random.Random(SEED)
    _, _, host, work, bench = begin(dut, placement, rng)
    watch = Watch(bench, host)
    pace = 0.5

    def each() -> None:
        """Let some stores of the host become visible; now and then it lets its grants go, of whatever is left."""
        if rng.random() < 0.002:
            host.drop(lambda *_: True)
        while rng.random() < pace and work.step(rng.randrange(CPUS)):
            pass

    bench.each = each
    await bench.start(pause=rng.randrange(8), pace=rng.choice((0, 1, 20)))
    await bench.switch("read", True)
    await bench.switch("grant", True)
    epoch = 0

    async def all_ended() -> None:
        """Let all operations end, and none begin."""
        nonlocal pace
        work.load, pace = 0.0, 0.5
        await bench.until(lambda: not work.operations)

    # Some seeds come to few grants, as with idle cycles and back-pressure 582793984 and 346834966: then there are more
    # phases, up to six times as many. That is no retry: the same simulation goes on, and all that it has done counts.
    for phase in range(6 * phases):
        if phase >= phases and watch.granted > 10 * phases / 4:
            break
        run = phase + 1
        work.favourite = rng.choice(USED_ORDERS)
        work.load, pace = rng.choice((0.05, 0.3, 0.9)), rng.choice((0.02, 0.1, 0.6))
        await ClockCycles(dut.clock, rng.choice((100, 1000, 2500)))
        type_ = rng.choice(sorted(BASES))
        if type_ not in host.devices:
            epoch = epoch % 255 + 1
            entry = DeviceEntry(
                type_, BASES[type_], SIZES[type_], rng.choice((-1, -1, 5)), epoch, **FLAGS.get(type_, {})
            )
            await bench.set_device(entry)
            watch.set_device(entry)
            pages = entry.clusters * SLOTS - rng.choice((0, 3, 300))
            for _ in host.swapon(entry, pages, rng.sample(range(pages), rng.choice((0, 0, 30, 300)))):
                if rng.random() < 0.3:
                    await FallingEdge(dut.clock)
        elif rng.random() < 0.5:
            await all_ended()
            device = host.devices[type_]
            gone = rng.random() < 0.5
            if gone:
                host.swapoff(type_)
                work.gone(type_)
            await bench.set_device(dataclasses.replace(device.entry, live=False))
            watch.set_device(dataclasses.replace(device.entry, live=False))
            assert not watch.offered(type_), "what is gone is on offer"
            if not gone:
                host.drop(lambda _, held, gone=type_: held.type == gone)
                device.entry = dataclasses.replace(device.entry, priority=rng.choice((-1, 5)))
                await bench.set_device(device.entry)
                watch.set_device(device.entry)
        elif rng.random() < 0.3:
            cpu = rng.randrange(CPUS)
            await all_ended()
            host.cpu_gone(cpu)
            watch.cpu_gone(cpu)
            await bench.passed(3)
            assert not any(owner[0] == cpu for owner, _ in watch.offered()), "a CPU that is gone is offered something"
        if phase % 4 == 3:
            await all_ended()
            host.drop(lambda *_: True)
            await bench.went_round(2)
            await bench.passed(2)
            settled(dut, host, watch, placement)
        watch.alone()
    assert watch.granted > 10 * phases / 4
    assert watch.taken_back
    cocotb.log.info(f"{watch.granted} grants, {watch.again} again, {watch.taken_back} taken back; host: {host.counts}")
    cocotb.log.info(f"{run} phases of at least {phases}, {bench.cycle} cycles")


@cocotb.test()
async def granted_again(dut):
    """Have few clusters granted to one ring many times: each was read before, after HEAD has passed its last grant."""
    rng = random.Random(SEED)
    _, _, host, work, bench = begin(dut, Placement.OPEN, rng)
    watch = Watch(bench, host)
    entry, order = DeviceEntry(0, 0, 4, -1, 1), rng.choice((2, 3, 4))

    def each() -> None:
        """Let the CPU go on; now and then it lets its grant go, of whatever is left."""
        if rng.random() < 0.01:
            host.drop(lambda *_: True)
        if 0 not in work.operations:
            work.operations[0] = work.begin(0, order)
        work.step(0)

    await bench.start(pace=rng.choice((0, 20)))
    await bench.set_device(entry)
    watch.set_device(entry)
    finish(host.swapon(entry, entry.clusters * SLOTS))
    bench.each = each
    await bench.switch("read", True)
    await bench.switch("grant", True)
    await bench.until(lambda: watch.again >= 20)


def settled(dut: Any, host: Host, watch: Watch, placement: Placement) -> None:
    """With all quiet and no grant held, the engine knows of each cluster what the host does, and NO_RUN is right."""
    for device in host.devices.values():
        for number, cluster in enumerate(device.clusters):
            summary, _ = known(dut, device.entry.base + number)
            run = max((k for k in range(ORDERS) if fit(cluster.used, k, 0) >= 0), default=-1)
            assert summary == Summary(Word(cluster.order, cluster.list, device.entry.epoch), run)
    found = orders_with_room(host, placement)
    lines = watch.bench.memory.lines
    assert lines.no_run == sum(1 << k for k in range(ORDERS) if k not in found)
    all_entries_are_there(lines, watch.tails)


async def change_to_grant(dut: Any, pace: int) -> list[int]:
    """Return cycles from a change of a bitmap to the grant of its cluster.

    A device of all clusters, each with free slots and none with a run of order 4: what is freed is the next grant.
    """
    rng = random.Random(SEED)
    arrays, lines = Arrays(CLUSTERS), Lines(CPUS)
    bench = Bench(dut, arrays, lines, rng, Placement.INDEXED)
    bench.latency = MEASURED_LATENCY
    await bench.start(pace=pace)
    word, singles = Word(4, Flag.FRAG, 1), sum(1 << slot for slot in range(0, SLOTS, 2))
    for cluster in range(CLUSTERS):
        finish(change(arrays, cluster, singles, word))
    await bench.set_device(DeviceEntry(0, 0, CLUSTERS, -1, 1))
    written: list[int] = []
    bench.memory.on_entry = lambda place, value: written.append(bench.cycle)
    lines.want[0] = 1 << 4
    await bench.switch("read", True)
    await bench.switch("grant", True)
    await bench.went_round(1)
    cycles = []
    for number, cluster in enumerate(rng.sample(range(CLUSTERS), MEASURED)):
        await ClockCycles(dut.clock, 400 + rng.randrange(400))
        finish(change(arrays, cluster, singles & ~0xFFFF, word))
        begin = bench.cycle
        await bench.until(lambda count=number: len(written) > count)
        cycles.append(written[-1] - begin)
        finish(change(arrays, cluster, singles, word))
        lines.head[0][4] += 1
    return cycles


@cocotb.parametrize(pace=[0, DRIVERS_PACE])
@cocotb.test()
async def cycles_from_a_change_to_its_grant(dut, pace: int):
    """How long it takes from a change to the grant that uses it, at MEASURED_LATENCY; the result is in a file."""
    cycles = sorted(await change_to_grant(dut, pace))
    result = {
        "clusters": CLUSTERS,
        "latency": MEASURED_LATENCY,
        "pace": pace,
        "p50": statistics.median(cycles),
        "max": cycles[-1],
    }
    Path(f"change-to-grant-{pace}.json").write_text(json.dumps(result))
    cocotb.log.info("cycles from a change to its grant, %d CPUs: %s", CPUS, result)
    # A round at most, which reads all bitmaps and a sixteenth as many bursts of words, and a pass.
    assert cycles[-1] < 2000 + CLUSTERS * 17 // 16 * (MEASURED_LATENCY + pace + 40)
