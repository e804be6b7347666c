# SPDX-License-Identifier: Apache-2.0
"""Types commands into the shell of Linux on the simulated SoC, and shows what comes.

hwswap soc session "zram 8m" "swapload 1000"
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hwswap.project.paths import BUILD
from hwswap_litex import InputError

from hwswap_soc.linux import linux
from hwswap_soc.simulation.run import LATENCY, Result
from hwswap_soc.simulation.run import run as simulate

PROMPT = "hwswap# "
"""What the shell says when it waits for a command (litex/linux/init/init.h)."""

OUTPUT = BUILD / "soc-session"
"""Where the console goes."""


class Typist:
    """Types a command at each prompt; after the last one's output the run ends."""

    def __init__(self, commands: Sequence[str]) -> None:
        """Makes the typist.

        Args:
            commands: what is typed.
        """
        self._left = list(commands)

    def __call__(self, waiting: str) -> str | None:
        """What is typed on a line that waits."""
        if not waiting.endswith((PROMPT.rstrip(), PROMPT)):
            return ""
        return f"{self._left.pop(0)}\n" if self._left else None


def session(
    commands: Sequence[str],
    *,
    model: Path = linux.MODEL,
    output: Path = OUTPUT,
    bootargs: str = "",
    max_mcycles: int = linux.MAX_MCYCLES,
    dram_latency: int = LATENCY,
) -> Result:
    """Boots Linux to its shell and types; the console is also written to `output`/console.log.

    Args:
        commands: what is typed.
        model: folder of the Verilated SoC.
        output: folder for the console and what RAM holds.
        bootargs: appended to the kernel's command line; the shell comes without a run before it unless it says else.
        max_mcycles: the run ends after so many million cycles.
        dram_latency: cycles to the first beat of data.
    """
    output.mkdir(parents=True, exist_ok=True)
    image = linux.prepare(model, output, bootargs if "hwswap_shell=" in bootargs else f"hwswap_shell=only {bootargs}")
    with (output / "console.log").open("w") as log:

        def on_line(line: str) -> None:
            print(line, flush=True)
            log.write(line + "\n")
            log.flush()

        return simulate(
            model,
            image,
            stop="Kernel panic",
            max_cycles=max_mcycles * 1_000_000,
            dram_latency=dram_latency,
            on_line=on_line,
            on_waiting=Typist(commands),
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="typed one after the other")
    parser.add_argument(
        "--model", type=Path, default=linux.MODEL, metavar="DIR", help="Verilated SoC with a Rocket CPU"
    )
    parser.add_argument("--bootargs", default="", help="appended to the kernel's command line (hwswap_NAME=VALUE)")
    parser.add_argument("--max-mcycles", type=int, default=linux.MAX_MCYCLES, help="end after so many million cycles")


def run(options: argparse.Namespace) -> int:
    """Runs a session; returns the exit status."""
    try:
        result = session(
            options.commands,
            model=options.model,
            output=options.output,
            bootargs=options.bootargs,
            max_mcycles=options.max_mcycles,
        )
    except (InputError, OSError, subprocess.SubprocessError) as error:
        print(f"soc-session: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("soc-session: interrupted", file=sys.stderr)
        return 130
    ended = result.reason == "stop" and result.lines[-1].startswith(PROMPT.rstrip())
    text = f"{result.cycles / 1e6:.1f} Mcycles in {result.seconds / 60:.1f} minutes"
    print(f"soc-session: {'done' if ended else 'not done'}, {text}", file=sys.stderr)
    return 0 if ended else 1
