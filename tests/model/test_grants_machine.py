# SPDX-License-Identifier: Apache-2.0
"""Grants, with all steps of kernel and engine in any order, and what must hold whatever the order is."""

import dataclasses
import random

import pytest
from hwswap.model import grant_rules
from hwswap.model.cluster_map import Arrays, Summary, Word
from hwswap.model.grant_entries import DeviceEntry, Grant, Lines, Placement
from hwswap.model.rows import SLOTS
from hwswap.stimulus.grant_work import Work, finish
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from watched_grants import Checked, Watched, has_run

CPUS = 3
BASES = {0: 0, 1: 61, 2: 70, 5: 128}
"""Of the devices by their number: the words of one lie in two blocks."""

CLUSTERS = {0: 3, 1: 6, 2: 4, 5: 2}
FLAGS = {2: {"file": True}, 5: {"rotating": True}}
ORDERS = st.sampled_from((0, 0, 1, 2, 3, 4, 6, 8, 9))


class Machine(RuleBasedStateMachine):
    """Kernel and engine, interleaved."""

    placement = Placement.INDEXED
    lying = False
    """What is in the rings is not the builder's alone, so that nothing holds of it."""

    @initialize(stash=st.integers(0, 3), types=st.sets(st.sampled_from(sorted(BASES)), min_size=1))
    def begin(self, stash, types):
        """Make memory, kernel, engine, and some devices."""
        self.arrays = Arrays(140)
        self.lines = Lines(CPUS)
        self.host = Checked(self.arrays, self.lines, self.placement, stash)
        self.grants = Watched(self.arrays, self.lines, self.placement)
        if not self.lying:
            self.host.stale = self.grants.stale
        self.grant = self.grants.steps()
        self.operations = {}
        self.work = Work(self.host, random.Random(0))
        self.epoch = 0
        for type_ in types:
            self.swapon(type_, -1, 0)

    # Steps

    def cpu_step(self, cpu):
        """Do a step of a CPU's operation; look at what it allocated."""
        order, steps = self.operations[cpu]
        try:
            next(steps)
        except StopIteration as end:
            del self.operations[cpu]
            if end.value is not None:
                self.work.ended(order, end.value)

    def finish(self, cpus=range(CPUS)):
        """Let operations end; another CPU may hold the lock that one waits for."""
        while any(cpu in self.operations for cpu in cpus):
            for cpu in list(self.operations):
                self.cpu_step(cpu)

    # Rules

    @rule(cpu=st.integers(0, CPUS - 1), order=ORDERS)
    def alloc(self, cpu, order):
        """Begin an allocation."""
        if cpu not in self.operations:
            self.operations[cpu] = order, self.host.alloc(cpu, order)

    @precondition(lambda self: self.work.owned)
    @rule(cpu=st.integers(0, CPUS - 1), draw=st.integers(0, 1 << 20))
    def free(self, cpu, draw):
        """Begin to give back what was allocated."""
        if cpu not in self.operations and self.work.owned:
            (type_, offset), order = list(self.work.owned.items())[draw % len(self.work.owned)]
            del self.work.owned[type_, offset]
            self.operations[cpu] = order, self.host.free(type_, offset, order)

    @rule(seed=st.integers(0, 1 << 30), steps=st.integers(1, 2000), load=st.sampled_from((0, 20, 50, 80)))
    def anything(self, seed, steps, load):
        """Let all go on, at random; of `load` in a hundred turns of an idle CPU something new begins."""
        rng = random.Random(seed)
        order = rng.choice((0, 1, 2, 4, 9))
        for step in range(steps):
            who = rng.randrange(CPUS + 2)
            if who == CPUS:
                self.grants.reader.step()
            elif who == CPUS + 1:
                next(self.grant)
            elif who in self.operations:
                self.cpu_step(who)
            elif rng.randrange(100) < load:
                if rng.random() < 0.7:
                    self.alloc(who, order if rng.random() < 0.8 else rng.choice((0, 2, 4)))
                elif self.work.owned:
                    self.free(who, rng.randrange(1 << 20))
            if step % 8 == 0:
                self.nothing_is_granted_twice()

    @rule(steps=st.integers(1, 40))
    def only_the_reader(self, steps):
        """Let the reader go on alone."""
        for _ in range(steps):
            self.grants.reader.step()

    @rule(steps=st.integers(1, 40))
    def only_the_builder(self, steps):
        """Let the builder of grants go on alone."""
        for _ in range(steps):
            next(self.grant)

    @rule(cpu=st.integers(0, CPUS - 1))
    def let_go(self, cpu):
        """Have a CPU let its grants go; the next one that it pops tells the engine."""
        self.finish([cpu])
        self.host.drop(lambda number, _: number == cpu)

    @rule()
    def tables_are_made(self):
        """Let the worker make tables ready."""
        self.host.stash += 2

    @rule(
        type_=st.sampled_from(sorted(BASES)), priority=st.sampled_from((-1, -1, 5)), short=st.sampled_from((0, 3, 300))
    )
    def swapon(self, type_, priority, short):
        """Switch a device on, of another priority or with an end inside of a cluster."""
        if type_ in self.host.devices:
            return
        self.epoch = (self.epoch + 1) % 256
        entry = DeviceEntry(type_, BASES[type_], CLUSTERS[type_], priority, self.epoch, **FLAGS.get(type_, {}))
        self.grants.set_device(entry)
        finish(self.host.swapon(entry, entry.clusters * SLOTS - short))

    @precondition(lambda self: self.host.devices)
    @rule(type_=st.sampled_from(sorted(BASES)))
    def swapoff(self, type_):
        """Switch a device off; nothing of it stays on offer."""
        if type_ in self.host.devices:
            self.finish()
            entry = self.host.devices[type_].entry
            self.host.swapoff(type_)
            self.grants.set_device(dataclasses.replace(entry, live=False))
            self.work.gone(type_)
            self.recall()
            self.nothing_is_offered_of(type_)

    @rule(type_=st.sampled_from(sorted(BASES)), priority=st.sampled_from((-1, 5)))
    def priority_changes(self, type_, priority):
        """Give a device another priority: it is gone for the engine, until no CPU holds anything of it."""
        if type_ in self.host.devices:
            device = self.host.devices[type_]
            self.grants.set_device(dataclasses.replace(device.entry, live=False))
            self.recall()
            self.nothing_is_offered_of(type_)
            # A grant may have been popped before it was taken back: those held go last, under each CPU's own lock.
            self.finish()
            self.host.drop(lambda _, held: held.type == type_)
            device.entry = dataclasses.replace(device.entry, priority=priority)
            self.grants.set_device(device.entry)

    @rule(cpu=st.integers(0, CPUS - 1))
    def cpu_goes(self, cpu):
        """Take a CPU offline; nothing stays granted to it."""
        self.finish([cpu])
        self.host.cpu_gone(cpu)
        self.one_pass()
        self.one_pass()
        assert not any(owner[0] == cpu for owner in self.grants.granted.values())
        assert not any(place[0] == cpu for place in self.offered())

    @rule()
    def settle(self):
        """Let all end, and see whether the engine knows everything within two rounds."""
        self.finish()
        self.host.drop(lambda *_: True)
        for _ in range(2):
            self.one_round()
        self.all_is_known()
        self.one_pass()
        self.all_is_known()
        found = grant_rules.orders_with_room(self.host, self.placement)
        assert self.lines.no_run == sum(1 << order for order in range(10) if order not in found)
        if not self.lying:
            grant_rules.all_entries_are_there(self.lines, self.tails)

    def all_is_known(self):
        """See whether the engine knows of each cluster what the kernel does."""
        for device in self.host.devices.values():
            for number, cluster in enumerate(device.clusters):
                known = self.grants.summaries[device.entry.base + number]
                run = max((k for k in range(10) if has_run(cluster.used, k)), default=-1)
                assert known == Summary(Word(cluster.order, cluster.list, device.entry.epoch), run)

    def one_round(self):
        """Let the reader finish its round."""
        while self.grants.reader.step() != "round":
            pass

    def one_pass(self):
        """Let the builder look at all rings."""
        while next(self.grant) != "pass":
            pass

    def recall(self):
        """Let the builder take back what it has to."""
        for _ in range(10_000):
            if not self.grants.recalling:
                return
            next(self.grant)
        pytest.fail("recall does not end")

    # What holds

    @property
    def tails(self):
        """How many entries were written, by CPU and order."""
        return {place: ring.tail for place, ring in self.grants.rings.items()}

    def offered(self, type_=None):
        """Return the grants that a CPU has not popped and would not skip, with their rings."""
        return [] if self.lying else grant_rules.offered(self.lines, self.tails, type_)

    def nothing_is_offered_of(self, type_):
        """See whether a device is neither granted nor on offer."""
        if not self.lying:
            assert not any(self.grants.type_of(cluster) == type_ for cluster in self.grants.granted)
            assert not self.offered(type_)

    @invariant()
    def nothing_is_granted_twice(self):
        """See that each cluster is on offer, or held by a CPU, once: after each rule, too."""
        if hasattr(self, "grants") and not self.lying:
            grant_rules.granted_once(self.lines, self.tails, self.host)


class OpenMachine(Machine):
    """The same, with clusters of all orders open to each."""

    placement = Placement.OPEN


class LyingMachine(Machine):
    """The same, with an engine that may put anything into its rings: what is allocated is right all the same."""

    lying = True

    @rule(
        cpu=st.integers(0, CPUS - 1),
        order=ORDERS,
        cluster=st.integers(0, 6) | st.integers(0, 0xFFFF_FFFF),
        type_=st.sampled_from(sorted(BASES)) | st.integers(0, 31),
        told=ORDERS | st.integers(0, 15),
        late=st.integers(0, 2),
        valid=st.booleans(),
    )
    def lie(self, cpu, order, cluster, type_, told, late, valid):
        """Write some grant where the CPU looks next, and let it look."""
        self.let_go(cpu)
        index = self.lines.head[cpu][order]
        told = order if late else told
        epoch = self.host.devices[type_].entry.epoch if type_ in self.host.devices else self.epoch
        grant = Grant(cluster, type_, told, (epoch - (not late)) % 256, valid or late > 0)
        self.lines.store(cpu, order, index, grant.pack(index))
        self.alloc(cpu, order)


for machine, examples in ((Machine, 65), (OpenMachine, 25), (LyingMachine, 40)):
    machine.TestCase.settings = settings(max_examples=examples, stateful_step_count=30, deadline=None)

TestIndexed = Machine.TestCase
TestOpen = OpenMachine.TestCase
TestLying = LyingMachine.TestCase
