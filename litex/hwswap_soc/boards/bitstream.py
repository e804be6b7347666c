# SPDX-License-Identifier: Apache-2.0
"""Makes a bitstream.

A netlist (netlist.py) that is too large for the FPGA ends it here. Else nextpnr places and routes the SoC once per
seed, and the best seed's result is packed:

    python -m hwswap_soc.boards.bitstream --board ecpix5 --cpu vexriscv --netlist NETLIST --seeds 3 --output DIR

DIR gets hwswap.bit, hwswap.svf (hwswap.dfu too for a board that is loaded over DFU), soc.json, csr.json, timing.json,
and with Rocket the device tree, hwswap.dts and hwswap.dtb. Nothing is packed when a clock is slower than it has to be.
A seed that has been routed is kept in build/placements, and is not routed again by a later call.
"""

import argparse
import hashlib
import json
import re
import shutil
from pathlib import Path

from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.boards import boards, capacity, constraints
from hwswap_soc.fpga import fmax_report, fpga_tools, placement, steps
from hwswap_soc.linux import devicetree
from hwswap_soc.system.program import program

PLACEMENTS = fpga_tools.ROOT / "build" / "placements"
"""The folder in which routed seeds are kept."""

MINUTES = 60
"""The time that a seed may take unless the caller says: three times that of the slowest on two cores."""

# The most seeds that are tried for each that is to be routed.
_TRIES = 3


def _router(board: str, cpu: str) -> str:
    """The router of nextpnr for a board and CPU: router1 searches without end where Rocket crowds the FPGA."""
    return "router2" if cpu == "rocket" else boards.BOARDS[board].router


def pack(facts: dict, folder: Path, seed: int, output: Path) -> None:
    """Turn the result of one seed into the files that are loaded.

    Args:
        facts: of the netlist.
        folder: the folder of <seed>.config.
        seed: the one taken.
        output: folder for hwswap.bit and its kin.
    """
    bit, svf = output / "hwswap.bit", output / "hwswap.svf"
    # --bootaddr: on a reset by software the FPGA loads OrangeCrab's boot loader, from the start of the flash.
    command = ["ecppack", "--compress", "--bootaddr", "0", f"{seed}.config", "--bit", str(bit), "--svf", str(svf)]
    steps.run(command, output / "ecppack.log", folder)
    dfu = boards.BOARDS[facts["board"]].dfu
    if dfu:
        shutil.copyfile(bit, output / "hwswap.dfu")
        vendor, product = dfu
        command = ["dfu-suffix", "--vid", vendor, "--pid", product, "--add", str(output / "hwswap.dfu")]
        steps.run(command, output / "dfu-suffix.log", output)


def _work(folder: Path, options: list[str], tools: dict[str, str], placements: Path) -> Path:
    """Return the folder for the seeds of this netlist, routed with these options and tools.

    Yosys notes where each cell comes from, by the path of the source. It is another one whenever the netlist is made
    again, and changes nothing.
    """
    key = hashlib.sha256(re.sub(rb'"src": "[^"]*"', b"", (folder / "netlist.json").read_bytes()))
    key.update((folder / "pins.lpf").read_bytes() + json.dumps([options, tools], sort_keys=True).encode())
    work = placements / key.hexdigest()[:16]
    work.mkdir(parents=True, exist_ok=True)
    return work


def build(
    folder: Path,
    board: str,
    cpu: str,
    seeds: int,
    output: Path,
    limit: str,
    placements: Path = PLACEMENTS,
    minutes: float = MINUTES,
) -> dict:
    """Make the bitstream of a netlist.

    Args:
        folder: filled by `netlist.make`.
        board: name of the board.
        cpu: name of the CPU.
        seeds: number of seeds to route, from 1 on; in place of one that is given up, the next is tried, up to
            three times as many.
        output: folder for the results.
        limit: the share of the FPGA that may be used (`capacity.allowed`).
        placements: folder in which routed seeds are kept.
        minutes: the time that a seed may take.

    Returns:
        What timing.json holds.
    """
    facts = _facts(folder, board, cpu, limit)
    options = [*facts["nextpnr"], "--router", _router(board, cpu)]
    tools = facts["tools"] | fpga_tools.versions("nextpnr-ecp5")
    work = _work(folder, options, tools, placements)
    options += ["--json", str(folder / "netlist.json"), "--lpf", str(folder / "pins.lpf")]
    runs = [placement.Run(str(seed), [*options, "--seed", str(seed)]) for seed in range(1, _TRIES * seeds + 1)]
    results = placement.place(runs, work, minutes=minutes, enough=seeds)
    if not results:
        raise InputError(
            f"none of {len(runs)} seed(s) was routed within {minutes:g} minutes: try more SEEDS=, more MINUTES=, or a "
            f"smaller PROFILE= (where the routers were: {work}/*.log)"
        )
    best = max(results, key=lambda seed: fmax_report.slack(results[seed]))
    kept_facts = "board cpu variant device engine synthesis_s sys_mhz floor_mhz"
    report = {key: facts[key] for key in kept_facts.split()}
    report |= {
        "tools": tools,
        "seed": int(best),
        "seeds": results,
        "given_up": {run.name: run.given_up(work) for run in runs if run.name not in results and run.given_up(work)},
        "utilisation": fmax_report.utilisation(folder / "netlist.json"),
    }
    # Met or missed.
    kept = placements / f"{board}-{cpu}.json"
    kept.write_text(json.dumps(report, indent=2) + "\n")
    shutil.copyfile(kept, output / "timing.json")
    _require_timing(report, kept)
    for name in ("soc.json", "csr.json", "engine.json"):
        shutil.copyfile(folder / name, output / name)
    if cpu == "rocket":
        # The tree carries the hash that the engine's register BUILD reads: the driver compares the two.
        devicetree.write(output / "soc.json", output / "engine.json", "board", output / "hwswap.dtb")
    pack(facts, work, int(best), output)
    return report


def _facts(folder: Path, board: str, cpu: str, limit: str) -> dict:
    """Return the facts of a netlist, with the floor of its clock, that is the one asked for and fits."""
    try:
        facts = json.loads((folder / "facts.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no netlist: make it with python -m hwswap_soc.boards.netlist") from error
    capacity.require(folder, limit, Console(stderr=True))
    _, floor = constraints.clocks(board, cpu)
    return facts | {"floor_mhz": floor}


def _require_timing(report: dict, kept: Path) -> None:
    """Stop here if a clock is slower than it has to be, by timing.json, which is kept in a file."""
    floor, best = report["floor_mhz"], report["seeds"][str(report["seed"])]
    required = best["clocks"].get("sys_clk", {}).get("required", 0)
    if required < floor:
        raise InputError(f"nextpnr was told to reach {required} MHz on sys_clk, less than the floor of {floor} MHz.")
    for clock in fmax_report.misses(best):
        fmax_report.show(report, Console(stderr=True))
        speeds = best["clocks"][clock]
        raise InputError(
            f"timing is missed: {clock} reaches {speeds['achieved']} MHz with the best of {len(report['seeds'])} "
            f"seed(s) and has to reach {speeds['required']}; try more SEEDS=, or see the slowest path in {kept}"
        )


@program
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make a bitstream.")
    parser.add_argument("--board", required=True, help=", ".join(boards.BOARDS))
    parser.add_argument("--cpu", required=True, help="vexriscv or rocket")
    parser.add_argument("--seeds", type=int, default=1, help="how many placements are to be routed")
    parser.add_argument("--limit", choices=("routable", "part"), default="routable", help="how full the FPGA may be")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long a seed may take before it is given up")
    parser.add_argument("--netlist", type=Path, required=True, help="what python -m hwswap_soc.boards.netlist made")
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")
    options = parser.parse_args()
    boards.choose(options.board, options.cpu)
    if options.seeds < 1 or not options.minutes > 0:
        raise InputError(f"{options.seeds} seeds, {options.minutes:g} minutes: give 1 or more, and more than 0.")
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    given = options.board, options.cpu, options.seeds, output, options.limit
    build(options.netlist.resolve(), *given, minutes=options.minutes)


if __name__ == "__main__":
    raise SystemExit(main())
