# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the simulated SoC.

python -m hwswap_soc.sim build --cpu vexriscv --output DIR
python -m hwswap_soc.sim run DIR IMAGE --stop REGEXP
"""

import argparse
import sys
import time
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.run import LATENCY, Result, run

__all__ = ["Result", "main", "run"]


def _arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="hwswap_soc.sim", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)

    build = commands.add_parser("build", help="make a model")
    build.add_argument("--cpu", required=True, choices=("vexriscv", "rocket"))
    build.add_argument("--variant", help="of the CPU (rocket: linux or full)")
    build.add_argument("--rtl", type=Path, default=BUILD / "rtl-soc", help="folder of HwSwap.sv and engine.json")
    build.add_argument(
        "--engine-clock", choices=("sys", "own"), default="sys", help="own: the ratio is chosen at each run"
    )
    build.add_argument("--wave", action="store_true", help="runs can write waves")
    build.add_argument("--jobs", type=int, help="compilers at a time")
    build.add_argument("--output", type=Path, required=True, metavar="DIR")

    go = commands.add_parser("run", help="run an image on a model")
    go.add_argument("model", type=Path, metavar="DIR")
    go.add_argument("image", type=Path, help="flat binary, loaded at the start of main RAM")
    go.add_argument("--stop", metavar="REGEXP", default=r"HWSWAP-DONE", help="end with the first line that matches")
    go.add_argument("--max-cycles", type=int, default=2_000_000_000)
    go.add_argument("--max-seconds", type=float, help="wall-clock time")
    go.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    go.add_argument("--engine-ratio", type=float, default=1.0, help="engine clock to CPU clock")
    go.add_argument("--card", type=Path, metavar="IMAGE", help="what is in the SD card slot; it is written to")
    go.add_argument("--wave", type=Path, metavar="FST", help="write waves")
    return parser


class _Display:
    """Shows how far a run is, on standard error: a live line on a terminal, else a line every half minute."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.status = self.console.status("starting") if self.console.is_terminal else None
        self.told = time.monotonic()

    def progress(self, cycles: int, seconds: float) -> None:
        """Shows `cycles` simulated in `seconds`."""
        text = f"{cycles / 1e6:.1f} Mcycles, {cycles / 1e3 / max(seconds, 1e-3):.0f} kcycles/s, {seconds:.0f} s"
        if self.status:
            self.status.update(text)
        elif time.monotonic() - self.told > 30:
            self.told = time.monotonic()
            self.console.print(f"soc-sim: {text}")


def _run(args: argparse.Namespace) -> int:
    """Runs an image; the exit status is 0 when the line looked for came and does not say that something failed."""
    display = _Display()
    if display.status:
        display.status.start()
    try:
        result = run(
            args.model,
            args.image,
            stop=args.stop,
            max_cycles=args.max_cycles,
            max_seconds=args.max_seconds,
            dram_latency=args.dram_latency,
            engine_ratio=args.engine_ratio,
            wave=args.wave,
            sdcard=args.card,
            on_line=lambda line: print(line, flush=True),
            on_progress=display.progress,
        )
    finally:
        if display.status:
            display.status.stop()
    speed = f"{result.seconds:.1f} s, {result.rate / 1e3:.0f} kcycles/s"
    print(f"soc-sim: {result.reason} after {result.cycles} cycles, {speed}", file=sys.stderr)
    if result.reason != "stop":
        return 1
    done = [line.split()[1:2] for line in result.lines if line.startswith("HWSWAP-DONE")]
    return 0 if not done or done[-1] in ([], ["0"]) else 1


def main(argv: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    args = _arguments().parse_args(argv)
    try:
        if args.command == "build":
            # Imported here: LiteX takes its time, and a run needs none of it.
            from hwswap_soc.model import build

            own = args.engine_clock == "own"
            build(args.cpu, args.rtl, args.output, variant=args.variant, own_clock=own, waves=args.wave, jobs=args.jobs)
            return 0
        return _run(args)
    except InputError as error:
        print(f"soc-sim: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("soc-sim: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
