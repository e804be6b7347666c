# SPDX-License-Identifier: Apache-2.0
"""The allocator's rules one by one, each as the kernel function in the test's text has it."""

import pytest
from allocators import SSD, fill, machine, place
from hwswap.model.golden import SOLIDSTATE, Allocator, Slots
from hwswap.model.rows import SLOTS
from hwswap_map import Flag, Status

# setup_swap_clusters_info


def test_swapon_lists_clusters_with_bad_slots_on_nonfull_and_the_rest_on_free_in_rising_order():
    model = Allocator()
    assert model.prepare(0, 5 * SLOTS - 7, 0, SSD, -1) == Status.OK
    assert model.mark_bad(0, 2 * SLOTS + 3, 2) == Status.OK
    assert model.swapon(0) == Status.OK
    device = model.devices[0]
    assert list(device.nonfull[0]) == [0, 2, 4]
    assert list(device.free) == [1, 3]
    assert device.used == 1 + 2 + 7


def test_slot_0_bad_slots_and_those_behind_the_last_one_are_never_given():
    model = Allocator()
    model.prepare(0, SLOTS + 5, 0, SSD, -1)
    model.mark_bad(0, 100, 50)
    model.swapon(0)
    assert sorted(slots.offset for slots in fill(model)) == [*range(1, 100), *range(150, SLOTS + 5)]


def test_bad_slots_can_only_be_named_between_prepare_and_swapon_and_once():
    model = machine(1)
    assert model.mark_bad(0, 5, 1) == Status.BAD_DEVICE
    assert model.mark_bad(1, 5, 1) == Status.BAD_DEVICE
    model.prepare(1, SLOTS, 1, SSD, -1)
    assert model.mark_bad(1, 5, 2) == Status.OK
    assert model.mark_bad(1, 6, 1) == Status.BAD_RANGE


def test_clusters_of_two_devices_do_not_overlap():
    model = Allocator(clusters=8)
    assert model.prepare(0, 2 * SLOTS, 2, SSD, -1) == Status.OK
    assert model.prepare(1, 3 * SLOTS, 0, SSD, -1) == Status.BAD_RANGE
    assert model.prepare(1, SLOTS, 3, SSD, -1) == Status.BAD_RANGE
    assert model.prepare(1, 5 * SLOTS, 4, SSD, -1) == Status.BAD_RANGE
    assert model.prepare(1, 4 * SLOTS, 4, SSD, -1) == Status.OK
    assert model.prepare(1, 2 * SLOTS, 0, SSD, -1) == Status.BAD_DEVICE


# cluster_alloc_swap_entry: the order of the lists


def test_nonfull_comes_before_free():
    model = machine(3)
    assert model.alloc(0, 0) == Slots(0, 1)  # cluster 0 is on NONFULL[0] because of slot 0
    assert model.alloc(1, 1) == Slots(0, SLOTS)  # nothing on NONFULL[1]: a free cluster


def test_nonfull_walk_that_fails_drains_the_list_into_frag():
    model = machine(4)
    for cpu in range(2):  # two clusters of order 2, full
        fill(model, 2, cpu, until=SLOTS // 4)
    for index in (1, 2):
        for slot in range(0, SLOTS, 4):
            assert model.free(0, index * SLOTS + slot, 1) == Status.OK
    device = model.devices[0]
    assert list(device.nonfull[2]) == [1, 2]
    assert model.alloc(3, 2) == Slots(0, 3 * SLOTS)  # no run of 4 in either: both scanned, then the free cluster
    assert not device.nonfull[2]
    assert list(device.frag[2]) == [1, 2, 3]


def test_only_one_frag_cluster_is_scanned():
    model = machine(3)
    for cpu in range(2):
        fill(model, 2, cpu, until=SLOTS // 4)
    for index in (1, 2):
        for slot in range(0, SLOTS, 4):
            model.free(0, index * SLOTS + slot, 1)
    device = model.devices[0]
    assert model.alloc(3, 2) is None  # drains NONFULL[2], then looks at one of FRAG[2]
    assert list(device.frag[2]) == [2, 1]
    assert model.alloc(3, 2) is None
    assert list(device.frag[2]) == [1, 2]


def test_order_9_only_takes_free_clusters():
    model = machine(3)
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert place(model, 1) == (Flag.FULL, 9)
    model.free(0, SLOTS, SLOTS)
    assert place(model, 1) == (Flag.FREE, 0)
    assert model.alloc(0, 9) == Slots(0, 2 * SLOTS)  # behind the other on FREE
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert model.alloc(0, 9) is None


def test_order_0_steals_from_frag_before_nonfull_of_each_order_upwards():
    model = machine(5)
    for order, cpu in ((1, 0), (2, 1), (3, 2)):
        model.alloc(cpu, order)
    device = model.devices[0]
    fill(model, 0, 3, until=SLOTS - 1)  # cluster 0 is full
    model.free(0, 3 * SLOTS, 1)  # the order-3 cluster is NONFULL[3] now
    fill(model, 0, 3, until=SLOTS)  # the last free cluster
    assert [list(device.frag[order]) for order in (1, 2)] == [[1], [2]]
    assert list(device.nonfull[3]) == [3]
    stolen = [slots.offset // SLOTS for slots in fill(model, 0, 3)]
    assert stolen == [1] * (SLOTS - 2) + [2] * (SLOTS - 4) + [3] * (SLOTS - 7)


def test_a_stolen_cluster_keeps_its_order_and_that_order_goes_on_using_it():
    model = machine(2)
    assert model.alloc(0, 2) == Slots(0, SLOTS)
    fill(model, 0, 1, until=SLOTS - 1)
    assert model.alloc(1, 0) == Slots(0, SLOTS + 4)  # stolen
    assert place(model, 1) == (Flag.FRAG, 2)
    assert model.alloc(0, 2) == Slots(0, SLOTS + 8)  # goes on from its own next offset, over the stolen slot's block


def test_a_large_order_is_refused_by_a_device_that_is_a_file():
    model = machine(3, flags=SOLIDSTATE)
    assert model.alloc(0, 1) is None
    assert model.alloc(0, 0) == Slots(0, 1)


# alloc_swap_scan_cluster and percpu_swap_cluster


def test_each_cpu_and_order_goes_on_behind_its_last_slot():
    model = machine(4)
    assert [model.alloc(0, 0), model.alloc(0, 0)] == [Slots(0, 1), Slots(0, 2)]
    assert model.alloc(0, 4) == Slots(0, SLOTS)
    assert model.alloc(1, 4) == Slots(0, 2 * SLOTS)  # cluster 1 is on FRAG[4], a free one comes first
    assert model.alloc(0, 4) == Slots(0, SLOTS + 16)
    assert model.alloc(0, 0) == Slots(0, 3)


def test_the_scan_does_not_wrap():
    model = machine(3)
    for _ in range(4):
        model.alloc(0, 0)
    model.free(0, 1, 2)
    assert model.alloc(0, 0) == Slots(0, 5)
    fill(model, 0, 0, until=SLOTS - 6)  # up to the end of cluster 0; slots 1 and 2 are free
    assert model.next_offsets[0][0].offset == 0
    assert model.alloc(0, 0) == Slots(0, SLOTS)  # cluster 0 went to FRAG: the free cluster comes first
    assert place(model, 0) == (Flag.FRAG, 0)


def test_a_full_cluster_goes_to_full_and_leaves_no_next_offset():
    model = machine(2)
    fill(model, 0, 0, until=SLOTS - 1)
    assert place(model, 0) == (Flag.FULL, 0)
    assert model.next_offsets[0][0].offset == 0


def test_a_cluster_without_room_for_the_order_is_not_searched():
    model = machine(2)
    assert model.alloc(0, 8) == Slots(0, SLOTS)
    model.alloc(1, 0)
    fill(model, 0, 1, until=SLOTS - 2)  # cluster 0 full
    model.alloc(1, 0)  # steals one slot of cluster 1
    before = model.counts.scans
    assert model.alloc(0, 8) is None  # 257 used + 256 > 512, by the CPU's own place; that is forgotten
    assert model.next_offsets[0][8].offset == 0
    assert model.counts.scans == before + 2  # by the place, then FRAG[8]


def test_a_place_in_a_cluster_that_became_unusable_stays_as_it_is():
    model = machine(3)
    assert model.alloc(0, 2) == Slots(0, SLOTS)
    model.free(0, SLOTS, 4)  # cluster 1 is on FREE: no table
    assert model.alloc(1, 3) == Slots(0, 2 * SLOTS)
    assert model.alloc(0, 2) == Slots(0, SLOTS)  # by way of FREE, from its start
    model.free(0, SLOTS, 4)
    model.alloc(1, 3)
    kept = model.next_offsets[0][2].offset
    assert model.alloc(2, 3) == Slots(0, SLOTS)  # cluster 1 is order 3 now
    assert model.alloc(0, 2) is None
    assert model.next_offsets[0][2].offset == kept == SLOTS + 4


def test_a_frag_cluster_reached_by_its_cpu_keeps_its_place_on_the_list():
    model = machine(4)
    model.alloc(0, 4)
    model.alloc(1, 4)
    assert list(model.devices[0].frag[4]) == [1, 2]
    model.alloc(0, 4)
    assert list(model.devices[0].frag[4]) == [1, 2]


# __swap_cluster_free_entries, partial_free_cluster, __free_cluster


def test_a_free_moves_a_cluster_to_the_tail_of_nonfull_once():
    model = machine(4)
    fill(model, 4, 0, until=SLOTS // 16)
    fill(model, 4, 1, until=SLOTS // 16)
    device = model.devices[0]
    for index in (2, 1):
        model.free(0, index * SLOTS, 1)
    assert list(device.nonfull[4]) == [2, 1]
    model.free(0, 2 * SLOTS + 1, 1)
    assert list(device.nonfull[4]) == [2, 1]


def test_order_is_reset_only_on_entry_to_free():
    model = machine(2)
    model.alloc(0, 5)
    model.free(0, SLOTS, 31)
    assert place(model, 1) == (Flag.NONFULL, 5)
    model.free(0, SLOTS + 31, 1)
    assert place(model, 1) == (Flag.FREE, 0)


@pytest.mark.parametrize(
    ("offset", "nr"),
    [(0, 1), (0, 2), (1, 0), (1, SLOTS + 1), (SLOTS - 1, 2), (2 * SLOTS, 1), (1, 3), (SLOTS, 1)],
    ids=["header", "header and next", "none", "too many", "two clusters", "outside", "partly free", "free"],
)
def test_a_wrong_free_changes_nothing(offset, nr):
    model = machine(2)
    model.alloc(0, 0)
    model.alloc(0, 0)
    before = [(c.used, c.count, c.flag) for c in model.devices[0].clusters]
    assert model.free(0, offset, nr) == Status.BAD_RANGE
    assert [(c.used, c.count, c.flag) for c in model.devices[0].clusters] == before
    assert model.free(1, 1, 1) == Status.BAD_DEVICE


# swap_alloc_slow, plist_requeue, add_to_avail_list


def test_equal_devices_take_turns_at_every_visit():
    model = machine(2, 2, 2, cpus=8)
    assert [model.alloc(cpu, 0).type for cpu in range(6)] == [0, 1, 2, 0, 1, 2]


def test_a_failing_visit_moves_the_device_too():
    model = machine(1, 2)
    assert model.alloc(0, 9) is None  # device 0 has no free cluster, and a large order tries one device only
    assert model.alloc(0, 9) == Slots(1, SLOTS)
    assert [device.type for device in model.available] == [0, 1]


def test_higher_priority_first_until_it_is_full():
    model = machine(1, 1, priorities=(0, 5))
    got = fill(model)
    assert [slots.type for slots in got] == [1] * (SLOTS - 1) + [0] * (SLOTS - 1)
    assert model.available == []


def test_the_cpus_own_place_beats_priority():
    model = machine(2, priorities=(0,))
    assert model.alloc(0, 0) == Slots(0, 1)
    model.prepare(1, SLOTS, 2, SSD, 10)
    model.swapon(1)
    assert model.alloc(0, 0) == Slots(0, 2)
    assert model.alloc(1, 0) == Slots(1, 1)


def test_a_full_device_comes_back_behind_its_equals():
    model = machine(1, 2, 2)
    fill(model, 0, 0, until=SLOTS - 1)
    assert [device.type for device in model.available] == [1, 2]
    model.free(0, 7, 1)
    assert [device.type for device in model.available] == [1, 2, 0]


# swapoff


def test_swapoff_begin_stops_giving_and_frees_go_on():
    model = machine(2)
    assert model.alloc(0, 0) == Slots(0, 1)
    assert model.swapoff_begin(0) == Status.OK
    assert model.alloc(0, 0) is None
    assert model.next_offsets[0][0].offset == 0  # the scan found a range and was refused it
    assert model.free(0, 1, 1) == Status.OK
    assert model.available == []
    assert model.swapoff(0) == Status.OK
    assert model.swapoff(0) == Status.BAD_DEVICE


def test_a_swapoff_that_is_given_up_brings_the_device_back_with_its_lists():
    model = machine(3, 1)
    fill(model, 4, 0, until=2)
    model.swapoff_begin(0)
    model.free(0, SLOTS, 16)
    assert model.swapon(0) == Status.OK
    assert [device.type for device in model.available] == [1, 0]
    assert place(model, 1) == (Flag.NONFULL, 4)
    assert model.alloc(0, 4) == Slots(0, SLOTS + 32)


def test_a_full_device_taken_back_is_not_available():
    model = machine(1)
    fill(model)
    model.swapoff_begin(0)
    assert model.swapon(0) == Status.OK
    assert model.available == []
    model.free(0, 9, 1)
    assert [device.type for device in model.available] == [0]


def test_after_swapoff_no_cpu_remembers_the_device():
    model = machine(2)
    model.alloc(0, 0)
    model.free(0, 1, 1)
    model.swapoff_begin(0)
    model.swapoff(0)
    model.prepare(0, 2 * SLOTS, 0, SSD, -1)
    model.swapon(0)
    assert model.alloc(0, 0) == Slots(0, 1)
