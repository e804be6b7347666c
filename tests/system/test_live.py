# SPDX-License-Identifier: Apache-2.0
"""`hwswap top` in a guest, to the end of its workload."""

import re

from hwswap.cli import main


def test_top_shows_a_guest_until_its_workload_ends(capsys):
    assert main.main(["top", "--workload", "brief"]) == 0
    said = capsys.readouterr().out
    assert said.split()[0] == "attached"
    (placed,) = re.findall(r"allocations placed by grants\W+([\d,]+)", said)
    assert int(placed.replace(",", "")) > 0
