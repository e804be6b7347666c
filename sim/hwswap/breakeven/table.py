# SPDX-License-Identifier: Apache-2.0
"""The results as tables: of rich for a terminal, in Markdown for docs/break-even.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from hwswap.breakeven import report
from hwswap.breakeven.figures import MODES, STATES

NAMES = {"register": "MMIO"}


@dataclass(frozen=True)
class Grid:
    """A table: title, heads of columns, rows of text. The first `left` columns are text, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int

    def rich(self) -> Table:
        """Return it for a terminal."""
        view = Table(title=self.title)
        for at, column in enumerate(self.columns):
            view.add_column(column, justify="left" if at < self.left else "right")
        for row in self.rows:
            view.add_row(*row)
        return view

    def markdown(self) -> str:
        """Return it for a page."""
        lines = [self.columns, ["---" if at < self.left else "---:" for at in range(len(self.columns))], *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def amdahl(made: Mapping[str, Any]) -> Grid:
    """What part of swapping a page is allocation."""
    rows = []
    for row in made["amdahl"]:
        reached = [row["reached"].get(mode) for mode in ("tuned", "grants", "tuned + grants")]
        rows.append(
            [
                f"order {row['order']}, {row['state']}, {row['path']}",
                f"{row['whole']:,.0f}",
                f"{row['allocator']:,.0f}",
                f"{100 * row['share']:.1f} %",
                f"{row['bound']:.3f}",
                *("-" if value is None else f"{value:.3f}" for value in reached),
            ]
        )
    columns = ("a page", "CPU cycles", "allocator", "share", "bound", "tuned", "grants", "tuned + grants")
    return Grid("Swapping a page: speed-up of the whole at most, and by what was measured", columns, rows, 1)


def kernel(made: Mapping[str, Any], cpus: int = 1, load: str = report.LOADS[0]) -> Grid:
    """Cycles of a page in a kernel, by mode and link."""
    links = sorted({row["link"] for row in made["kernel"]}, key=list(made["links"]).index)
    engine = [mode for mode in MODES if mode not in ("unpatched", "tuned")]
    rows = []
    for state in STATES:
        for order in report.KERNEL_ORDERS:
            found = report.select(made["kernel"], state=state, order=order, cpus=cpus, load=load)
            by = {(row["mode"], row["link"]): row["total"] for row in found}
            cells = [f"order {order}, {state}"]
            for mode in ("unpatched", "tuned"):
                cells.append(f"{by[mode, links[0]]:,.1f}" if (mode, links[0]) in by else "-")
            for mode in engine:
                values = [by.get((mode, link)) for link in links]
                cells.append("-" if None in values else " / ".join(f"{value:,.1f}" for value in values))
            rows.append(cells)
    columns = ("a page", "unpatched", "tuned", *(f"{mode}: {' / '.join(links)}" for mode in engine))
    title = f"Kernel, {cpus} CPU{'s' if cpus > 1 else ''} doing {load}: cycles of an allocation and its free, a page"
    return Grid(title, columns, rows, 1)


def by_cpus(made: Mapping[str, Any], state: str, load: str) -> Grid:
    """Cycles of a page over the number of CPUs, at the order and by the link that was asked for."""
    order, link = made["order"], made["link"]
    found = report.select(made["kernel"], state=state, order=order, link=link, load=load)
    modes = [mode for mode in MODES if any(row["mode"] == mode for row in found)]
    rows = []
    for number in made["cpus"]:
        cells = [str(number)]
        for mode in modes:
            (row,) = report.select(found, mode=mode, cpus=number)
            late = f" ({100 * row['by_engine']:.0f} % in time)" if row["by_engine"] < 0.9995 else ""
            cells.append(f"{row['total']:,.0f}{late}")
        rows.append(cells)
    title = f"Kernel, order {order}, {state}, {link}, CPUs doing {load}: cycles a page"
    return Grid(title, ("CPUs", *modes), rows, 1)


def register_break_even(made: Mapping[str, Any]) -> Grid:
    """Up to which latency of a register read MMIO pays on bare metal."""
    rows = []
    keys = dict.fromkeys((row["cpu"], row["state"], row["order"]) for row in made["break_even_register"])
    for cpu, state, order in keys:
        cells = [f"{cpu}, order {order}, {state}"]
        for against in ("stock", "tuned"):
            (row,) = report.select(made["break_even_register"], cpu=cpu, state=state, order=order, against=against)
            pays = row["added_cycles"] >= 0
            cells += [f"{row['added_cycles']:,.0f}", f"{row['ns_at_host_clock']:,.0f} ns"] if pays else ["never", "-"]
        rows.append(cells)
    clock = made["figures"]["host_clock"]["value"]
    columns = ("bare metal", "beside stock, cycles", f"at {clock:g} GHz", "beside tuned, cycles", f"at {clock:g} GHz")
    return Grid("MMIO: what a register read may take beyond one on the bus until it costs as much", columns, rows, 1)


def kernel_break_even(made: Mapping[str, Any], cpus: int) -> Grid:
    """Up to which round trip the engine pays in a kernel."""
    found = report.select(made["break_even_kernel"], cpus=cpus)
    rows = []
    for mode, against in dict.fromkeys((row["mode"], row["against"]) for row in found):
        for state in STATES:
            cells = [f"{mode} beside {against}, {state}"]
            for order in report.KERNEL_ORDERS:
                its = report.select(found, mode=mode, against=against, state=state, order=order, load=report.LOADS[0])
                if not its:
                    cells.append("-")
                    continue
                limit = its[0]["round_trip_ns"]
                cells.append("any" if limit is None else "never" if limit < 0 else f"{limit:,.0f} ns")
            if set(cells[1:]) != {"-"}:
                rows.append(cells)
    columns = (f"{cpus} CPU{'s' if cpus > 1 else ''}", *(f"order {order}" for order in report.KERNEL_ORDERS))
    return Grid("Kernel: round trip up to which the engine costs no more than software", columns, rows, 1)


def knees(made: Mapping[str, Any]) -> Grid:
    """From how many CPUs on something is the limit."""
    rows = [
        [f"{row['state']}, CPUs doing {row['load']}", f"{row['lock_cpus']:,.0f}", f"{row['grant_engine_cpus']:,.0f}"]
        for row in made["knees"]
    ]
    columns = (f"order 0, {made['link']}", "si->lock is the limit from", "grants' engine is late from")
    return Grid("CPUs", columns, rows, 1)


def validation(made: Mapping[str, Any]) -> Grid:
    """How far the fit is off."""
    rows = []
    for row in made["validation"]:
        cells = [f"{row['cpu']}, {row['check']}: {NAMES.get(row['scheme'], row['scheme'])}"]
        for name in ("fitted", "held_out"):
            if f"{name}_points" in row:
                cells += [
                    str(row[f"{name}_points"]),
                    f"{100 * row[f'{name}_mean']:.1f} %",
                    f"{100 * row[f'{name}_worst']:.1f} %",
                ]
            else:
                cells += ["-"] * 3
        rows.append(cells)
    columns = ("simulated SoC", "fitted", "mean error", "worst", "held out", "mean error", "worst")
    return Grid("How far the calculation is off the simulated SoC, one hart", columns, rows, 1)


def harts(made: Mapping[str, Any]) -> Grid:
    """Several harts: measured, and by both calculations."""
    rows = []
    for row in made["harts"]:
        rows.append(
            [
                f"{NAMES.get(row['scheme'], row['scheme'])}, {row['state']}, {row['load']}: {row['harts']} harts",
                f"{row['measured']:,.0f}",
                f"{row['queueing']:,.0f} ({100 * row['queueing_error']:+.0f} %)",
                f"{row['lines']:,.0f}" + (f" ({100 * row['lines_error']:+.0f} %)" if row["harts"] > 2 else " (fitted)"),
            ]
        )
    columns = ("an allocation and its free, cycles", "measured", "queueing alone", "with lines that move")
    return Grid("Several harts of the simulated SoC", columns, rows, 1)


def linux_harts(made: Mapping[str, Any]) -> Grid:
    """Linux on several harts: measured, and what bare metal lets expect."""
    rows = []
    for row in made["linux_harts"]:
        name = NAMES.get(row["scheme"], row["scheme"])
        rows.append(
            [
                f"{name}, {row['state']}, order {row['order']}: {row['harts']} harts",
                f"{row['measured']:,.0f}",
                f"{row['growth']:.2f}",
                f"{row['bare_growth']:.2f}",
                f"{row['queueing']:,.0f} ({100 * row['queueing_error']:+.0f} %)",
                f"{row['lines']:,.0f} ({100 * row['lines_error']:+.0f} %)",
            ]
        )
    columns = ("Linux: an allocation and its free, cycles", "measured", "growth", "bare metal's growth")
    return Grid("Linux on several harts", (*columns, "queueing alone", "with bare metal's lines"), rows, 1)


def harts_sentence(made: Mapping[str, Any]) -> str:
    """How far both calculations are off on four harts."""
    rows = [row for row in made["harts"] if row["harts"] > 2]
    if not rows:
        return "More than one CPU was not validated: there is no measurement of several harts."
    parts = []
    for name, title in (("queueing", "queueing alone"), ("lines", "lines that move added")):
        off = [abs(row[f"{name}_error"]) for row in rows]
        parts.append(
            f"{title} is off by {100 * sum(off) / len(off):.0f} % in the mean, {100 * max(off):.0f} % at worst"
        )
    return f"On {rows[0]['harts']} harts, of {len(rows)} points: {'; '.join(parts)}."


def ratios(made: Mapping[str, Any]) -> Grid:
    """What instructions say of grants beside unpatched, and cycles."""
    rows = [
        [
            f"order {row['order']}",
            f"{row['instructions']:.2f}",
            f"{row['mean_cycles']:.2f}",
            f"{100 * row['error']:+.0f} %",
            f"{row['median_cycles']:.2f}",
            f"{100 * row['median_error']:+.0f} %",
        ]
        for row in made["ratios"]
    ]
    columns = ("grants : unpatched, empty", "instructions", "mean cycles", "error", "median cycles", "error")
    return Grid("Linux on the SoC: an allocation and its free", columns, rows, 1)


def fits(made: Mapping[str, Any]) -> Grid:
    """The fits' parameters."""
    rows = [
        [
            f"{fit['cpu']}, {NAMES.get(fit['scheme'], fit['scheme'])}, {fit['op']}, {fit['state']}",
            f"{fit['base']:.1f}",
            f"{fit['per_slot']:.2f}",
            f"{fit['accesses']:.2f}",
            f"{fit['accesses_per_slot']:.3f}",
        ]
        for fit in made["fits"]
    ]
    columns = ("cycles of a call", "base", "a slot", "accesses", "accesses a slot")
    return Grid("Fits: cycles = base + slots * a + (accesses + slots * b) * DRAM latency", columns, rows, 1)


def sensitivity(made: Mapping[str, Any]) -> Grid:
    """What becomes of the result when an assumption is half or twice as large."""
    names = [name for name in made["sensitivity"][0] if name != "figure"]
    names.sort(key=lambda name: (name.endswith("64 CPUs"), float(name.split(",")[0][1:])))
    rows = [[row["figure"], *(f"{row[name]:.3f}" for name in names)] for row in made["sensitivity"]]
    title = f"Grants : unpatched, order 0, 90 % full, {made['link']}, with half and twice of what was not measured"
    return Grid(title, ("figure", *names), rows, 1)


def points(made: Mapping[str, Any]) -> Grid:
    """Every point that was held out, and those fitted."""
    rows = []
    for point in made["points"]:
        clock = "" if point["ratio"] is None else f", engine clock {point['ratio']:g}"
        name = NAMES.get(point["scheme"], point["scheme"])
        rows.append(
            [
                f"{point['check']}, {point['cpu']}, {name}, {point['op']} order {point['order']}, {point['state']}",
                f"{point['latency']}{clock}",
                f"{point['measured']:,.0f}",
                f"{point['predicted']:,.0f}",
                f"{100 * point['error']:+.1f} %",
                "fitted" if point["fitted"] else "held out",
            ]
        )
    columns = ("point", "DRAM latency", "measured", "calculated", "error", "")
    return Grid("Points of the simulated SoC", columns, rows, 2)
