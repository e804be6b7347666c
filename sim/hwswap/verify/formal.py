# SPDX-License-Identifier: Apache-2.0
"""`make formal`: proofs of parts of the engine, a table of what was proved, and JSON; exit status 1 if one failed."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from hwswap.project import paths, provenance
from hwswap.results import schema
from hwswap.verify import proof_list, proofs
from hwswap.verify.yosys import YosysError

OUT = Console()
ERR = Console(stderr=True, highlight=False)
PARTS = paths.BUILD / "proof-rtl"
OUTPUT = paths.BUILD / "formal"


def report(verdicts: list[proofs.Verdict]) -> Table:
    """Return what was proved as a table."""
    table = Table("part", "property", "assertions", "result", "how", "s", "can it fail?", show_lines=False)
    what = {proof.name: proof.what for proof in proof_list.PROOFS}
    for verdict in verdicts:
        color = "green" if proofs.good(verdict) else "red"
        table.add_row(
            f"{verdict.proof}: {what[verdict.proof]}",
            verdict.name,
            str(verdict.assertions),
            f"[{color}]{verdict.result}[/]",
            verdict.how,
            f"{verdict.seconds:.0f}",
            "; ".join(filter(None, (verdict.breakable, verdict.idle and f"[{color}]{len(verdict.idle)} not shown[/]")))
            or f"[{color}]not shown[/]",
        )
    return table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("names", nargs="*", metavar="PROOF", help="which proofs (default: all)")


def choose(names: Sequence[str], short: bool) -> list[proof_list.Proof]:
    """Return the proofs that are asked for."""
    known = {proof.name: proof for proof in proof_list.PROOFS}
    for name in names:
        if name not in known:
            raise YosysError(f"there is no proof '{name}': choose of {', '.join(known)}")
    chosen = [known[name] for name in names] or list(proof_list.PROOFS)
    return [proof for proof in chosen if proof.short or not short]


def save(verdicts: Sequence[proofs.Verdict], bad: int, options: argparse.Namespace) -> None:
    """Write the verdicts, and the result."""
    values = {"commit": provenance.commit(), "seed": options.seed, "properties": [asdict(each) for each in verdicts]}
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "formal.json").write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
    unbounded, bounded = (sum(v.result == result for v in verdicts) for result in ("unbounded", "bounded"))
    schema.save(
        "formal",
        [
            schema.exact("properties proved for all time", unbounded, "properties", "more"),
            schema.exact("properties proved to a bound", bounded, "properties", "more"),
            schema.exact("properties not proved", bad, "properties", "less"),
        ],
        title="Proofs",
        command="make formal" + " SHORT=1" * options.short,
        platform="Yosys and ABC on the emitted Verilog; parts, and a small core",
        leaves_out="all other parts; the core's real size",
        seed=options.seed,
        short=options.short,
    )


def run(options: argparse.Namespace) -> int:
    """Prove; return the exit status."""
    verdicts: list[proofs.Verdict] = []
    begin = time.monotonic()
    chosen = choose(options.names, options.short)
    paths.need(PARTS)
    for proof in chosen:
        with ERR.status(proof.name) as status:
            verdicts += proofs.prove(
                proof,
                PARTS,
                options.output,
                options.seed,
                lambda text, p=proof, s=status: s.update(f"{p.name}: {text}"),
            )
    bad = [verdict for verdict in verdicts if not proofs.good(verdict)]
    save(verdicts, len(bad), options)
    OUT.print(report(verdicts))
    for verdict in bad:
        text = f"formal: {verdict.proof}.{verdict.name}: {verdict.result} ({verdict.how})"
        if verdict.trace:
            text += f"; counterexample in {verdict.trace}"
        elif verdict.result in ("unbounded", "bounded"):
            which = "; ".join(verdict.idle)
            text += f"; but none of the mutants breaks {which or 'it'}, so that may say nothing"
        ERR.print(text, soft_wrap=True)
    count = {result: sum(v.result == result and v not in bad for v in verdicts) for result in ("unbounded", "bounded")}
    OUT.print(
        f"formal: {len(verdicts)} properties of {len(chosen)} parts: {count['unbounded']} proved for all time, "
        f"{count['bounded']} to a bound, {len(bad)} not; {time.monotonic() - begin:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    return 1 if bad else 0
