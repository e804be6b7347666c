# SPDX-License-Identifier: Apache-2.0
"""Results of a run of Linux on the simulated SoC: figures, and sentences about the pages swapped."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from hwswap.bench.lines import TOLERANCE
from hwswap.results.schema import Figure

from hwswap_soc.linux import devicetree
from hwswap_soc.linux.linux_plan import BENCH, ENGINE, HARTS_BENCH, ORACLE, THREAD
from hwswap_soc.linux.linux_result import Collected, Mode

CASES = {"empty, order 0": (0, False), "empty, order 4": (4, False), "90 % full, order 0": (0, True)}
"""The measurements on each number of harts: the order, and whether the area is nearly full."""


GRANTED = (ENGINE, THREAD)
"""Modes in which grants place folios."""


def calls(collected: Collected) -> list[Figure]:
    """Return a figure for each call: on an empty area, and on one that is 90 % full."""
    modes = collected.modes.items()
    empty = [_median(mode, "", line) for mode, found in modes for line in found.benches if line["n"]]
    full = [_median(mode, ", 90 % full", line) for mode, found in modes for line in found.full if line["n"]]
    return empty + full


def _median(mode: str, state: str, line: dict[str, Any]) -> Figure:
    """Return a line's median as a figure: a timer interrupt of 43,000 to 80,000 cycles moves the mean of 96 calls."""
    call = "allocate" if line["op"] == "alloc" else "free"
    spread = {"average": line["avg"], "p99": line["p99"]}
    return Figure(f"{call} order {line['order']}{state}", mode, line["p50"], "CPU cycles", spread, TOLERANCE)


def on_harts(collected: Collected, harts: Sequence[int], modes: Sequence[str]) -> tuple[list[Figure], list[str]]:
    """Return a figure for each mode, case and number of harts, and a sentence for each that was not measured.

    A thread that grants takes the last hart, so nothing is measured on all; its own cycles are without those in which
    it looks for work and finds none. Places are known beforehand on one hart alone.
    """
    figures, missing = [], []
    for mode, (case, (order, full)), number in product(modes, CASES.items(), harts):
        if mode == THREAD and number == max(harts) or mode == ORACLE and number > 1:
            continue
        found = collected.modes.get(mode, Mode())
        lines = found.full if full else found.benches
        medians = {line["op"]: line["p50"] for line in lines if (line["order"], line.get("cpus")) == (order, number)}
        if len(medians) == 2:
            what = f"an allocation and its free, {case}, {number} harts"
            spread = {"% by grants": _share(lines, order, number, full)} if mode in GRANTED else {}
            figures.append(Figure(what, mode, sum(medians.values()), "CPU cycles", spread, 0.05))
        else:
            missing.append(f"{mode}: {case} on {number} harts was not measured.")
        for own in found.thread:
            if (own["order"], own["cpus"], own["full"]) == (order, number, full) and own["grants"]:
                what = f"the thread's own, per allocation and free, {case}, {number} harts"
                spread = {"per grant": own["cycles"] / own["grants"]}
                figures.append(Figure(what, mode, own["cycles"] / own["calls"], "CPU cycles", spread, 0.1))
    return figures, missing


def _share(lines: Sequence[dict[str, Any]], order: int, number: int, full: bool) -> float:
    """Return the percentage of allocations of an order, on so many harts, that a grant has placed.

    Those that a hart makes when another one is through count as well, which the medians leave out.
    """
    (line,) = (each for each in lines if (each["order"], each["cpus"], each["op"]) == (order, number, "alloc"))
    return round(100 * line["granted"] / (number * (BENCH if full else HARTS_BENCH)[order]), 1)


def swapped(collected: Collected) -> list[str]:
    """Return for each mode the pages swapped and verified, and the cycles per page."""
    said = []
    for name, mode in collected.modes.items():
        for swap in mode.swaps:
            out, back = (swap[key] * devicetree.SIM_CLOCK_HZ // 10**9 // swap["pages"] for key in ("out_ns", "in_ns"))
            said.append(
                f"{name}, order {swap['order']}: {swap['pages_out']} pages out, {swap['whole_folios']} whole folios, "
                f"{out:,} cycles a page; {swap['pages_in']} in, {back:,} cycles a page; "
                f"{swap['verified_bytes']:,} bytes verified, {swap['wrong_bytes']} wrong"
            )
    return said
