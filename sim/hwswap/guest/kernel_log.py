# SPDX-License-Identifier: Apache-2.0
"""Lines of a guest's kernel log that no run may have."""

import re

_TROUBLE = re.compile(
    # The kernel's own words for a state that it cannot go on with, or should not have seen
    r"Kernel panic|\bBUG\b(?!: KCSAN: )|WARNING:|Oops|general protection|segfault|soft lockup|blocked for more than"
    r"|rcu.*detected.*stall|refcount_t:|page allocation failure|Out of memory|out of memory|oom-kill"
    # Lockdep, and the reasons for it to stop looking
    r"|possible .* detected|inconsistent lock state|suspicious RCU usage|invalid wait context|DEBUG_LOCKS_WARN_ON"
    r"|trying to register non-static key|turning off the locking correctness validator"
    # Sanitizers: their reports begin so; the line that says they are at work does not. kmemleak lists leaks in a file
    # of its own, which tests/system/kernel_debug.py reads. KCSAN reports races of the whole kernel;
    # tests/system/kernel_races.py judges those of the series and the driver.
    r"|KASAN: |UBSAN: |kmemleak: .*disabled"
    # Memory management: dumps of CONFIG_DEBUG_VM, pages and swap entries that are not as they should be
    r"|dumped because|bad page|Bad page|Bad swap|Unused swap|Bad rss-counter|non-zero pgtables_bytes"
    # Lists, objects with a life, mappings for devices
    r"|list_(?:add|del) corruption|ODEBUG: |DMA-API: (?!preallocated |debugging enabled )"
)


def troubles(text: str) -> list[str]:
    """Return those lines of a piece of kernel log that mean trouble, in their order."""
    return [line for line in text.splitlines() if _TROUBLE.search(line)]
