# SPDX-License-Identifier: Apache-2.0
"""The demo's report as tables: software and offload side by side."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from hwswap.project import printed
from hwswap.rtl.device_server import CLOCK_MHZ, EngineServer

BENCHES = {"unpatched": "unpatched", "off": "tuned", "hint": "grants"}
"""Bench -> its name here: the kernel as it is; the patches' software alone; with grants. Each also fragmented."""

PHASES = ("off", "hint", "fragmented-off", "fragmented-hint")


def refused(counts: dict[str, int]) -> int:
    """Return the number of grants that the kernel has refused, for any reason."""
    return sum(value for name, value in counts.items() if name.startswith("grants_refused_"))


def swap_table(phases: Mapping[str, Any]) -> Table:
    """Return a table of the pages swapped in each mode, by the allocator's way to their slots."""
    title = "The same load in each mode; fragmented: half of all slots freed at random before"
    table = printed.table(title, ("", *(name.replace("-", ", ") for name in PHASES)))

    def row(text: str, value: Callable[[dict[str, int]], str], engine: bool = False) -> None:
        texts = ("-" if engine and name.endswith("off") else value(phases[name].counts()) for name in PHASES)
        table.add_row(text, *texts)

    def counter(text: str, key: str, engine: bool = False) -> None:
        row(text, lambda c: f"{c[key]:,}", engine)

    counter("pages swapped out", "pswpout")
    counter("pages swapped in", "pswpin")
    counter("64 kB folios swapped out whole", "swpout_64")
    counter("64 kB fall-backs", "swpout_fallback_64")
    counter("2 MB folios swapped out whole", "swpout_2048")
    counter("2 MB fall-backs", "swpout_fallback_2048")
    counter("allocations that found slots", "allocations")
    counter("of them by grants", "grant_units", True)
    row("share by grants", lambda c: f"{100 * c['grant_units'] / max(1, c['allocations']):.1f} %", True)
    counter("grants taken", "grants_popped", True)
    row("grants refused", lambda c: f"{refused(c):,}", True)
    counter("empty clusters taken by grants", "grants_claimed", True)
    shown = [phases[name] for name in PHASES]
    table.add_row("bitmap differences when quiet", *(phase.verify.rpartition(" ")[2] or "-" for phase in shown))
    sums = ([sum(load[key] for load in phase.loads) for key in ("mismatches", "verified_bytes")] for phase in shown)
    table.add_row("bytes wrong, of bytes verified", *(f"{wrong} of {verified:,}" for wrong, verified in sums))
    return table


def entry(benches: Mapping[str, Any], name: str, op: str, order: int) -> dict[str, Any]:
    """Return the line of a call: its instructions on average have all that some calls do and others do not."""
    return next(e for e in benches[name] if e["op"] == op and e["order"] == order)


def bench_table(benches: Mapping[str, Any], fragmented: bool = False) -> Table:
    """Return a table of guest instructions per call of the allocator, each column beside the one before it."""
    state = "fragmented" if fragmented else "after the loads"
    heads = ("", "unpatched", "tuned", ": unpatched", "grants", ": tuned")
    table = printed.table(f"Guest instructions per call, averages; swap {state}", heads)
    prefix = "fragmented-" if fragmented else ""
    for order in (0, 4, 9):
        for op, verb in (("alloc", "allocate"), ("free", "free")):
            found = [entry(benches, prefix + name, op, order) for name in BENCHES]
            if not all(each["n"] for each in found):
                continue
            text = f"{verb} order {order}" + ", no room" * bool(op == "alloc" and found[-1]["failed"])
            unpatched, tuned, grants = (each["avg"] for each in found)
            ratios = f"{tuned / unpatched:.2f}", f"{grants / tuned:.2f}"
            table.add_row(text, f"{unpatched:,}", f"{tuned:,}", ratios[0], f"{grants:,}", ratios[1])
    return table


def verdict(benches: Mapping[str, Any], splits: Mapping[str, int], tried: int) -> list[str]:
    """Return three sentences: on tuned software, on grants, and on the large folios split of those tried."""

    def ratio(op: str, order: int, of: str, to: str, state: str = "") -> str:
        after, before = (entry(benches, state + name, op, order) for name in (of, to))
        return f"{after['avg'] / before['avg']:.2f}" if after["n"] and before["n"] else "none"

    tuned = (
        f"Tuned software, which takes the same slots, needs {ratio('alloc', 0, 'off', 'unpatched')} of the unpatched "
        f"kernel's instructions to allocate a page's slot, {ratio('free', 0, 'off', 'unpatched')} to free it."
    )
    grants = (
        f"Grants of the engine on top need {ratio('alloc', 0, 'hint', 'off')} of tuned software's for the one, "
        f"{ratio('free', 0, 'hint', 'off')} for the other; on fragmented swap "
        f"{ratio('alloc', 0, 'hint', 'off', 'fragmented-')} and {ratio('free', 0, 'hint', 'off', 'fragmented-')}."
    )
    full = (
        f"Where swap is 92 % full the kernel splits {splits['linux']:,} of {tried:,} large folios, a wide search by "
        f"software {splits['wide']:,}, grants that keep a cluster to one order {splits['indexed']:,}."
    )
    return [tuned, grants, full]


def cycles_table(cycles: Mapping[str, Any]) -> Table:
    """Return a table of engine clock cycles per operation, from the replay of mode off's operations."""
    title = "Engine clock cycles an operation (the core alone)"
    table = printed.table(title, ("", "operations", "p50", "p99", "max"))

    def add(text: str, entry: dict[str, Any]) -> None:
        if entry["count"]:
            table.add_row(text, *(f"{entry[key]:,}" for key in ("count", "p50", "p99", "max")))

    for order, entry in cycles["alloc_cycles_by_order"].items():
        add(f"allocate order {order}", entry)
    for kind, text in (("alloc_failed", "allocate, failed"), ("free", "free")):
        if kind in cycles["cycles_by_kind"]:
            add(text, cycles["cycles_by_kind"][kind])
    return table


def notes(benches: Mapping[str, Any], ticks: Mapping[str, int]) -> list[str]:
    """Return notes on the meaning of the numbers."""
    gaps = sorted({(e["order"], e["gap_ns"]) for e in benches["hint"]})
    text = ", ".join(f"{gap / 1000:g} µs at order {order}" for order, gap in gaps)
    return [
        (
            "The engine is simulated: its Verilog, run by Verilator behind a PCI device that QEMU shows to the guest. "
            f"Its clock is modelled as {CLOCK_MHZ} MHz, its link as {EngineServer.latency} engine "
            "cycles per transfer. No wall-clock time is compared: a simulated device has none."
        ),
        (
            "The guest has one CPU whose clock counts instructions (1 instruction = 1 ns): blind to waiting and to "
            f"cache misses. The simulated engine runs in guest time, in steps of {ticks['load']} µs under "
            f"load and {ticks['bench']} µs for the bench: rings are refilled at that pace."
        ),
        (
            "Bench, unpatched: Linux as it is, but for the bench; tuned: mode off, all patches, no grants; grants: "
            f"mode hint. The kernel calls its allocator directly; before each call pass {text}, in which rings refill. "
            "Averages are over everything: hits, misses, fall-backs and failures."
        ),
        (
            "The seed fixes what the loads do, but not when the guest's disk and serial line answer: counts differ by "
            "a few per cent from run to run."
        ),
        "Engine cycles: the operations of mode off, recorded by tracepoints, replayed on the engine alone.",
    ]


def show(collected: Any, cycles: Mapping[str, Any], splits: Mapping[str, int], of: int, console: Console) -> None:
    """Print all tables and the notes, from the guests' output and the replay's report."""
    benches = collected.benches
    tables = (swap_table(collected.phases), bench_table(benches), bench_table(benches, True), cycles_table(cycles))
    title = f"Large folios split, of {of:,}; two devices 92 % full; linux: tuned, the same slots as unpatched"
    split = printed.table(title, ("", *splits), [("split", *(f"{split:,}" for split in splits.values()))])
    for table in (*tables, split):
        console.print(table)
    for note in notes(benches, collected.tick_us):
        console.print(f"- {note}", highlight=False)
    for sentence in verdict(benches, splits, of):
        console.print(sentence, highlight=False)
