# SPDX-License-Identifier: Apache-2.0
"""Runs the calculation: all costs, curves and errors, as what JSON and CSV can hold."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hwswap.breakeven import amdahl, cost, queueing, soc_fit
from hwswap.breakeven.figures import MODES, SCHEMES, SOC_STATES, STATES, Figures, Link

CPUS = (1, 2, 4, 8, 16, 32, 64)
ROUND_TRIPS = (0, 10, 20, 50, 100, 200, 275, 500, 787, 1000, 2000, 5000, 10000)
"""Nanoseconds; 275 and 787 are those of the links."""

ADDED = (0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Cycles that a register read takes beyond one on the SoC's bus."""

ORDERS = tuple(range(10))
KERNEL_ORDERS = (0, 2, 4, 9)
LOADS = ("nothing else", "swapping")
"""What CPUs do between two calls: the allocator alone, or all of swapping a page."""

Row = dict[str, Any]


def think(figures: Figures, load: str) -> float:
    """Return the host's cycles between two calls, a page."""
    return cost.rest_of_a_page(figures) if load == "swapping" else 0.0


def of_cost(found: cost.Cost) -> Row:
    """Return a cost's parts."""
    names = ("total", "work", "crossing", "waiting")
    return {name: round(getattr(found, name), 3) for name in names} | {
        "by_engine": round(found.by_engine, 4),
        "pages_a_kcycle": round(found.throughput, 6),
    }


def kernel_row(
    figures: Figures, mode: str, state: str, order: int, link: Link, cpus: int, load: str = LOADS[0]
) -> Row | None:
    """Return a row of the kernel's costs."""
    found = cost.kernel(figures, mode, state, order, link, cpus, think(figures, load))
    if found is None:
        return None
    return {
        "mode": mode,
        "state": state,
        "order": order,
        "link": link.name,
        "round_trip_ns": link.round_trip.value,
        "cpus": cpus,
        "load": load,
    } | of_cost(found)


def kernel_costs(figures: Figures, links: Sequence[Link], cpus: Sequence[int]) -> list[Row]:
    """Return the costs in a running kernel: each link, number of CPUs and load."""
    rows = (
        kernel_row(figures, mode, state, order, link, number, load)
        for load in LOADS
        for number in cpus
        for link in links
        for state in STATES
        for order in KERNEL_ORDERS
        for mode in MODES
    )
    return [row for row in rows if row is not None]


def kernel_curves(figures: Figures, order: int, link: Link) -> list[Row]:
    """Return the costs over the round trip, at each fill, with one CPU.

    The link's traffic is that of `link`; a coherent one, so that the round trip is in the CPU's way.
    """
    rows = (
        kernel_row(figures, mode, state, order, cost.with_latency(link, round_trip), 1)
        for state in STATES
        for mode in MODES
        for round_trip in ROUND_TRIPS
    )
    return [row for row in rows if row is not None]


def bare_costs(figures: Figures, cpus: Sequence[int]) -> list[Row]:
    """Return the costs on bare metal, by order, fill, added latency and CPUs."""
    rows = []
    for name, soc in figures.socs.items():
        fits = soc_fit.fits(soc)
        measured = {(scheme, state, order) for scheme, state, _, order in soc.cycles}
        for state in SOC_STATES:
            for scheme in SCHEMES:
                for order in ORDERS:
                    # Of a fragmented device large folios were not measured: they fail.
                    if order > max((its[2] for its in measured if its[:2] == (scheme, state)), default=-1):
                        continue
                    for added, number in [(added, 1) for added in ADDED] + [(0, number) for number in cpus[1:]]:
                        found = cost.bare_metal(figures, fits, scheme, state, order, added=added, cpus=number)
                        if found is not None:
                            key = {"cpu": name, "scheme": scheme, "state": state, "order": order}
                            rows.append(key | {"added_cycles": added, "cpus": number} | of_cost(found))
    return rows


def register_break_evens(figures: Figures) -> list[Row]:
    """Return up to how many cycles a register read may take for MMIO to pay."""
    rows = []
    for name, soc in figures.socs.items():
        fits = soc_fit.fits(soc)
        for state in SOC_STATES:
            orders = sorted({order for scheme, its, _, order in soc.cycles if (scheme, its) == ("register", state)})
            for order in orders:
                for against in ("stock", "tuned"):
                    found = cost.register_break_even(figures, fits, against, state, order)
                    if found is not None:
                        key = {"cpu": name, "state": state, "order": order, "against": against}
                        rows.append(
                            key
                            | {
                                "added_cycles": round(found, 1),
                                "ns_at_host_clock": round(found / figures["host_clock"], 1),
                                "ns_at_soc_clock": round(found * 1000 / figures["soc_clock"], 1),
                            }
                        )
    return rows


def grant_break_evens(figures: Figures, cpus: Sequence[int]) -> list[Row]:
    """Return the round trip up to which a mode of the engine costs no more than software, in a kernel."""
    rows = []
    pairs = (("grants", "unpatched"), ("grants", "tuned"), ("tuned + grants", "tuned"))
    link = next(link for link in figures.links.values() if link.coherent)
    for number in (cpus[0], cpus[-1]):
        for load in LOADS:
            for mode, against in pairs:
                for state in STATES:
                    for order in KERNEL_ORDERS:
                        found = cost.grants_break_even(
                            figures, mode, against, state, order, link, number, think(figures, load)
                        )
                        if found is not None:
                            key = {"mode": mode, "against": against, "state": state, "order": order}
                            limit = None if found == float("inf") else round(found, 1)
                            rows.append(key | {"cpus": number, "load": load, "round_trip_ns": limit})
    return rows


def knees(figures: Figures, link: Link) -> list[Row]:
    """Return from how many CPUs on the device's lock, or the engine, is the limit at order 0."""
    rows = []
    rate = figures["host_cycles_per_instruction"]
    for load in LOADS:
        for state in STATES:
            calls = figures.kernel["unpatched", state, 0]
            # As with very many CPUs: whoever takes the lock gets it from another.
            demand, alone = cost.lock_demand(figures, 1_000_000, rate, cost.cycles(figures, figures["line_transfer"]))
            by_itself = think(figures, load) + sum(calls) * rate - alone
            lock = queueing.knee(by_itself, {"si->lock": demand})
            grants = figures.kernel.get(("grants", state, 0))
            engine = None
            if grants is not None:
                busy = cost.engine_time(figures, 0, link)
                engine = (think(figures, load) + sum(grants) * rate) / busy
            rows.append(
                {"state": state, "load": load, "link": link.name, "lock_cpus": lock, "grant_engine_cpus": engine}
            )
    return rows


def sensitivities(figures: Figures, link: Link) -> list[Row]:
    """Return what half and twice of each figure that was assumed or published makes of grants beside unpatched.

    Order 0 at 90 % full, where grants win: with one CPU, and with 64 that swap.
    """

    def ratio(changed: Figures, its: Link, cpus: int) -> float:
        between = think(changed, "swapping") if cpus > 1 else 0.0
        found = [cost.kernel(changed, mode, "90 % full", 0, its, cpus, between) for mode in ("grants", "unpatched")]
        assert found[0] is not None and found[1] is not None
        return found[0].total / found[1].total

    rows = []
    for name, figure in figures.figures.items():
        if figure.kind not in ("assumed", "published"):
            continue
        row: Row = {"figure": name}
        for factor in (0.5, 1.0, 2.0):
            other = dataclasses.replace(figure, value=figure.value * factor)
            changed = dataclasses.replace(figures, figures={**figures.figures, name: other})
            for cpus in (1, 64):
                row[f"x{factor:g}, {cpus} CPUs"] = round(ratio(changed, link, cpus), 4)
        rows.append(row)
    row = {"figure": f"round trip of {link.name}"}
    for factor in (0.5, 1.0, 2.0):
        for cpus in (1, 64):
            other_link = cost.with_latency(link, link.round_trip.value * factor)
            row[f"x{factor:g}, {cpus} CPUs"] = round(ratio(figures, other_link, cpus), 4)
    return [*rows, row]


def validation(points: Sequence[soc_fit.Point]) -> list[Row]:
    """Return how far fitted points and those left out are off, by check, CPU and scheme."""
    rows = []
    for check, cpu in dict.fromkeys((point.check, point.cpu) for point in points):
        its = [point for point in points if (point.check, point.cpu) == (check, cpu)]
        schemes = list(dict.fromkeys(point.scheme for point in its))
        for scheme in (*schemes, "all") if len(schemes) > 1 else schemes:
            row: Row = {"cpu": cpu, "check": check, "scheme": scheme}
            for name, fitted in (("fitted", True), ("held_out", False)):
                found = soc_fit.summary(
                    [point for point in its if point.fitted == fitted and scheme in (point.scheme, "all")]
                )
                if found is not None:
                    row |= {
                        f"{name}_points": found.number,
                        f"{name}_mean": round(found.mean, 4),
                        f"{name}_worst": round(found.worst, 4),
                    }
            rows.append(row)
    return rows


def harts(points: Iterable[queueing.Point | queueing.LinuxPoint]) -> list[Row]:
    """Return what was measured on several harts, and how far two calculations are off."""
    return [
        {name: round(value, 2) if isinstance(value, float) else value for name, value in vars(point).items()}
        | {
            "queueing_error": round(point.queueing / point.measured - 1, 4),
            "lines_error": round(point.lines / point.measured - 1, 4),
        }
        for point in points
    ]


def ratios(figures: Figures) -> list[Row]:
    """Return what grants cost beside unpatched on an empty device: by instructions, and by the SoC's cycles."""
    rows = []
    for mode, order in figures.linux:
        if mode != "grants" or ("grants", "empty", order) not in figures.kernel:
            continue
        instructions = [sum(figures.kernel[its, "empty", order]) for its in ("grants", "unpatched")]
        calls = [figures.linux[its, order] for its in ("grants", "unpatched")]
        calculated = instructions[0] / instructions[1]
        means, medians = (sum(calls[0][at : at + 2]) / sum(calls[1][at : at + 2]) for at in (0, 2))
        rows.append(
            {
                "order": order,
                "instructions": round(calculated, 3),
                "mean_cycles": round(means, 3),
                "median_cycles": round(medians, 3),
                "error": round(calculated / means - 1, 3),
                "median_error": round(calculated / medians - 1, 3),
            }
        )
    return rows


def make(figures: Figures, link: Link, cpus: Sequence[int], order: int) -> dict[str, Any]:
    """Return all of it.

    Args:
        figures: what goes in.
        link: the link that curves over CPUs are of.
        cpus: numbers of CPUs.
        order: of the folios that curves are of.
    """
    points = soc_fit.points(figures, soc_fit.LATENCY)
    coherent = next(its for its in figures.links.values() if its.coherent)
    links = [*(its for its in figures.links.values() if its.name != link.name), link]
    shares = [
        dataclasses.asdict(share) | {"share": round(share.share, 5), "bound": round(share.bound, 5)}
        for share in amdahl.shares(figures)
    ]
    fits = [
        {name: value for name, value in dataclasses.asdict(fit).items() if name != "rest"}
        for soc in figures.socs.values()
        for fit in soc_fit.fits(soc).values()
    ]
    return {
        "order": order,
        "link": link.name,
        "round_trip_ns": link.round_trip.value,
        "cpus": list(cpus),
        "amdahl": shares,
        "kernel": kernel_costs(figures, links, cpus),
        "kernel_by_round_trip": kernel_curves(figures, order, coherent),
        "bare_metal": bare_costs(figures, cpus),
        "break_even_register": register_break_evens(figures),
        "break_even_kernel": grant_break_evens(figures, cpus),
        "knees": knees(figures, link),
        "sensitivity": sensitivities(figures, link),
        "fits": fits,
        "validation": validation(points),
        "harts": harts(queueing.points(figures)),
        "linux_harts": harts(queueing.linux_points(figures)),
        "ratios": ratios(figures),
        "points": [dataclasses.asdict(point) | {"error": round(point.error, 4)} for point in points],
        "figures": {name: dataclasses.asdict(figure) for name, figure in figures.figures.items()},
        "links": {name: dataclasses.asdict(its) for name, its in figures.links.items()},
        "sources": {name: dict(source) for name, source in figures.sources.items()},
    }


def select(rows: Sequence[Mapping[str, Any]], **wanted: Any) -> list[Mapping[str, Any]]:
    """Return the rows that have all of these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
