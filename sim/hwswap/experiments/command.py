# SPDX-License-Identifier: Apache-2.0
"""Makes published tables on swap allocation again, in kind, with the golden model: published, ours, and their ratio.

swapoff: readahead windows that are adaptive and fixed, page_cluster 1 to 8. offsets: next offset shared, per CPU, and
per CPU in random trunks of 64 MiB. cache: a table a cluster, and a tree for each 64 MiB. With real kernels beside the
model, so made only if they are named: devices: four equal devices, one after the other, by node, in turn. fallbacks:
large folios that are split. Each says what cannot be compared; docs/experiments.md says why figures differ. Results
are files in build/results.
"""

import argparse
import sys
from collections.abc import Callable

from rich.console import Console

from hwswap.experiments import cache, devices, fallbacks, offsets, swapoff
from hwswap.experiments.comparison import Result
from hwswap.project import arguments
from hwswap.results import schema

EXPERIMENTS: dict[str, Callable[[int, bool], Result]] = {
    "swapoff": swapoff.run,
    "offsets": offsets.run,
    "cache": cache.run,
    "devices": devices.run,
    "fallbacks": fallbacks.run,
}
"""By the name they are called by: from seed and whether it is the short form."""

IN_GUESTS = ("devices", "fallbacks")
"""Experiments that boot kernels, so run only if named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        type=arguments.name("experiment", EXPERIMENTS),
        metavar="NAME",
        help=f"these alone: {', '.join(EXPERIMENTS)} (default: all but {' and '.join(IN_GUESTS)}, which boot guests)",
    )


def run(options: argparse.Namespace) -> int:
    """Do the experiments, print and write them; return the exit status."""
    names = list(dict.fromkeys(options.names)) or [name for name in EXPERIMENTS if name not in IN_GUESTS]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    compared = 0
    for name in names:
        result = EXPERIMENTS[name](options.seed, options.short)
        saved = schema.save(
            f"experiment-{name}",
            result.figures(),
            title=result.title,
            command=f"make experiments ONLY={name}",
            platform="golden model" + " and kernels in a guest" * (name in IN_GUESTS),
            leaves_out=" ".join(result.incomparable).rstrip("."),
            kernel=name in IN_GUESTS,
            seed=options.seed,
            short=options.short,
        )
        result.show(console)
        compared += sum(row.published is not None for row in result.rows)
    print(
        f"experiments: {compared} published figures beside ours; {schema.RUNS}/experiment-NAME.json of "
        f"{', '.join(names)}; docs/experiments.md says why they differ; commit {saved.commit}"
    )
    return 0
