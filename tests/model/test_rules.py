# SPDX-License-Identifier: Apache-2.0
"""Discarding and rotating devices, reclaim, and many devices and CPUs: rules that recorded kernels do not show.

Each rule is as its kernel function has it; tests/compare/test_recorded.py compares the others, step by step.
"""

import pytest
from allocators import SSD, fill, machine, place
from hwswap.model.clusters import BLKDEV, DISCARD, Slots
from hwswap.model.golden import VISITS, Allocator
from hwswap.model.rows import SLOTS
from hwswap.model.steps import Attempt, Operation, Populate, ReclaimFull, Scanned, Step
from hwswap_map import Flag, Status

DISCARDING = SSD | DISCARD
ROTATING = BLKDEV

# free_cluster, swap_cluster_schedule_discard, swap_do_scheduled_discard


def test_a_discarded_cluster_goes_to_the_tail_of_free_without_its_order():
    model = machine(4, flags=DISCARDING)
    model.alloc(0, 3)
    model.free(0, SLOTS, 8)
    assert model.discard_take(0) == (Status.OK, SLOTS)
    assert place(model, 1) == (Flag.DISCARD, 3)
    assert not model.devices[0].discard
    assert model.faults() == []
    assert model.discard_take(0) == (Status.NO_SPACE, 0)
    assert model.discard_done(0, SLOTS + 77) == Status.OK
    assert list(model.devices[0].free) == [2, 3, 1]
    assert place(model, 1) == (Flag.FREE, 0)


def test_discards_are_taken_first_in_first_out_and_may_end_in_another_order():
    model = machine(5, flags=DISCARDING)
    for cpu in range(3):
        model.alloc(cpu, 9)
    for index in (3, 1, 2):
        model.free(0, index * SLOTS, SLOTS)
    assert [model.discard_take(0)[1] // SLOTS for _ in range(3)] == [3, 1, 2]
    for index in (2, 3):
        assert model.discard_done(0, index * SLOTS) == Status.OK
    assert list(model.devices[0].free) == [4, 2, 3]


def test_a_discard_that_was_not_begun_cannot_be_done():
    model = machine(3, flags=DISCARDING)
    assert model.discard_done(0, SLOTS) == Status.BAD_RANGE
    model.alloc(0, 9)
    model.free(0, SLOTS, SLOTS)
    assert model.discard_done(0, SLOTS) == Status.BAD_RANGE  # still on the list
    assert model.discard_done(0, 3 * SLOTS) == Status.BAD_RANGE
    assert model.discard_done(1, SLOTS) == Status.BAD_DEVICE
    assert model.discard_take(1) == (Status.BAD_DEVICE, 0)


@pytest.mark.parametrize("taken", [False, True])
def test_a_cpus_place_in_a_cluster_that_waits_for_its_discard_is_not_used(taken):
    """cluster_is_usable: the flag says DISCARD, on the list or off it."""
    model = machine(4, flags=DISCARDING)
    assert model.alloc(0, 4) == Slots(0, SLOTS)
    model.free(0, SLOTS, 16)
    if taken:
        model.discard_take(0)
    assert model.alloc(0, 4) == Slots(0, 2 * SLOTS)


def test_without_write_permission_an_emptied_cluster_is_free_at_once():
    model = machine(3, flags=DISCARDING)
    model.alloc(0, 9)
    model.swapoff_begin(0)
    model.free(0, SLOTS, SLOTS)
    assert place(model, 1) == (Flag.FREE, 0)


def test_a_cluster_that_nothing_may_be_given_from_goes_back_to_free_not_to_discard():
    """relocate_cluster calls free_cluster: it cannot have been written to, and write permission is gone."""
    model = machine(3, flags=DISCARDING)
    assert model.alloc(0, 4) == Slots(0, SLOTS)
    model.swapoff_begin(0)
    model.free(0, SLOTS, 16)
    device = model.devices[0]
    assert list(device.free) == [2, 1]
    model.available.append(device)  # as seen by a CPU that was on its way when permission went
    assert model.alloc(1, 4) is None
    assert list(device.free) == [1, 2]
    assert not device.discard


def test_swapoff_forgets_what_waits_for_a_discard():
    model = machine(3, flags=DISCARDING)
    model.alloc(0, 9)
    model.free(0, SLOTS, SLOTS)
    model.discard_take(0)
    model.swapoff_begin(0)
    assert model.swapoff(0) == Status.OK
    assert model.discard_done(0, SLOTS) == Status.BAD_DEVICE
    assert model.prepare(0, 3 * SLOTS, 0, DISCARDING) == Status.OK
    assert model.swapon(0) == Status.OK
    assert model.faults() == []


def waiting(*clusters: int) -> Allocator:
    """Devices whose free slots are all on DISCARD: full but for one cluster that was emptied."""
    model = machine(*clusters, flags=DISCARDING)
    fill(model, 9)
    fill(model, 0)
    for type_ in range(len(clusters)):
        model.free(type_, SLOTS, SLOTS)
    return model


@pytest.mark.parametrize(("devices", "visits"), [(1, 1), (2, VISITS)])
def test_devices_that_wait_for_discards_are_visited_a_bounded_number_of_times(devices, visits):
    """Equals go round for ever in swap_alloc_slow: each visit puts the device after the one that comes next."""
    model = waiting(*[2] * devices)
    seen = []
    visit = model.visit
    model.visit = lambda device, cpu: seen.append(1) or visit(device, cpu)
    assert model.alloc(0, 0) is None
    assert len(seen) == visits
    model.discard_take(devices - 1)
    model.discard_done(devices - 1, SLOTS)
    assert model.alloc(0, 0) == Slots(devices - 1, SLOTS)


# struct swap_sequential_cluster


def test_a_rotating_devices_place_in_an_unusable_cluster_stays():
    model = machine(3, flags=ROTATING)
    model.alloc(0, 2)
    model.free(0, SLOTS, 4)
    assert model.devices[0].next_offset[2] == SLOTS + 4
    model.devices[0].free.move_to_end(1)
    assert model.alloc(0, 2).offset == 2 * SLOTS  # cluster 1 is on FREE: no table
    assert model.devices[0].next_offset[2] == 2 * SLOTS + 4


def test_a_rotating_devices_place_survives_a_swapoff_that_is_given_up_and_no_new_swapon():
    model = machine(2, flags=ROTATING)
    model.alloc(0, 0)
    model.swapoff_begin(0)
    model.swapon(0)
    assert model.alloc(1, 0).offset == 2
    model.swapoff_begin(0)
    model.free(0, 1, 2)
    model.swapoff(0)
    model.prepare(0, 2 * SLOTS, 0, ROTATING)
    model.swapon(0)
    assert model.alloc(0, 0).offset == 1


def test_a_rotating_device_can_discard():
    model = machine(3, flags=ROTATING | DISCARD)
    assert model.alloc(0, 0).offset == SLOTS
    model.free(0, SLOTS, 1)
    assert place(model, 1) == (Flag.DISCARD, 0)
    assert model.alloc(0, 0).offset == 2 * SLOTS


# many of everything


def test_thirty_two_devices_take_turns_and_64_cpus_have_their_places():
    model = machine(*[2] * 32, model=Allocator(devices=32, cpus=64, clusters=64))
    assert [model.alloc(cpu, 0) for cpu in range(64)] == (
        [Slots(type_, 1) for type_ in range(32)] + [Slots(type_, SLOTS) for type_ in range(32)]
    )
    assert [model.alloc(cpu, 0).offset for cpu in range(64)] == [2] * 32 + [SLOTS + 1] * 32


def test_a_successor_that_left_the_list_starts_the_walk_over():
    """swap_alloc_slow: plist_node_empty(&next->avail_list)."""
    model = machine(1, 1, 1)
    search = model.alloc_slow(Operation(0, 0))
    model.hosted = True
    step = next(search)
    assert step.device is None
    first, successor = model.visit(None, 0)
    assert (first.type, successor.type) == (0, 1)
    assert model.visit(None, 0)[0].type == 1
    model.swapoff_begin(1)
    assert model.visit(successor, 0)[0].type == 2


# vm_swap_full, cluster_reclaim_range, swap_reclaim_full_clusters, swap_cluster_populate


class Host(Allocator):
    """An allocator whose host answers: the slots it reclaims, and whether there is memory for tables."""

    hosted = True
    memory = True

    def __init__(self) -> None:
        """Remember every step; `cached` holds the slots that can be reclaimed in a scan."""
        super().__init__()
        self.steps: list[Step] = []
        self.cached: set[int] = set()

    def perform(self, step: Step):
        """Answer a step."""
        self.steps.append(step)
        if isinstance(step, Populate):
            return self.memory
        if isinstance(step, Attempt):
            return self.attempt(step)
        return None if isinstance(step, ReclaimFull) else super().perform(step)

    def attempt(self, step: Attempt) -> int | None:
        """Order 0: reclaim the first cached slot before the one that was found."""
        base = step.cluster.index * SLOTS
        end = step.slot if step.slot >= 0 else SLOTS
        for slot in range(step.start, end):
            if base + slot in self.cached and self.half_used:
                self.cached.remove(base + slot)
                assert self.free(0, base + slot, 1) == Status.OK
                return slot
        return None


def test_a_cached_slot_is_reclaimed_during_the_scan_when_more_than_half_is_used():
    model = machine(1, model=Host())
    for _ in range(300):
        model.alloc(0, 0)
    model.next_offsets[0][0].offset = 100  # this CPU goes on among slots in use
    model.cached = {150}
    assert model.alloc(0, 0) == Slots(0, 150)
    assert model.next_offsets[0][0].offset == 151


def test_a_cluster_that_a_reclaim_empties_ends_the_scan_there():
    """cluster_reclaim_range: it went to FREE, so it is not usable any more."""
    model = machine(3, model=Host())
    assert model.alloc(0, 0) == Slots(0, 1)
    for _ in range(510):
        model.alloc(0, 0)
    model.alloc(0, 9)
    model.alloc(1, 0)  # the last cluster: only the slots after this one are free
    model.next_offsets[2][0].device = model.devices[0]
    model.next_offsets[2][0].offset = 2 * SLOTS
    model.cached = {2 * SLOTS}
    assert model.alloc(2, 0) == Slots(0, 2 * SLOTS)
    # The scan of the place ended without a slot; the cluster was had once more by way of FREE.
    assert [step.offset for step in model.steps if isinstance(step, Scanned)][-2:] == [0, 2 * SLOTS]


def test_without_memory_for_a_table_the_cluster_goes_back_to_the_tail_of_free():
    model = machine(4, model=Host())
    model.memory = False
    assert model.alloc(0, 3) is None
    assert list(model.devices[0].free) == [2, 3, 1]
    assert model.faults() == []


def test_half_used_counts_what_swapoff_leaves():
    """vm_swap_full: swapoff takes the device's size off the total, its slots in use stay counted."""
    model = machine(2, 2)
    fill(model, 9, until=1)
    assert not model.half_used
    model.swapoff_begin(0)
    assert model.half_used  # 512 slots in use, of 1023 that are left
