# SPDX-License-Identifier: Apache-2.0
"""The firmware's two allocators on several harts: as threads of the host, under the thread sanitizer.

No slot is given twice, and the sanitizer finds no data race. Without any one of the kinds of locks it does, or the
program finds a fault by itself, or does not end.
"""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hwswap.project.paths import ROOT
from programs import run

FIRMWARE = ROOT / "litex" / "firmware"
HARTS = 4

KINDS = {"cluster": "LOCK_CLUSTER", "device": "LOCK_DEVICE", "list": "LOCK_LIST", "memory": "LOCK_MEMORY"}

BOTH = pytest.mark.parametrize("name", ["stock", "tuned"])


def compiled(folder: Path, without: str | None = None) -> Path:
    """The program, with all locks or without those of a kind."""
    # A source looks for headers beside itself first.
    allocators = shutil.copytree(FIRMWARE / "allocator", folder / "allocator")
    if without:
        text = (allocators / "locks.h").read_text()
        for start, early in (
            ("static inline void lock_take(union lock *lock, enum lock_kind kind) {\n  const", "return"),
            ("static inline bool lock_try(union lock *lock, enum lock_kind kind) {\n  uint32_t", "return true"),
            (
                "static inline void lock_drop(union lock *lock, enum lock_kind kind) {\n  (void)kind;\n  __atomic",
                "return",
            ),
        ):
            assert text.count(start) == 1
            head, _, rest = start.partition("\n")
            text = text.replace(start, f"{head}\n  if (kind == {without})\n    {early};\n{rest}")
        (allocators / "locks.h").write_text(text)
    program = folder / "threads"
    command = ["gcc", "-std=gnu17", "-O1", "-g", "-fsanitize=thread", "-Wall", "-Wextra", "-Werror"]
    # Without the lock of shared memory, harts share all spare tables: it would seldom be missed otherwise.
    kept = 0 if without == KINDS["memory"] else 1
    command += [f"-DSWAP_HARTS={HARTS}", f"-DSWAP_TABLES_KEPT={kept}"]
    command += ["-I", ROOT / "hw" / "generated", "-I", allocators]
    command += [*allocators.glob("*.c"), *(FIRMWARE / "host").glob("*.c"), "-o", program, "-lpthread"]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    return program


def churn(program: Path, name: str, steps: int, seed: int, seconds: int) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TSAN_OPTIONS": "halt_on_error=1"}
    return run(program, name, HARTS, steps, seed, timeout=seconds, env=environment)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("threads"))


@BOTH
def test_harts_get_different_slots_and_no_data_is_raced_for(program, name):
    done = churn(program, name, 50_000, random.getrandbits(31), 300)
    assert done.returncode == 0, done.stderr[:3000]
    # It came to where there is no room.
    assert all(" 0 found no room" not in line for line in done.stdout.splitlines() if line.startswith("order 9"))
    assert len(done.stdout.splitlines()) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_kind_of_locks_it_fails(tmp_path, kind):
    broken = compiled(tmp_path, KINDS[kind])
    failed = []
    for name in ("stock", "tuned"):
        try:
            failed.append(churn(broken, name, 20_000, 1, 60).returncode != 0)
        except subprocess.TimeoutExpired:
            failed.append(True)
    assert all(failed)
