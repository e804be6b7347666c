# SPDX-License-Identifier: Apache-2.0
"""What the engine's work on swap tables costs, and what memory they take, as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from hwswap.bench.table_cycles import Measured
    from hwswap.bench.table_memory import Sample

ON_SLOTS = ("RANGE", "FILL", "REPLACE", "CLEAR")
ON_CLUSTERS = ("COUNT", "SCAN")
DIRECTORY = ("SCAN", "SCAN, no tables", "GIVE", "TAKE")


def draw_commands(figures: "Sequence[Measured]", in_dram: "Sequence[Measured]", path: Path) -> None:
    """Write a PNG: busy cycles over slots and over clusters, the share of the port's peak, a directory in DRAM."""
    figure = Figure(figsize=(17, 4.5), layout="constrained")
    slots, clusters, share, directory = figure.subplots(1, 4)
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
        for number, command in enumerate(DIRECTORY):
            chip = {of.items: of.busy for of in figures if of.command == command and of.latency == latency}
            row = [of for of in in_dram if of.command == command and of.latency == latency]
            more = [of.busy - chip[of.items] for of in row]
            label = f"{command}, latency {latency}"
            directory.plot([of.items for of in row], more, f"o{style}", color=f"C{number}", label=label, markersize=3)
    names = {slots: "slots of one cluster", clusters: "clusters", share: "slots of one cluster", directory: "clusters"}
    for panel, name in names.items():
        panel.set_xscale("log", base=2)
        panel.set_xlabel(name)
        panel.legend(fontsize="x-small")
    for panel in (slots, clusters):
        panel.set_yscale("log")
        panel.set_ylabel("busy cycles of the engine")
    directory.set_ylabel("busy cycles more with the directory in DRAM")
    share.set_ylabel("words moved, % of one a cycle")
    share.set_ylim(0, 101)
    figure.suptitle("Commands on swap tables")
    figure.savefig(path, dpi=120)


def draw_memory(samples: "Sequence[Sample]", path: Path) -> None:
    """Write a PNG: memory over the share of slots in use, a panel a load, filling and emptying."""
    loads = list(dict.fromkeys(sample.load for sample in samples))
    figure = Figure(figsize=(3.2 * len(loads), 4), layout="constrained")
    panels = figure.subplots(1, len(loads), sharey=True, squeeze=False)[0]
    for panel, load in zip(panels, loads, strict=True):
        for filling, style in ((True, "-"), (False, "--")):
            own = [sample for sample in samples if sample.load == load and sample.filling == filling]
            share = [100 * sample.used / sample.slots for sample in own]
            way = "filling" if filling else "emptying"
            panel.plot(share, [of.table_bytes / 1024 for of in own], style, color="C0", label=f"tables, {way}")
            panel.plot(share, [of.tree_bytes / 1024 for of in own], style, color="C1", label=f"tree, swap_map, {way}")
        panel.set_title(load, fontsize="small")
        panel.set_xlabel("% of slots in use")
    panels[0].set_ylabel("KiB")
    panels[0].legend(fontsize="x-small")
    figure.savefig(path, dpi=120)
