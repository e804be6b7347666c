# SPDX-License-Identifier: Apache-2.0
"""Check how the bench of the longest calls reads and judges the lines of its guests."""

import json
import struct

import pytest
from hwswap.bench import walk
from hwswap.guest.qemu import GuestError

SIZES = (1, 4)


def printed(calls: list[str], cost: int, failed: int = 9) -> str:
    """Return a guest's output; nothing is freed."""
    lines = []
    for gib in SIZES:
        for call in calls:
            for op, n in (("alloc", 9), ("free", 0)):
                said = json.dumps({"op": op, "n": n, "failed": failed if n else 0, "max": cost * gib})
                lines.append(f"@walk {call} {gib} {said}")
    return "\n".join([*lines, "@done"])


def test_one_slot_of_each_cluster_is_freed() -> None:
    operations = struct.unpack("<512Q", walk.frees((1,)))
    assert (operations[0], operations[511]) == (0x2004_0000_0000_0010, 0x2004_0000_0003_FE10)


def test_a_wide_search_without_a_bound_is_a_missed_target() -> None:
    lines = walk.entries("tuned", printed(list(walk.CALLS), walk.MOST // 2), SIZES)
    assert [target.name for target in walk.wanted({"lines": lines}) if not target.met] == [
        "longest call, wide search, 4 GiB"
    ]
    lines |= walk.entries("unpatched", printed(["nonfull", "again"], 7), SIZES)
    found = {(figure.what, figure.of): figure.value for figure in walk.figures({"lines": lines})}
    assert found["first call, 4 GiB", "unpatched"] == 28
    assert len(found) == 10


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        ("unpatched", printed(["nonfull", "again"], 7, failed=8)),
        ("unpatched", printed(["nonfull"], 7)),
        ("tuned", printed(["nonfull", "again"], 7)),
    ],
)
def test_a_folio_that_finds_room_and_a_call_that_is_missing_are_refused(kernel: str, text: str) -> None:
    with pytest.raises(GuestError, match=f"{kernel}: "):
        walk.entries(kernel, text, SIZES)
