# SPDX-License-Identifier: Apache-2.0
"""Configurations in which the series' options cannot be chosen: minutes, so `make test-matrix` alone runs this."""

from dataclasses import replace
from pathlib import Path

import pytest
from hwswap.kernel.build_matrix import BACKEND, WHOLE_SERIES, Builds, Cell
from hwswap.kernel.patch_steps import PATCHES, StepError, kernel_source, work_folder
from rich.progress import Progress

REFUSING = [cell for cell in WHOLE_SERIES if cell.refused and cell.base == "defconfig"]


def test_what_is_not_supported_cannot_be_chosen(tmp_path: Path) -> None:
    """And the rest can: the same way would be seen to refuse everything otherwise."""
    log = tmp_path / "log"
    with work_folder("kernel-options") as work:
        builds = Builds(work, kernel_source(), Progress(disable=True))
        for patch in sorted(PATCHES.glob("*.patch")):
            builds.patch(patch, log)
        faults = {
            (cell.arch, cell.name): builds.configure(replace(cell, builds=False), tmp_path, log, "")
            for cell in REFUSING
        }
        assert not {name: fault for name, fault in faults.items() if fault}
        assert not builds.configure(Cell("c", builds=False), tmp_path, log, "")
        fault = builds.configure(Cell("c", (), BACKEND, builds=False), tmp_path, log, "")
        assert fault == "SWAP_OFFLOAD, SWAP_GRANTS can be chosen"
        with pytest.raises(StepError):
            builds.call(Cell("c", builds=False), ["no-such-target"], log, "")
