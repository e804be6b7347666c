# SPDX-License-Identifier: Apache-2.0
"""`make formal`: proofs of parts of the engine, and a table of them; exit status 1 if one failed."""

import argparse
from collections.abc import Iterator, Sequence

from rich.console import Console

from hwswap.project import arguments, paths, printed
from hwswap.results import schema
from hwswap.verify import proofs
from hwswap.verify.proof_list import PROOFS

OUT = Console()
ERR = Console(stderr=True, highlight=False)
PARTS = paths.BUILD / "proof-rtl"
OUTPUT = paths.BUILD / "formal"


def rows(verdicts: Sequence[proofs.Verdict]) -> Iterator[tuple[object, ...]]:
    """Yield the verdicts as rows of a table."""
    what = {proof.name: f"{proof.name}: {proof.what}" for proof in PROOFS}
    for verdict in verdicts:
        color = "green" if proofs.good(verdict) else "red"
        idle = verdict.idle and f"[{color}]{len(verdict.idle)} not shown[/]"
        can_fail = "; ".join(filter(None, (verdict.breakable, idle))) or f"[{color}]not shown[/]"
        result = f"[{color}]{verdict.result}[/]"
        yield what[verdict.proof], verdict.name, verdict.assertions, result, verdict.how, verdict.seconds, can_fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    name = arguments.name("proof", (proof.name for proof in PROOFS))
    parser.add_argument("names", nargs="*", type=name, metavar="PROOF", help="which proofs (default: all)")


def complaint(verdict: proofs.Verdict) -> str:
    """Return the error of a verdict in words."""
    said = f"{verdict.proof}.{verdict.name}: {verdict.result} ({verdict.how})"
    if verdict.trace:
        return f"{said}; counterexample in {verdict.trace}"
    if verdict.result == "unknown":
        return said
    return f"{said}; but none of the mutants breaks {'; '.join(verdict.idle) or 'it'}, so that may say nothing"


def run(options: argparse.Namespace) -> int:
    """Prove; return the exit status."""
    asked = arguments.chosen("proof", options.names, {proof.name: proof for proof in PROOFS})
    chosen = [proof for proof in asked if proof.short or not options.short]
    paths.need(PARTS)
    verdicts: list[proofs.Verdict] = []
    with ERR.status("") as status:
        for proof in chosen:
            verdicts += proofs.prove(proof, PARTS, options.output, options.seed, status.update)
    bad = [verdict for verdict in verdicts if not proofs.good(verdict)]
    unbounded, bounded = (
        sum(verdict.result == result for verdict in verdicts if verdict not in bad) for result in proofs.PROVED
    )
    schema.save(
        "formal",
        [
            schema.exact("properties proved for all time", unbounded, "properties", "more"),
            schema.exact("properties proved to a bound", bounded, "properties", "more"),
            schema.exact("properties not proved", len(bad), "properties", "less"),
        ],
        title="Proofs",
        command="make formal" + " SHORT=1" * options.short,
        platform="Yosys and ABC on the emitted Verilog; parts, and a small core",
        leaves_out="all other parts; the core's real size",
        seed=options.seed,
        short=options.short,
    )
    heads = ("part", "property", "assertions", "result", "how", "s", "can it fail?")
    OUT.print(printed.table("Proofs", heads, rows(verdicts), left=(0, 1, 3, 4, 6)))
    for verdict in bad:
        ERR.print(f"formal: {complaint(verdict)}", soft_wrap=True)
    OUT.print(
        f"formal: {len(verdicts)} properties of {len(chosen)} parts: {unbounded} proved for all time, "
        f"{bounded} to a bound, {len(bad)} not",
        highlight=False,
        soft_wrap=True,
    )
    return 1 if bad else 0
