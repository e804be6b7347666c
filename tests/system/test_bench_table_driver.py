# SPDX-License-Identifier: Apache-2.0
"""The driver's part of `make bench-table`, in its short form."""

import json
from pathlib import Path

import pytest
from hwswap.bench import demo, driver, mode_costs
from hwswap.cli import main as cli
from hwswap.project import artifacts
from hwswap.rtl.device_server import EngineServer
from rich.console import Console

A_FEW = 5
"""Instructions of order 0 by which two figures of the same call may differ, and which the patches may cost while
nothing is registered. Of larger orders 1 %: which list a cluster came from is no difference of the allocator."""


@pytest.fixture(scope="module")
def report() -> dict:
    """Return the report of a short run."""
    assert cli.main(["bench", "driver", "--short"]) == 0
    return json.loads((driver.OUTPUT / "driver.json").read_text())


def test_every_mode_and_order(report: dict) -> None:
    seen = {(e["mode"], e["op"], e["order"]): e for e in report["bench"]}
    orders = {order for order, _ in driver.SHORT.runs}
    assert set(seen) == {(m, op, o) for m in driver.MODES for op in ("alloc", "free") for o in orders}
    for (mode, _, _), entry in seen.items():
        assert entry["n"] > 0, entry
        assert entry["failed"] == 0, entry
        # Somebody waited for the engine in these modes, and in no other.
        assert (entry["looks"] > 0) == (mode in ("trusted", "believed")), entry


def p50(bench: list[dict]) -> dict[tuple[str, int], int]:
    """Return the median of each operation and order."""
    return {(entry["op"], entry["order"]): entry["p50"] for entry in bench}


def column(report: dict, mode: str) -> dict[tuple[str, int], int]:
    """Return a column of the report: the median of each operation and order."""
    return p50([entry for entry in report["bench"] if entry["mode"] == mode])


def test_the_demo_measures_the_same(report: dict, folder: Path) -> None:
    """What the demo measures in mode off, behind a recording, is what is measured here without one."""
    demo.OUTPUT.mkdir(parents=True, exist_ok=True)
    collected = demo.Collected()
    engine = EngineServer(folder, pace="guest")
    demo.run_guest("short", 1, Console(quiet=True), collected, engine)
    off, stock = p50(collected.benches["off"]), column(report, "stock")
    assert off.keys() == stock.keys()
    for call, instructions in stock.items():
        assert abs(off[call] - instructions) <= max(A_FEW, instructions // 100), (call, off, stock)


def test_the_patches_alone_cost_little(report: dict) -> None:
    unpatched, stock = column(report, "unpatched"), column(report, "stock")
    for op in ("alloc", "free"):
        assert stock[op, 0] - unpatched[op, 0] <= A_FEW, (stock, unpatched)


def test_what_is_unpatched_lacks_our_options_and_nothing_else() -> None:
    patched, unpatched = (
        set((kernel.path().parent / "config").read_text().splitlines())
        for kernel in (artifacts.KERNEL, artifacts.KERNEL_UNPATCHED)
    )
    # The latter is of a patch of its own, and off in both.
    assert patched - unpatched == {
        "CONFIG_SWAP_GRANTS=y",
        "CONFIG_SWAP_OFFLOAD=y",
        "# CONFIG_SWAP_TABLE_RANGES is not set",
    }
    assert unpatched - patched == set()
    # What costs nothing but a NOP while it is switched off, and what a hook costs that is called, hangs on these.
    assert {"CONFIG_JUMP_LABEL=y", "CONFIG_HAVE_STATIC_CALL_INLINE=y"} <= patched


def test_a_column_of_grants_is_of_grants(report: dict) -> None:
    """A call that finds no grant is software's: its figure must not stand in a column of the engine's."""
    for entry in report["bench"]:
        if entry["mode"] in driver.GRANTED:
            assert entry["granted_share"] >= driver.LEAST_GRANTED, entry
        else:
            assert entry["granted_share"] == 0, entry
    assert driver.fallbacks(report) == []


def test_fallbacks_are_told(report: dict) -> None:
    poor = [{**entry, "granted_share": 0.5} if entry["order"] == 9 else entry for entry in report["bench"]]
    told = driver.fallbacks({"bench": poor})
    assert len(told) == len(driver.GRANTED)
    assert "mode hint, order 9: 50 %" in told[0]


def test_searches_by_software_and_engine(report: dict) -> None:
    software = [run for run in report["searches"] if run["by"] == "software"]
    engines = [run for run in report["searches"] if run["by"] == "engine"]
    assert len(software) == len(mode_costs.SEARCHES)
    assert [run["held"] for run in engines] == [run["held"] for run in software[:2]]
    engine = engines[0]
    assert engine["held"] > engines[1]["held"] > 0
    for run in engines:
        assert run["used_wrong"] == run["searches_failed"] == 0, run
    found = report["commands"]
    # At least a search for each cluster in which something is in use.
    assert found["searches_a_round"] >= 0.9 * (engine["with_table"] + 1) / mode_costs.CLUSTER
    # An empty cluster has no table to be looked at, a slot in use is looked at and more.
    assert 0 < found["slot_without_table_nsec"] < found["slot_nsec"] < found["slot_in_use_nsec"]


def test_fixed_windows_read_more_at_a_time(report: dict) -> None:
    runs = {(run["page_cluster"], run["fixed"]): run for run in report["swapoff"]}
    for cluster in driver.SHORT.clusters:
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
        cli.main(["bench", "driver", "--nsec", "-1"])
    assert ended.value.code != 0
    assert "--nsec is a time" in capsys.readouterr().err
