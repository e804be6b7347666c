# SPDX-License-Identifier: Apache-2.0
"""Whether a SoC fits into its FPGA: known right after synthesis, and of sources that were not synthesised yet.

    python -m hwswap.cli.steps capacity      # what today's sources will take, from what was recorded
    python -m hwswap.cli.steps synthesise    # synthesises all SoCs and records what they take

Block RAMs of the engine follow from its Verilog (engine_verilog.py). Its LUTs, and all of the rest, are those of the
last synthesis that was recorded in sizes/, with a digest of the engine's Verilog it was of: where that has changed
since, the figures are said to be stale, and count all the same.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from hwswap_litex import EngineInfo, InputError
from rich.console import Console
from rich.table import Table

from hwswap_soc.boards import boards, profiles
from hwswap_soc.fpga import engine_verilog, fmax_report, steps
from hwswap_soc.fpga.fmax_report import CAPACITY, UNITS
from hwswap_soc.system import cpu

SIZES = Path(__file__).parent / "sizes"
"""What was recorded: a file a board and CPU."""

SYNTHESIS = ("fpga", "rtl-board", "part-board", "part-cpu", "netlist")
"""Artefacts of sim/setup/build that a netlist takes."""

_BUILD = Path(__file__).resolve().parents[3] / "build"
_NAMES = {"LUT": "LUTs", "FF": "registers", "BRAM": "block RAMs", "DSP": "multipliers"}


def pairs() -> list[tuple[str, str]]:
    """The boards, each with the CPUs it can have."""
    return [(board.name, name) for board in boards.BOARDS.values() for name in cpu.PROFILES if name not in board.no_cpu]


def allowed(limit: str) -> dict[str, int]:
    """How much a SoC may take, by unit.

    Args:
        limit: `routable` for what nextpnr can be expected to route (constraints/profiles.toml), `part` for all.
    """
    percent = profiles.limits() if limit == "routable" else {}
    return {unit: int(CAPACITY[unit] * percent.get(unit, 100) / 100) for unit in UNITS}


def refusal(what: str, used: dict[str, int], engine: EngineInfo, limit: str) -> str | None:
    """Return one sentence that says what does not fit and what to do; None when all fits.

    Args:
        what: board and CPU, for people.
        used: by unit.
        engine: that is in there.
        limit: as for `allowed`.
    """
    most = allowed(limit)
    over = [unit for unit in UNITS if used[unit] > most[unit]]
    if not over:
        return None
    parts = [
        f"{used[unit]:,} {_NAMES[unit]} where {most[unit]:,} of the part's {CAPACITY[unit]:,} may be used, "
        f"{used[unit] - most[unit]:,} too many"
        for unit in over
    ]
    cures = [f"fewer clusters (SOC_CLUSTERS=, now {engine.clusters})"] if "BRAM" in over else []
    if over != ["DSP"]:
        cures.append(f"an engine with less in it (PROFILE=, now {engine.profile})")
        cures.append(f"fewer devices (SOC_DEVICES=, now {engine.devices})")
    if "DSP" in over:
        cures.append("another CPU (CPU=)")
    if limit == "routable":
        cures.append("LIMIT=part to fill the part")
    return f"{what} does not fit: {'; '.join(parts)}: choose {', or '.join(cures)}."


def _synthesised(netlist: Path) -> tuple[dict, dict[str, dict[str, int]]]:
    """Facts of a netlist, and what it takes by group."""
    try:
        return json.loads((netlist / "facts.json").read_text()), fmax_report.utilisation(netlist / "netlist.json")
    except (OSError, ValueError) as error:
        raise InputError(f"{netlist} holds no netlist: make it with 'make bitstream' or 'make sizes'") from error


def record(netlist: Path, folder: Path = SIZES) -> Path:
    """Keeps what a synthesis found.

    Args:
        netlist: what `netlist.make` filled.
        folder: for the file.

    Returns:
        The file.
    """
    facts, counts = _synthesised(netlist)
    kept = {key: facts[key] for key in ("board", "cpu", "variant", "engine", "rtl", "tools")}
    del kept["engine"]["build_hash"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{facts['board']}-{facts['cpu']}.json"
    path.write_text(json.dumps(kept | {"utilisation": counts}, indent=2) + "\n")
    return path


def expected(board: str, name: str, rtl: Path, folder: Path = SIZES) -> tuple[dict[str, int], bool]:
    """Return what a SoC will take, by unit, and whether the record is of another engine than that in `rtl`."""
    path = folder / f"{board}-{name}.json"
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: run 'make sizes', which synthesises all boards") from error
    counts = found["utilisation"]
    used = counts["total"]
    if found["rtl"] == engine_verilog.digest(rtl):
        return used, False
    before = sum(units["BRAM"] for group, units in counts.items() if group.startswith("engine"))
    return used | {"BRAM": used["BRAM"] - before + engine_verilog.block_rams(engine_verilog.read(rtl))}, True


def check(
    chosen: Iterable[tuple[str, str]], folder: Path, console: Console, limit: str, sizes: Path = SIZES
) -> list[str]:
    """Tells of boards and CPUs what today's engine will take there.

    Args:
        chosen: boards and CPUs.
        folder: that holds the engines' Verilog, rtl-board-<profile> each.
        console: for the table.
        limit: as for `allowed`.
        sizes: what was recorded.

    Returns:
        Sentences about those that do not fit.
    """
    table = Table(title=f"of the part, percent ({limit})", title_justify="left")
    for heading in ("board", "CPU", "profile", *UNITS, "LUTs and the SoC's block RAMs are of"):
        table.add_column(heading, justify="right" if heading in UNITS else "left")
    refused = []
    for board, name in chosen:
        profile = profiles.chosen(board, name)
        rtl = folder / f"rtl-board-{profile}"
        used, stale = expected(board, name, rtl, sizes)
        shares = (f"{used[unit]:,} = {100 * used[unit] / CAPACITY[unit]:.0f} %" for unit in UNITS)
        age = "another engine (stale: run 'make sizes')" if stale else "this engine"
        table.add_row(board, name, profile, *shares, age)
        if said := refusal(f"{name} on {board}", used, EngineInfo.load(rtl), limit):
            refused.append(said)
    console.print(table)
    return refused


def require(netlist: Path, limit: str, console: Console) -> None:
    """Stops here if a synthesised SoC is too large; prints what it takes, by module.

    Args:
        netlist: what `netlist.make` filled.
        limit: as for `allowed`.
        console: for the table.
    """
    facts, counts = _synthesised(netlist)
    engine = EngineInfo(**facts["engine"])
    title = f"{facts['board']}, {facts['cpu']} ({facts['variant']}), engine {engine.profile}"
    fmax_report.show_utilisation(title, counts, console)
    if said := refusal(f"{facts['cpu']} on {facts['board']}", counts["total"], engine, limit):
        raise InputError(said)


def build(chosen: Iterable[tuple[str, str]], *what: str) -> None:
    """Makes artefacts for boards and CPUs.

    Args:
        chosen: boards and CPUs.
        what: the artefacts, as sim/setup/build names them.
    """
    for board, name in chosen:
        if not steps.build({"BOARD": board, "CPU": name}, *what):
            raise InputError(f"{what[-1]} of {name} on {board} could not be made: the lines above say why")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the own arguments of the commands that look whether a SoC fits."""
    parser.add_argument("--limit", choices=("routable", "part"), default="routable", help="how full an FPGA may be")


def run(options: argparse.Namespace) -> int:
    """Tells what today's engine will take on each board; returns the exit status."""
    build(pairs(), "rtl-board")
    if refused := check(pairs(), _BUILD, Console(), options.limit):
        raise InputError(" ".join(refused))
    return 0


def run_synthesise(_: argparse.Namespace) -> int:
    """Synthesises the SoCs of all boards and puts on record what they take; returns the exit status."""
    build(pairs(), *SYNTHESIS)
    for board, name in pairs():
        print(record(_BUILD / f"netlist-{board}-{name}"))
    return 0
