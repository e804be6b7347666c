# SPDX-License-Identifier: Apache-2.0
"""Makes the bitstreams of all boards, one after the other, and sums them up.

A board that fails does not keep the others from being made. What has been made (a netlist, a routed seed) is not made
again, so an interrupted call goes on where it stopped.
"""

import argparse
import json
import sys
from pathlib import Path

from hwswap.project import provenance
from hwswap.results import schema
from hwswap_litex import EngineInfo, InputError
from rich.console import Console
from rich.table import Table

from hwswap_soc.boards import bitstream, capacity, profiles
from hwswap_soc.fpga import fmax_report, fpga_tools, placement, steps
from hwswap_soc.fpga.fmax_report import CAPACITY, UNITS

ROOT = fpga_tools.ROOT
OUTPUT = ROOT / "build" / "bitstreams"


def _why(board: str, cpu: str, netlist: Path, limit: str) -> str:
    """Why the last step, which places, failed."""
    facts = json.loads((netlist / "facts.json").read_text())
    used = fmax_report.utilisation(netlist / "netlist.json")["total"]
    if said := capacity.refusal(f"{cpu} on {board}", used, EngineInfo(**facts["engine"]), limit):
        return said
    report = bitstream.timing_report(board, cpu)
    if report.is_file():
        found = json.loads(report.read_text())
        if found["engine"] == facts["engine"] and (missed := fmax_report.misses(found["seeds"][str(found["seed"])])):
            return f"timing is missed on {', '.join(missed)}: try more SEEDS="
    return f"it could not be routed: 'make bitstream BOARD={board} CPU={cpu}' says why"


def row(board: str, cpu: str, report: dict | None, reason: str | None) -> dict:
    """What the summary says of one board and CPU.

    Args:
        board: name of the board.
        cpu: name of the CPU.
        report: contents of timing.json; None when nothing was placed.
        reason: why there is no bitstream, a sentence; None when there is one.
    """
    made = {"board": board, "cpu": cpu, "profile": profiles.chosen(board, cpu), "reason": reason}
    if report is None:
        return made
    best = report["seeds"][str(report["seed"])]
    paths = [path for path in best["paths"] if path["clock"] == "sys_clk"]
    total = report["utilisation"]["total"]
    made |= {
        key: report[key] for key in ("variant", "device", "engine", "floor_mhz", "given_up", "utilisation", "tools")
    }
    return made | {
        "profile": report["engine"]["profile"],
        "asked_mhz": report["sys_mhz"],
        "reached_mhz": {seed: found["clocks"]["sys_clk"]["achieved"] for seed, found in report["seeds"].items()},
        "slowest_path": max(paths, key=lambda path: path["ns"], default=None),
        "percent": {unit: round(100 * total[unit] / CAPACITY[unit], 1) for unit in UNITS},
    }


def make(pairs: list[tuple[str, str]], seeds: int, limit: str, output: Path) -> dict:
    """Makes bitstreams.

    Args:
        pairs: boards, each with a CPU.
        seeds: placements each.
        limit: how full an FPGA may be (`capacity.allowed`).
        output: folder for summary.json, written after each board.

    Returns:
        What summary.json holds.
    """
    output.mkdir(parents=True, exist_ok=True)
    summary = {"commit": provenance.commit(), "bitstreams": []}
    for number, (board, cpu) in enumerate(pairs, 1):
        print(f"\n== {number} of {len(pairs)}: {cpu} on {board}", file=sys.stderr, flush=True)
        report, reason = None, None
        chosen = {"BOARD": board, "CPU": cpu, "SEEDS": str(seeds), "LIMIT": limit}
        if not steps.build(chosen, *capacity.SYNTHESIS):
            reason = f"it could not be synthesised: 'make bitstream BOARD={board} CPU={cpu}' says why"
        elif steps.build(chosen, "bitstream"):
            report = json.loads((ROOT / "build" / f"bitstream-{board}-{cpu}" / "timing.json").read_text())
        else:
            reason = _why(board, cpu, ROOT / "build" / f"netlist-{board}-{cpu}", limit)
            missed = bitstream.timing_report(board, cpu)
            report = json.loads(missed.read_text()) if reason.startswith("timing") else None
        summary["bitstreams"].append(row(board, cpu, report, reason))
        (output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    return summary


def _reached(made: dict) -> str:
    """The frequencies of the seeds, and which were not routed."""
    speeds = {seed: f"{mhz:.1f}" for seed, mhz in made["reached_mhz"].items()}
    speeds |= {seed: placement.said(after) for seed, after in made["given_up"].items()}
    return ", ".join(f"{seed}: {speeds[seed]}" for seed in sorted(speeds, key=int))


def show(summary: dict, console: Console) -> None:
    """Prints a line a bitstream."""
    table = Table(title=f"bitstreams at {summary['commit']}", title_justify="left")
    for heading in ("board", "CPU", "engine", *UNITS[:3], "asked", "reached", ""):
        table.add_column(heading)
    for made in summary["bitstreams"]:
        cells = [made["board"], made["cpu"], made["profile"]]
        if "utilisation" in made:
            shares = [f"{made['utilisation']['total'][unit]:,} = {made['percent'][unit]:.0f} %" for unit in UNITS[:3]]
            cells += [*shares, f"{made['asked_mhz']:g}", _reached(made)]
        else:
            cells += [""] * 5
        table.add_row(*cells, made["reason"] or "ok")
    console.print(table)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, those of `capacity`."""
    capacity.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Makes bitstreams and sums them up; returns the exit status."""
    summary = make(capacity.pairs(), options.seeds, options.limit, OUTPUT)
    show(summary, Console())
    if failed := [made for made in summary["bitstreams"] if made["reason"]]:
        names = ", ".join(f"{made['cpu']} on {made['board']}" for made in failed)
        raise InputError(f"{len(failed)} of {len(summary['bitstreams'])} bitstreams were not made: {names}")
    schema.save(
        "bitstreams",
        [
            schema.Figure(f"{made['board']}, {made['cpu']}: {what}", "", value, unit, {}, tolerance, better)
            for made in summary["bitstreams"]
            for what, value, unit, tolerance, better in (
                ("slowest seed", min(made["reached_mhz"].values()), "MHz", 0.03, "more"),
                ("LUTs", made["percent"]["LUT"], "%", 0.02, "less"),
                ("block RAMs", made["percent"]["BRAM"], "%", 0.02, "less"),
            )
        ],
        title="Boards",
        command=f"make bitstreams SEEDS={options.seeds}",
        platform="ECP5-85F, Yosys and nextpnr, after place and route",
        leaves_out="a board: none was at hand",
    )
    for board, cpu in capacity.pairs():
        capacity.record(ROOT / "build" / f"netlist-{board}-{cpu}")
    return 0
