# SPDX-License-Identifier: Apache-2.0
"""The cost of a page: an allocation and its free, in CPU cycles, over the link, the CPUs, the order and the fill.

Of a running kernel: a guest's instructions, lines that come across the link, waiting for the device's lock, and the
software's own search where the engine is late. On bare metal: what the simulated SoC took (soc_fit.py), where the
register engine also waits for its reads. Each step's assumptions are figures of figures.toml.
"""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hwswap.breakeven import queueing, soc_fit
from hwswap.breakeven.figures import Figures, Link

BY_ENGINE = ("grants", "tuned + grants")
FALLS_BACK_TO = {"grants": "unpatched", "tuned + grants": "tuned"}


@dataclass(frozen=True)
class Cost:
    """Of a page, in CPU cycles.

    Attributes:
        work: of the CPU by itself.
        crossing: of waiting for the link and for lines that others wrote.
        waiting: of waiting for other CPUs.
        by_engine: the share of allocations that the engine is in time for; 1 for software and for MMIO.
        throughput: pages of all CPUs together in a thousand cycles.
    """

    work: float
    crossing: float
    waiting: float
    by_engine: float
    throughput: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.work + self.crossing + self.waiting


def with_latency(link: Link, round_trip: float) -> Link:
    """Return the link with another round trip, ns."""
    return replace(link, round_trip=replace(link.round_trip, value=round_trip))


def cycles(figures: Figures, nanoseconds: float) -> float:
    """Return nanoseconds in cycles of the host."""
    return nanoseconds * figures["host_clock"]


def soc_cycles_per_instruction(figures: Figures) -> float:
    """Return cycles an instruction of the kernel takes on the SoC's Rocket, by its order 0 allocation."""
    return figures.linux["unpatched", 0][0] / figures.kernel["unpatched", "empty", 0][0]


def rest_of_a_page(figures: Figures) -> float:
    """Return the host's cycles of swapping a page out and in, the allocator's left out: what CPUs do between calls."""
    swap = figures.swap_outs[0]
    rest = swap.page_out + swap.page_in - sum(figures.linux["unpatched", 0][:2])
    return rest / soc_cycles_per_instruction(figures) * figures["host_cycles_per_instruction"]


def moves(figures: Figures) -> float:
    """Return how often an allocation and its free take the device's lock to move a cluster."""
    return (
        figures["allocations_that_move_clusters"] / figures["allocations_counted"]
        + figures["frees_that_move_clusters"] / figures["frees_counted"]
    )


def lock_demand(figures: Figures, cpus: int, cycles_per_instruction: float, transfer: float) -> tuple[float, float]:
    """Return cycles that an allocation and its free keep the device's lock busy, and those that they take alone.

    A lock that another CPU held last comes with its cache lines: with N CPUs that is so N - 1 times of N.
    """
    hold = (figures["free_changes_list"] - figures["free_keeps_list"]) * cycles_per_instruction
    alone = moves(figures) * hold
    return alone + moves(figures) * figures["si_lock_lines"] * transfer * (cpus - 1) / cpus, alone


def units(figures: Figures, order: int) -> float:
    """Return folios that a grant has room for."""
    return min(figures["grant_units"], figures["cluster_slots"] / 2**order)


def turnaround(figures: Figures, latency: float) -> float:
    """Return engine cycles from a mark to its grant at a memory latency: on the straight lines between those measured.

    Below the first and above the last the nearest line goes on.
    """
    places = figures.turnaround
    at = min(max(bisect.bisect([place for place, _ in places], latency), 1), len(places) - 1)
    (low, first), (high, last) = places[at - 1 : at + 1]
    return max(0.0, first + (last - first) * (latency - low) / (high - low))


def engine_time(figures: Figures, order: int, link: Link) -> float:
    """Return host cycles that the engine, or the link, needs for each folio."""
    latency = (figures["line_transfer"] + link.round_trip.value) * figures["engine_clock"] / 1000
    spent = turnaround(figures, latency) / units(figures, order)
    size = figures["grant_bytes"] / units(figures, order) + figures["mark_bytes"]
    nanoseconds = spent * 1000 / figures["engine_clock"]
    return cycles(figures, max(nanoseconds, size / link.bandwidth.value))


def crossing(figures: Figures, mode: str, order: int, link: Link) -> float:
    """Return host cycles of waiting for lines that the engine wrote, for each folio."""
    if mode not in BY_ENGINE:
        return 0.0
    across = link.round_trip.value if link.coherent else 0
    return cycles(figures, figures["grant_lines"] / units(figures, order) * (figures["line_transfer"] + across))


def shared(
    work: float, crossing_: float, cpus: int, think: float, demands: Mapping[str, float], alone: float, pages: int
) -> Cost:
    """Return the cost with CPUs that share what `demands` says.

    Args:
        work: cycles of the CPU, `alone` of them in what is shared.
        crossing_: cycles of waiting for the link.
        cpus: how many.
        think: cycles between two calls.
        demands: cycles of each station.
        alone: cycles of `work` that are spent at the stations.
        pages: of a folio.
    """
    outside = max(0.0, work + crossing_ - alone)
    network = queueing.analyse(cpus, think + outside, demands)
    waiting = network.response - alone if demands else 0.0
    return Cost(work / pages, crossing_ / pages, max(0.0, waiting) / pages, 1.0, network.throughput * pages * 1000)


def kernel(
    figures: Figures, mode: str, state: str, order: int, link: Link, cpus: int = 1, think: float = 0.0
) -> Cost | None:
    """Return the cost in a running kernel, in cycles of the host; None: that was not measured.

    Args:
        figures: all figures.
        mode: who allocates.
        state: how full the device is.
        order: of the folio.
        link: to the engine.
        cpus: how many swap.
        think: cycles between a free and the next allocation, for each page.
    """
    calls = figures.kernel.get((mode, state, order))
    if calls is None:
        return None
    pages = 2**order
    rate = figures["host_cycles_per_instruction"]
    demand, alone = lock_demand(figures, cpus, rate, cycles(figures, figures["line_transfer"]))
    across = crossing(figures, mode, order, link)

    def at(work: float) -> Cost:
        return shared(work, across, cpus, think * pages, {"si->lock": demand}, alone, pages)

    in_time = at(sum(calls) * rate)
    if mode not in BY_ENGINE:
        return in_time
    software = figures.kernel[FALLS_BACK_TO[mode], state, order]
    # It has looked for a grant in vain, and marks what it frees all the same.
    late = at(max(sum(calls), software[0] + calls[1]) * rate)
    capacity = 1000 * pages / engine_time(figures, order, link)

    def mixed(share: float) -> Cost:
        parts = ((getattr(in_time, name), getattr(late, name)) for name in ("work", "crossing", "waiting"))
        cost = [share * first + (1 - share) * second for first, second in parts]
        return Cost(*cost, share, share * in_time.throughput + (1 - share) * late.throughput)

    if in_time.throughput <= capacity:
        return in_time
    # The share that the engine can serve of what CPUs then ask for: one that is asked for more serves less of it.
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        low, high = (share, high) if mixed(share).throughput * share < capacity else (low, share)
    return mixed(low)


def bare_metal(
    figures: Figures,
    fits: Mapping[tuple[str, str, str], soc_fit.Fit],
    scheme: str,
    state: str,
    order: int,
    added: float = 0.0,
    latency: float = soc_fit.LATENCY,
    cpus: int = 1,
    think: float = 0.0,
) -> Cost | None:
    """Return the cost on bare metal, in cycles of the SoC's CPU; None: that was not measured.

    Args:
        figures: all figures.
        fits: of the CPU.
        scheme: who allocates.
        state: of the device.
        order: of the folio.
        added: cycles that a read of the engine's registers takes beyond those on the SoC's bus.
        latency: of the DRAM, cycles.
        cpus: how many.
        think: cycles between a free and the next allocation, for each page.
    """
    calls = [fits.get((scheme, state, op)) for op in ("alloc", "free")]
    if None in calls:
        return None
    pages = 2**order
    work = max(1.0, sum(call.through_measured(order, latency) for call in calls if call is not None))
    if scheme == "register":
        reads = figures["register_reads_allocate"] + figures["register_reads_free"]
        demand = 2 * figures["engine_cycles_an_operation"]
        return shared(work, reads * added, cpus, think * pages, {"engine": demand}, min(work, demand), pages)
    rate = soc_cycles_per_instruction(figures)
    demand, alone = lock_demand(figures, cpus, rate, latency)
    return shared(work, 0.0, cpus, think * pages, {"si->lock": demand}, min(work, alone), pages)


def register_break_even(
    figures: Figures, fits: Mapping[tuple[str, str, str], soc_fit.Fit], against: str, state: str, order: int
) -> float | None:
    """Return how many CPU cycles a register read may take, beyond one on the SoC's bus, until MMIO costs as much.

    Below 0: it costs more than software even there. None: not measured.
    """
    ours = bare_metal(figures, fits, "register", state, order)
    theirs = bare_metal(figures, fits, against, state, order)
    if ours is None or theirs is None:
        return None
    reads = figures["register_reads_allocate"] + figures["register_reads_free"]
    return (theirs.total - ours.total) * 2**order / reads


def grants_break_even(
    figures: Figures, mode: str, against: str, state: str, order: int, link: Link, cpus: int = 1, think: float = 0.0
) -> float | None:
    """Return the round trip, ns, up to which `mode` costs no more than `against`.

    Below 0: not even at 0. Infinite: at any up to a second. None: not measured.
    """
    theirs = kernel(figures, against, state, order, link, cpus, think)
    if theirs is None or kernel(figures, mode, state, order, link) is None:
        return None

    def pays(round_trip: float) -> bool:
        cost = kernel(figures, mode, state, order, with_latency(link, round_trip), cpus, think)
        assert cost is not None
        return cost.total <= theirs.total

    if not pays(0):
        return -1.0
    low, high = 0.0, 1e9
    if pays(high):
        return float("inf")
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low
