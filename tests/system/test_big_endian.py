# SPDX-License-Identifier: Apache-2.0
"""The driver is not built for a kernel whose bytes are in the other order."""

import subprocess
from pathlib import Path

import pytest
from hwswap.project import artifacts, paths


@pytest.mark.parametrize("big", [False, True])
def test_big_endian_is_refused(tmp_path: Path, big: bool) -> None:
    tree = artifacts.KERNEL.path().parent / "tree"
    flags = "-D__BIG_ENDIAN=4321" if big else ""
    command = ["make", "-C", tree, f"M={paths.ROOT / 'sw/driver/module'}", f"MO={tmp_path}", f"KCFLAGS={flags}"]
    done = subprocess.run([*command, "windows.o", "tables.o"], capture_output=True, text=True, check=False)
    refused = "hwswap needs a little-endian kernel" in done.stderr
    assert refused == big, done.stderr
    assert (done.returncode != 0) == big, done.stderr
