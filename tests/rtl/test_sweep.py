# SPDX-License-Identifier: Apache-2.0
"""Sweeps as a user runs them: results, points measured again, and files that cannot be measured."""

import json

import pytest
from hwswap.bench import sweep
from hwswap.cli import main as cli
from hwswap.project import paths
from hwswap.results import schema

GRID = """
[grid]
policy = ["linux", "indexed"]
latency = [16, 50]
[load.churn]
stream = 300
devices = 2
cpus = 2
clusters = 64
span = 16
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """Four points, and a folder of build/ of their own with the real replayer."""
    (tmp_path / "build/model").mkdir(parents=True)
    (tmp_path / "build/model/hwswap-replay").symlink_to(paths.REPLAY.resolve())
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    path = tmp_path / "tiny.toml"
    path.write_text(GRID)
    return path


def test_a_sweep_leaves_one_result_and_measures_nothing_twice(grid, capsys, monkeypatch):
    # Workers are processes of their own, which have another idea of where build/ is.
    monkeypatch.setattr(
        sweep, "LocalCluster", lambda **_: sweep.Client(processes=False, dashboard_address=None).cluster
    )
    assert cli.main(["sweep", str(grid)]) == 0
    assert "4 of 4 points, 4 of them measured now" in capsys.readouterr().out
    folder = grid.parent / "build/sweep/tiny"
    cycles = {f.what: f.value for f in schema.read(folder / "sweep-tiny.json").figures if f.unit != "allocations"}
    assert len(cycles) == 4 and all(value > 1 for value in cycles.values())
    for policy in ("linux", "indexed"):
        fast, slow = (cycles[f"churn, {policy}, latency {n}, stall 0 %, seed 1"] for n in (16, 50))
        assert fast < slow
    # The point that a crash cut off is measured again, and no other.
    journal = folder / "points.jsonl"
    journal.write_text(journal.read_text()[:-9])
    assert cli.main(["sweep", str(grid)]) == 0
    assert "4 of 4 points, 1 of them measured now" in capsys.readouterr().out
    assert all(json.loads(line)["cycles"] for line in journal.read_text().splitlines())


def test_no_slurm_is_one_sentence(grid, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert cli.main(["sweep", str(grid), "--slurm", "2"]) == 2
    assert "sbatch is not there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("latency = [16, 50]", "latency = [0]", "latency cannot be 0"),
        ('policy = ["linux", "indexed"]', 'policy = ["best"]', "policy cannot be 'best'"),
        ("[grid]", "[grid]\nspeed = [1]", "nobody knows 'speed'"),
        ("clusters = 64", "clusters = 0", "load churn cannot be made"),
        ("[load.churn]", "[churn]", "is no sweep"),
    ],
)
def test_a_file_that_cannot_be_measured_is_one_sentence(grid, refused, before, after, said):
    grid.write_text(GRID.replace(before, after))
    assert said in refused("sweep", grid)
