# SPDX-License-Identifier: Apache-2.0
"""The paths of everything that `make` builds. In build/ these are links into the cache, see sim/setup/build."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""Top of the repository."""

BUILD = ROOT / "build"
"""Derived files; removed by `make clean`."""

REPORTS = BUILD / "reports"
"""JUnit XML and logs."""

RTL = BUILD / "rtl" / "HwSwap.sv"
"""The engine's Verilog (`make verilog`)."""

REPLAY = BUILD / "model" / "hwswap-replay"
"""Replayer of operations on the Verilated engine (`make model`)."""

REPLAY_DRIVER = BUILD / "model-driver" / "hwswap-replay"
"""The replayer on the engine that the driver is used with (`make model-driver`)."""

REPLAY_WAVES = BUILD / "model-wave" / "hwswap-replay"
"""The replayer that can keep waves (`make regress WAVES=1`)."""

TARGETS = {
    "python": "setup",
    "qemu": "setup",
    "memhog": "bench-loads",
    "stress-ng": "bench-loads",
    "rtl": "verilog",
    "kernel-debug": "test-debug",
    "guest-debug": "test-debug",
    "kernel-races": "test-debug",
    "guest-races": "test-debug",
    "proof-rtl": "formal",
    "rtl-mutants": "mutate",
    "mutants": "mutate",
    "model-mutants": "mutate",
    "model-coverage": "coverage",
}
"""The make target of a folder of build/, if its name is another."""


def need(path: Path) -> Path:
    """Return `path`, or stop with one sentence that says which make target makes it."""
    if not path.exists():
        folder = path.relative_to(BUILD).parts[0] if path.is_relative_to(BUILD) else "setup"
        raise RuntimeError(f"{path} is missing: run `make {TARGETS.get(folder, folder)}` first.")
    return path


def write(path: Path, data: bytes) -> None:
    """Write a file, which is there whole, or as it was; OSError names it."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Give an empty folder that takes the place of `folder` at the end.

    A run that fails or is interrupted leaves the old one as it was, and what it has written in FOLDER.partial.
    """
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def cache() -> Path:
    """Folder that keeps slow results between clones: HWSWAP_CACHE, or hwswap/ in the user's cache directory."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("HWSWAP_CACHE") or Path(user) / "hwswap")
