# SPDX-License-Identifier: Apache-2.0
"""Builds the simulated SoC.

python -m hwswap_soc.simulation.sim build --cpu vexriscv --output DIR
"""

import argparse
import sys
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap_litex import InputError

from hwswap_soc.simulation.model import build


def main(argv: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hwswap_soc.simulation.sim", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="make a model")
    make.add_argument("--cpu", required=True, choices=("vexriscv", "rocket", "rocket4"))
    make.add_argument("--variant", help="of the CPU (rocket: linux or full)")
    make.add_argument("--rtl", type=Path, default=BUILD / "rtl-soc", help="folder of HwSwap.sv and engine.json")
    make.add_argument(
        "--engine-clock", choices=("sys", "own"), default="sys", help="own: the ratio is chosen at each run"
    )
    make.add_argument("--wave", action="store_true", help="runs can write waves")
    make.add_argument("--jobs", type=int, help="compilers at a time")
    make.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(argv)
    try:
        build(
            options.cpu,
            options.rtl,
            options.output,
            variant=options.variant,
            own_clock=options.engine_clock == "own",
            waves=options.wave,
            jobs=options.jobs,
        )
    except InputError as error:
        print(f"soc-sim: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("soc-sim: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
