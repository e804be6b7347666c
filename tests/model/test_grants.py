# SPDX-License-Identifier: Apache-2.0
"""Grants: their form in memory, which clusters are chosen, what HEAD says, and what is read when."""

import dataclasses

import pytest
from hwswap.model.cluster_map import Arrays, Summary, Word, change
from hwswap.model.grant_entries import WRAP, DeviceEntry, Grant, Lines, Placement, free_units, ring_place, span, units
from hwswap.model.grants import Grants
from hwswap.model.rows import ALL
from hwswap.model.steering import Host
from hwswap.stimulus.grant_work import finish
from hwswap_map import Flag
from hypothesis import given
from hypothesis import strategies as st

EPOCH = 7


def engine(*clusters, placement=Placement.INDEXED, entries=None, cpus=2):
    """Make an engine that knows clusters as (list, order, used), of one device unless others are given."""
    arrays = Arrays(128)
    grants = Grants(arrays, Lines(cpus), placement)
    for entry in entries or [DeviceEntry(0, 0, len(clusters), -1, EPOCH)]:
        grants.set_device(entry)
    for number, (flag, order, used) in enumerate(clusters):
        list(change(arrays, number, used, Word(order, flag, EPOCH)))
    for _ in range(2):
        one_round(grants)
    list(grants.take_back())
    return grants


def one_round(grants):
    """Let the reader look at all clusters."""
    while grants.reader.step() != "round":
        pass


def one_pass(steps):
    """Let the builder look at all rings."""
    while next(steps) != "pass":
        pass


def wanted(grants, order, cpu=0):
    """Let a CPU want a ring, and the builder look at all rings; return its further steps."""
    steps = grants.steps()
    grants.lines.want[cpu] = 1 << order
    one_pass(steps)
    return steps


def offered(grants, cpu, order):
    """Return the valid entries of a ring from HEAD on."""
    lines = grants.lines
    found = [lines.entry(cpu, order, lines.head[cpu][order] + i) for i in range(1 << lines.log2)]
    return [grant for grant in found if grant is not None and grant.valid]


def test_an_entry_in_memory():
    grant = Grant(0xF0, 3 * 512 + 256, 31, 2, 0xA5)
    word0, word1 = grant.pack(4)
    assert word0 == 0xF0
    assert word1 == 3 * 512 + 256 | 31 << 32 | 2 << 37 | 0xA5 << 41 | 1 << 62
    assert Grant.unpack(word0, word1, 4) == grant
    assert Grant.unpack(word0, word1, 0) is None
    assert grant.pack(0)[1] == word1 | 1 << 63
    assert Grant.unpack(0, 0, 0) is None, "memory of zeros holds no grant"


def test_rings_lie_one_behind_the_other():
    assert [ring_place(0, 0, i) for i in (0, 3, 4)] == [0, 48, 0]
    assert ring_place(0, 1, 0) == 64
    assert ring_place(2, 3, 1) == 23 * 64 + 16
    assert ring_place(1, 0, 0, 4) == 10 * 256


def test_units_of_an_entry():
    assert [span(k) for k in range(10)] == [64, 128, 256] + [512] * 7
    assert [units(k) for k in range(10)] == [64, 64, 64, 64, 32, 16, 8, 4, 2, 1]


@given(st.integers(0, ALL), st.integers(0, 9), st.integers(0, 7))
def test_masks_are_of_free_whole_units(used, order, part):
    first = part * span(order) % 512
    mask = free_units(used, order, first)
    for i in range(units(order)):
        free = not used >> first + (i << order) & (1 << (1 << order)) - 1
        assert bool(mask >> i & 1) == free
    assert mask < 1 << units(order)


FULL_BUT_16 = ALL ^ 0xFFFF
SINGLES = sum(1 << i for i in range(0, 512, 2))


def all_chosen(grants, order):
    """Return the clusters that an order gets, one after the other, until there is none."""
    found = []
    while (cluster := grants.choose(order)) is not None:
        grants.granted[cluster] = 0, order
        found.append(cluster)
    return found


@pytest.mark.parametrize(
    ("placement", "order", "expected"),
    [
        # 0: full; 1: free; 2: order 4, a run of 16; 3: order 4, single slots; 4: order 2, a run of 16; 5: order 0,
        # single slots; 6 and 7: on no list that is granted from. INDEXED has order 0 go to its own, where order 4 has
        # no run any more, to the highest order, then to FREE.
        (Placement.INDEXED, 0, [5, 3, 2, 4, 1]),
        (Placement.INDEXED, 2, [4, 1]),
        (Placement.INDEXED, 3, [1]),
        (Placement.INDEXED, 4, [2, 1]),
        (Placement.INDEXED, 9, [1]),
        (Placement.OPEN, 0, [5, 4, 2, 3, 1]),
        (Placement.OPEN, 3, [4, 2, 1]),
        (Placement.OPEN, 4, [2, 4, 1]),
        (Placement.OPEN, 9, [1]),
    ],
)
def test_clusters_in_their_order(placement, order, expected):
    grants = engine(
        (Flag.FULL, 0, ALL),
        (Flag.FREE, 0, 0),
        (Flag.FRAG, 4, FULL_BUT_16),
        (Flag.FRAG, 4, SINGLES),
        (Flag.NONFULL, 2, FULL_BUT_16),
        (Flag.FRAG, 0, SINGLES),
        (Flag.DISCARD, 0, 0),
        (Flag.NONE, 0, 0),
        placement=placement,
    )
    assert all_chosen(grants, order) == expected


@pytest.mark.parametrize(
    ("placement", "offered_of"), [(Placement.INDEXED, [0]), (Placement.OPEN, [0, 1, 2, 3])], ids=str
)
def test_free_clusters_in_advance(placement, offered_of):
    grants = engine(*[(Flag.FREE, 0, 0)] * 7, placement=placement)
    steps = wanted(grants, 5)
    assert [g.slot // 512 for g in offered(grants, 0, 5)] == offered_of
    # Popped, it is in use, and the next one comes: a ring never lacks one.
    grants.lines.head[0][5] = len(offered_of)
    one_pass(steps)
    assert len(offered(grants, 0, 5)) == len(offered_of)


def test_a_ring_takes_its_own_clusters_as_soon_as_they_have_room():
    """A FREE cluster that is on offer is no reason to take another one, but none to leave others out either."""
    clusters = [(Flag.FREE, 0, 0)] * 4 + [(Flag.FULL, 5, ALL)] * 2
    grants = engine(*clusters)
    steps = wanted(grants, 5)
    assert [g.slot // 512 for g in offered(grants, 0, 5)] == [0]
    for number in (4, 5):
        list(change(grants.arrays, number, ALL ^ 0xFFFF_FFFF, Word(5, Flag.NONFULL, EPOCH)))
    one_round(grants)
    one_pass(steps)
    assert [g.slot // 512 for g in offered(grants, 0, 5)] == [0, 4, 5]


def test_the_last_eighth_of_free_clusters_is_left_to_searches():
    full = [(Flag.FULL, 0, ALL)] * 14
    grants = engine(*full, (Flag.FREE, 0, 0), (Flag.FREE, 0, 0))
    assert grants.choose(5) == 14, "two of sixteen"
    grants.granted[14] = 0, 5
    assert grants.choose(5) is None, "one of sixteen"
    assert grants.choose(0) == 15, "order 0 has been everywhere else"
    assert grants.choose(9) == 15, "order 9 finds room nowhere else"
    assert grants.choose(9, alone=False) is None
    assert not grants.no_run() >> 5 & 1, "the kernel's own search finds it"


def test_priority_first_then_in_turn():
    entries = [
        DeviceEntry(0, 0, 2, 1, EPOCH),
        DeviceEntry(1, 2, 2, 5, EPOCH),
        DeviceEntry(2, 4, 2, 5, EPOCH),
        DeviceEntry(3, 6, 2, 9, EPOCH, rotating=True),
        DeviceEntry(4, 8, 2, 7, EPOCH, file=True),
        DeviceEntry(5, 10, 2, 8, EPOCH + 1),
    ]
    full = [(Flag.FULL, 0, 0)] * 2
    free = [(Flag.FREE, 0, 0)] * 2
    grants = engine(*free, *free, *free, *full, *full, *free, entries=entries)
    assert all_chosen(grants, 4) == [2, 4, 3, 5], (
        "what is granted still has slots left, so nothing is chosen of the lower one"
    )


@pytest.mark.parametrize("upper", [{}, {"file": True}, {"rotating": True}])
def test_nothing_below_a_device_with_a_slot_left(upper):
    """As swap_alloc_slow(): a large folio goes to the best device that is available or nowhere."""
    entries = [DeviceEntry(0, 0, 1, 5, EPOCH, **upper), DeviceEntry(1, 1, 1, 1, EPOCH)]
    grants = engine((Flag.NONFULL, 0, ALL - 1), (Flag.FREE, 0, 0), entries=entries)
    assert grants.choose(4) is None
    assert grants.choose(0) == (None if upper.get("rotating") else 0)
    assert not grants.no_run() >> 4 & 1, "it says what there is anywhere"
    grants = engine((Flag.FULL, 0, ALL), (Flag.FREE, 0, 0), entries=entries)
    assert grants.choose(4) == 1


def test_a_ring_stays_in_its_cluster_and_lets_it_go_behind_head():
    grants = engine(*[(Flag.FREE, 0, 0)] * 3, placement=Placement.OPEN)
    lines, steps = grants.lines, wanted(grants, 2)
    assert [g.slot for g in offered(grants, 0, 2)] == [0, 256, 512, 768]
    assert grants.granted == {0: (0, 2), 1: (0, 2)}
    lines.head[0][2] = 2  # the second is in use: it is of the same cluster
    one_pass(steps)
    assert 0 in grants.granted
    lines.head[0][2] = 3
    one_pass(steps)
    assert grants.granted == {1: (0, 2), 2: (0, 2), 0: (0, 2)}
    assert [g.slot for g in offered(grants, 0, 2)] == [768, 1024, 1280, 0], "it was let go, and is the next one"


def test_a_ring_that_is_not_wanted_is_forgotten():
    grants = engine(*[(Flag.FREE, 0, 0)] * 2, placement=Placement.OPEN)
    steps = wanted(grants, 4, cpu=1)
    assert len(offered(grants, 1, 4)) == 2
    grants.lines.want[1] = 0
    one_pass(steps)
    assert offered(grants, 1, 4) == []
    assert grants.granted == {}
    # Wanted again, there is room behind what was taken back.
    grants.lines.want[1] = 1 << 4
    one_pass(steps)
    assert [g.slot for g in offered(grants, 1, 4)] == [0, 512]


@given(st.integers(0, WRAP - 1))
def test_a_head_from_nowhere_does_no_harm(head):
    grants = engine((Flag.FREE, 0, 0), (Flag.FREE, 0, 0))
    steps = wanted(grants, 9)
    grants.lines.head[0][9] = head
    one_pass(steps)
    one_pass(steps)
    assert len(grants.granted) <= 2
    assert (grants.rings[0, 9].tail - head) % WRAP <= 4


def test_an_old_bitmap_of_the_builder_lasts_until_the_next_round():
    grants = engine((Flag.FRAG, 0, SINGLES))
    reading = grants.read(0)
    for _ in range(8):
        next(reading)
    full = Word(0, Flag.FULL, EPOCH)
    list(change(grants.arrays, 0, ALL, full))
    one_round(grants)
    with pytest.raises(StopIteration):
        next(reading)
    assert grants.summaries[0] == Summary(full, 0)
    assert grants.choose(0) is None, "its list says that there is no room"
    one_round(grants)
    assert grants.summaries[0] == Summary(full, -1)


def test_a_cluster_is_let_go_when_word_and_bitmap_were_read_after_head():
    grants = engine((Flag.FREE, 0, 0), (Flag.FREE, 0, 0), placement=Placement.OPEN)
    lines, steps = grants.lines, wanted(grants, 9)
    lines.head[0][9] = 2  # the second is in use
    full = Word(9, Flag.FULL, EPOCH)
    list(change(grants.arrays, 0, ALL, full))
    assert next(steps) == "CPU line read"
    # The order is another one's meanwhile, too.
    list(change(grants.arrays, 0, ALL, Word(4, Flag.FULL, EPOCH)))
    assert (next(steps), next(steps)) == ("WORD read", "again")
    assert 0 in grants.granted
    one_pass(steps)
    assert grants.granted == {1: (0, 9)}
    assert grants.summaries[0] == Summary(Word(4, Flag.FULL, EPOCH), -1)


def test_no_run_waits_until_a_new_device_was_looked_at():
    grants = engine((Flag.FRAG, 0, SINGLES))
    steps = grants.steps()
    one_pass(steps)
    assert grants.lines.no_run == 0b11_1111_1110
    grants.set_device(dataclasses.replace(grants.devices[0], type=1, base=64))
    one_pass(steps)
    assert grants.lines.no_run == 0
    one_round(grants)
    one_pass(steps)
    assert grants.lines.no_run == 0, "the round under way may have passed its clusters"
    one_round(grants)
    one_pass(steps)
    assert grants.lines.no_run == 0b11_1111_1110


# The kernel's side


@pytest.fixture
def host():
    """Make a kernel with a device of four clusters, and nobody who grants."""
    host = Host(Arrays(64), Lines(1), stash=1)
    finish(host.swapon(DeviceEntry(0, 0, 4, -1, EPOCH), 4 * 512))
    return host


def put(host, order, grant):
    index = host.lines.head[0][order]
    for which, word in enumerate(grant.pack(index)):
        host.lines.store(0, order, index, which, word)


def test_a_grant_is_used_unit_by_unit(host):
    put(host, 2, Grant(0b1010, 512, 0, 2, EPOCH))
    assert finish(host.alloc(0, 2)) == (0, 512 + 4)
    assert finish(host.alloc(0, 2)) == (0, 512 + 12)
    assert host.arrays.used(1) == 0xF0F0
    assert (host.counts["hit"], host.counts["claimed"]) == (2, 1)
    finish(host.alloc(0, 2))
    assert host.lines.want[0] == 1 << 2


def test_a_stray_scan_is_right(host):
    assert finish(host.alloc(0, 0)) == (0, 1)
    put(host, 0, Grant(0b11, 0, 0, 0, EPOCH))
    assert finish(host.alloc(0, 0)) == (0, 2)
    assert host.counts["stray"] == 1


@pytest.mark.parametrize(
    ("why", "grant", "order"),
    [
        ("taken back", Grant(1, 512, 0, 0, EPOCH, valid=False), 0),
        ("device gone", Grant(1, 512, 3, 0, EPOCH), 0),
        ("epoch", Grant(1, 512, 0, 0, EPOCH + 1), 0),
        ("flags", Grant(1, 0, 5, 4, EPOCH), 4),
        ("priority", Grant(1, 0, 6, 0, EPOCH), 0),
        ("order", Grant(1, 512, 0, 3, EPOCH), 4),
        ("place", Grant(1, 520, 0, 0, EPOCH), 0),
        ("place", Grant(1, 4 * 512, 0, 0, EPOCH), 0),
        ("empty", Grant(1 << 32, 512, 0, 4, EPOCH), 4),
    ],
)
def test_what_is_refused(host, why, grant, order):
    finish(host.swapon(DeviceEntry(5, 8, 1, -1, EPOCH, file=True), 512))
    finish(host.swapon(DeviceEntry(6, 9, 1, -5, EPOCH), 512))
    put(host, order, grant)
    assert finish(host.alloc(0, order)).type == 0
    assert host.counts[why] == 1
    assert host.counts["popped"] == 0


def test_without_a_table_a_free_cluster_is_not_taken(host):
    host.stash = 0
    put(host, 4, Grant(1, 512, 0, 4, EPOCH))
    assert finish(host.alloc(0, 4)) is not None
    assert (host.counts["no table"], host.counts["hit"]) == (1, 0)


def test_no_run_lets_a_large_order_fail_at_once(host):
    host.lines.no_run = 1 << 4
    assert finish(host.alloc(0, 4)) is None
    assert host.counts["searched"] == 0
    assert finish(host.alloc(0, 2)) is not None
