# SPDX-License-Identifier: Apache-2.0
"""Grants: their form in memory, which clusters are chosen, what HEAD says, and what is read when."""

import dataclasses

import pytest
from hwswap.model.cluster_map import Arrays, Summary, Word, change
from hwswap.model.grant_entries import WRAP, DeviceEntry, Grant, Lines, Placement, ring_place
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
    """Return the clusters of the valid entries of a ring from HEAD on."""
    lines = grants.lines
    found = [lines.entry(cpu, order, lines.head[cpu][order] + i) for i in range(1 << lines.log2)]
    return [grant.cluster for grant in found if grant is not None and grant.valid]


def test_an_entry_in_memory():
    grant = Grant(0xCAFE_F00D, 31, 2, 0xA5)
    word = grant.pack(4)
    assert word == 0xCAFE_F00D | 31 << 32 | 2 << 37 | 0xA5 << 41 | 1 << 62
    assert Grant.unpack(word, 4) == grant
    assert Grant.unpack(word, 0) is None
    assert grant.pack(0) == word | 1 << 63
    assert Grant.unpack(0, 0) is None, "memory of zeros holds no grant"


def test_rings_lie_one_behind_the_other():
    assert [ring_place(0, 0, i) for i in (0, 3, 4)] == [0, 24, 0]
    assert ring_place(0, 1, 0) == 32
    assert ring_place(2, 3, 1) == 23 * 32 + 8
    assert ring_place(1, 0, 0, 4) == 10 * 128


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
    assert offered(grants, 0, 5) == offered_of
    # Popped, it is in use, and the next one comes: a ring never lacks one.
    grants.lines.head[0][5] = len(offered_of)
    one_pass(steps)
    assert len(offered(grants, 0, 5)) == len(offered_of)


def test_a_ring_takes_its_own_clusters_as_soon_as_they_have_room():
    """A FREE cluster that is on offer is no reason to take another one, but none to leave others out either."""
    clusters = [(Flag.FREE, 0, 0)] * 4 + [(Flag.FULL, 5, ALL)] * 2
    grants = engine(*clusters)
    steps = wanted(grants, 5)
    assert offered(grants, 0, 5) == [0]
    for number in (4, 5):
        list(change(grants.arrays, number, ALL ^ 0xFFFF_FFFF, Word(5, Flag.NONFULL, EPOCH)))
    one_round(grants)
    one_pass(steps)
    assert offered(grants, 0, 5) == [0, 4, 5]


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


def test_a_ring_has_a_cluster_once_and_lets_it_go_behind_head():
    grants = engine(*[(Flag.FREE, 0, 0)] * 5, placement=Placement.OPEN)
    lines, steps = grants.lines, wanted(grants, 2)
    assert offered(grants, 0, 2) == [0, 1, 2, 3]
    lines.head[0][2] = 1  # the first is in use
    one_pass(steps)
    assert offered(grants, 0, 2) == [1, 2, 3, 4]
    assert grants.granted == dict.fromkeys(range(5), (0, 2))
    lines.head[0][2] = 2
    one_pass(steps)
    assert offered(grants, 0, 2) == [2, 3, 4, 0], "it was let go, and is the next one"
    assert grants.granted == dict.fromkeys(range(5), (0, 2))


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
    assert offered(grants, 1, 4) == [0, 1]


@given(st.integers(0, WRAP - 1))
def test_a_head_from_nowhere_does_no_harm(head):
    grants = engine((Flag.FREE, 0, 0), (Flag.FREE, 0, 0))
    steps = wanted(grants, 9)
    grants.lines.head[0][9] = head
    one_pass(steps)
    one_pass(steps)
    assert len(grants.granted) <= 2
    assert (grants.rings[0, 9].tail - head) % WRAP <= 4


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
    host.lines.store(0, order, index, grant.pack(index))


def test_a_grant_is_used_place_by_place_and_never_from_its_beginning_again(host):
    cluster = host.devices[0].clusters[1]
    put(host, 2, Grant(1, 0, 2, EPOCH))
    assert finish(host.alloc(0, 2)) == (0, 512)
    cluster.used |= 1 << 6
    assert finish(host.alloc(0, 2)) == (0, 512 + 8)
    finish(host.free(0, 512, 2))
    cluster.used |= ALL ^ 0xFFFF
    assert finish(host.alloc(0, 2)) == (0, 512 + 12)
    assert (host.counts["hit"], host.counts["claimed"], host.lines.want[0]) == (3, 1, 0)
    # Nothing is left from there on: the next one, which there is not.
    finish(host.alloc(0, 2))
    assert (host.held, host.counts["searched"], host.lines.want[0]) == ([{}], 1, 1 << 2)


def test_the_next_grant_is_popped_when_nothing_is_left(host):
    put(host, 9, Grant(1, 0, 9, EPOCH))
    host.stash = 2
    assert finish(host.alloc(0, 9)) == (0, 512)
    put(host, 9, Grant(3, 0, 9, EPOCH))
    assert finish(host.alloc(0, 9)) == (0, 3 * 512)
    assert (host.counts["hit"], host.lines.head[0][9]) == (2, 2)


def test_a_stray_scan_is_right(host):
    """Another CPU, which has the lock when the place is found, takes it."""
    put(host, 0, Grant(1, 0, 0, EPOCH))
    cluster = host.devices[0].clusters[1]
    cluster.locked = True
    steps = host.alloc(0, 0)
    while next(steps) != "lock":
        pass
    cluster.used = 0b11
    cluster.locked = False
    assert finish(steps) == (0, 512 + 2)
    assert host.counts["stray"] == 1


@pytest.mark.parametrize(
    ("why", "grant", "order"),
    [
        ("taken back", Grant(1, 0, 0, EPOCH, valid=False), 0),
        ("device gone", Grant(1, 3, 0, EPOCH), 0),
        ("epoch", Grant(1, 0, 0, EPOCH + 1), 0),
        ("flags", Grant(0, 5, 4, EPOCH), 4),
        ("priority", Grant(0, 6, 0, EPOCH), 0),
        ("order", Grant(1, 0, 3, EPOCH), 4),
        ("place", Grant(4, 0, 0, EPOCH), 0),
        ("empty", Grant(0, 0, 9, EPOCH), 9),
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
    put(host, 4, Grant(1, 0, 4, EPOCH))
    assert finish(host.alloc(0, 4)) is not None
    assert (host.counts["no table"], host.counts["hit"], host.held) == (1, 0, [{}])


def test_no_run_lets_a_large_order_fail_at_once(host):
    host.lines.no_run = 1 << 4
    assert finish(host.alloc(0, 4)) is None
    assert host.counts["searched"] == 0
    assert finish(host.alloc(0, 2)) is not None
