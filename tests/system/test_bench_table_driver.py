# SPDX-License-Identifier: Apache-2.0
"""The driver's part of `make bench-table`, in its short form."""

import json

import pytest
from hwswap import bench_table_driver


@pytest.fixture(scope="module")
def report() -> dict:
    """Return the report of a short run."""
    assert bench_table_driver.main(["--short"]) == 0
    return json.loads((bench_table_driver.OUTPUT / "driver.json").read_text())


def test_every_mode_and_order(report: dict) -> None:
    seen = {(e["mode"], e["op"], e["order"]): e for e in report["bench"]}
    orders = {order for order, _ in bench_table_driver.SHORT.runs}
    assert set(seen) == {(m, op, o) for m in bench_table_driver.MODES for op in ("alloc", "free") for o in orders}
    for (mode, _, _), entry in seen.items():
        assert entry["n"] > 0, entry
        assert entry["failed"] == 0, entry
        # Somebody waited for the engine in these modes, and in no other.
        assert (entry["looks"] > 0) == (mode in ("trusted", "believed")), entry


def test_fixed_windows_read_more_at_a_time(report: dict) -> None:
    runs = {(run["page_cluster"], run["fixed"]): run for run in report["swapoff"]}
    for cluster in bench_table_driver.SHORT.clusters:
        adaptive, fixed = runs[cluster, False], runs[cluster, True]
        assert adaptive["pages"] == fixed["pages"] == adaptive["sectors"] // 8
        assert fixed["reads"] < adaptive["reads"]
        assert fixed["nsec"] < adaptive["nsec"]


def test_tables_come_and_go_with_clusters(report: dict) -> None:
    filled = [run for run in report["tables"] if run["phase"] == "fill"]
    emptied = [run for run in report["tables"] if run["phase"] == "empty"]
    assert [run["tables"] for run in filled] == sorted(run["tables"] for run in filled)
    assert emptied[-1]["in_use"] < filled[-1]["in_use"]
    for run in filled + emptied:
        assert run["table_bytes"] == 4096 * run["tables"], run
        # A tree has at least a node for 64 slots in use, and the one above.
        assert run["tree_nodes"] > run["in_use"] / 64, run
        assert run["empty"] < run["table"] < run["tree"], run


def test_a_negative_latency_is_refused(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as ended:
        bench_table_driver.main(["--nsec", "-1"])
    assert ended.value.code != 0
    assert "--nsec is a time" in capsys.readouterr().err
