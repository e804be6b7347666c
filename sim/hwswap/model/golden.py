# SPDX-License-Identifier: Apache-2.0
"""The swap-slot allocator of Linux 7.3 as a plain Python model: the authority the RTL is compared with.

Written from reading mm/swapfile.c; each rule names the kernel function it comes from. The commands are those of the
engine's core, one finished before the next begins; what they change is in state.py, how an allocation searches in
search.py, what it searches in clusters.py, which rules can be changed in policy.py.
"""

from hwswap.model.clusters import BLKDEV, DISCARD, SOLIDSTATE, Cluster, Device, Slots
from hwswap.model.search import VISITS, Search

__all__ = [
    "BLKDEV",
    "DISCARD",
    "SOLIDSTATE",
    "VISITS",
    "Allocator",
    "Cluster",
    "Device",
    "Slots",
]


class Allocator(Search):
    """All swap devices of a machine and the decisions about them, as the engine's core has them.

    Operations answer with the status the engine's command gives; `alloc` with the slots, or None for NO_SPACE.
    """
