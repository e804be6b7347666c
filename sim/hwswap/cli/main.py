# SPDX-License-Identifier: Apache-2.0
"""The top of the command line, the handling of errors, and the exit status."""

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from hwswap.cli import modules, report, traces
from hwswap.cli.parser import Commands, Parser
from hwswap.project import arguments

ERR = Console(stderr=True, highlight=False)


class Completion(argparse.Action):
    """Prints a shell's completion script, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, _: argparse.Namespace, values: Any, *__: Any) -> None:
        """Print it for the shell `values`."""
        import shtab  # needed for this alone

        assert isinstance(parser, Parser)
        for part in parser.fill_all():
            for action in part._actions:
                if action.type in (Path, arguments.new_file):
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell=values))
        parser.exit()


ABOUT = "A hardware engine for the Linux swap allocator: traces, a model, measurements, checks, and a SoC."
COMMANDS = traces.COMMANDS | modules.COMMANDS | report.COMMANDS


def parser(prog: str = "hwswap", about: str = ABOUT, commands: Commands = COMMANDS) -> Parser:
    """Return a command line's parser."""
    top = Parser(prog=prog, description=about)
    top.add_argument(
        "--print-completion",
        action=Completion,
        choices=("bash", "zsh"),
        help="print what that shell completes this command line by, and end",
    )
    top.add_commands(commands)
    return top


def main(arguments: Sequence[str] | None = None, top: Parser | None = None) -> int:
    """Run a command of `hwswap`, or of `top`; return its exit status.

    It is 0 where nothing differs, 1 where something does, 2 where the command cannot be done. With HWSWAP_ASKED the
    words are only parsed, for the Makefile. An error that the user can mend is one sentence, and so is a warning.
    SIGTERM acts as Ctrl-C: guests, engines and builds end with it.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda said, *_: ERR.print(f"hwswap: {said}", soft_wrap=True, markup=False)
            return _run(arguments, top or parser())
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(arguments: Sequence[str] | None, top: Parser) -> int:
    """Run the command; return its exit status."""
    try:
        options = top.parse_args(arguments)
        if not os.environ.get("HWSWAP_ASKED"):
            return options.run(options)
        print("hwswap: nothing is run, as HWSWAP_ASKED is set")
        return 0
    except (OSError, RuntimeError, ValueError) as error:
        named = isinstance(error, OSError) and error.filename
        said = f"{error.filename}: {error.strerror}" if named else error
        ERR.print(f"hwswap: {said}", soft_wrap=True, markup=False)
        return 2
    except KeyboardInterrupt:
        ERR.print("hwswap: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
