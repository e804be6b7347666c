# SPDX-License-Identifier: Apache-2.0
"""The allocator's rules, each as the kernel function in the test's text has it.

Which lists, clusters and slots are searched, and in which order, is compared with recorded kernels, step by step
(tests/compare/test_recorded.py): here is what those do not show.
"""

import pytest
from allocators import SSD, fill, machine, place
from hwswap.model.clusters import SOLIDSTATE, Slots
from hwswap.model.golden import Allocator
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


def test_a_large_order_is_refused_by_a_device_that_is_a_file():
    model = machine(3, flags=SOLIDSTATE)
    assert model.alloc(0, 1) is None
    assert model.alloc(0, 0) == Slots(0, 1)


# alloc_swap_scan_cluster and percpu_swap_cluster


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


# __swap_cluster_free_entries, partial_free_cluster, __free_cluster


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


def test_a_full_device_that_is_taken_back_is_available_until_its_last_slot_is_taken_again():
    model = machine(1, 2, priorities=(5, 0))
    fill(model, until=SLOTS - 1)
    assert [device.type for device in model.available] == [1]
    model.swapoff_begin(0)
    assert model.swapon(0) == Status.OK
    assert [device.type for device in model.available] == [0, 1]
    assert model.faults() == []
    # A large order tries one device only.
    assert model.alloc(0, 2) is None
    assert model.alloc(0, 0) == Slots(1, 1)
    assert [device.type for device in model.available] == [0, 1]
    model.free(0, 9, 1)
    # Another CPU has no hint on the other device.
    assert model.alloc(1, 0) == Slots(0, 9)
    assert [device.type for device in model.available] == [1]
    assert model.alloc(0, 2) == Slots(1, SLOTS)


def test_after_swapoff_no_cpu_remembers_the_device():
    model = machine(2)
    model.alloc(0, 0)
    model.free(0, 1, 1)
    model.swapoff_begin(0)
    model.swapoff(0)
    model.prepare(0, 2 * SLOTS, 0, SSD, -1)
    model.swapon(0)
    assert model.alloc(0, 0) == Slots(0, 1)
