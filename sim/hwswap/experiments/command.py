# SPDX-License-Identifier: Apache-2.0
"""Makes published tables on swap allocation again, in kind, with the golden model: published, ours, and their ratio.

swapoff: readahead windows that are adaptive and fixed, page_cluster 1 to 8. offsets: next offset shared, per CPU, and
per CPU in random trunks of 64 MiB. cache: a table a cluster, and a tree for each 64 MiB. Each says why the figures
differ and what cannot be compared. Nothing is started. Results are files in build/experiments.
"""

import argparse
import json
import sys
from collections.abc import Callable

from rich.console import Console

from hwswap.experiments import cache, offsets, show, swapoff
from hwswap.experiments.comparison import Result
from hwswap.project import paths, provenance

OUTPUT = paths.BUILD / "experiments"

EXPERIMENTS: dict[str, Callable[[int, bool], Result]] = {
    "swapoff": swapoff.run,
    "offsets": offsets.run,
    "cache": cache.run,
}
"""By the name they are called by: from seed and whether it is the short form."""


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
        help=f"these alone: {', '.join(EXPERIMENTS)} (default: all)",
    )


def run(options: argparse.Namespace) -> int:
    """Do the experiments, print and write them; return the exit status."""
    names = list(dict.fromkeys(options.names)) or list(EXPERIMENTS)
    made = {"commit": provenance.commit(), "seed": options.seed, "short": options.short}
    options.output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    everything = {}
    from hwswap.experiments import plot  # takes a while to load

    for name in names:
        result = EXPERIMENTS[name](options.seed, options.short)
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
