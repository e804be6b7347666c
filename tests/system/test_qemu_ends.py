# SPDX-License-Identifier: Apache-2.0
"""A scenario that QEMU ends of is tried again, with a warning; no other failure is. No guest is started."""

import warnings

import pytest
from driver import unless_qemu_ends
from hwswap.guest.qemu import GuestError

KNOWN = "qemu-system-x86_64: error_setv: Assertion `*errp == NULL' failed."


@pytest.mark.parametrize(
    ("fails", "said", "runs", "ends"),
    [(0, KNOWN, 1, True), (2, KNOWN, 3, True), (9, KNOWN, 5, False), (1, "QEMU: no memory", 1, False)],
)
def test_qemu_ends(tmp_path, fails, said, runs, ends):
    """Of the assertion that is known, and no more than four times."""
    (tmp_path / "kernel.qemu.log").write_text(said)
    begun = []

    def scenario() -> None:
        begun.append(1)
        if len(begun) <= fails:
            raise GuestError("QEMU ended")

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if ends:
            unless_qemu_ends(scenario, tmp_path / "kernel.log")
        else:
            with pytest.raises(GuestError):
                unless_qemu_ends(scenario, tmp_path / "kernel.log")
    assert len(begun) == runs
    assert len(warned) == runs - 1
