# SPDX-License-Identifier: Apache-2.0
"""How large the engine alone is on an ECP5-85F: synthesised for few LUTs, as a SoC's is, and not placed.

hwswap soc size --engine build/part-area --output build/engine-size
"""

import argparse
import json
from pathlib import Path

from hwswap.results import schema
from rich.console import Console

from hwswap_soc.fpga import engine_fmax, fmax_report, fpga_tools, steps


def sentence(report: dict) -> str:
    """Says what an engine takes.

    Args:
        report: contents of size.json.
    """
    engine, total = report["engine"], report["utilisation"]["total"]
    sizes = f"{engine['devices']} devices, {engine['cpus']} CPUs, {engine['clusters']:,} clusters"
    shares = {unit: f"{100 * total[unit] / fmax_report.CAPACITY[unit]:.0f} %" for unit in fmax_report.UNITS}
    return (
        f"engine-size: profile {engine['profile']}, {sizes}, build {engine['build_hash']}: {total['LUT']:,} LUTs "
        f"({shares['LUT']} of an ECP5-85F), {total['FF']:,} registers ({shares['FF']}), {total['BRAM']} block RAMs "
        f"({shares['BRAM']}), {total['DSP']} multipliers"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument(
        "--engine", type=Path, required=True, help="the engine's netlist (hwswap_soc.fpga.engine_part area)"
    )


def run(options: argparse.Namespace) -> int:
    """Counts, shows and writes it; returns the exit status."""

    def work() -> None:
        output = options.output.resolve()
        output.mkdir(parents=True, exist_ok=True)
        design = engine_fmax.netlist(options.engine.resolve(), output)
        report = {
            "engine": json.loads((options.engine / "engine.json").read_text()),
            "tools": fpga_tools.versions("yosys"),
            "utilisation": fmax_report.utilisation(design, engine_fmax.module_of),
        }
        (output / "size.json").write_text(json.dumps(report, indent=2) + "\n")
        total, profile = report["utilisation"]["total"], report["engine"]["profile"]
        schema.save(
            f"engine-size-{profile}",
            [schema.Figure(unit, "", total[unit], unit, {}, 0.02, "less") for unit in ("LUT", "FF", "BRAM")],
            title=f"Size of the engine alone, profile {profile}",
            command=f"make engine-size PROFILE={profile}",
            platform="ECP5, Yosys, mapped for area",
            leaves_out="the SoC around it",
            engine=str(report["engine"]["build_hash"]),
        )
        console = Console()
        fmax_report.show_utilisation(
            f"engine alone, profile {report['engine']['profile']}", report["utilisation"], console
        )
        console.print(sentence(report), highlight=False, soft_wrap=True)

    return steps.finish(work)
