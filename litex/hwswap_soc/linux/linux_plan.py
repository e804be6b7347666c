# SPDX-License-Identifier: Apache-2.0
"""What our init program is to do, as words of the kernel's command line (litex/linux/init/init.c has the format)."""

from collections.abc import Sequence

from hwswap_litex import EngineInfo

MODES = ("off", "hint", "scan")
"""Those of the driver."""

BENCH = {0: 96, 2: 24, 4: 24, 7: 8, 9: 6}
"""Order -> folios that the kernel's bench allocates and frees."""

PAGES, FOLIOS, FOLIO_PAGES = 32, 4, 16
"""Pages that are swapped one by one, folios of 64 kB that are, and the pages of each of those."""

GAP_NS, MOST_GAP_NS = 10_000, 200_000
"""What the bench waits before each call of order 0, and at most of any order: a ring is filled again by then."""

FULL_PAGES, FREE_PERCENT = 4096, 10
"""Size of the area that is nearly full, and what is free of it."""


def modes(engine: EngineInfo) -> tuple[str, ...]:
    """Returns the modes of the driver that an engine can do, in the order of a run.

    Args:
        engine: that in the bitstream.
    """
    if "grants" not in engine.added:
        return MODES[:1]
    return MODES[:2] if "core" in engine.without else MODES


def bootargs(chosen: Sequence[str]) -> str:
    """Returns the words; of two with the same name the kernel takes the later.

    Args:
        chosen: modes, in each of which all the rest is done.
    """

    def bench(order: int, count: int) -> str:
        return f"bench:{order}:{count}:{min(GAP_NS << order, MOST_GAP_NS)}"

    steps = [f"swap:0:{PAGES}", f"swap:4:{FOLIOS * FOLIO_PAGES}", *(bench(*step) for step in BENCH.items()), "counters"]
    steps += [f"fill:{FULL_PAGES}:{FREE_PERCENT}", bench(0, BENCH[0])]
    return f"hwswap_modes={','.join(chosen)} hwswap_plan={','.join(steps)}"
