# SPDX-License-Identifier: Apache-2.0
"""What `make test-matrix` makes of configurations and logs; and the configurations that must be refused, as such."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hwswap.kernel import build_matrix
from hwswap.kernel.build_matrix import BACKEND, EACH_PREFIX, WHOLE_SERIES, Builds, Cell, Outcome
from hwswap.kernel.patch_steps import OUR_OPTIONS, PATCHES, StepError, work_folder
from rich.progress import Progress

REFUSING = [cell for cell in WHOLE_SERIES if cell.refused and cell.base == "defconfig"]


def test_each_choice_of_options_is_built_once() -> None:
    """All of them at once are what every other configuration has."""
    cells = [*EACH_PREFIX, *WHOLE_SERIES]
    assert Counter((cell.arch, cell.name) for cell in cells).most_common(1)[0][1] == 1
    choices = {
        tuple(line for line in cell.fragment(OUR_OPTIONS).splitlines() if line[7:].split("=")[0] in OUR_OPTIONS)
        for cell in cells
    }
    assert len(choices) == 2 ** len(OUR_OPTIONS)


def test_options_that_a_prefix_does_not_have_are_not_asked_for() -> None:
    cell = Cell("c", ("SMP=n", "SWAP_GRANTS=n"))
    assert cell.fragment([]) == "CONFIG_SMP=n\n"
    assert cell.fragment(["SWAP_GRANTS", "SWAP_OFFLOAD"]) == (
        "CONFIG_SWAP_GRANTS=n\nCONFIG_SWAP_OFFLOAD=y\nCONFIG_SMP=n\n"
    )


def test_what_is_refused_must_not_be_there_and_the_rest_must() -> None:
    cell = Cell("c", ("SMP=n",), ("SWAP_GRANTS",))
    known = ["SWAP_GRANTS", "SWAP_OFFLOAD"]
    config = "# CONFIG_SMP is not set\nCONFIG_SWAP_OFFLOAD=y\n"
    assert not cell.fault(known, config)
    assert cell.fault(known, config + "CONFIG_SWAP_GRANTS=y\n") == "SWAP_GRANTS can be chosen"
    assert "CONFIG_SWAP_OFFLOAD=y" in cell.fault(known, config.replace("CONFIG_SWAP_OFFLOAD=y\n", ""))
    assert "CONFIG_SMP=n" in cell.fault(known, config + "CONFIG_SMP=y\n")


def test_warnings_are_of_files_that_the_series_touches() -> None:
    files = build_matrix.touched(sorted(PATCHES.glob("*.patch")))
    assert {"mm/swapfile.c", "mm/swap_grants.h", "include/linux/swap_offload.h"} <= files
    assert build_matrix.is_in("/a/mm/swapfile.c: warning: unused variable 'x'", files)
    assert build_matrix.is_in("Warning: ../mm/swapfile.c No description found for return value of 'f'", files)
    assert not build_matrix.is_in("/a/mm/zswapfile.c: warning: unused variable 'x'", files)
    assert not build_matrix.is_in("/a/mm/vmscan.c: warning: of something in mm/swapfile.c", {"mm/other.c"})


def test_a_failing_cell_is_told_of_in_a_sentence() -> None:
    log = "  CC      mm/swapfile.o\nmm/swapfile.c:9:5: error: too few arguments\nmake[3]: *** [mm/swapfile.o] Error 1\n"
    outcome = Outcome("0007", Cell("HIBERNATION=y"), fault=build_matrix.first_error(log))
    assert not outcome.passed()
    assert outcome.sentence().startswith(
        "patch 0007, x86_64, HIBERNATION=y: mm/swapfile.c:9:5: error: too few arguments (log: "
    )
    warned = Outcome("0007", Cell("HIBERNATION=y"), warnings=["mm/swap.h: warning: this"])
    assert not warned.passed()
    assert "1 warnings, the first: mm/swap.h: warning: this" in warned.sentence()


def test_what_is_not_supported_cannot_be_chosen(tmp_path: Path) -> None:
    """And the rest can: the same way would be seen to refuse everything otherwise."""
    log = tmp_path / "log"
    with work_folder("kernel-options") as work:
        builds = Builds(work, build_matrix.kernel_source(), Progress(disable=True))
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
