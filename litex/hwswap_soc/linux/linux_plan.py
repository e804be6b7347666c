# SPDX-License-Identifier: Apache-2.0
"""The plan for our init program, as words of the kernel's command line (litex/linux/init/init.c has the format)."""

from collections.abc import Sequence

from hwswap_litex import EngineInfo

UNPATCHED = "unpatched"
"""The mode, alone, of a kernel of its own, which has nothing of the series but the bench."""

THREAD = "thread"
"""The mode in which the last of several harts grants in the engine's place, and does nothing else."""

ORACLE = "oracle"
"""The mode in which the bench knows its places beforehand, which it can on one hart."""

ENGINE = "hint"
"""The mode of the driver in which the engine is used."""

MODES = (UNPATCHED, "off", ENGINE, THREAD, ORACLE)
"""All modes, in the order of a table; litex/linux/init/init.c describes each."""

BENCH = {0: 96, 2: 24, 4: 24, 7: 8, 9: 6}
"""Order -> folios that the kernel's bench allocates and frees."""

HARTS_BENCH = {0: 192, 4: 24}
"""The same on each of several harts."""

FOLIO_PAGES = 16
"""Pages of the 64 kB folios that are swapped."""

GAP_NS, MOST_GAP_NS = 10_000, 200_000
"""The bench's wait before each call of order 0, and the longest of any order: a ring is filled again by then."""

FULL_PAGES, FREE_PERCENT = 4096, 10
"""Size of the area that is nearly full, and the share that is free."""


def modes(engine: EngineInfo) -> tuple[str, ...]:
    """Return the modes of the driver that an engine can do, in the order of a run.

    Args:
        engine: that in the bitstream.
    """
    return ("off", ENGINE) if "grants" in engine.added else ("off",)


def bootargs(chosen: Sequence[str], harts: Sequence[int] = ()) -> str:
    """Return the words; of two with the same name the kernel takes the later.

    Args:
        chosen: modes, in each of which all the rest is done.
        harts: numbers of harts on which the bench makes its calls at once, back to back; none: on one, as every kernel
            with it can.
    """
    # Pages that are swapped one by one, and folios that are.
    pages, folios, counts, gap_ns = (16, 1, HARTS_BENCH, 0) if harts else (32, 4, BENCH, GAP_NS)

    def bench(order: int, count: int) -> list[str]:
        step = f"bench:{order}:{count}:{min(gap_ns << order, MOST_GAP_NS)}"
        return [f"{step}:{number}" for number in harts] or [step]

    steps = [f"swap:0:{pages}", f"swap:4:{folios * FOLIO_PAGES}"]
    steps += [step for order, count in counts.items() for step in bench(order, count)]
    # Of the nearly full area 409 pages are free: four harts ask for 384.
    steps += ["counters", f"fill:{FULL_PAGES}:{FREE_PERCENT}", *bench(0, BENCH[0])]
    words = f"hwswap_modes={','.join(chosen)} hwswap_plan={','.join(steps)}"
    # A grace period of RCU takes ticks of all CPUs, a million cycles each, unless it is expedited; a boot has many.
    return f"rcupdate.rcu_expedited=1 maxcpus={max(harts)} {words}" if harts else words
