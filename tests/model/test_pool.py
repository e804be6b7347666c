# SPDX-License-Identifier: Apache-2.0
"""Tables out of a pool: a cluster has one while it is in use; without any left an allocation does without FREE."""

import random

from allocators import SSD
from hwswap.model.clusters import DISCARD
from hwswap.model.golden import Slots
from hwswap.model.host_memory import Command
from hwswap.model.policy import Hint, Placement, Policy
from hwswap.model.pool import PooledAllocator
from hwswap.model.rows import SLOTS
from hwswap.model.tables import Answer
from hwswap_map import Flag, Opcode, Status
from run_seed import SEED
from tabled import Memory

BASE = 0x7_0000


def machine(clusters: int, size: int, flags: int = SSD) -> tuple[PooledAllocator, Memory]:
    """Make an allocator with one device and a pool of so many tables, the first of which is page 1."""
    memory = Memory()
    model = PooledAllocator(memory)
    memory.put(BASE, [4096 * (i + 1) for i in range(size)])
    model.set_pool(BASE, size)
    assert model.prepare(0, clusters * SLOTS, 0, flags) == Status.OK
    assert model.swapon(0) == Status.OK
    return model, memory


def test_the_last_table_is_taken_and_comes_back_behind_the_others():
    model, memory = machine(4, 3)
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert model.alloc(0, 9) == Slots(0, 2 * SLOTS)
    assert model.tables.directory == {(0, 1): 3 * 4096, (0, 2): 2 * 4096}
    assert (model.pool.left, model.pool.least) == (1, 1)
    assert model.free(0, SLOTS, SLOTS) == Status.OK
    assert model.tables.directory == {(0, 2): 2 * 4096}
    assert memory.words(BASE, 3)[:2] == [4096, 3 * 4096]
    assert (model.pool.left, model.pool.least) == (2, 1)
    assert model.alloc(0, 9) == Slots(0, 3 * SLOTS)
    assert model.tables.directory[0, 3] == 3 * 4096


def test_without_a_table_left_free_clusters_are_not_to_be_had():
    """Cluster 0, which never was on FREE, still is."""
    model, _ = machine(4, 1)
    assert model.alloc(0, 4) == Slots(0, SLOTS)
    assert list(model.devices[0].free) == [2, 3]
    assert model.alloc(0, 9) is None
    assert list(model.devices[0].free) == [3, 2]  # swap_cluster_populate: to the tail
    assert model.alloc(0, 0) == Slots(0, 1)
    assert model.faults() == []
    assert model.tables.directory == {(0, 1): 4096}


def test_a_cluster_whose_table_was_taken_has_none_to_give_back():
    model, _ = machine(4, 1)
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert model.tables.carry_out(Command(Opcode.TABLE_TAKE, 0, nr=1, arg0=SLOTS)) == Answer(Status.OK, 1)
    assert model.free(0, SLOTS, SLOTS) == Status.OK
    assert model.pool.left == 0
    assert model.alloc(0, 9) is None


def test_a_cluster_on_discard_keeps_its_table():
    model, _ = machine(3, 2, SSD | DISCARD)
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert model.free(0, SLOTS, SLOTS) == Status.OK
    assert model.devices[0].clusters[1].flag == Flag.DISCARD
    assert (0, 1) in model.tables.directory
    assert model.discard_take(0) == (Status.OK, SLOTS)
    assert model.discard_done(0, SLOTS) == Status.OK
    assert model.tables.directory == {}
    assert model.pool.left == 2


def test_swapoff_forgets_tables_and_the_pool_stays():
    model, _ = machine(4, 3)
    model.alloc(0, 9)
    model.swapoff_begin(0)
    assert model.swapoff(0) == Status.OK
    assert model.tables.directory == {}
    assert model.pool.left == 2
    assert model.swapoff(0) == Status.BAD_DEVICE


def test_without_a_pool_tables_are_the_hosts():
    model, _ = machine(4, 0)
    assert model.pool is None
    assert model.alloc(0, 9) == Slots(0, SLOTS)
    assert model.tables.directory == {}


def test_every_cluster_in_use_has_a_table_of_its_own_and_no_other_has():
    """At random, with both placements, with random trunks, and with discards; tables are neither lost nor doubled."""
    seen = set()
    for seed in range(24):
        rng = random.Random(SEED + seed)
        flags = SSD | rng.choice((0, DISCARD))
        size = rng.choice((2, 5, 20))
        model, memory = machine(70 if seed % 3 == 0 else 8, size, flags)
        model.set_policy(Policy(hint=Hint(seed % 3), placement=Placement(seed // 3 % 2), seed=seed))
        held = []
        for _ in range(400):
            if rng.random() < 0.6 or not held:
                order = rng.choice((0, 2, 4, 8, 9))
                got = model.alloc(rng.randrange(4), order)
                held += [(got.offset, 1 << order)] if got else []
                seen.add("got" if got else "refused" if not model.pool.left else "full")
            else:
                offset, nr = held.pop(rng.randrange(len(held)))
                assert model.free(0, offset, nr) == Status.OK
            if rng.random() < 0.1:
                status, offset = model.discard_take(0)
                assert status == Status.NO_SPACE or model.discard_done(0, offset) == Status.OK
            device = model.devices[0]
            tabled = {c.index for c in device.clusters if c.flag != Flag.FREE and not c.bad}
            assert {index for _, index in model.tables.directory} == tabled
            pages = [*model.tables.directory.values(), *memory.words(BASE, model.pool.left)]
            assert sorted(pages) == [4096 * (i + 1) for i in range(size)]
        assert model.faults() == []
    assert seen == {"got", "refused", "full"}
