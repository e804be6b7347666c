# SPDX-License-Identifier: Apache-2.0
"""Makes the bitstreams of all boards, one after the other, and sums them up.

    hwswap soc bitstreams make --seeds 2     # build/bitstreams/summary.json and summary.md
    hwswap soc bitstreams docs               # the summary into the documentation, the sizes on record

A board that fails does not keep the others from being made. What has been made (a netlist, a routed seed) is not made
again, so an interrupted call goes on where it stopped.
"""

import argparse
import json
import re
import shutil
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
RECORD = ROOT / "docs" / "bitstreams.json"
"""The summary that the documentation shows."""

_BEGIN, _END = "<!-- {name}: by make bitstreams, from docs/bitstreams.json -->", "<!-- {name}: end -->"


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
    return made | {
        "variant": report["variant"],
        "device": report["device"],
        "profile": report["engine"]["profile"],
        "engine": report["engine"],
        "floor_mhz": report["floor_mhz"],
        "asked_mhz": report["sys_mhz"],
        "reached_mhz": {seed: found["clocks"]["sys_clk"]["achieved"] for seed, found in report["seeds"].items()},
        "given_up": report["given_up"],
        "slowest_path": max(paths, key=lambda path: path["ns"], default=None),
        "utilisation": report["utilisation"],
        "percent": {unit: round(100 * total[unit] / CAPACITY[unit], 1) for unit in UNITS},
        "tools": report["tools"],
    }


def make(pairs: list[tuple[str, str]], seeds: int, limit: str, output: Path) -> dict:
    """Makes bitstreams.

    Args:
        pairs: boards, each with a CPU.
        seeds: placements each.
        limit: how full an FPGA may be (`capacity.allowed`).
        output: folder for summary.json and summary.md, written after each board.

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
        (output / "summary.md").write_text("\n".join([*overview(summary), "", *modules(summary)]) + "\n")
    schema.save(
        "bitstreams",
        [
            schema.Figure(f"{made['board']}, {made['cpu']}: {what}", "", value, unit, {}, tolerance, better)
            for made in summary["bitstreams"]
            if made.get("reached_mhz")
            for what, value, unit, tolerance, better in (
                ("slowest seed", min(made["reached_mhz"].values()), "MHz", 0.03, "more"),
                ("LUTs", made["percent"]["LUT"], "%", 0.02, "less"),
                ("block RAMs", made["percent"]["BRAM"], "%", 0.02, "less"),
            )
        ],
        title="Boards",
        command=f"make bitstreams SEEDS={seeds}",
        platform="ECP5-85F, Yosys and nextpnr, after place and route",
        leaves_out="a board: none was at hand",
    )
    return summary


def _lines(rows: list[list[str]]) -> list[str]:
    """A Markdown table; the first row is its head."""
    head, *body = ("| " + " | ".join(cells) + " |" for cells in rows)
    return [head, "|" + "---|" * len(rows[0]), *body]


def _reached(made: dict) -> str:
    """The frequencies of the seeds, and which were not routed."""
    speeds = {seed: f"{mhz:.1f}" for seed, mhz in made["reached_mhz"].items()}
    speeds |= {seed: placement.said(after) for seed, after in made["given_up"].items()}
    return ", ".join(f"{seed}: {speeds[seed]}" for seed in sorted(speeds, key=int))


def overview(summary: dict) -> list[str]:
    """A line a bitstream, as a Markdown table.

    Args:
        summary: result of `make`.
    """
    rows = [["board, CPU", "engine", "LUTs", "registers", "block RAMs", "MHz asked", "MHz reached, by seed", ""]]
    for made in summary["bitstreams"]:
        cells = [f"{made['board']}, {made['cpu']}"]
        if "utilisation" not in made:
            rows.append([*cells, made["profile"], *[""] * 5, f"none: {made['reason']}"])
            continue
        total, percent = made["utilisation"]["total"], made["percent"]
        sizes = [f"{total[unit]:,} ({percent[unit]:.0f} %)" for unit in ("LUT", "FF", "BRAM")]
        ending = f"none: {made['reason']}" if made["reason"] else "meets its floor"
        speeds = [f"{made['asked_mhz']:g}", _reached(made)]
        rows.append([*cells, f"{made['profile']} {made['engine']['build_hash'][:8]}", *sizes, *speeds, ending])
    tools = {f"{name} {version}" for made in summary["bitstreams"] for name, version in made.get("tools", {}).items()}
    return [*_lines(rows), "", f"`make bitstreams` at commit {summary['commit']}; {', '.join(sorted(tools))}."]


def _register(cell: str) -> str:
    """The name of a register without what Yosys appends of the cells around it, fit for a Markdown table."""
    name = re.split(r"_(?:TRELLIS|LUT4|PFUMX|L6MUX|CCU2C|DP16KD|MULT18)", cell)[0]
    return f"`{name}`".replace("|", "\\|")


def modules(summary: dict) -> list[str]:
    """What each bitstream takes by module, and its slowest path, as Markdown tables.

    Args:
        summary: result of `make`.
    """
    routed = [made for made in summary["bitstreams"] if "utilisation" in made]
    groups = [group for group in [name for name, _ in fmax_report.GROUPS] + ["total"]]
    rows = [["LUTs / registers / block RAMs", *(f"{made['board']}, {made['cpu']}" for made in routed)]]
    for group in groups:
        counts = [made["utilisation"].get(group) for made in routed]
        if any(counts):
            cells = [" / ".join(f"{units[unit]:,}" for unit in UNITS[:3]) if units else "-" for units in counts]
            rows.append([group, *cells])
    shares = [" / ".join(f"{made['percent'][unit]:.0f} %" for unit in UNITS[:3]) for made in routed]
    paths = [["board, CPU", "slowest path of the seed that was taken", "ns", "of them wires"]]
    for made in routed:
        if path := made["slowest_path"]:
            ends = f"{_register(path['from'])} to {_register(path['to'])}"
            paths.append([f"{made['board']}, {made['cpu']}", ends, f"{path['ns']:.1f}", f"{path['routing_ns']:.1f}"])
    return [*_lines([*rows, ["of the FPGA", *shares]]), "", *_lines(paths)]


def blocks(summary: dict) -> dict[Path, dict[str, list[str]]]:
    """The parts of the documentation that a summary makes: lines by name of the part, by page."""
    first, second = ["None has been made of this engine yet."], []
    if summary["bitstreams"]:
        first, second = overview(summary), modules(summary)
    return {
        ROOT / "README.md": {"bitstreams": first},
        ROOT / "docs" / "board.md": {"bitstreams": first, "bitstreams by module": second},
    }


def filled(text: str, page: str, parts: dict[str, list[str]]) -> str:
    """A page with its generated parts put in.

    Args:
        text: of the page, which has a line each where a part begins and ends.
        page: its name, for messages.
        parts: lines by name of the part.
    """
    for name, lines in parts.items():
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise InputError(f"{page} has no part between '{begin}' and '{end}'.")
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = "\n".join([before + begin, "", *lines, "", end + after])
    return text


def document(check: bool) -> None:
    """Fills the generated parts of the documentation from docs/bitstreams.json, or checks that they are filled so.

    Args:
        check: change nothing.
    """
    try:
        summary = json.loads(RECORD.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{RECORD} cannot be read: run 'make bitstreams' and 'make board-tables'") from error
    for path, parts in blocks(summary).items():
        text = path.read_text()
        wanted = filled(text, path.name, parts)
        if check and text != wanted:
            raise InputError(f"{path} differs from docs/bitstreams.json: run 'make board-tables'")
        if text != wanted:
            path.write_text(wanted)


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
    """Adds the own arguments of the command that makes bitstreams."""
    parser.add_argument("--seeds", type=int, default=2, help="placements each")
    capacity.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Makes bitstreams and sums them up; returns the exit status."""

    def work() -> None:
        if options.seeds < 1:
            raise InputError(f"{options.seeds} seeds are too few: give 1 or more.")
        summary = make(capacity.pairs(), options.seeds, options.limit, OUTPUT)
        show(summary, Console())
        if failed := [made for made in summary["bitstreams"] if made["reason"]]:
            names = ", ".join(f"{made['cpu']} on {made['board']}" for made in failed)
            raise InputError(f"{len(failed)} of {len(summary['bitstreams'])} bitstreams were not made: {names}")

    return steps.finish(work)


def add_docs_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the own arguments of the command that writes the documentation."""
    parser.add_argument("--check", action="store_true", help="only tell whether the documentation agrees")


def run_docs(options: argparse.Namespace) -> int:
    """Puts what was made into the documentation; returns the exit status."""

    def work() -> None:
        if not options.check:
            found = OUTPUT / "summary.json"
            if not found.is_file():
                raise InputError(f"{found} is missing: run 'make bitstreams' first")
            shutil.copyfile(found, RECORD)
            for board, cpu in capacity.pairs():
                capacity.record(ROOT / "build" / f"netlist-{board}-{cpu}")
        document(options.check)

    return steps.finish(work)
