# SPDX-License-Identifier: Apache-2.0
"""The policies: the effect of each choice. In test_stream lists and counts hold when they are switched at will."""

from itertools import product

import pytest
from allocators import SSD, fill, machine, place
from hwswap.model.clusters import BLKDEV, DISCARD, Slots
from hwswap.model.golden import Allocator
from hwswap.model.policy import TRUNK, DeviceOrder, Hint, Placement, Policy, Scan, Trunks
from hwswap.model.rows import ORDERS, SLOTS, first_fit
from hwswap.traces.stream import Shape, Stream
from hwswap_map import Flag, Status
from hypothesis import example, given, settings
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
    model.free(0, order[0] * SLOTS + 1, 1)  # one is on NONFULL[2]
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
    assert [device.type for device in model.available] == [1, 0]  # after its equal where they take turns


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


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
@example(475408)  # ends with a swapoff under way, and a CPU's place on its device
def test_indexed_fails_only_where_the_tried_device_has_no_place(seed):
    """The meaning of a failure, without lists: no cluster may take the order, or it has no run."""
    features = frozenset({"indexed", "discard", "rotating"})
    making = Stream(Shape(seed, ops=1200, devices=4, clusters=140, span=34, features=features))
    for _ in making:
        pass
    model = making.model
    model.set_policy(Policy(placement=Placement.INDEXED))
    for order in reversed(range(ORDERS)):
        tried = model.offered(0)[:1] if order else list(model.offered(0))
        before = model.counts.scans
        place = model.next_offsets[0][order].device
        refused = place is not None and not place.writeok  # the stream may end with a swapoff under way
        if model.alloc(0, order) is None:
            assert refused or model.counts.scans == before
            for device in tried:
                for cluster in device.clusters:
                    own = order < ORDERS - 1 and cluster.order == order and cluster.flag in (Flag.NONFULL, Flag.FRAG)
                    if device.flags & BLKDEV or not order:
                        legal = cluster.flag == Flag.FREE or own or (not order and cluster.flag != Flag.DISCARD)
                        assert not (legal and first_fit(cluster.used, order, 0) >= 0)
