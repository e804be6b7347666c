# SPDX-License-Identifier: Apache-2.0
"""Runs an image on a simulated SoC and shows what it prints.

hwswap soc sim DIR IMAGE --stop REGEXP
"""

import argparse
import sys
import time
from pathlib import Path

from hwswap_litex import InputError
from rich.console import Console

from hwswap_soc.simulation.run import LATENCY
from hwswap_soc.simulation.run import run as simulate


class _Display:
    """Shows how far a run is, on standard error: a live line on a terminal, else a line every half minute."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.status = self.console.status("starting") if self.console.is_terminal else None
        self.reported = time.monotonic()

    def progress(self, cycles: int, seconds: float) -> None:
        """Shows `cycles` simulated in `seconds`."""
        text = f"{cycles / 1e6:.1f} Mcycles, {cycles / 1e3 / max(seconds, 1e-3):.0f} kcycles/s, {seconds:.0f} s"
        if self.status:
            self.status.update(text)
        elif time.monotonic() - self.reported > 30:
            self.reported = time.monotonic()
            self.console.print(f"soc-sim: {text}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("model", type=Path, metavar="DIR")
    parser.add_argument("image", type=Path, help="flat binary, loaded at the start of main RAM")
    parser.add_argument("--stop", metavar="REGEXP", default=r"HWSWAP-DONE", help="end with the first line that matches")
    parser.add_argument("--max-cycles", type=int, default=2_000_000_000)
    parser.add_argument("--max-seconds", type=float, help="wall-clock time")
    parser.add_argument("--dram-latency", type=int, default=LATENCY, help="cycles to the first beat of data")
    parser.add_argument("--engine-ratio", type=float, default=1.0, help="engine clock to CPU clock")
    parser.add_argument("--wave", type=Path, metavar="FST", help="write waves")


def _simulate(options: argparse.Namespace) -> int:
    """Runs an image; the exit status is 0 when the line looked for came and does not say that something failed."""
    display = _Display()
    if display.status:
        display.status.start()
    try:
        result = simulate(
            options.model,
            options.image,
            stop=options.stop,
            max_cycles=options.max_cycles,
            max_seconds=options.max_seconds,
            dram_latency=options.dram_latency,
            engine_ratio=options.engine_ratio,
            wave=options.wave,
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


def run(options: argparse.Namespace) -> int:
    """Runs an image; says in one sentence what stops it, and returns the exit status."""
    try:
        return _simulate(options)
    except InputError as error:
        print(f"soc-sim: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("soc-sim: interrupted", file=sys.stderr)
        return 130
