# SPDX-License-Identifier: Apache-2.0
"""The policies: what each choice changes, and that all of them keep the invariants when switched at will."""

import random
from itertools import product

import pytest
from allocators import SSD, fill, machine, place
from hwswap.model.clusters import BLKDEV, DISCARD
from hwswap.model.golden import Allocator, Slots
from hwswap.model.policy import TRUNK, DeviceOrder, Hint, Placement, Policy, Scan, Trunks
from hwswap.model.rows import ORDERS, SLOTS, first_fit
from hwswap_map import Flag, Status
from hypothesis import given, settings
from hypothesis import strategies as st

POLICIES = [Policy(*choice, seed=5) for choice in product(Scan, DeviceOrder, Hint, Placement)]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_register_holds_every_policy(policy):
    assert Policy.unpack(policy.pack()) == policy


@pytest.mark.parametrize("value", [2, 3 << 4, 3 << 8, 2 << 12, 1 << 16, 1 << 2, 1 << 64, -1])
def test_values_that_mean_nothing_are_refused(value):
    with pytest.raises(ValueError, match="policy|valid"):
        Policy.unpack(value)


# SCAN


def holed(clusters: int, order: int, cpus: int, policy: Policy) -> Allocator:
    """Clusters 1, 2, ... full of an order, and then a hole in each block, so that no run of the order is free."""
    model = machine(clusters)
    for cpu in range(cpus):
        fill(model, order, cpu, until=SLOTS >> order)
    for index in range(1, cpus + 1):
        for slot in range(0, SLOTS, 1 << order):
            assert model.free(0, index * SLOTS + slot, 1) == Status.OK
    model.set_policy(policy)
    return model


def test_free_first_takes_a_free_cluster_before_nonfull():
    model = machine(3)
    model.set_policy(Policy(scan=Scan.FREE_FIRST))
    assert model.alloc(0, 0) == Slots(0, SLOTS)
    assert model.alloc(1, 0) == Slots(0, 2 * SLOTS)
    assert model.alloc(2, 0) == Slots(0, 1)  # now NONFULL[0]


def test_free_first_scans_as_many_frag_clusters_as_there_were():
    model = holed(5, 2, 4, Policy())
    device = model.devices[0]
    assert model.alloc(3, 2) is None
    assert model.alloc(3, 2) is None
    assert sorted(device.frag[2]) == [1, 2, 3, 4]
    order = list(device.frag[2])
    model.free(0, order[0] * SLOTS + 1, 1)  # one of them is on NONFULL[2]
    model.set_policy(Policy(scan=Scan.FREE_FIRST))
    before = model.counts.scans
    assert model.alloc(2, 2) is None
    assert model.counts.scans - before == 4  # NONFULL's one, then the three that were on FRAG; not the one just moved
    assert list(device.frag[2]) == [order[0], *order[1:]]


# DEVICE


def types(model: Allocator, cpus: range) -> list[int]:
    return [model.alloc(cpu, 0).type for cpu in cpus]


def test_sequential_fills_devices_of_default_priority_in_swapon_order():
    model = Allocator(cpus=8)
    for type_ in (2, 0, 1):
        model.prepare(type_, 2 * SLOTS, 2 * type_)
    for type_ in (1, 2, 0):
        model.swapon(type_)
    model.set_policy(Policy(device=DeviceOrder.SEQUENTIAL))
    assert types(model, range(4)) == [1] * 4
    got = fill(model, 0, 0)
    assert [slots.type for slots in got] == sorted((slots.type for slots in got), key=[1, 2, 0].index)


def test_sequential_leaves_equals_of_other_priorities_in_turn():
    model = machine(2, 2, 2, 2, priorities=(-1, 7, 7, -1), cpus=8)
    model.set_policy(Policy(device=DeviceOrder.SEQUENTIAL))
    assert types(model, range(4)) == [1, 2, 1, 2]


def test_a_device_that_was_full_comes_back_to_its_place_in_the_sequence():
    model = machine(1, 2)
    model.set_policy(Policy(device=DeviceOrder.SEQUENTIAL))
    fill(model, 0, 0, until=SLOTS - 1)
    assert model.alloc(1, 0).type == 1
    model.free(0, 9, 1)
    assert model.alloc(2, 0) == Slots(0, 9)
    model.set_policy(Policy())
    model.free(0, 9, 1)
    assert [device.type for device in model.available] == [1, 0]  # behind its equal where they take turns


def test_the_turns_go_on_where_they_were_when_round_robin_comes_back():
    model = machine(3, 3, 3, cpus=8)
    model.set_policy(Policy(device=DeviceOrder.SEQUENTIAL))
    assert types(model, range(2)) == [0, 0]
    model.set_policy(Policy())
    assert types(model, range(2, 5)) == [1, 2, 0]  # the visits moved device 0


def test_a_cpus_node_comes_first_within_its_priority_class():
    model = Allocator(cpus=8)
    for type_, (node, priority) in enumerate([(0, -1), (1, -1), (1, 3), (0, 3)]):
        model.prepare(type_, 3 * SLOTS, 3 * type_, priority=priority, node=node)
        model.swapon(type_)
    model.nodes[1::2] = [1] * 4
    model.set_policy(Policy(device=DeviceOrder.NODE_FIRST))
    assert types(model, range(4)) == [3, 2, 3, 2]
    for type_ in (2, 3):
        model.swapoff_begin(type_)
    assert types(model, range(4, 8)) == [0, 1, 0, 1]


def test_a_full_device_of_the_node_gives_way_to_the_others():
    model = Allocator()
    for type_ in range(2):
        model.prepare(type_, SLOTS, type_, node=type_)
        model.swapon(type_)
    model.nodes[0] = 1
    model.set_policy(Policy(device=DeviceOrder.NODE_FIRST))
    assert [slots.type for slots in fill(model)] == [1] * (SLOTS - 1) + [0] * (SLOTS - 1)


# HINT


def test_shared_lets_all_cpus_go_on_at_one_place():
    model = machine(4)
    model.set_policy(Policy(hint=Hint.SHARED))
    assert [model.alloc(cpu, 2).offset - SLOTS for cpu in range(4)] == [0, 4, 8, 12]
    model.set_policy(Policy())
    assert model.alloc(0, 2).offset == SLOTS + 16  # it was CPU 0's
    assert model.alloc(1, 2).offset == 2 * SLOTS


def test_a_random_trunk_is_drawn_where_no_next_offset_is_left():
    clusters = 4 * TRUNK
    model = machine(clusters)
    model.set_policy(Policy(hint=Hint.RANDOM_TRUNK, seed=99))
    trunks = Trunks(99)
    for _ in range(6):
        model.alloc(0, 9)  # a scan of order 9 leaves no next offset
        assert model.next_offsets[0][9].offset == trunks.draw(clusters) * SLOTS


def test_a_drawn_trunks_first_cluster_is_taken_off_free():
    model = machine(2 * TRUNK)
    model.set_policy(Policy(hint=Hint.RANDOM_TRUNK, seed=1))
    hint = model.next_offsets[0][4]
    hint.device, hint.offset = model.devices[0], TRUNK * SLOTS
    assert model.alloc(0, 4) == Slots(0, TRUNK * SLOTS)
    assert place(model, TRUNK) == (Flag.FRAG, 4)
    assert TRUNK not in model.devices[0].free
    model.set_policy(Policy())
    hint.offset = (TRUNK + 1) * SLOTS
    assert model.alloc(0, 4) == Slots(0, SLOTS)  # Linux does not: the cluster has no table


def test_trunks_are_drawn_all_and_inside_the_device():
    trunks = Trunks(3)
    assert {trunks.draw(5 * TRUNK - 1) for _ in range(400)} == {TRUNK * i for i in range(5)}
    assert {trunks.draw(TRUNK) for _ in range(20)} == {0}


def test_the_generator_is_xorshift32():
    """The numbers of Marsaglia's paper's shifts from 1."""
    trunks = Trunks(0)
    states = []
    for _ in range(3):
        trunks.draw(1)
        states.append(trunks.state)
    assert states == [270369, 67634689, 2647435461]


# PLACEMENT


def indexed(*clusters: int, **options) -> Allocator:
    model = machine(*clusters, **options)
    model.set_policy(Policy(placement=Placement.INDEXED))
    return model


def test_indexed_takes_the_lowest_cluster_that_has_a_run():
    model = holed(6, 2, 4, Policy(placement=Placement.INDEXED))
    for index in (4, 2):
        assert model.free(0, index * SLOTS + 257, 3) == Status.OK
    before = model.counts.scans
    assert model.alloc(3, 2) == Slots(0, 2 * SLOTS + 256)
    assert model.alloc(2, 2) == Slots(0, 4 * SLOTS + 256)
    assert model.alloc(1, 2) == Slots(0, 5 * SLOTS)
    assert model.counts.scans - before == 3
    assert model.alloc(0, 2) == Slots(0, 5 * SLOTS + 4)


def test_indexed_fails_without_a_scan():
    model = holed(5, 2, 4, Policy(placement=Placement.INDEXED))
    before = model.counts.scans
    assert model.alloc(0, 2) is None
    assert model.alloc(3, 9) is None
    assert model.counts.scans == before


def test_indexed_goes_on_at_the_cpus_place_and_wraps_in_its_cluster():
    model = indexed(4)
    assert model.alloc(0, 8) == Slots(0, SLOTS)
    assert model.alloc(0, 7) == Slots(0, 2 * SLOTS)
    for _ in range(3):
        model.alloc(0, 7)
    model.free(0, 2 * SLOTS, 128)
    model.next_offsets[0][7].offset = 2 * SLOTS + 128
    assert model.alloc(0, 7) == Slots(0, 2 * SLOTS)  # nothing from the place upwards: the lowest run


def test_an_indexed_place_in_a_cluster_without_a_run_stays():
    model = indexed(4)
    model.alloc(0, 8)
    model.alloc(1, 8)
    assert model.next_offsets[0][8].offset == SLOTS + 256
    assert place(model, 1) == (Flag.FULL, 8)
    model.free(0, SLOTS, 1)
    model.free(0, SLOTS + 300, 1)
    assert model.alloc(0, 8) == Slots(0, 2 * SLOTS)
    assert model.next_offsets[0][8].offset == 2 * SLOTS + 256


def test_indexed_steals_the_lowest_cluster_with_a_free_slot():
    model = indexed(4)
    for cpu, order in enumerate((3, 2, 1)):
        model.alloc(cpu, order)
    fill(model, 0, 3, until=SLOTS - 1)
    assert model.alloc(3, 0) == Slots(0, SLOTS + 8)
    assert place(model, 1) == (Flag.FRAG, 3)


def test_indexed_takes_free_clusters_first_on_a_discarding_device():
    model = indexed(3, flags=SSD | DISCARD)
    assert model.alloc(0, 0) == Slots(0, SLOTS)
    model = indexed(3)
    assert model.alloc(0, 0) == Slots(0, 1)


def test_indexed_keeps_a_frag_clusters_place_and_moves_a_nonfull_one_to_frag():
    model = indexed(4)
    for cpu in range(2):
        fill(model, 4, cpu, until=3)
    device = model.devices[0]
    assert list(device.frag[4]) == [1]
    model.free(0, SLOTS, 16)
    assert list(device.nonfull[4]) == [1]
    assert model.alloc(3, 4) == Slots(0, SLOTS)
    assert place(model, 1) == (Flag.FRAG, 4)


def test_a_rotating_device_can_be_indexed():
    model = indexed(3, flags=BLKDEV)
    assert [model.alloc(cpu, 2).offset for cpu in range(3)] == [SLOTS, SLOTS + 4, SLOTS + 8]


class Follower:
    """Random operations on a model, followed with plain sets."""

    def __init__(self, seed: int) -> None:
        """Make four devices of random kinds."""
        self.rng = random.Random(seed)
        self.model = Allocator(devices=4, cpus=6, clusters=140)
        self.used: dict[int, set[int]] = {}
        self.got: list[tuple[int, int, int]] = []
        base = 0
        for type_ in range(4):
            clusters = self.rng.choice((1, 2, 4, 34))
            flags = self.rng.choice((SSD, SSD, SSD | DISCARD, BLKDEV, BLKDEV | DISCARD))
            pages = clusters * SLOTS - self.rng.choice((0, 3, 200))
            priority = self.rng.choice((-1, -1, 4))
            assert self.model.prepare(type_, pages, base, flags, priority, node=type_ % 2) == Status.OK
            assert self.model.swapon(type_) == Status.OK
            self.used[type_] = {0, *range(pages, clusters * SLOTS)}
            base += clusters
        self.model.nodes = [0, 1] * 3

    def step(self) -> None:
        """Allocate, free, discard or switch policy; look at what came of it."""
        model, rng = self.model, self.rng
        kind = rng.random()
        if kind < 0.01:
            model.set_policy(Policy(*(rng.choice(list(kind)) for kind in (Scan, DeviceOrder, Hint, Placement)), 7))
        elif kind < 0.05:
            self.discard()
        elif kind < 0.62 or not self.got:
            self.alloc()
        else:
            self.free()

    def alloc(self) -> None:
        """Allocate some order for some CPU."""
        model, rng = self.model, self.rng
        order = rng.choices(range(ORDERS), (8, 2, 4, 1, 8, 1, 1, 1, 2, 2))[0]
        before = model.counts.scans
        got = model.alloc(rng.randrange(6), order)
        if got is None:
            if model.policy.placement == Placement.INDEXED:
                assert model.counts.scans == before
            return
        slots = set(range(got.offset, got.offset + (1 << order)))
        assert not slots & self.used[got.type]
        assert got.offset % (1 << order) == 0
        cluster = model.devices[got.type].clusters[got.offset // SLOTS]
        assert order == 0 or cluster.order == order
        self.used[got.type] |= slots
        self.got.append((got.type, got.offset, 1 << order))

    def free(self) -> None:
        """Give back an allocation or its first part."""
        at = self.rng.randrange(len(self.got))
        type_, offset, nr = self.got.pop(at)
        if nr > 1 and self.rng.random() < 0.4:
            part = self.rng.randrange(1, nr)
            self.got.append((type_, offset + part, nr - part))
            nr = part
        assert self.model.free(type_, offset, nr) == Status.OK
        self.used[type_] -= set(range(offset, offset + nr))

    def discard(self) -> None:
        """Begin a discard, perhaps end one."""
        type_ = self.rng.randrange(4)
        status, offset = self.model.discard_take(type_)
        assert (status == Status.OK) == (offset != 0)
        taken = [c.index for c in self.model.devices[type_].clusters if c.taken]
        if taken and self.rng.random() < 0.7:
            assert self.model.discard_done(type_, self.rng.choice(taken) * SLOTS + 5) == Status.OK


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_policies_switched_at_will_give_no_slot_twice_and_keep_lists_and_counts(seed):
    follower = Follower(seed)
    for number in range(900):
        follower.step()
        if number % 60 == 0:
            assert follower.model.faults() == []
    assert follower.model.faults() == []
    for type_, device in follower.model.devices.items():
        used = {c.index * SLOTS + s for c in device.clusters for s in range(SLOTS) if c.used >> s & 1}
        assert used == follower.used[type_]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, ORDERS - 1))
def test_indexed_fails_only_where_the_tried_device_has_no_place(seed, order):
    """What a failure means, said without lists: no cluster may take the order, or it has no run."""
    follower = Follower(seed)
    follower.model.set_policy(Policy(placement=Placement.INDEXED))
    for _ in range(700):
        follower.alloc() if follower.rng.random() < 0.8 or not follower.got else follower.free()
    model = follower.model
    tried = model.offered(0)[:1] if order else list(model.offered(0))
    if model.alloc(0, order) is None:
        for device in tried:
            for cluster in device.clusters:
                own = order < ORDERS - 1 and cluster.order == order and cluster.flag in (Flag.NONFULL, Flag.FRAG)
                if device.flags & BLKDEV or not order:
                    legal = cluster.flag == Flag.FREE or own or (not order and cluster.flag != Flag.DISCARD)
                    assert not (legal and first_fit(cluster.used, order, 0) >= 0)
