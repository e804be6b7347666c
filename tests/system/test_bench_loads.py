# SPDX-License-Identifier: Apache-2.0
"""`hwswap bench loads` in a guest: one load, small, without the engine and with it; each kind of them, smaller."""

import json
from pathlib import Path

from hwswap.cli import main as cli
from hwswap.loads import catalogue


def test_a_load_swaps_in_each_column_and_grants_place_it(tmp_path: Path) -> None:
    arguments = ["usemem-random", "--runs", "2", "--scale", "15", "--columns", "unpatched,hint"]
    assert cli.main(["bench", "loads", *arguments, "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "loads.json").read_text())
    unpatched, hint = (report["loads"]["usemem-random"][column] for column in ("unpatched", "hint"))
    assert len(unpatched) == len(hint) == report["runs"] == 2
    for run in unpatched + hint:
        assert run["pages out"] > 0
        assert run["in the kernel, a page out or in"] > 0
        assert run["to free a page of the load"] > 0
    # The engine is late at the beginning of a run, when swap is new.
    for run in hint:
        assert run["placed by grants"] >= run["folios out"] / 2
        assert run["grants refused"] <= run["grants taken"] / 10
    assert all(run["placed by grants"] is None for run in unpatched)


def test_each_kind_of_load_swaps(tmp_path: Path) -> None:
    names = [load.name for load in catalogue.loads() if load.name not in ("mixed-70", "mixed-80", "mixed-98")]
    arguments = [*names, "--runs", "1", "--scale", "10", "--columns", "unpatched", "--output", str(tmp_path)]
    assert cli.main(["bench", "loads", *arguments]) == 0
    report = json.loads((tmp_path / "loads.json").read_text())
    assert list(report["loads"]) == names
    for columns in report["loads"].values():
        (run,) = columns["unpatched"]
        assert run["pages out"] > 0
        assert run["in the kernel, a page out or in"] > 0
