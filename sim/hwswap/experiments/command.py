# SPDX-License-Identifier: Apache-2.0
"""Makes published tables on swap allocation again, in kind, with the golden model: published, ours, and their ratio.

swapoff: readahead windows that are adaptive and fixed, page_cluster 1 to 8. offsets: next offset shared, per CPU, and
per CPU in random trunks of 64 MiB. cache: a table a cluster, and a tree for each 64 MiB. With real kernels beside the
model, so made only if they are named: devices: four equal devices, one after the other, by node, in turn. fallbacks:
large folios that are split. Each says why the figures differ and what cannot be compared. Results are files in
build/experiments.
"""

import argparse
import json
import sys
from collections.abc import Callable

from rich.console import Console

from hwswap.experiments import cache, devices, fallbacks, offsets, show, swapoff
from hwswap.experiments.comparison import Result
from hwswap.guest.qemu import GuestError
from hwswap.project import paths, provenance

OUTPUT = paths.BUILD / "experiments"

EXPERIMENTS: dict[str, Callable[[int, bool], Result]] = {
    "swapoff": swapoff.run,
    "offsets": offsets.run,
    "cache": cache.run,
    "devices": devices.run,
    "fallbacks": fallbacks.run,
}
"""By the name they are called by: from seed and whether it is the short form."""

IN_GUESTS = ("devices", "fallbacks")
"""What boots kernels, so is done only if it is named."""


def experiment(text: str) -> str:
    """Read the name of an experiment."""
    if text not in EXPERIMENTS:
        raise argparse.ArgumentTypeError(f"there is no experiment {text}: choose {', '.join(EXPERIMENTS)}")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        type=experiment,
        metavar="NAME",
        help=f"these alone: {', '.join(EXPERIMENTS)} (default: all but {' and '.join(IN_GUESTS)}, which boot guests)",
    )


def run(options: argparse.Namespace) -> int:
    """Do the experiments, print and write them; return the exit status."""
    names = list(dict.fromkeys(options.names)) or [name for name in EXPERIMENTS if name not in IN_GUESTS]
    made = {"commit": provenance.commit(), "seed": options.seed, "short": options.short}
    options.output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    everything = {}
    from hwswap.experiments import plot  # takes a while to load

    for name in names:
        try:
            result = EXPERIMENTS[name](options.seed, options.short)
        except GuestError as error:
            print(f"experiments: {name}: {error}", file=sys.stderr)
            return 1
        everything[name] = result.json()
        (options.output / f"{name}.json").write_text(json.dumps({**made, **result.json()}, indent=1) + "\n")
        plot.draw(result, options.output)
        show.show(result, console)
    if options.json:
        options.json.write_text(json.dumps({**made, "experiments": everything}, indent=1) + "\n")
    compared = sum(row["published"] is not None for result in everything.values() for row in result["rows"])
    print(
        f"experiments: {compared} published figures beside ours; {options.output}/NAME.json and NAME.png of "
        f"{', '.join(names)}; commit {made['commit']}"
    )
    return 0
