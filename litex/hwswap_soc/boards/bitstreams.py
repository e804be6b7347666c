# SPDX-License-Identifier: Apache-2.0
"""Makes the bitstreams of all boards, one after the other, and sums them up.

A board that fails does not keep the others from being made. A netlist or seed that has been made is not made again, so
an interrupted call goes on where it stopped.
"""

import argparse
import json
import sys

from hwswap.project.paths import BUILD
from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console
from rich.table import Table

from hwswap_soc.boards import boards
from hwswap_soc.fpga import steps
from hwswap_soc.fpga.fmax_report import CAPACITY, UNITS

STEPS = ("rtl-board", "fpga", "part-board", "part-cpu", "netlist", "bitstream")
"""Artefacts of sim/setup/build."""


def make(pairs: list[tuple[str, str]], seeds: int, limit: str) -> dict[tuple[str, str], dict | None]:
    """Make bitstreams.

    Args:
        pairs: boards, each with a CPU.
        seeds: placements each.
        limit: the share of an FPGA that may be used (`capacity.allowed`).

    Returns:
        By pair the content of timing.json; None where none could be made.
    """
    made: dict[tuple[str, str], dict | None] = {}
    for board, cpu in pairs:
        print(f"\n== {len(made) + 1} of {len(pairs)}: {cpu} on {board}", file=sys.stderr, flush=True)
        done = steps.build({"BOARD": board, "CPU": cpu, "SEEDS": str(seeds), "LIMIT": limit}, *STEPS)
        report = BUILD / f"bitstream-{board}-{cpu}" / "timing.json"
        made[board, cpu] = json.loads(report.read_text()) if done else None
    return made


def reached(report: dict) -> dict[str, float]:
    """Return the frequency that clock `sys` reached, in MHz by seed."""
    return {seed: found["clocks"]["sys_clk"]["achieved"] for seed, found in report["seeds"].items()}


def show(made: dict[tuple[str, str], dict | None], console: Console) -> None:
    """Print one line per bitstream."""
    table = Table(title="bitstreams", title_justify="left")
    for heading in ("board", "CPU", "engine", *UNITS[:3], "asked", "reached by seed", ""):
        table.add_column(heading)
    for (board, cpu), report in made.items():
        if report is None:
            table.add_row(board, cpu, *[""] * 6, f"'make bitstream BOARD={board} CPU={cpu}' says why not")
            continue
        total = report["utilisation"]["total"]
        shares = [f"{total[unit]:,} = {100 * total[unit] / CAPACITY[unit]:.0f} %" for unit in UNITS[:3]]
        speeds = {seed: f"{mhz:.1f}" for seed, mhz in reached(report).items()}
        speeds |= {seed: f"not routed in {minutes:g} minutes" for seed, minutes in report["given_up"].items()}
        seeds = ", ".join(f"{seed}: {speeds[seed]}" for seed in sorted(speeds, key=int))
        table.add_row(board, cpu, report["engine"]["profile"], *shares, f"{report['sys_mhz']:g}", seeds, "ok")
    console.print(table)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own argument."""
    parser.add_argument("--limit", choices=("routable", "part"), default="routable", help="how full an FPGA may be")


def run(options: argparse.Namespace) -> int:
    """Make bitstreams and sum them up; return the exit status."""
    made = make(boards.pairs(), options.seeds, options.limit)
    show(made, Console())
    if failed := [f"{cpu} on {board}" for (board, cpu), report in made.items() if report is None]:
        raise InputError(f"{len(failed)} of {len(made)} bitstreams were not made: {', '.join(failed)}")
    figures = []
    for (board, cpu), report in made.items():
        total = report["utilisation"]["total"]
        percent = {unit: round(100 * total[unit] / CAPACITY[unit], 1) for unit in UNITS}
        for what, value, unit, tolerance, better in (
            ("slowest seed", min(reached(report).values()), "MHz", 0.03, "more"),
            ("LUTs", percent["LUT"], "%", 0.02, "less"),
            ("block RAMs", percent["BRAM"], "%", 0.02, "less"),
        ):
            figures.append(schema.Figure(f"{board}, {cpu}: {what}", "", value, unit, {}, tolerance, better))
    schema.save(
        "bitstreams",
        figures,
        title="Boards",
        command=f"make bitstreams SEEDS={options.seeds}",
        platform="ECP5-85F, Yosys and nextpnr, after place and route",
        leaves_out="a board: none was at hand",
    )
    return 0
