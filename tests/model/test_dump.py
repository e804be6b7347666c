# SPDX-License-Identifier: Apache-2.0
"""Records of DUMP: clusters as the model holds them, and their form in memory."""

import pytest
from allocators import SSD
from hwswap.model.golden import DISCARD, Allocator
from hwswap.model.host_memory import ClusterState
from hwswap.model.rows import ALL, SLOTS
from hwswap_map import MEM_CLUSTER_STATE_BYTES, Flag, Status
from hypothesis import given
from hypothesis import strategies as st


def pack(state):
    return b"".join(word.to_bytes(8, "little") for word in state.words())


@given(st.integers(0, ALL), st.integers(0, 9), st.sampled_from(Flag), st.integers(0, 65535), st.integers(0, 65535))
def test_records_survive_memory(bitmap, order, flag, before, behind):
    state = ClusterState(bitmap, order, flag, before, behind)
    assert len(pack(state)) == MEM_CLUSTER_STATE_BYTES
    assert ClusterState.unpack(pack(state)) == state


def test_a_record_whose_count_is_wrong_is_refused():
    data = bytearray(pack(ClusterState(3, 0, Flag.FRAG)))
    data[8] = 1
    with pytest.raises(ValueError, match="COUNT is 2"):
        ClusterState.unpack(bytes(data))
    with pytest.raises(ValueError, match="80 bytes, not 72"):
        ClusterState.unpack(bytes(72))


def test_a_devices_clusters_are_told_through_its_life():
    model = Allocator()
    assert model.prepare(1, 3 * SLOTS - 2, 7, SSD | DISCARD) == Status.OK
    behind = 0b11 << SLOTS - 2
    assert model.dump(1) == [ClusterState(used, 0, Flag.NONE) for used in (1, 0, behind)]
    model.swapon(1)
    assert model.dump(1) == [
        ClusterState(1, 0, Flag.NONFULL, behind=9),
        ClusterState(0, 0, Flag.FREE),
        ClusterState(behind, 0, Flag.NONFULL, before=7),
    ]
    slots = model.alloc(0, 4)
    assert slots.offset == SLOTS
    assert model.dump(1)[1] == ClusterState(0xFFFF, 4, Flag.FRAG)
    model.free(1, slots.offset, 16)
    assert model.dump(1)[1] == ClusterState(0, 4, Flag.DISCARD)
    model.discard_take(1)
    assert model.dump(1)[1] == ClusterState(0, 4, Flag.DISCARD)
    model.discard_done(1, slots.offset)
    assert model.dump(1)[1] == ClusterState(0, 0, Flag.FREE)


def test_a_link_without_meaning_may_be_anything():
    first = ClusterState(0, 0, Flag.FREE, behind=9)
    assert first.masks()[-1] == 0xFFFF_FFFF
    assert first.is_shown(ClusterState(0, 0, Flag.FREE, before=77, behind=9))
    assert not first.is_shown(ClusterState(0, 0, Flag.FREE, before=77, behind=8))
    assert not first.is_shown(ClusterState(0, 1, Flag.FREE, before=77, behind=9))
