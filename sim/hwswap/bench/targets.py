# SPDX-License-Identifier: Apache-2.0
"""The targets of a measuring command, beside the figures that it measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

from hwswap.project import printed


@dataclass(frozen=True)
class Target:
    """A target: its name, the measured and the wanted value as text, and whether it is met."""

    name: str
    measured: str
    wanted: str
    met: bool


def table(targets: Iterable[Target]) -> Table:
    """Return the targets, one a row."""
    rows = ((each.name, each.measured, each.wanted, "yes" if each.met else "NO") for each in targets)
    return printed.table("Targets", ("", "measured", "wanted", "met"), rows, left=range(4))
