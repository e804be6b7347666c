# SPDX-License-Identifier: Apache-2.0
"""What our init program is to do, as words of the kernel's command line (litex/linux/init/init.c has the format)."""

from collections.abc import Mapping, Sequence

from hwswap_litex import EngineInfo

MODES = ("off", "hint", "scan")
"""Those of the driver."""

BENCH = {0: 96, 2: 24, 4: 24, 7: 8, 9: 6}
"""Order -> folios that the kernel's bench allocates and frees."""

FOLIO_PAGES = 16
"""Pages of the 64 kB folios that are swapped."""

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


def bootargs(
    chosen: Sequence[str],
    bench: Mapping[int, int] = BENCH,
    *,
    pages: int = 32,
    folios: int = 4,
    full: int = 96,
    gap_ns: int = GAP_NS,
    harts: Sequence[int] = (),
) -> str:
    """Returns the words; of two with the same name the kernel takes the later.

    Args:
        chosen: modes, in each of which all the rest is done.
        bench: order -> folios that the kernel's bench takes on an empty area.
        pages: that are swapped one by one.
        folios: of 64 kB that are swapped.
        full: folios of order 0 that the bench takes on an area that is 90 % full.
        gap_ns: what the bench waits before each call, an order-0 folio.
        harts: numbers of harts on which the bench makes its calls at once; none: on one, as every kernel with it can.
    """

    def benches(order: int, count: int) -> list[str]:
        step = f"bench:{order}:{count}:{min(gap_ns << order, MOST_GAP_NS)}"
        return [f"{step}:{number}" for number in harts] or [step]

    steps = [f"swap:0:{pages}", f"swap:4:{folios * FOLIO_PAGES}"]
    steps += [step for order, count in bench.items() for step in benches(order, count)]
    steps += ["counters", f"fill:{FULL_PAGES}:{FREE_PERCENT}", *benches(0, full)]
    return f"hwswap_modes={','.join(chosen)} hwswap_plan={','.join(steps)}"


def on_harts(chosen: Sequence[str], harts: Sequence[int]) -> str:
    """Returns the words of a kernel that is measured on several harts, with few pages swapped and verified.

    Args:
        chosen: modes.
        harts: numbers of harts; as many calls of each are made, 192 of order 0 and 24 of order 4, back to back.
    """
    # On an area that is 90 % full four times as many slots are free as are asked for.
    plan = bootargs(chosen, {0: 192, 4: 24}, pages=16, folios=1, gap_ns=0, harts=harts)
    # A grace period of RCU takes ticks of all CPUs, a million cycles each, unless it is expedited; a boot has many.
    return f"rcupdate.rcu_expedited=1 maxcpus={max(harts)} {plan}"
