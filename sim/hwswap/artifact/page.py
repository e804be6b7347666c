# SPDX-License-Identifier: Apache-2.0
"""The list of figures as tables: of commands on the terminal, of figures in docs/artifact.md."""

from collections.abc import Iterable

from rich.table import Table

from hwswap.artifact.claims import Command
from hwswap.project import markdown, paths

PAGE = paths.ROOT / "docs" / "artifact.md"
"""Which has the table between these two lines."""

BEGIN = "<!-- artifact: by hwswap artifact --docs write -->"
END = "<!-- artifact: end -->"


class PageError(RuntimeError):
    """The page and the list differ, or the page has no place for the list."""


def commands_table(commands: Iterable[Command]) -> Table:
    """Return a row a command: how long it takes, and how many figures it leaves."""
    view = Table(title="commands of the figures on record")
    for name in ("name", "command", "form", "minutes", "cores", "figures"):
        view.add_column(name, justify="right" if name in ("minutes", "cores", "figures") else "left")
    for command in commands:
        numbers = (f"{command.minutes:g}", str(command.cores), str(len(command.figures)))
        view.add_row(command.name, command.run, command.form, *numbers)
    return view


def figures_table(commands: Iterable[Command]) -> Table:
    """Return a row a figure, with its command, time, cores and tolerance."""
    view = Table(title="figures on record")
    for name in ("figure", "on record", "a run has to be", "command", "name, form", "minutes", "cores", "commit"):
        view.add_column(name, justify="right" if name in ("on record", "minutes", "cores") else "left")
    for command in commands:
        for number, figure in enumerate(command.figures):
            first = number == 0
            view.add_row(
                figure.name,
                f"{figure.value:,g} {figure.unit}".rstrip(),
                figure.tolerance,
                f"`{command.run}`" if first else "the same",
                f"{command.name}, {command.form}" if first else "",
                f"{command.minutes:g}" if first else "",
                f"{command.cores}" if first else "",
                figure.commit,
            )
    return view


def document(commands: Iterable[Command], *, check: bool) -> int:
    """Put the table into the page, or look whether it is there; return the exit status.

    Raises:
        PageError: the page has no place for it or, when it is only looked at, another table.
    """
    text = PAGE.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PageError(f"{PAGE} has no line '{BEGIN}' or none '{END}' behind it")
    rows = markdown.markdown(figures_table(commands)).partition("\n\n")[2]
    made = f"{before}{BEGIN}\n\n{rows}\n{END}{after}"
    if check and made != text:
        raise PageError(f"{PAGE.name} has another table than claims.toml: run 'hwswap artifact --docs write'")
    if not check:
        PAGE.write_text(made)
    return 0
