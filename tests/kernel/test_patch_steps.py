# SPDX-License-Identifier: Apache-2.0
"""`make test-patches` and `make test-matrix`: their judgement of configurations and of compilers' messages."""

import json

import pytest
from hwswap.guest.qemu import GuestError
from hwswap.kernel.build_matrix import warnings
from hwswap.kernel.patch_steps import fragment, not_taken, verified

LOG = """\
  CC      mm/swapfile.o
../mm/swapfile.c:1740:5: warning: unused variable 'x' [-Wunused-variable]
../mm/swapfile.c: In function 'folio_alloc_swap':
../mm/swapfile.c:99: Warning: Function parameter 'y' not described in 'z'
  AR      mm/built-in.a
WARNING: modpost: vmlinux: section mismatch in reference
"""
FRAGMENT = "# a comment\nCONFIG_SWAP=y\nCONFIG_VT=n\nCONFIG_SWAP_GRANTS=y\nCONFIG_SWAP_ALLOC_BENCH=y\n"


def test_warnings_have_no_line_numbers() -> None:
    assert warnings(LOG) == {
        "../mm/swapfile.c: warning: unused variable 'x' [-Wunused-variable]",
        "../mm/swapfile.c: Warning: Function parameter 'y' not described in 'z'",
        "WARNING: modpost: vmlinux: section mismatch in reference",
    }
    assert warnings(LOG.replace("1740:5", "1751:5")) == warnings(LOG)
    assert warnings("  CC      mm/swapfile.o\n") == set()


def test_options_come_with_their_patches() -> None:
    assert fragment(FRAGMENT, []) == "# a comment\nCONFIG_SWAP=y\nCONFIG_VT=n\n"
    assert fragment(FRAGMENT, ["SWAP_GRANTS", "SWAP_ALLOC_BENCH"]) == FRAGMENT
    without = fragment(FRAGMENT, ["SWAP_GRANTS", "SWAP_ALLOC_BENCH"], ["SWAP_GRANTS"])
    assert without == FRAGMENT.replace("GRANTS=y", "GRANTS=n")


def test_what_a_configuration_did_not_take() -> None:
    config = "CONFIG_SWAP=y\n# CONFIG_VT is not set\nCONFIG_SWAP_GRANTS=y\nCONFIG_SWAP_ALLOC_BENCH=y\n"
    assert not_taken(FRAGMENT, config) == []
    assert not_taken(FRAGMENT, config.replace("CONFIG_SWAP_GRANTS=y\n", "")) == ["CONFIG_SWAP_GRANTS=y"]
    assert not_taken(FRAGMENT, config + "CONFIG_VT=y\n") == ["CONFIG_VT=n"]


def test_wrong_bytes_fail_a_step() -> None:
    load = {"verified_bytes": 4096, "mismatches": 0, "died": 0}
    assert verified(json.dumps(load)) == 4096
    for fault in ({"mismatches": 1}, {"died": 1}, {"verified_bytes": 0}):
        with pytest.raises(GuestError, match="not what was written"):
            verified(json.dumps({**load, **fault}))
