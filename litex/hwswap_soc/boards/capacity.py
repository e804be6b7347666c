# SPDX-License-Identifier: Apache-2.0
"""Whether a SoC fits into its FPGA: known right after synthesis."""

import json
from pathlib import Path

from hwswap_litex import EngineInfo, InputError
from rich.console import Console

from hwswap_soc.boards import profiles
from hwswap_soc.fpga import fmax_report
from hwswap_soc.fpga.fmax_report import CAPACITY, UNITS

_NAMES = {"LUT": "LUTs", "FF": "registers", "BRAM": "block RAMs", "DSP": "multipliers"}


def allowed(limit: str) -> dict[str, int]:
    """Return how much a SoC may take, by unit.

    Args:
        limit: `routable` for as much as nextpnr can be expected to route (constraints/profiles.toml), `part` for all.
    """
    percent = profiles.limits() if limit == "routable" else {}
    return {unit: int(CAPACITY[unit] * percent.get(unit, 100) / 100) for unit in UNITS}


def refusal(what: str, used: dict[str, int], engine: EngineInfo, limit: str) -> str | None:
    """Return one sentence that names the excess and the remedy; None when all fits.

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


def require(netlist: Path, limit: str, console: Console) -> None:
    """Stop here if a synthesised SoC is too large; print its use of the FPGA, by module.

    Args:
        netlist: filled by `netlist.make`.
        limit: as for `allowed`.
        console: for the table.
    """
    facts = json.loads((netlist / "facts.json").read_text())
    counts = fmax_report.utilisation(netlist / "netlist.json")
    engine = EngineInfo(**facts["engine"])
    title = f"{facts['board']}, {facts['cpu']} ({facts['variant']}), engine {engine.profile}"
    fmax_report.show_utilisation(title, counts, console)
    if said := refusal(f"{facts['cpu']} on {facts['board']}", counts["total"], engine, limit):
        raise InputError(said)
