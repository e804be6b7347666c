# SPDX-License-Identifier: Apache-2.0
"""Sweeps on the Verilated engine, as a user runs them: what comes out, what is run again, what an interrupt leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import LocalCluster
from hwswap.cli import main as cli
from hwswap.project import paths
from hwswap.sweep import clusters, command, journal, parquet, plan

ROOT = Path(__file__).parents[2]
GRID = """name = "tiny"
[grid]
policy = ["linux", "indexed"]
latency = [16, 50]
load = ["churn", "recorded"]
[load.churn]
stream = 300
[load.recorded]
trace = "tests/data/random-churn.hwst.gz"
operations = 400
"""


@pytest.fixture
def grid(tmp_path):
    """A sweep of eight points."""
    path = tmp_path / "tiny.toml"
    path.write_text(GRID)
    return path


@pytest.fixture
def here():
    """Return what runs the command in this process, and take back what it does at SIGTERM."""
    before = signal.getsignal(signal.SIGTERM)
    yield cli.main
    signal.signal(signal.SIGTERM, before)


def replayer(tmp_path: Path, before: str) -> str:
    """Return a replayer that does something before it is the real one."""
    path = tmp_path / "replayer"
    path.write_text(f'#!/bin/sh\n{before}\nexec "{paths.REPLAY}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_sweep_leaves_one_file_and_runs_nothing_twice(grid, tmp_path, hwswap):
    done = hwswap("sweep", grid, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "8 of 8 points, 8 of them measured now" in done.stdout
    sweep = parquet.read(tmp_path / "out/sweep.parquet")
    assert sweep.facts["name"] == "tiny" and sweep.facts["file"] == GRID
    assert {(row["load"], row["policy"], row["latency"]) for row in sweep.rows} == {
        (load, policy, latency)
        for load in ("churn", "recorded")
        for policy in ("linux", "indexed")
        for latency in (16, 50)
    }
    for row in sweep.rows:
        assert row["total_cycles"] == pytest.approx(row["cycles_per_operation"] * row["operations"])
        assert row["seed"] == (1 if row["load"] == "churn" else None)
        assert sum(rates["tried"] for rates in row["fall_back"]) > 0
        assert row["statistics"]["busy_cycles"] > 0
    cost = {(row["load"], row["policy"], row["latency"]): row["cycles_per_operation"] for row in sweep.rows}
    assert all(cost[load, policy, 16] < cost[load, policy, 50] for load, policy, _ in cost)

    # Without workers, as there is nothing for them to do.
    again = hwswap("sweep", grid, "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9")
    assert again.returncode == 0, again.stderr
    assert "8 of 8 points are done already" in again.stderr and "0 of them measured now" in again.stdout
    assert parquet.read(tmp_path / "out/sweep.parquet").rows == sweep.rows


def test_another_engine_is_measured_anew(grid, tmp_path, monkeypatch):
    found = plan.read(grid)
    before = command.programs(found)
    monkeypatch.setenv("HWSWAP_REPLAY", replayer(tmp_path, ": another program"))
    after = command.programs(found)
    keys = {plan.key(point, "s", program[point.engine.name]) for program in (before, after) for point in found.points}
    assert len(keys) == 16


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_done_before_an_interrupt_is_kept(grid, tmp_path, hwswap, number):
    out = tmp_path / "out"
    slow = os.environ | {"HWSWAP_REPLAY": replayer(tmp_path, "sleep 0.7")}
    words = [sys.executable, "-m", "hwswap", "sweep", str(grid), "-o", str(out), "--jobs", "1"]
    # Where the tests run as a shell's background job, which ignores SIGINT, a child would inherit that.
    words = ["env", "--default-signal=INT", *words]
    running = subprocess.Popen(words, env=slow, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    points = out / "points.jsonl"
    deadline = time.monotonic() + 120
    while not (points.exists() and points.read_text().count("\n") >= 2):
        assert running.poll() is None and time.monotonic() < deadline, running.communicate()
        time.sleep(0.05)
    running.send_signal(number)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130
    kept = points.read_text().count("\n")
    assert 2 <= kept < 8
    assert f"interrupted: {kept} of 8 points are done, the same command goes on" in " ".join(said.split())
    assert "Traceback" not in said
    assert len(parquet.read(out / "sweep.parquet").rows) == kept
    if number == signal.SIGINT:
        # A line that a crash has cut off counts as nothing.
        with points.open("a") as file:
            file.write('{"key": "cut off')
        done = hwswap("sweep", grid, "-o", out, "--jobs", "1", HWSWAP_REPLAY=slow["HWSWAP_REPLAY"])
        assert done.returncode == 0, done.stderr
        assert f"8 of 8 points, {8 - kept} of them measured now" in done.stdout


def test_a_point_whose_line_is_written_is_done_wherever_the_signal_comes(grid, here, tmp_path, capsys, monkeypatch):
    def interrupt(_file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal.os, "fsync", interrupt)
    assert here(["sweep", str(grid), "-o", str(tmp_path / "out"), "--jobs", "1"]) == 130
    said = " ".join(capsys.readouterr().err.split())
    assert "interrupted: 1 of 8 points are done, the same command goes on" in said
    assert len(parquet.read(tmp_path / "out/sweep.parquet").rows) == 1


def test_a_point_that_fails_is_one_sentence_and_the_others_are_done(grid, tmp_path, hwswap, monkeypatch):
    wrong = replayer(tmp_path, 'case "$*" in *"--latency 50"*) echo "operation 7: expected x, got y"; exit 1;; esac')
    done = hwswap("sweep", grid, "-o", tmp_path / "out", "--jobs", "1", HWSWAP_REPLAY=wrong)
    assert done.returncode == 1
    faults = [line for line in done.stderr.splitlines() if line.startswith("hwswap: ")]
    assert len(faults) == 4 and all("the engine does not decide as the golden model: operation 7" in f for f in faults)
    assert "4 of 8 points" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "out/points.jsonl").read_text().splitlines()]
    assert {row["latency"] for row in rows} == {16}


def test_a_scheduler_elsewhere_does_the_work(grid, here, tmp_path, capsys):
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        words = ["sweep", str(grid), "-o", str(tmp_path / "out"), "--scheduler", cluster.scheduler_address]
        assert here(words) == 0
    assert "8 of 8 points, 8 of them measured now" in capsys.readouterr().out


def test_no_scheduler_is_one_sentence(grid, here, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 1)
    assert here(["sweep", str(grid), "-o", str(tmp_path / "out"), "--scheduler", "tcp://127.0.0.1:9"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "no scheduler answers at tcp://127.0.0.1:9" in said


def test_slurm_is_given_jobs_that_are_workers(grid, tmp_path, hwswap):
    """With an sbatch that runs the job here, so that the job's script is tried as well."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    sbatch = 'cp "$1" "$0.job"; setsid bash "$0.job" >"$0.log" 2>&1 & echo "Submitted batch job $!"'
    for name, does in (("sbatch", sbatch), ("scancel", 'kill -- "-$1" 2>/dev/null || true')):
        path = bin_ / name
        path.write_text(f"#!/bin/bash\n{does}\n")
        path.chmod(0o755)
    done = hwswap(
        "sweep",
        grid,
        "-o",
        tmp_path / "out",
        "--slurm",
        "1",
        PATH=f"{bin_}:{os.environ['PATH']}",
        PYTHONPATH=os.environ["PYTHONPATH"],
    )
    assert done.returncode == 0, done.stderr
    assert "8 of 8 points" in done.stdout
    job = (bin_ / "sbatch.job").read_text()
    assert "#SBATCH --mem=2G" in job and sys.executable in job


def test_without_sbatch_it_says_so(grid, tmp_path, hwswap):
    done = hwswap("sweep", grid, "-o", tmp_path / "out", "--slurm", "1")
    assert done.returncode == 1
    assert "sbatch is not there" in " ".join(done.stderr.split())


def test_what_is_no_sweep_is_said(tmp_path):
    path = tmp_path / "a.parquet"
    with pytest.raises(RuntimeError, match="is not there: run `hwswap sweep` first"):
        parquet.read(path)
    path.write_text("nothing of the kind")
    with pytest.raises(RuntimeError, match="is no Parquet file of a sweep"):
        parquet.read(path)
