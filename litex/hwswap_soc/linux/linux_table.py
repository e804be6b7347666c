# SPDX-License-Identifier: Apache-2.0
"""The results of Linux on the simulated SoC, as tables and as a picture."""

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.table import Table

from hwswap_soc.linux.linux_result import Collected, Mode, placed

OPS = {"alloc": "allocate", "free": "free"}


def _count(mode: Mode, name: str) -> str:
    return f"{int(mode.driver.get(name, 0)):,}" if mode.driver else "-"


def swap_table(collected: Collected, clock_hz: int) -> Table:
    """What was swapped and verified in each mode, and who placed it.

    Args:
        collected: the run.
        clock_hz: the CPU clock that the device tree stated, by which the kernel counts time.
    """
    area = collected.area["path"] if collected.area else "nothing"
    table = Table(title=f"Swapped to {area} and verified, by mode")
    table.add_column("")
    for name in collected.modes:
        table.add_column(name, justify="right")

    def row(text: str, cell) -> None:
        table.add_row(text, *(cell(mode) for mode in collected.modes.values()))

    def total(mode: Mode, key: str) -> str:
        return f"{sum(swap[key] for swap in mode.swaps):,}"

    def cycles(mode: Mode, key: str, order: int) -> str:
        swaps = [swap for swap in mode.swaps if swap["order"] == order]
        pages = sum(swap["pages"] for swap in swaps)
        return f"{sum(swap[key] for swap in swaps) * clock_hz // 1_000_000_000 // pages:,}" if pages else "-"

    row("pages out", lambda mode: total(mode, "pages_out"))
    row("pages in", lambda mode: total(mode, "pages_in"))
    row("64 kB folios out whole", lambda mode: total(mode, "whole_folios"))
    row("bytes verified", lambda mode: total(mode, "verified_bytes"))
    row("bytes wrong", lambda mode: total(mode, "wrong_bytes"))
    row("CPU cycles a page out, 4 kB folios", lambda mode: cycles(mode, "out_ns", 0))
    row("CPU cycles a page in, 4 kB folios", lambda mode: cycles(mode, "in_ns", 0))
    row("CPU cycles a page out, 64 kB folios", lambda mode: cycles(mode, "out_ns", 4))
    row("CPU cycles a page in, 64 kB folios", lambda mode: cycles(mode, "in_ns", 4))
    for name in (
        "grant_units",
        "grants_popped",
        "grants_claimed",
        "grants_stray",
    ):
        row(name.replace("_", " "), lambda mode, name=name: _count(mode, name))
    row("mirror differences", lambda mode: f"{mode.mirror['differences']}" if mode.mirror else "-")
    return table


def _calls(collected: Collected) -> dict[str, Callable[[Mode, str], dict[str, Any] | None]]:
    """What was benched, by the name of its rows, and how to get a mode's line of it, `alloc` or `free`."""
    calls: dict[str, Callable[[Mode, str], dict[str, Any] | None]] = {
        str(order): partial(lambda mode, op, order: mode.bench(op, order), order=order) for order in collected.orders
    }
    if any(mode.full for mode in collected.modes.values()):
        calls["0, 90 % full"] = lambda mode, op: mode.bench_full(op)
    return calls


def cycles_table(collected: Collected) -> Table:
    """CPU cycles of one call of the allocator, by the kernel's own bench; ratios to the first mode."""
    table = Table(title="CPU cycles a call: mean over all calls (median), ratio of means to software")
    table.add_column("")
    names = list(collected.modes)
    for name in names:
        table.add_column(name, justify="right")
        if name != names[0]:
            table.add_column("ratio", justify="right")
    for what, bench in _calls(collected).items():
        for op, verb in OPS.items():
            cells, first = [], bench(collected.modes[names[0]], op)
            for name in names:
                line = bench(collected.modes[name], op)
                cells.append(f"{line['avg']:,} ({line['p50']:,})" if line else "-")
                if name != names[0]:
                    cells.append(f"{line['avg'] / first['avg']:.2f}" if line and first and first["avg"] else "-")
            table.add_row(f"{verb} order {what}", *cells)
    return table


def placed_table(collected: Collected) -> Table:
    """How many of the bench's folios the engine placed."""
    table = Table(title="Folios of the bench that the engine placed")
    for title in ("order", *collected.modes):
        table.add_column(title, justify="right")
    for what, bench in _calls(collected).items():
        lines = [bench(mode, "alloc") for mode in collected.modes.values()]
        table.add_row(what, *(f"{placed(line)} of {line['n']}" if line else "-" for line in lines))
    return table


def phases_table(collected: Collected, cycles: int) -> Table:
    """Where the cycles of the run went.

    Args:
        collected: the run.
        cycles: of the whole run.
    """
    table = Table(title="The run, in millions of CPU cycles")
    for title in ("", "begins at", "takes"):
        table.add_column(title, justify="right" if title else "left")
    ends = [cycle for _, cycle in collected.phases[1:]] + [cycles]
    for (name, cycle), end in zip(collected.phases, ends, strict=True):
        table.add_row(name, f"{cycle / 1e6:.1f}", f"{(end - cycle) / 1e6:.1f}")
    return table
