# SPDX-License-Identifier: Apache-2.0
"""The engine in software, in a guest, and folios of 64 kB that are paged out there."""

import time

from driver import judge
from hwswap.guest.qemu import Guest

MODULE = "hwswap_softgrants"
PARAMETERS = f"/sys/module/{MODULE}/parameters"
DEBUG = f"/sys/kernel/debug/{MODULE}"
THP = "/sys/kernel/mm/transparent_hugepage"


class Engine:
    """The engine in software, in a guest."""

    def __init__(self, guest: Guest, arguments: str = "") -> None:
        """Load it."""
        self.guest = guest
        guest.run(f"insmod /lib/modules/{MODULE}.ko {arguments}").check()

    def unload(self) -> None:
        """Unload it."""
        self.guest.run(f"rmmod {MODULE}").check()

    def set(self, name: str, value: str) -> None:
        """Set a parameter."""
        self.guest.run(f"echo {value} >{PARAMETERS}/{name}").check()

    def counters(self, file: str = "stats") -> dict[str, int]:
        """Return the numbers of a file in debugfs."""
        lines = (line.split() for line in self.guest.run(f"cat {DEBUG}/{file}", 300).check().splitlines())
        return {name: int(value) for name, value in lines}

    def since(self, before: dict[str, int]) -> dict[str, int]:
        """Return what the counters have risen by."""
        return {name: value - before[name] for name, value in self.counters().items()}

    def assert_bitmaps(self, quiet: bool = True) -> None:
        """Compare what the kernel stores with its tables, and when nothing swaps what the engine keeps, too."""
        deadline = time.monotonic() + 60
        while True:
            found = self.counters("verify")
            assert found["clusters"] > 0, found
            assert found["kernel"] == 0, found
            # What is taken out of a grant is marked when that is used up.
            if not quiet or not found["engine"]:
                return
            assert time.monotonic() < deadline, found


def whole_and_split(guest: Guest) -> tuple[int, int]:
    """Return how many folios of 64 kB were swapped out whole so far, and how many were split for want of room."""
    words = guest.run(f"cd {THP}/hugepages-64kB/stats && cat swpout swpout_fallback").check().split()
    return int(words[0]), int(words[1])


def page_out_64k(guest: Guest, megabytes: int, churn: str = "64k") -> tuple[int, int]:
    """Page out so much in folios of 64 kB, and what the churn adds; return how many went whole, how many were split."""
    before = whole_and_split(guest)
    judge(guest.run(f"swapmix --sizes 64k --fill {megabytes}m --churn {churn} --seed 1", 300).check())
    after = whole_and_split(guest)
    return after[0] - before[0], after[1] - before[1]
