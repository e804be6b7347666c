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
from hwswap.results import schema

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


TOLERANCE = 0.03
"""Of ours, in another run."""


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
    for name in names:
        try:
            result = EXPERIMENTS[name](options.seed, options.short)
        except GuestError as error:
            print(f"experiments: {name}: {error}", file=sys.stderr)
            return 1
        everything[name] = result.json()
        (options.output / f"{name}.json").write_text(json.dumps({**made, **result.json()}, indent=1) + "\n")
        schema.save(
            f"experiment-{name}",
            [
                schema.Figure(
                    row.figure,
                    whose,
                    round(value, 4),
                    "%" if row.figure.startswith("%") else "number",
                    {},
                    TOLERANCE if whose == "ours" else 0,
                )
                for row in result.rows
                for whose, value in (("published", row.published), ("ours", row.ours))
                if value is not None
            ],
            title=result.title,
            command=f"make experiments ONLY={name}",
            platform="golden model" + " and kernels in a guest" * (name in IN_GUESTS),
            leaves_out=" ".join(result.incomparable).rstrip("."),
            kernel=name in IN_GUESTS,
            seed=options.seed,
            short=options.short,
        )
        show.show(result, console)
    if options.json:
        options.json.write_text(json.dumps({**made, "experiments": everything}, indent=1) + "\n")
    compared = sum(row["published"] is not None for result in everything.values() for row in result["rows"])
    print(
        f"experiments: {compared} published figures beside ours; {options.output}/NAME.json of "
        f"{', '.join(names)}; commit {made['commit']}"
    )
    return 0
