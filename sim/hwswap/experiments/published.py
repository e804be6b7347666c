# SPDX-License-Identifier: Apache-2.0
"""Figures that others published, each with the posting it was read in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A source of published figures."""

    title: str
    author: str
    kind: str
    date: str

    def __str__(self) -> str:
        """Name it in words."""
        return f'{self.author}, "{self.title}", {self.kind}, {self.date}'


READAHEAD = Source(
    "mm: swap: use fixed-size readahead during swapoff",
    "Andrea Righi",
    "patch, version 2, on the kernel's mailing lists; it never entered the kernel",
    "13 April 2020",
)

SWAPOFF_SECONDS = {
    1: (26.77, 21.25),
    2: (28.29, 12.66),
    3: (22.09, 8.77),
    4: (21.50, 7.60),
    5: (25.35, 7.75),
    6: (23.19, 8.32),
    7: (22.25, 9.40),
    8: (22.09, 8.93),
}
"""Of READAHEAD: seconds of a swapoff by page_cluster, on Linux 5.6 (adaptive) and with the patch (fixed)."""

WINDOWS = Source(
    "Re: mm: swap: use fixed-size readahead during swapoff",
    "Andrea Righi",
    "answer to the discussion of that patch, on the kernel's mailing lists",
    "15 April 2020",
)

WINDOW_SIZES = {1: 49_290, 2: 527_771, 4: 44_151, 8: 36_948}
"""Of WINDOWS: how many windows of each size Linux 5.6 chose in a swapoff, at the default page_cluster, 3."""

PER_CPU = Source(
    "swap: Add percpu cluster_next to reduce lock contention on swap cache",
    "Huang Ying",
    "patch, first version, on the kernel's mailing lists",
    "14 May 2020",
)

PER_CPU_BEFORE = (7.93, 7.03)
PER_CPU_AFTER = (0.53, 0.53)
"""Of PER_CPU: % of the profile that waits for the lock of the swap cache, in add_to_swap_cache and __remove_mapping.

The second one is not in the list of the patched kernel, which ends at 0.53: so it is that at most.
"""

RANDOM_TRUNK = Source(
    "swap: Reduce lock contention on swap cache from swap slots allocation",
    "Huang Ying",
    "patch, version 3, on the kernel's mailing lists",
    "25 May 2020",
)

RANDOM_TRUNK_BEFORE = (7.91, 7.11)
RANDOM_TRUNK_AFTER = (1.19, 1.19)
"""Of RANDOM_TRUNK: the same. Neither is in the list of the patched kernel, which ends at 1.19."""

PROCESSES = 16
"""Of pmbench in both: as many CPUs swap at the same time."""

SWAP_TABLE = Source(
    "mm, swap: introduce swap table as swap cache (phase I)",
    "Kairui Song",
    "cover letter of a patch series, version 4, on the kernel's mailing lists",
    "17 September 2025",
)

SWAP_TABLE_MEMORY = 1.0
"""Of SWAP_TABLE, in words: the memory is about the same as before on average, in a few cases about 1 % more."""

ROUND_ROBIN = Source(
    "mm/swap: select swap device with default priority round robin",
    "Baoquan He",
    "patch, as it went into the kernel",
    "28 October 2025",
)

DEVICE_GB = 16.0
DEVICES_USED = {
    "one after the other": (16.0, 966.2 / 1024, 0.0, 0.0),
    "node first": (15.7, 3.4, 3.4, 2.6),
    "round robin": (6.6, 6.6, 6.6, 6.6),
}
"""Of ROUND_ROBIN: GB in use of four devices of DEVICE_GB (swapon's table), by how the kernel chooses one."""

CLUSTER_SCAN = Source(
    "mm, swap: improve cluster scan strategy",
    "Kairui Song",
    "cover letter of a patch series, version 2, on the kernel's mailing lists",
    "6 August 2025",
)

FOLIOS_SPLIT = {
    64: ((20_917, 1_787_051), (0, 1_811_598)),
    512: ((1_767, 11_663), (6, 14_480)),
    2048: ((1_442, 24), (7, 1_329)),
}
"""Of CLUSTER_SCAN: folios of so many kB that were split on their way out (swpout_fallback), and that went out whole
(swpout), before the series and after. Those of 64 kB are of a run in which no other large size was permitted."""
