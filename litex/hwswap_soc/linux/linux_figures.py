# SPDX-License-Identifier: Apache-2.0
"""What a run of Linux on the simulated SoC measured: figures, and sentences about what was swapped."""

from typing import Any

from hwswap.bench.lines import TOLERANCE
from hwswap.results.schema import Figure

from hwswap_soc.linux import devicetree
from hwswap_soc.linux.linux_result import Collected


def calls(collected: Collected) -> tuple[list[Figure], list[Figure]]:
    """Return a figure for each call: on an empty area, and on one that is 90 % full."""
    modes = collected.modes.items()
    empty = [_median(mode, "", line) for mode, found in modes for line in found.benches if line["n"]]
    full = [_median(mode, ", 90 % full", line) for mode, found in modes for line in found.full if line["n"]]
    return empty, full


def _median(mode: str, state: str, line: dict[str, Any]) -> Figure:
    """Return a line's median as a figure: a timer interrupt of 43,000 to 80,000 cycles moves the mean of 96 calls."""
    call = "allocate" if line["op"] == "alloc" else "free"
    spread = {"average": line["avg"], "p99": line["p99"]}
    return Figure(f"{call} order {line['order']}{state}", mode, line["p50"], "CPU cycles", spread, TOLERANCE)


def swapped(collected: Collected) -> list[str]:
    """Return for each mode what was swapped and verified, and what each of those pages took."""
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
