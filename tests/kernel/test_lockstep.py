# SPDX-License-Identifier: Apache-2.0
"""What a lock-step run makes of its traces: what is missing, what is recorded next, what is wrong."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hwswap.kernel import lockstep, recordings
from hwswap.kernel.lockstep import Row, best, faults, finish, missing, sequence_of, total
from hwswap.traces.records import Op
from hwswap.traces.turns import DECISIONS, DISCARDS, MINIMUM, STEALS
from tracepoint_text import FIRST, ON, SECOND, made_of, text


def row(name: str, decisions: int, forced: int = 0, difference: str = "", **covered: int) -> Row:
    """Return a trace's row; `covered` is by the first word of the turn's name."""
    coverage = {turn: covered.get(turn.split()[0], 0) for turn in MINIMUM} | {DECISIONS: decisions}
    causes = {"a cluster's lock was taken": forced} if forced else {}
    return Row(name, 2, decisions, decisions - forced, causes, coverage=coverage, difference=difference)


def test_what_is_missing_is_what_is_left_to_the_minimum():
    rows = [row("a-1", 600, steals=7), row("a-2", 600, steals=1)]
    assert total(rows)[DECISIONS] == 1200
    assert missing(rows, {DECISIONS: 1000, STEALS: 10, DISCARDS: 3}) == {STEALS: 2, DISCARDS: 3}


def test_the_next_recording_brings_what_is_missing():
    rows = [row("fast-1", 90_000), row("stealing-1", 30_000, steals=50), row("discarding-1", 8_000, discards=40)]
    assert best(rows, {DECISIONS: 500_000}, Counter()) == "fast"
    assert best(rows, {STEALS: 100}, Counter()) == "stealing"
    assert best(rows, {STEALS: 40, DISCARDS: 40}, Counter(["stealing"])) == "discarding", "one is under way"


def test_faults_are_differences_what_is_missing_and_too_many_forced():
    good = row("a-1", 1000, forced=10, steals=5)
    assert faults([good], {STEALS: 5}) == []
    assert faults([good], {STEALS: 6}) == ["1 too few: steals"]
    assert "more than 1 %" in faults([row("a-1", 1000, forced=11)], {})[0]
    assert faults([row("a-1", 1000, difference="operation 7: other")], {}) == ["a-1: operation 7: other"]


def test_one_cpu_runs_free_but_for_what_a_swapoff_leaves_behind():
    alone = row("a-1", 1000, forced=1)
    alone.cpus = 1
    assert faults([alone], {}) == ["a-1: forced, though there is one CPU: a cluster's lock was taken"]
    alone.causes = {lockstep.GONE: 1}
    assert faults([alone], {}) == []


def test_the_end_of_a_run_is_tables_json_and_the_exit_status(tmp_path, capsys):
    output = tmp_path / "build" / "lockstep.json"
    assert finish([row("a-1", 1000, steals=5)], 1, {STEALS: 5}, output) == 0
    written = json.loads(output.read_text())
    assert written["coverage"][STEALS] == 5
    assert written["faults"] == []
    printed = capsys.readouterr().out
    assert "a-1" in printed
    assert "lockstep: 1,000 of 1,000 decisions equal" in printed.splitlines()[-1]
    assert finish([row("a-1", 1000)], 1, {STEALS: 5}, output) == 1
    assert "5 too few: steals" in capsys.readouterr().out


def test_a_trace_with_details_becomes_a_sequence_and_a_wrong_one_a_difference():
    sequence, forced, difference = sequence_of(made_of(text(*ON, *FIRST, *SECOND)))
    assert sum(record.op == Op.ALLOC for record in sequence.records) == 2
    assert not forced
    assert difference == ""
    wrong = [line.replace("offset=528", "offset=544") for line in SECOND]
    _, _, difference = sequence_of(made_of(text(*ON, *FIRST, *wrong)))
    assert "device 0 offset 544" in difference


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HWSWAP_CACHE", str(tmp_path))
    kernel = tmp_path / "kernel-1" / "bzImage"
    kernel.parent.mkdir()
    kernel.touch()
    monkeypatch.setenv("HWSWAP_KERNEL", str(kernel))
    return tmp_path


def test_a_recording_is_made_once(cache, monkeypatch):
    made = []

    def record(workload, output, seed, timeout, quiet):
        made.append((workload, seed))
        output.write_bytes(b"trace")

    monkeypatch.setattr(recordings, "record", record)
    first = recordings.recorded("hogs", 1, 10)
    assert recordings.recorded("hogs", 1, 10) == first
    assert first.read_bytes() == b"trace"
    assert recordings.recorded("hogs", 2, 10) != first
    assert made == [("hogs", 1), ("hogs", 2)]


def test_a_recording_that_was_interrupted_leaves_nothing(cache, monkeypatch):
    def record(workload, output, seed, timeout, quiet):
        output.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(recordings, "record", record)
    with pytest.raises(KeyboardInterrupt):
        recordings.recorded("hogs", 1, 10)
    assert list((cache / "recordings").iterdir()) == []


def test_another_kernel_is_another_recording(cache, monkeypatch):
    first = recordings.place("hogs", 1)
    other = cache / "kernel-2" / "bzImage"
    other.parent.mkdir()
    other.touch()
    monkeypatch.setenv("HWSWAP_KERNEL", str(other))
    assert recordings.place("hogs", 1) != first


def test_every_workload_is_part_of_a_run():
    from hwswap.kernel.record import workloads

    assert sorted([*lockstep.WORKLOADS, "brief", "readahead"]) == workloads()


STOPPED = """
import os, signal, sys, time
from pathlib import Path
from hwswap.kernel import lockstep, recordings
from hwswap.project import processes

folder = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background

def recorded(workload, seed, timeout):
    guest = processes.start(["sleep", "600"], folder / "log")
    (folder / f"{workload}.began").write_text(f"{os.getpid()} {guest.pid}")
    try:
        time.sleep(600)
    finally:
        time.sleep(0.5)  # ending a guest takes its time, too
        processes.stop(guest)
        (folder / f"{workload}.ended").touch()

recordings.recorded = recorded
lockstep.record_all(1, {}, 2, ("one", "two", "three"))
"""
"""A lock-step run whose recordings are processes that never end."""


def alive(pid):
    """Tell whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("whom", ["the run alone", "all in the foreground", "the run, which is killed"])
def test_an_interrupted_run_leaves_no_process_behind(whom, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "output").open("wb") as output:
        run = subprocess.Popen(
            [sys.executable, "-c", STOPPED, str(tmp_path)],
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=environment,
        )
    try:
        deadline = time.monotonic() + 60
        while len(begun := [path.read_text().split() for path in tmp_path.glob("*.began")]) < 2 or [] in begun:
            assert time.monotonic() < deadline, (tmp_path / "output").read_text()
            assert run.poll() is None, (tmp_path / "output").read_text()
            time.sleep(0.05)
        if whom == "all in the foreground":
            os.killpg(run.pid, signal.SIGINT)
        else:
            run.send_signal(signal.SIGKILL if "killed" in whom else signal.SIGINT)
        assert run.wait(30) != 0
        if "killed" in whom:
            time.sleep(1)
        else:
            assert sorted(path.stem for path in tmp_path.glob("*.ended")) == ["one", "two"]
        assert not [pid for pids in begun for pid in pids if alive(pid)]
        assert not (tmp_path / "three.began").exists()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
