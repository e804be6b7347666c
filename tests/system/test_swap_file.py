# SPDX-License-Identifier: Apache-2.0
"""Linux 7.3.4 reads large folios wrong from a swap file on a synchronous device: which pages, and why.

No patch of ours and no engine is there: the kernel is the unpatched one. The file is of two pieces and more on a RAM
disk with ext2, whose map of blocks lies between them. docs/wrong-read.md has the cause.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from driver import kernel_modules
from hwswap.guest.qemu import Guest, Machine
from hwswap.project import artifacts, paths

FILE = "/tmp/disk/swap"
FOLIOS = 1024
"""64 MB, in a file of 80."""


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """An unpatched kernel, one RAM disk."""
    machine = Machine(cpus=1, disks=1, disk_mb=192)
    log = paths.REPORTS / "kernel" / "swap-file.log"
    with Guest(machine, files=kernel_modules(), log=log, kernel=artifacts.KERNEL_UNPATCHED) as guest:
        guest.run("mkdir /tmp/disk").check()
        yield guest


def extents(guest: Guest, device: str, arguments: str = "") -> dict[str, Any]:
    """Swap to a file on a device, and read again what was swapped."""
    guest.run(f"mke2fs -b 4096 {device} >/dev/null && mount -t ext2 {device} /tmp/disk").check()
    try:
        guest.run(f"swapctl make -s 80m {FILE} && swapctl on {FILE}", 300).check()
        found: dict[str, Any] = json.loads(
            guest.run(f"swapextents --folios {FOLIOS} {arguments} {FILE}", 300).check().splitlines()[-1]
        )
    finally:
        guest.run(f"swapctl off {FILE}; umount /tmp/disk", 300).check()
    return found


def test_large_folios_across_extents_are_read_wrong(guest: Guest, record_property: Any) -> None:
    """Exactly the pages behind the end of an extent. If none is, the kernel was mended: change docs/wrong-read.md."""
    found = extents(guest, "/dev/ram0")
    for name, value in found.items():
        record_property(name, value)
    assert found["in_line"] > FOLIOS // 2, found
    assert found["read_large"] == found["in_line"], found
    assert found["across"] > 0, found
    assert found["wrong"] == found["foreseen"] > 0, found
    assert found["not_as_foreseen"] == 0, found


def test_single_pages_are_read_right(guest: Guest) -> None:
    """The same file, its pages read one by one, although they lie in line."""
    found = extents(guest, "/dev/ram0", "--small")
    assert found["in_line"] > FOLIOS // 2, found
    assert found["read_large"] == found["wrong"] == 0, found


def test_behind_a_queue_they_are_read_right(guest: Guest) -> None:
    """A device that is not synchronous: the kernel reads single pages there, with readahead."""
    guest.run("insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 memory_backed=1").check()
    found = extents(guest, "/dev/nullb0")
    assert found["in_line"] > 0, found
    assert found["read_large"] == found["wrong"] == 0, found
