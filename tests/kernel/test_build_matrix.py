# SPDX-License-Identifier: Apache-2.0
"""Configurations and logs of `make test-matrix`: the options asked for, those refused, the sentence on a fault."""

from collections import Counter

from hwswap.kernel import build_matrix
from hwswap.kernel.build_matrix import EACH_PREFIX, WHOLE_SERIES, Cell, Outcome
from hwswap.kernel.patch_steps import OUR_OPTIONS, PATCHES


def test_each_choice_of_options_is_built_once() -> None:
    """Every other configuration has all options at once."""
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
    assert cell.fragment(["SWAP_GRANTS", "SWAP_ALLOC_BENCH"]) == (
        "CONFIG_SWAP_GRANTS=n\nCONFIG_SWAP_ALLOC_BENCH=y\nCONFIG_SMP=n\n"
    )


def test_what_is_refused_must_not_be_there_and_the_rest_must() -> None:
    cell = Cell("c", ("SMP=n",), ("SWAP_GRANTS",))
    known = ["SWAP_GRANTS", "SWAP_ALLOC_BENCH"]
    config = "# CONFIG_SMP is not set\nCONFIG_SWAP_ALLOC_BENCH=y\n"
    assert not cell.fault(known, config)
    assert cell.fault(known, config + "CONFIG_SWAP_GRANTS=y\n") == "SWAP_GRANTS can be chosen"
    assert "CONFIG_SWAP_ALLOC_BENCH=y" in cell.fault(known, config.replace("CONFIG_SWAP_ALLOC_BENCH=y\n", ""))
    assert "CONFIG_SMP=n" in cell.fault(known, config + "CONFIG_SMP=y\n")


def test_warnings_are_of_files_that_the_series_touches() -> None:
    files = build_matrix.touched(sorted(PATCHES.glob("*.patch")))
    assert {"mm/swapfile.c", "mm/swap_grants.h", "include/linux/swap_grants.h"} <= files
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
