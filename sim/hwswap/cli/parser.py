# SPDX-License-Identifier: Apache-2.0
"""A command line of many commands of which only the one that is asked for is loaded."""

import argparse
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

Run = Callable[[argparse.Namespace], int]
"""A function that does a command's work and returns the exit status."""

Adder = Callable[["Parser", object], None]
"""A function that adds an argument to a command that is this function or module."""

Fill = Callable[["Parser"], Run]
"""A function that imports a command, adds its arguments to the parser it is given, and returns what does the work."""

Commands = dict[str, tuple[str, "Fill | Commands"]]
"""Name -> its line in the help, and what fills the command in, or the commands that it has itself."""


class Parser(argparse.ArgumentParser):
    """A parser that imports its command, and has its arguments, from when it is used."""

    def __init__(self, *args: Any, fill: Fill | None = None, **options: Any) -> None:
        """Take argparse's arguments; `fill` adds the command's own and returns the function that does its work."""
        super().__init__(*args, formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._fill = fill

    def fill(self) -> None:
        """Add the command's arguments, unless they are there."""
        fill, self._fill = self._fill, None
        if fill is None:
            return
        try:
            self.set_defaults(run=fill(self))
        except ModuleNotFoundError as error:
            raise RuntimeError(
                f"'{self.prog}' needs the Python package {error.name}: call ./hwswap in the repository, which has it"
            ) from error

    def fill_all(self) -> Iterator["Parser"]:
        """Yield this parser and those of all commands below it, with their arguments."""
        self.fill()
        yield self
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.fill_all()

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, by the command's arguments."""
        self.fill()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with one sentence: the usage of a command with many options would hide it."""
        self.exit(2, f"hwswap: {message} (see {self.prog} --help)\n")

    def describe(self, text: str | None) -> None:
        """Set the command's description in the help."""
        # In a format string % has a meaning.
        self.description = inspect.cleandoc(text or "").replace("%", "%%")

    def add_commands(self, table: Commands) -> None:
        """Add commands, of which one has to be named."""
        commands = self.add_subparsers(required=True, metavar="COMMAND")
        for name, (text, what) in table.items():
            if isinstance(what, dict):
                group = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
                group.add_commands(what)
            else:
                commands.add_parser(name, help=text, fill=what)


def argument(*names: str, **options: Any) -> Adder:
    """Return a function that adds an argument."""

    def add(parser: Parser, _: object) -> None:
        parser.add_argument(*names, **options)

    return add


def of_function(run: Run, *adders: Adder) -> Fill:
    """Return a function that fills in a command that is a function; its docstring is the command's description."""

    def fill(parser: Parser) -> Run:
        parser.describe(run.__doc__)
        for add in adders:
            add(parser, run)
        return run

    return fill


def of_module(
    name: str,
    *shared: Adder,
    about: str = "",
    run: str = "run",
    arguments: str | None = "add_arguments",
) -> Fill:
    """Return a function that fills in a command that is a module, imported when the command is asked for.

    Args:
        name: of the module.
        shared: adders of options that other commands have as well (`options`).
        about: the command's description; the module's docstring if there is none.
        run: the function that does the work.
        arguments: the function that adds the command's own arguments; None: it has none.
    """

    def fill(parser: Parser) -> Run:
        made = importlib.import_module(name)
        parser.describe(about or made.__doc__)
        if arguments:
            getattr(made, arguments)(parser)
        for add in shared:
            add(parser, made)
        return getattr(made, run)

    return fill
