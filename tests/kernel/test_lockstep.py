# SPDX-License-Identifier: Apache-2.0
"""What a lock-step run makes of its traces: what is missing, what is recorded next, what is wrong."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hwswap.cli import main as cli
from hwswap.compare.forced_lists import GONE, RECLAIMED_SLOTS, SKIPPED
from hwswap.kernel import lockstep, recordings
from hwswap.kernel.lockstep import best, finish
from hwswap.kernel.lockstep_report import Row, faults, figure, missing, total
from hwswap.project.paths import ROOT
from hwswap.traces import trace
from hwswap.traces.turns import DECISIONS, DISCARDS, MINIMUM, STEALS
from tracepoint_text import FIRST, ON, SECOND, made_of, text


def row(name: str, decisions: int, forced: int = 0, difference: str = "", **covered: int) -> Row:
    """Return a trace's row; `covered` is by the first word of the turn's name."""
    coverage = {turn: covered.get(turn.split()[0], 0) for turn in MINIMUM} | {DECISIONS: decisions}
    causes = {GONE: forced} if forced else {}
    return Row(name, 2, decisions, 0, causes, coverage=coverage, difference=difference)


def test_what_is_missing_is_what_is_left_to_the_minimum():
    rows = [row("a-1", 600, steals=7), row("a-2", 600, steals=1)]
    assert total(rows)[DECISIONS] == 1200
    assert missing(rows, {DECISIONS: 1000, STEALS: 10, DISCARDS: 3}) == {STEALS: 2, DISCARDS: 3}


def test_the_next_recording_brings_what_is_missing():
    rows = [row("fast-1", 90_000), row("stealing-1", 30_000, steals=50), row("discarding-1", 8_000, discards=40)]
    assert best(rows, {DECISIONS: 500_000}) == "fast"
    assert best(rows, {STEALS: 100}) == "stealing"
    assert best(rows, {DISCARDS: 40}) == "discarding"


def test_faults_are_differences_what_is_missing_and_too_many_forced():
    good = row("a-1", 100_000, forced=10, steals=5)
    assert faults([good], {STEALS: 5}) == []
    assert faults([good], {STEALS: 6}) == ["1 too few: steals"]
    assert "more than 0.01 %" in faults([row("a-1", 100_000, forced=11)], {})[0]
    assert faults([row("a-1", 1000, forced=6)], {}) == [], "a few in a short trace"
    assert "more than 6" in faults([row("a-1", 1000, forced=7)], {})[0]


def test_locks_that_were_taken_count_in_a_run_and_have_a_bound_of_their_own_in_a_trace():
    """How many they are hangs on the host's load."""
    bad, good = row("a-1", 100_000), row("b-1", 4_700_000)
    bad.causes = {SKIPPED: 480}
    assert faults([bad], {}) == []
    assert faults([bad, good], {}) == []
    (fault,) = faults([bad, row("b-1", 4_690_000)], {})
    assert (
        "480 steps are forced (480 of them by a lock that was taken) in 4,790,000 decisions, more than 0.01 %" in fault
    )
    assert "run it again with FRESH=1 on a host with free processors, or with more decisions" in fault
    bad.causes = {SKIPPED: 501}
    assert faults([bad], {})[0].startswith("a-1: 501 steps are forced by a lock that was taken in 100,000 decisions")
    assert faults([row("a-1", 1000, difference="operation 7: other")], {}) == ["a-1: operation 7: other"]


def test_all_causes_together_are_bounded():
    """Locks and others are each within the bound; a few are allowed in a short run."""
    both = row("a-1", 50_000)
    both.causes = {SKIPPED: 6, GONE: 5}
    (fault,) = faults([both, row("b-1", 50_000)], {})
    assert "11 steps are forced (6 of them by a lock that was taken) in 100,000 decisions" in fault
    assert faults([both, row("b-1", 60_000)], {}) == []
    both.causes = {SKIPPED: 3, GONE: 3}
    assert faults([both, row("b-1", 1_000)], {}) == []
    assert "host" not in faults([row("a-1", 1000, forced=7), row("b-1", 1_000)], {})[0], "that is not the locks' doing"


def test_reclaims_are_followed_and_not_bounded():
    """Which slots only the swap cache held, the trace alone can tell."""
    both = row("a-1", 1000)
    both.causes = {RECLAIMED_SLOTS: 300, GONE: 2}
    assert both.forced == 2
    assert faults([both], {}) == []


def test_several_cpus_are_for_the_golden_model_alone(tmp_path):
    recorded = made_of(text(*ON, *FIRST, *SECOND))
    recorded.header.cpus = 2
    trace.write(tmp_path / "a.hwst", recorded.header, recorded.records)
    made = lockstep.run_trace(tmp_path / "a.hwst", "a", build=tmp_path / "no-such-program")
    assert (made.decisions, made.compared, made.difference) == (2, 0, "")


def test_one_cpu_runs_free_but_for_what_a_swapoff_leaves_behind():
    alone = row("a-1", 1000, forced=1)
    alone.cpus = 1
    alone.causes = {SKIPPED: 1}
    assert faults([alone], {}) == ["a-1: forced, though there is one CPU: a cluster's lock was taken"]
    alone.causes = {GONE: 1}
    assert faults([alone], {}) == []


def test_the_end_of_a_run_is_tables_json_and_the_exit_status(tmp_path, capsys):
    output = tmp_path / "build" / "lockstep.json"
    assert finish([row("a-1", 1000, steals=5)], 1, {STEALS: 5}, output) == 0
    written = json.loads(output.read_text())
    assert written["coverage"][STEALS] == 5
    assert written["faults"] == []
    printed = capsys.readouterr().out
    assert "a-1" in printed
    assert "lockstep: 1,000 decisions equal on the golden model" in printed.splitlines()[-1]
    assert finish([row("a-1", 1000)], 1, {STEALS: 5}, output) == 1
    assert "5 too few: steals" in capsys.readouterr().out


def replay_report(**changes):
    """Return what a replay reports of 7 allocations and 2 discards, all equal."""
    numbers = {"alloc": 5, "alloc_failed": 2, "discard_take": 2, "free": 9}
    counters = {"alloc_fast": 5, "alloc_fail": 2, "frees": 9}
    kinds = {kind: {"count": number} for kind, number in (numbers | changes).items() if kind in numbers}
    counters |= {name: number for name, number in changes.items() if name in counters}
    return {"cycles_by_kind": kinds, "statistics": counters}


def test_decisions_are_counted_by_what_the_rtl_reported():
    assert lockstep.equal_decisions(replay_report()) == 9
    assert lockstep.equal_decisions({}) == 0
    assert lockstep.too_few(replay_report(), 9) == ""
    assert "given 10 decisions, and its replay reports 9" in lockstep.too_few(replay_report(), 10)
    assert "given 9 decisions, and its replay reports 8" in lockstep.too_few(replay_report(alloc=4), 9)
    assert "7 allocations, and its own counters have 6" in lockstep.too_few(replay_report(alloc_fast=4), 9)


def test_a_decision_that_differs_is_named(tmp_path):
    wrong = [line.replace("offset=528", "offset=544") for line in SECOND]
    recorded = made_of(text(*ON, *FIRST, *wrong))
    trace.write(tmp_path / "a.hwst", recorded.header, recorded.records)
    assert "device 0 offset 544" in lockstep.run_trace(tmp_path / "a.hwst", "a").difference


QEMU = """#!/bin/sh
echo QEMU emulator version ${VERSION:-1}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and stand-ins of all that a recording is made with."""
    monkeypatch.setenv("HWSWAP_CACHE", str(tmp_path))
    places = {
        "HWSWAP_KERNEL": "kernel/bzImage",
        "HWSWAP_INITRAMFS": "guest/initramfs.cpio.gz",
        "HWSWAP_QEMU": "qemu/qemu-system-x86_64",
    }
    for variable, place in places.items():
        file = tmp_path / place
        file.parent.mkdir()
        file.write_text(QEMU)
        file.chmod(0o755)
        monkeypatch.setenv(variable, str(file))
    for place in ("kernel/modules/zram.ko", "qemu/root/usr/bin/qemu-system-x86_64"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("1")
    return tmp_path


def test_a_recording_is_made_once_unless_it_shall_be_fresh(cache, monkeypatch):
    made = []

    def record(workload, output, seed, timeout, quiet):
        made.append((workload, seed))
        output.write_bytes(b"trace %d" % len(made))

    monkeypatch.setattr(recordings, "record", record)
    first = recordings.recorded("hogs", 1, 10)
    assert not first.cached
    assert recordings.recorded("hogs", 1, 10) == (first.path, True)
    assert first.path.read_bytes() == b"trace 1"
    assert recordings.recorded("hogs", 2, 10).path != first.path
    assert recordings.recorded("hogs", 1, 10, fresh=True) == first
    assert first.path.read_bytes() == b"trace 3"
    assert made == [("hogs", 1), ("hogs", 2), ("hogs", 1)]


def test_a_recording_that_was_interrupted_leaves_nothing(cache, monkeypatch):
    def record(workload, output, seed, timeout, quiet):
        output.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(recordings, "record", record)
    with pytest.raises(KeyboardInterrupt):
        recordings.recorded("hogs", 1, 10)
    assert list((cache / "recordings").iterdir()) == []


@pytest.mark.parametrize(
    "what",
    [
        "kernel/bzImage",
        "kernel/modules/zram.ko",
        "guest/initramfs.cpio.gz",
        "qemu/qemu-system-x86_64",
        "qemu/root/usr/bin/qemu-system-x86_64",
    ],
)
def test_what_a_recording_is_made_with_is_in_its_key(what, cache):
    """Its content counts, and neither its place nor its date."""
    first = recordings.place("hogs", 1)
    text = (cache / what).read_text()
    (cache / what).write_text(text)
    os.utime(cache / what, (1, 1))
    assert recordings.place("hogs", 1) == first
    (cache / what).write_text(text + "# another one\n")
    assert recordings.place("hogs", 1) != first


def test_versions_and_needs_are_in_the_key(cache, tmp_path, monkeypatch):
    """QEMU's version, and a folder that a workload needs."""
    monkeypatch.setattr(recordings, "needs", lambda workload, text: [tmp_path / "redis"])
    (tmp_path / "redis").mkdir()
    keys = []
    for version, content in (("1", "1"), ("2", "1"), ("2", "2")):
        monkeypatch.setenv("VERSION", version)
        (tmp_path / "redis/redis-server").write_text(content)
        keys.append(recordings.place("redis-bgsave", 1))
    assert len(set(keys)) == 3


@pytest.mark.parametrize("what", ["sim/guest/workloads/hogs.sh", *recordings.SOURCES])
def test_the_sources_of_guest_and_recorder_are_in_the_key(what, cache, tmp_path, monkeypatch):
    """QEMU's arguments, the archive with the job, the machine that a workload asks for, what becomes of the text."""
    clone = tmp_path / "clone"
    for folder in ("sim/hwswap", "sim/guest"):
        shutil.copytree(ROOT / folder, clone / folder)
    monkeypatch.setattr(recordings.paths, "ROOT", clone)
    monkeypatch.setattr(recordings, "WORKLOADS", clone / "sim/guest/workloads")
    first = recordings.place("hogs", 1)
    for file in [clone / what] if (clone / what).is_file() else (clone / what).glob("*.py"):
        before = file.read_text()
        file.write_text(f"{before}# another line\n")
        assert recordings.place("hogs", 1) != first
        file.write_text(before)


def test_the_last_line_says_what_came_out_of_the_cache():
    rows = [row("a-1", 1000), row("b-1", 1000)]
    assert figure(rows).endswith("traces that were there")
    for each in rows:
        each.seconds = {"recording": 1.0}
    assert figure(rows).endswith("all 2 recordings fresh")
    rows[1].cached = True
    assert figure(rows).endswith("1 of 2 recordings out of the cache: b-1")


@pytest.mark.parametrize(
    ("arguments", "fresh", "seed"),
    [
        ([], False, 1),
        (["--fresh"], True, None),
        (["--fresh", "--seed", "7"], True, 7),
        (["--decisions", "10000000"], True, None),
        (["--decisions", "10000000", "--no-fresh"], False, 1),
    ],
)
def test_the_long_form_is_fresh_unless_told_otherwise(arguments, fresh, seed, monkeypatch, capsys):
    """A fresh run has a seed of its own, which is printed."""
    asked = []
    monkeypatch.setattr(lockstep, "record_all", lambda *args, **named: asked.append((args[0], named["fresh"])) or [])
    monkeypatch.setattr(lockstep, "finish", lambda *args: 0)
    assert cli.main(["lockstep", *arguments]) == 0
    ((got, was_fresh),) = asked
    assert was_fresh == fresh
    assert got == seed or (seed is None and got > 1)
    assert f"from seed {got} on" in capsys.readouterr().out


STOPPED = """
import os, signal, sys, time
from pathlib import Path
from hwswap.kernel import lockstep, recordings
from hwswap.project import processes

folder = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background

def recorded(workload, seed, timeout, fresh):
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
