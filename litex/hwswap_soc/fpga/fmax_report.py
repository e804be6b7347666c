# SPDX-License-Identifier: Apache-2.0
"""A bitstream's use of the FPGA and its speed: reads the files of Yosys and nextpnr, prints tables."""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

# The size of each cell, in the FPGA's own units: a carry cell is two LUTs, a piece of LUT RAM four, and two to write.
_COSTS = {
    "LUT4": {"LUT": 1},
    "CCU2C": {"LUT": 2},
    "TRELLIS_DPR16X4": {"LUT": 6},
    "TRELLIS_FF": {"FF": 1},
    "DP16KD": {"BRAM": 1},
    "MULT18X18D": {"DSP": 1},
}
UNITS = ("LUT", "FF", "BRAM", "DSP")
# The units of the 85F parts.
CAPACITY = {"LUT": 83_640, "FF": 83_640, "BRAM": 208, "DSP": 156}

# Yosys flattens the design and then names a cell after a net at it, which keeps the names of the modules it was in. The
# first pattern that fits counts.
GROUPS = (
    ("engine: core", re.compile(r"hwswap_engine\.Core\.")),
    ("engine: swap tables", re.compile(r"hwswap_engine\.(shell\.tables|tableDma)\.")),
    ("engine: grants", re.compile(r"hwswap_engine\.Grants\.")),
    ("engine: shell", re.compile(r"hwswap_engine\.")),
    ("CPU", re.compile(r"(VexRiscv|ExampleRocketSystem)\w*\.")),
    # LiteX's own parts are one Verilog module: their signals' names tell them apart.
    ("L2 cache", re.compile(r"(data|tag)_mem")),
    (
        "memory controller",
        re.compile(
            r".*(sdram|litedram|ddr3?phy|ddr3_|dfi_|dq_|bankmachine|phaseinjector|choose_(cmd|req)|multiplexer|refresh"
            r"|sequencer|zqcs|cke_|t\w{2,4}con_|(master|slave)_p\d|_bridge_|_port_|boardsoc_(read|write)_)"
        ),
    ),
    ("SD card", re.compile(r".*(sdcard|sdpads|sdrio|block2mem|mem2block|clocker|(cmd|data|init)[rw]?_)")),
    ("rest of the SoC", re.compile("")),
)


def group_of(name: str) -> str:
    """The group of `GROUPS` that a cell of a SoC belongs to, by the cell's name."""
    return next(group for group, pattern in GROUPS if pattern.match(name))


def utilisation(netlist: Path, group: Callable[[str], str] = group_of) -> dict[str, dict[str, int]]:
    """Count the resources of a synthesised design, by group of modules and in total.

    Args:
        netlist: JSON netlist that Yosys wrote for nextpnr.
        group: the group of a cell, by the cell's name.

    Returns:
        Units of `UNITS` by name of the group, and those of "total".
    """
    modules = json.loads(netlist.read_text())["modules"]
    [top] = [module for module in modules.values() if int(module["attributes"].get("top", "0"), 2)]
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(UNITS, 0))
    for name, cell in top["cells"].items():
        for unit, number in _COSTS.get(cell["type"], {}).items():
            counts[group(name)][unit] += number
    return counts | {"total": {unit: sum(counted[unit] for counted in counts.values()) for unit in UNITS}}


def timing(report: Path) -> dict:
    """Read one timing report of nextpnr.

    Args:
        report: written by `nextpnr-ecp5 --report`.

    Returns:
        `clocks`: by name, `achieved` and `required` in MHz; `paths`: the slowest path per clock, `clock`, `ns`, of
        which `routing_ns`, `cells` passed, and `from` and `to`, the registers at its ends.
    """
    found = json.loads(report.read_text())
    clocks = {
        _clock_name(name): {"achieved": round(clock["achieved"], 2), "required": round(clock["constraint"], 2)}
        for name, clock in found["fmax"].items()
    }
    paths = []
    for critical in found["critical_paths"]:
        start, end = critical["from"].split(" ", 1)[-1], critical["to"].split(" ", 1)[-1]
        if start != end:
            # Between clocks, or to and from the outside: this does not limit a clock.
            continue
        hops = critical["path"]
        if not hops:
            continue
        paths.append(
            {
                "clock": _clock_name(end),
                "ns": round(sum(hop["delay"] for hop in hops), 2),
                "routing_ns": round(sum(hop["delay"] for hop in hops if hop["type"] == "routing"), 2),
                "cells": sum(hop["type"] == "logic" for hop in hops),
                "from": hops[0]["from"]["cell"],
                "to": hops[-1]["to"]["cell"],
            }
        )
    return {"clocks": clocks, "paths": paths}


def _clock_name(name: str) -> str:
    """Return a clock's name without the additions of nextpnr's promotion to a global net."""
    return name.removeprefix("posedge ").removeprefix("$glbnet$").split("$TRELLIS_IO")[0]


def misses(result: dict) -> list[str]:
    """Name the clocks of one seed that are slower than they have to be."""
    return [name for name, clock in result["clocks"].items() if clock["achieved"] < clock["required"]]


def slack(result: dict) -> float:
    """Return the ratio of achieved to required frequency of one seed's slowest clock: below 1 it misses."""
    return min(clock["achieved"] / clock["required"] for clock in result["clocks"].values())


def slowest(what: str, path: dict) -> str:
    """Say how long a path of `timing` is, and where it goes, for people."""
    return (
        f"slowest path {what}: {path['ns']} ns, {path['routing_ns']} ns of it routing, {path['cells']} cells\n"
        f"  from {path['from']}\n  to   {path['to']}"
    )


def show_utilisation(title: str, counts: dict[str, dict[str, int]], console: Console) -> None:
    """Print a design's use of the FPGA.

    Args:
        title: of the table.
        counts: result of `utilisation`.
        console: the console to print to.
    """
    table = Table(title=title, title_justify="left")
    for heading in ("module", *UNITS):
        table.add_column(heading, justify="left" if heading == "module" else "right")
    for name, units in counts.items():
        table.add_row(name, *(f"{units[unit]:,}" for unit in UNITS), style="bold" if name == "total" else None)
    table.add_row("of the FPGA", *(f"{100 * counts['total'][unit] / CAPACITY[unit]:.0f} %" for unit in UNITS))
    console.print(table)


def show(report: dict, console: Console) -> None:
    """Print the tables of one bitstream.

    Args:
        report: contents of timing.json.
        console: the console to print to.
    """
    title = (
        f"{report['board']}, {report['cpu']} ({report['variant']}), engine of {report['engine']['clusters']} clusters"
    )
    show_utilisation(title, report["utilisation"], console)

    table = Table(title=f"MHz; seed {report['seed']} was taken", title_justify="left")
    for heading in ("clock", "required", *(f"seed {seed}" for seed in report["seeds"])):
        table.add_column(heading, justify="left" if heading == "clock" else "right")
    taken = report["seeds"][str(report["seed"])]
    for name, clock in taken["clocks"].items():
        reached = [found["clocks"][name]["achieved"] for found in report["seeds"].values()]
        table.add_row(name, *(f"{mhz:.1f}" for mhz in [clock["required"], *reached]))
    console.print(table)
    for path in taken["paths"]:
        console.print(slowest(f"of {path['clock']}", path), highlight=False)
