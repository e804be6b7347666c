# SPDX-License-Identifier: Apache-2.0
"""`hwswap top` in a guest, to the end of its workload."""

from hwswap.cli import main


def test_top_shows_a_guest_until_its_workload_ends(capsys):
    assert main.main(["top", "--workload", "brief"]) == 0
    said = capsys.readouterr().out
    assert "attached" in said and "allocations placed by grants" in said
