# SPDX-License-Identifier: Apache-2.0
"""The engine's cycles for commands on swap tables as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from hwswap.table_cycles import Measured

ON_SLOTS = ("RANGE", "FILL", "REPLACE", "CLEAR")
ON_CLUSTERS = ("COUNT", "SCAN")


def draw(figures: "Sequence[Measured]", path: Path) -> None:
    """Write a PNG: busy cycles over slots and over clusters, and the share of the port's peak."""
    figure = Figure(figsize=(13, 4.5), layout="constrained")
    slots, clusters, share = figure.subplots(1, 3)
    for style, latency in zip(("-", "--", ":"), sorted({of.latency for of in figures}), strict=False):
        for panel, commands in ((slots, ON_SLOTS), (clusters, ON_CLUSTERS)):
            for number, command in enumerate(commands):
                row = [of for of in figures if of.command == command and of.latency == latency]
                items = [of.items for of in row]
                label = f"{command}, latency {latency}"
                panel.plot(items, [of.busy for of in row], f"o{style}", color=f"C{number}", label=label, markersize=3)
                if panel is slots:
                    shares = [100 * of.share for of in row]
                    share.plot(items, shares, f"o{style}", color=f"C{number}", label=label, markersize=3)
    for panel, name in ((slots, "slots of one cluster"), (clusters, "clusters"), (share, "slots of one cluster")):
        panel.set_xscale("log", base=2)
        panel.set_xlabel(name)
        panel.legend(fontsize="x-small")
    for panel in (slots, clusters):
        panel.set_yscale("log")
        panel.set_ylabel("busy cycles of the engine")
    share.set_ylabel("words moved, % of one a cycle")
    share.set_ylim(0, 101)
    figure.suptitle("Commands on swap tables")
    figure.savefig(path, dpi=120)
