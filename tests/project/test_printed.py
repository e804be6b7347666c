# SPDX-License-Identifier: Apache-2.0
"""Tables of results as Markdown."""

from hwswap.project.printed import markdown, page
from rich.table import Table


def _table() -> Table:
    table = Table(title="cycles")
    table.add_column("what")
    table.add_column("p50", justify="right")
    table.add_row("allocate", "[green]2[/]")
    table.add_row("a|b", "3")
    return table


def test_a_table() -> None:
    assert markdown(_table()) == "cycles\n\n| what | p50 |\n| --- | ---: |\n| allocate | 2 |\n| a\\|b | 3 |\n"


def test_a_page() -> None:
    text = page([_table(), _table()], ["one", "two"])
    assert text.count("| allocate | 2 |") == 2
    assert text.endswith("\n- one\n- two\n")
