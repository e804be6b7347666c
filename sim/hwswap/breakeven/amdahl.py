# SPDX-License-Identifier: Apache-2.0
"""Amdahl's bound: what part of swapping a page is slot allocation, and how much any allocator can win.

G. M. Amdahl, Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967.
"""

from dataclasses import dataclass

from hwswap.breakeven.figures import Figures


@dataclass(frozen=True)
class Share:
    """Of one page, in CPU cycles of Linux on the SoC.

    Attributes:
        order: of its folio.
        state: of the device. Measured is empty alone; others are that, scaled by the guest's instructions.
        path: `out`, or `out and in`.
        whole: cycles of all.
        allocator: of them, those of allocation; of the free, too, with `out and in`.
        reached: by mode, the speed-up that its calls give: by cycles where they were measured, by instructions
            elsewhere.
    """

    order: int
    state: str
    path: str
    whole: float
    allocator: float
    reached: dict[str, float]

    @property
    def share(self) -> float:
        """The part that is the allocator's."""
        return self.allocator / self.whole

    @property
    def bound(self) -> float:
        """The speed-up if it took nothing."""
        return speed_up(self.share, 0)


def speed_up(share: float, ratio: float) -> float:
    """Return the speed-up of the whole when a share of it takes `ratio` of its time."""
    return 1 / (1 - share + share * ratio)


def shares(figures: Figures) -> list[Share]:
    """Return the shares of what was measured, and of fuller devices as far as a guest's instructions say."""
    found = []
    for order, swap in figures.swap_outs.items():
        pages = 2**order
        allocate, free, *_ = figures.linux["unpatched", order]
        empty = figures.kernel.get(("unpatched", "empty", order))
        for state in ("empty", "90 % full"):
            full = figures.kernel.get(("unpatched", state, order))
            if empty is None or full is None:
                continue
            scale = [full[call] / empty[call] for call in (0, 1)]
            cost = [allocate * scale[0] / pages, free * scale[1] / pages]
            more = [cost[0] - allocate / pages, cost[1] - free / pages]
            for path in ("out", "out and in"):
                both = path != "out"
                whole = swap.page_out + more[0] + (swap.page_in + more[1] if both else 0)
                part = cost[0] + (cost[1] if both else 0)
                reached = {}
                for mode in ("tuned", "grants", "tuned + grants"):
                    there = figures.kernel.get((mode, state, order))
                    measured = figures.linux.get((mode, order))
                    if state == "empty" and measured is not None:
                        its = sum(measured[: 2 if both else 1]) / pages
                        reached[mode] = speed_up(part / whole, its / part)
                    elif there is not None:
                        its = sum(there[: 2 if both else 1]) / sum(full[: 2 if both else 1])
                        reached[mode] = speed_up(part / whole, its)
                found.append(Share(order, state, path, whole, part, reached))
    return found
