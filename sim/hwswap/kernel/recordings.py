# SPDX-License-Identifier: Apache-2.0
"""Recordings kept in the cache: one for each workload, seed, and content of all that a recording is made with.

What a recording depends on is named by content, never by a place, a date or another key: QEMU's version and program,
the kernel and its modules, the initramfs with /init, busybox and all programs, what a workload needs besides, the
workload itself with the machine that it asks for, and the sources of the guest (QEMU's arguments among them) and of the
recorder.
"""

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hwswap.kernel.record import WORKLOADS, needs, record
from hwswap.project import artifacts, paths, provenance

SOURCES = (
    "sim/hwswap/guest",
    "sim/hwswap/kernel/ftrace.py",
    "sim/hwswap/kernel/record.py",
    "sim/hwswap/traces/records.py",
    "sim/hwswap/traces/trace.py",
)
"""The guest, which makes QEMU's arguments and the initramfs with the job in it, and what makes a trace of its text."""


class Recording(NamedTuple):
    """A recording, and whether it was there already."""

    path: Path
    cached: bool


def _files(top: Path) -> list[Path]:
    """Return a file, or the files of a folder but for what Python left there, in order."""
    if top.is_file():
        return [top]
    return sorted(path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


@cache
def _content(path: Path, size: int, changed: int) -> str:
    """Return a file's SHA-256; size and time of change make a file that is not the same another one."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _qemu() -> list[Path]:
    """Return QEMU's program, and the one that it starts where it is a script beside a private root."""
    program = artifacts.QEMU.path().resolve()
    inner = program.parent / "root/usr/bin" / program.name
    return [program, inner] if inner.is_file() else [program]


def depends_on(workload: str) -> Iterator[tuple[str, Path]]:
    """Yield what is in each file that a recording of a workload depends on, and the file."""
    kernel = artifacts.KERNEL.path()
    script = WORKLOADS / f"{workload}.sh"
    tops = {
        "qemu": _qemu(),
        "kernel": [kernel],
        "modules": sorted((kernel.parent / "modules").glob("*.ko")),
        "initramfs": [artifacts.INITRAMFS.path()],
        "workload": [script],
        "needs": needs(workload, script.read_text()),
        "source": [paths.ROOT / name for name in SOURCES],
    }
    for what, there in tops.items():
        for top in there:
            for path in _files(top):
                yield what, path


def key(workload: str, seed: int) -> str:
    """Return 16 digits of a SHA-256 over workload, seed, QEMU's version, and the content of all that it depends on."""
    digest = hashlib.sha256(f"{workload} {seed} {provenance.qemu()}\n".encode())
    for what, path in depends_on(workload):
        status = path.stat()
        digest.update(f"{what} {path.name} {_content(path, status.st_size, status.st_mtime_ns)}\n".encode())
    return digest.hexdigest()[:16]


def place(workload: str, seed: int) -> Path:
    """Return where a recording is kept, whether it is there or not."""
    return paths.cache() / "recordings" / f"{workload}-{seed}-{key(workload, seed)}.hwst.gz"


def recorded(workload: str, seed: int, timeout: float, fresh: bool = False) -> Recording:
    """Return a recording, made now if it shall be fresh, or unless the cache has it; what has the name is complete."""
    path = place(workload, seed)
    if path.exists() and not fresh:
        return Recording(path, cached=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        record(workload, part, seed, timeout=timeout, quiet=True)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return Recording(path, cached=False)
