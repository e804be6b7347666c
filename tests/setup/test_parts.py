# SPDX-License-Identifier: Apache-2.0
"""`sim/setup/parts`, which `make test` is made of, and `prune`."""

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import programs
import pytest

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "sim/setup"
DAY = 86_400


@pytest.fixture
def project(tmp_path):
    """A project of its own with the scripts, some targets, and an empty cache."""
    scripts = tmp_path / "sim/setup"
    scripts.mkdir(parents=True)
    for name in ("lib.sh", "parts", "prune"):
        shutil.copy(SETUP / name, scripts)
    (tmp_path / "Makefile").write_text("good:\n\t@env >seen\nbad:\n\t@exit 3\nlast:\n\t@echo $(WORD)\n")
    (tmp_path / "cache").mkdir()
    return tmp_path


def run(project: Path, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess:
    known = {"PATH": os.environ["PATH"], "HOME": str(project), "HWSWAP_CACHE": str(project / "cache")}
    return programs.run(project / "sim/setup" / script, *words, env=known | environment)


def test_a_part_that_fails_keeps_no_other_from_running(project):
    done = run(project, "parts", "bad", "good", "last WORD=said")
    assert done.returncode == 1 and "said" in done.stdout
    lines = (project / "build/reports/parts").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["bad", "good", "last"]
    assert "FAILED (2)" in lines[0] and lines[1].endswith("ok")


def test_parts_go_on_where_they_are_told(project):
    assert run(project, "parts", "--from", "good", "bad", "good").returncode == 0
    wrong = run(project, "parts", "--from", "none", "bad", "good")
    assert wrong.returncode == 1 and "there is no part 'none'" in wrong.stderr


def test_the_callers_environment_changes_no_test(project):
    assert run(project, "parts", "good", PYTEST_ADDOPTS="-x", HWSWAP_KERNEL="other", HWSWAP_SEED="7").returncode == 0
    seen = (project / "seen").read_text()
    assert "PYTEST_ADDOPTS" not in seen and "HWSWAP_KERNEL" not in seen and "HWSWAP_SEED=7" in seen


def entry(project: Path, name: str, days: int) -> Path:
    """An entry of the cache that was last used so many days ago."""
    path = project / "cache" / name
    path.mkdir()
    (path / "data").touch()
    used = time.time() - days * DAY
    os.utime(path, (used, used))
    return path


def test_prune_removes_what_was_not_used_for_long_but_nothing_in_use(project):
    old, new = entry(project, f"model-{'a' * 16}", 40), entry(project, f"model-{'b' * 16}", 3)
    used, foreign = entry(project, f"model-{'c' * 16}", 50), entry(project, "ccache", 90)
    half, made = entry(project, f"kernel-{'d' * 16}.part", 60), entry(project, f"kernel-{'e' * 16}.part", 60)
    (project / "build").mkdir()
    (project / "build/model").symlink_to(used)
    (project / "cache/locks").mkdir()
    with (project / "cache/locks" / f"kernel-{'e' * 16}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(project, "prune", "30")
    assert done.returncode == 0, done.stderr
    assert [path.exists() for path in (old, new, used, foreign, half, made)] == [False, True, True, True, False, True]


@pytest.mark.parametrize("words", [(), ("x",), ("30", "1")])
def test_prune_says_how_it_is_called(project, words):
    wrong = run(project, "prune", *words)
    assert wrong.returncode == 1 and "usage: prune" in wrong.stderr
