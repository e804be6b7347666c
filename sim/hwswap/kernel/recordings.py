# SPDX-License-Identifier: Apache-2.0
"""Recordings kept in the cache: one for each workload, seed, and content of all that a recording is made with."""

import hashlib
import os
from pathlib import Path

from hwswap.kernel.record import WORKLOADS, needs, record
from hwswap.project import artifacts, paths

_SOURCES = ("sim/hwswap/kernel/ftrace.py", "sim/hwswap/kernel/record.py", "sim/guest/init")


def _files(top: Path) -> list[Path]:
    """Return a file, or the files of a folder, in order."""
    return [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())


def key(workload: str, seed: int) -> str:
    """Return 16 digits of a SHA-256 over what makes a recording: kernel, programs, recorder, workload, seed."""
    digest = hashlib.sha256(f"{workload} {seed} {artifacts.KERNEL.path().resolve().parent.name}\n".encode())
    sources = [paths.ROOT / name for name in _SOURCES]
    script = WORKLOADS / f"{workload}.sh"
    for folder in needs(workload, script.read_text()):
        digest.update(folder.resolve().name.encode())
    for top in (script, paths.ROOT / "sw/driver/workloads", *sources):
        for path in _files(top):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def place(workload: str, seed: int) -> Path:
    """Return where a recording is kept, whether it is there or not."""
    return paths.cache() / "recordings" / f"{workload}-{seed}-{key(workload, seed)}.hwst.gz"


def recorded(workload: str, seed: int, timeout: float) -> Path:
    """Return a recording, made now unless the cache has it; what has the name is complete."""
    path = place(workload, seed)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{os.getpid()}-{path.name}")
        try:
            record(workload, part, seed, timeout=timeout, quiet=True)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return path
